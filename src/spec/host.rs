//! The `hosts:` section: what can execute something, and how it is reached.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::TimeSpan;
use super::cost::Cost;
use super::located::{Located, Text};
use super::schema;
use super::string_or_map::string_or_map;

/// Something that can execute commands: exactly one of the kind keys, and what holds for every kind.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = schema::exactly_one(&["local", "ssh"])))]
pub struct Host {
    /// Kind: the machine that runs `runner`.
    ///
    /// Example: `local: {}`
    pub local: Option<Located<Local>>,
    /// Kind: a machine reached by SSH: `user@address:port`, an alias of `~/.ssh/config`, or the fields.
    ///
    /// Example: `ssh: pi@192.0.2.11`
    pub ssh: Option<Located<Ssh>>,
    /// How other hosts reach this one, where that differs from the address that `runner` uses.
    ///
    /// Default: the address of `ssh`. Example: `peer_address: 10.0.0.11`
    pub peer_address: Option<Text>,
    /// Whether commands may become root without a password.
    ///
    /// Default: `passwordless`. Example: `sudo: none`
    pub sudo: Option<Sudo>,
    /// Free text for templates: `{{ host.labels.board }}`.
    ///
    /// Default: none. Example: `labels: { board: LattePanda }`
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub labels: IndexMap<Text, Text>,
    /// What an hour of it costs, with or without a currency: reports then say what a result costs.
    ///
    /// Default: none. Example: `cost: 0.0416 USD`
    pub cost: Option<Cost>,
}

impl Host {
    /// How it is reached, as a person reads it: `ssh pi@192.0.2.11:2222`, or `this machine`.
    pub fn way(&self) -> String {
        let Some(Located { value: Ssh(fields), .. }) = &self.ssh else { return "this machine".to_owned() };
        let user = fields.user.as_ref().map(|user| format!("{}@", user.value)).unwrap_or_default();
        let port = fields.port.as_ref().map(|port| format!(":{}", port.value)).unwrap_or_default();
        let jump = fields.jump.as_ref().map(|jump| format!(" through {}", jump.value)).unwrap_or_default();
        format!("ssh {user}{}{port}{jump}", fields.address.value)
    }

    /// Every text that may hold a template, with its place.
    pub fn texts(&self) -> impl Iterator<Item = Text> {
        let ssh = self.ssh.iter().flat_map(|ssh| {
            let SshFields { address, user, identity, jump, known_hosts, config, .. } = &ssh.0;
            let optional = [user, identity, jump, known_hosts, config];
            // The short form has one place for all of them.
            std::iter::once(address).chain(optional.into_iter().flatten()).map(|text| {
                match text.span.length {
                    0 => Text { span: ssh.span, ..text.clone() },
                    _ => text.clone(),
                }
            })
        });
        ssh.chain(self.peer_address.clone()).chain(self.labels.values().cloned())
    }

    /// The host with every text rendered.
    ///
    /// # Errors
    /// The first that can't be.
    pub fn rendered(&self, render: &dyn Fn(&str) -> Result<String, String>) -> Result<Host, String> {
        let mut host = self.clone();
        if let Some(Located { value: Ssh(fields), .. }) = &mut host.ssh
            && fields.address.span.length == 0
            && super::template::is_template(&fields.address)
        {
            // The short form: what the variable holds may be more than an address.
            let user = fields.user.as_ref().map(|user| format!("{}@", user.value)).unwrap_or_default();
            let port = fields.port.as_ref().map(|port| format!(":{}", port.value)).unwrap_or_default();
            *fields = Ssh::from_text(&render(&format!("{user}{}{port}", fields.address.value))?)?.0;
        }
        if let Some(Located { value: Ssh(fields), .. }) = &mut host.ssh {
            let SshFields { address, user, identity, jump, known_hosts, config, .. } = fields;
            let optional = [user, identity, jump, known_hosts, config];
            for text in std::iter::once(address).chain(optional.into_iter().flatten()) {
                text.value = render(&text.value)?;
            }
        }
        for text in host.peer_address.iter_mut().chain(host.labels.values_mut()) {
            text.value = render(&text.value)?;
        }
        Ok(host)
    }
}

/// The machine that runs `runner`; it needs no settings.
#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Local {}

