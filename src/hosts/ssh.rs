//! The `ssh:` fields of a host as what the transport wants.

use std::path::PathBuf;

use crate::diagnostic::Sources;
use crate::spec::Text;
use crate::spec::host::SshFields;
use crate::transports::DEFAULT_RECONNECT;
use crate::transports::ssh::{KnownHosts, SshTarget};

pub(super) fn target(name: &str, fields: &SshFields, sources: &Sources) -> SshTarget {
    let path = |text: &Text| local_path(text, sources);
    SshTarget {
        name: name.to_owned(),
        address: fields.address.value.clone(),
        port: fields.port.as_ref().map(|port| port.value),
        user: fields.user.as_ref().map(|user| user.value.clone()),
        identity: fields.identity.as_ref().map(path),
        jump: fields.jump.as_ref().map(|jump| jump.value.clone()),
        known_hosts: known_hosts(fields.known_hosts.as_ref(), sources),
        config: fields.config.as_ref().map(path),
        reconnect: fields.reconnect.map_or(DEFAULT_RECONNECT, |time| time.0),
    }
}

/// The host keys that the text of `known_hosts` stands for.
pub(super) fn known_hosts(text: Option<&Text>, sources: &Sources) -> KnownHosts {
    match text {
        None => KnownHosts::Default,
        Some(text) if text.as_str() == "accept-new" => KnownHosts::AcceptNew,
        Some(text) => KnownHosts::File(local_path(text, sources)),
    }
}

/// A path of this machine: `~` is the home directory, a relative path starts at the file it stands in.
pub fn local_path(text: &Text, sources: &Sources) -> PathBuf {
    match (text.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => sources.directory(text.span).join(text.as_str()),
    }
}