/// How root commands (`drop_caches`, `sudo: true`) are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Sudo {
    /// Never.
    None,
    /// With `sudo -n`, unless the user is root already.
    #[default]
    Passwordless,
}

/// A machine reached by SSH: `user@address:port`, an alias of `~/.ssh/config`, or the fields.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SshFields {
    /// Host name, IP address or alias.
    ///
    /// Example: `address: 192.0.2.11`
    pub address: Text,
    /// Login name.
    ///
    /// Default: what `~/.ssh/config` says, else yours. Example: `user: pi`
    pub user: Option<Text>,
    /// TCP port.
    ///
    /// Default: what `~/.ssh/config` says, else `22`. Example: `port: 2222`
    pub port: Option<Located<u16>>,
    /// Private key file; `~` is the home directory.
    ///
    /// Default: those of the agent, of `~/.ssh/config` and the usual ones. Example: `identity: ~/.ssh/lab`
    pub identity: Option<Text>,
    /// A host to connect through, `user@address:port`.
    ///
    /// Default: what `~/.ssh/config` says. Example: `jump: gate@198.51.100.1`
    pub jump: Option<Text>,
    /// A known_hosts file, or `accept-new` to add the key of a host that is not known yet.
    ///
    /// Default: `~/.ssh/known_hosts`. Example: `known_hosts: accept-new`
    pub known_hosts: Option<Text>,
    /// An SSH client configuration file to read instead of `~/.ssh/config`.
    ///
    /// Default: `~/.ssh/config`. Example: `config: lab/ssh_config`
    pub config: Option<Text>,
    /// How long a lost connection is tried again. What runs there goes on meanwhile; when nobody has come
    /// back after this time, the machine ends it.
    ///
    /// Default: `10m`. Example: `reconnect: 30m`
    pub reconnect: Option<TimeSpan>,
}

string_or_map!(Ssh, SshFields, "`user@address:port` or a map with `address`");

/// The fields of `ssh:`, however they were written.
#[derive(Debug, Clone, Default)]
pub struct Ssh(pub SshFields);

impl Ssh {
    fn from_fields(fields: SshFields) -> Result<Self, String> {
        Ok(Ssh(fields))
    }

    fn from_text(text: &str) -> Result<Self, String> {
        let is_plain = !super::template::is_template(text);
        if is_plain && (text.contains("://") || text.trim().contains(char::is_whitespace)) {
            return Err(format!("`{text}` is no address: write `user@address:port`"));
        }
        let (user, rest) = match text.rsplit_once('@') {
            Some((user, _)) if user.contains(':') && !super::template::is_template(user) => {
                return Err(
                    "a password is never used: write `user@address:port`, and log in with a key".into()
                );
            }
            Some((user, rest)) => (Some(user), rest),
            None => (None, text),
        };
        let (address, port) = match rest.rsplit_once(':') {
            Some((address, port)) if !address.contains(':') || address.ends_with(']') => {
                (address, Some(port))
            }
            _ => (rest, None),
        };
        let address = address.trim_start_matches('[').trim_end_matches(']');
        if address.is_empty() {
            return Err("an address is missing before the port".into());
        }
        let port =
            port.map(str::parse::<u16>).transpose().map_err(|_| "the port is not a number below 65536")?;
        Ok(Ssh(SshFields {
            address: Located::unwritten(address.to_owned()),
            user: user.map(|user| Located::unwritten(user.to_owned())),
            port: port.map(Located::unwritten),
            ..SshFields::default()
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::Ssh;

    #[test]
    fn short_form_of_ssh() {
        for (text, user, address, port) in [
            ("pi@192.0.2.7:2222", Some("pi"), "192.0.2.7", Some(2222)),
            ("192.0.2.7", None, "192.0.2.7", None),
            ("board", None, "board", None),
            ("root@[fe80::1]:22", Some("root"), "fe80::1", Some(22)),
            ("fe80::1", None, "fe80::1", None),
        ] {
            let Ssh(fields) = Ssh::from_text(text).unwrap();
            assert_eq!(fields.user.as_ref().map(|user| user.value.as_str()), user, "{text}");
            assert_eq!((fields.address.value.as_str(), fields.port.map(|port| port.value)), (address, port));
        }
        assert!(Ssh::from_text("pi@host:ssh").is_err());
        assert!(Ssh::from_text("pi@:22").is_err());
    }
}
