//! The `hosts:` section: what can execute something, and how it is reached.

mod count;
mod ec2;
mod ecs;
mod vagrant;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::diagnostic::Span;

use super::TimeSpan;
use super::cost::Cost;
use super::located::{Located, Text};
use super::schema;
use super::string_or_map::string_or_map;

pub(in crate::spec) use count::{counted, replace};
pub use ec2::{Ec2, user_data_type};
pub use ecs::{Architecture, Ecs, LaunchType};
pub use vagrant::{After, SyncedFolder, Vagrant, Vagrantfile, VagrantfileFields};

/// Something that can execute commands: exactly one of the kind keys, and what holds for every kind.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = schema::exactly_one(&KINDS)))]
pub struct Host {
    /// Kind: the machine that runs `runner`.
    ///
    /// Example: `local: {}`
    pub local: Option<Located<Local>>,
    /// Kind: a machine reached by SSH: `user@address:port`, an alias of `~/.ssh/config`, or the fields.
    ///
    /// Example: `ssh: pi@192.0.2.11`
    pub ssh: Option<Located<Ssh>>,
    /// Kind: a virtual machine that Vagrant brings up.
    ///
    /// Example: `vagrant: { directory: vms, machine: node1, provider: virtualbox }`
    pub vagrant: Option<Located<Vagrant>>,
    /// Kind: an instance of Amazon EC2, launched for the run or used as it is.
    ///
    /// Example: `ec2: { region: eu-central-1, instance_id: i-0123456789abcdef0 }`
    pub ec2: Option<Located<Ec2>>,
    /// Kind: a cluster of Amazon ECS, on which containers are Fargate tasks.
    ///
    /// Example: `ecs: { region: eu-central-1, subnets: [subnet-0123456789abcdef0] }`
    pub ecs: Option<Located<Ecs>>,
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
    /// What an hour of it costs, with or without a currency: reports then say what a result costs. On a cluster, an
    /// hour of each task; there it can be given by size: `cost: { cpu: 0.04048 USD, memory: 0.004445 USD }`.
    ///
    /// Default: none. Example: `cost: 0.0416 USD`
    pub cost: Option<Located<Cost>>,
    /// The name in the file of a host that is one of several.
    #[serde(skip)]
    pub counted_as: Option<String>,
}

/// The keys of the kinds.
pub const KINDS: [&str; 5] = ["local", "ssh", "vagrant", "ec2", "ecs"];

/// What a host is.
#[derive(Debug, Clone, Copy)]
pub enum Kind<'a> {
    /// The machine that runs `runner`.
    Local,
    /// A machine reached by SSH.
    Ssh(&'a SshFields),
    /// A machine of Vagrant.
    Vagrant(&'a Vagrant),
    /// An instance of EC2.
    Ec2(&'a Ec2),
    /// A cluster of ECS.
    Ecs(&'a Ecs),
}

/// Which of its addresses something is reached by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum AddressKind {
    /// The one in its network.
    Private,
    /// The one in the internet.
    Public,
}

impl Host {
    /// What it is; of a host that was not checked, the first kind that it has.
    pub fn kind(&self) -> Kind<'_> {
        let Host { ssh, vagrant, ec2, ecs, .. } = self;
        match (ssh, vagrant, ec2, ecs) {
            (Some(ssh), ..) => Kind::Ssh(&ssh.value.0),
            (_, Some(vagrant), ..) => Kind::Vagrant(vagrant),
            (_, _, Some(ec2), _) => Kind::Ec2(ec2),
            (.., Some(ecs)) => Kind::Ecs(ecs),
            _ => Kind::Local,
        }
    }

    /// The place of each kind key that is there, in the order of [`KINDS`].
    pub(super) fn kind_spans(&self) -> Vec<Span> {
        let Host { local, ssh, vagrant, ec2, ecs, .. } = self;
        let spans = [
            local.as_ref().map(|kind| kind.span),
            ssh.as_ref().map(|kind| kind.span),
            vagrant.as_ref().map(|kind| kind.span),
            ec2.as_ref().map(|kind| kind.span),
            ecs.as_ref().map(|kind| kind.span),
        ];
        spans.into_iter().flatten().collect()
    }

    /// Whether the run makes it, or takes it up, before it can be used.
    pub fn is_provided(&self) -> bool {
        matches!(self.kind(), Kind::Vagrant(_) | Kind::Ec2(_) | Kind::Ecs(_))
    }

    /// What the run does to have it, as a person reads it: `launched for the run`; nothing for one that is there.
    pub fn made(&self) -> &'static str {
        match self.kind() {
            Kind::Local | Kind::Ssh(_) => "",
            Kind::Vagrant(_) => "brought up if it is not running",
            Kind::Ec2(ec2) if ec2.instance_id.is_some() => "",
            Kind::Ec2(_) => "launched for the run, terminated at its end",
            Kind::Ecs(_) => "its tasks are started for the run",
        }
    }

    /// Whether it is many machines, on which each command is a task of its own.
    pub fn is_cluster(&self) -> bool {
        matches!(self.kind(), Kind::Ecs(_))
    }

    /// What an hour of it costs, as a person reads it.
    pub fn price(&self) -> Option<String> {
        let of_task = if self.is_cluster() { " of each task" } else { "" };
        self.cost.as_ref().map(|cost| format!("{}{of_task}", cost.value))
    }

    /// How it is reached, as a person reads it: `ssh pi@192.0.2.11:2222`, or `this machine`.
    pub fn way(&self) -> String {
        match self.kind() {
            Kind::Local => "this machine".to_owned(),
            Kind::Ssh(fields) => fields.way(),
            Kind::Vagrant(vagrant) => vagrant.way(),
            Kind::Ec2(ec2) => ec2.way(),
            Kind::Ecs(ecs) => ecs.way(),
        }
    }

    /// Every text that may hold a template, with its place.
    pub fn texts(&self) -> impl Iterator<Item = Text> {
        let mut host = self.clone();
        let span = self.ssh.as_ref().map(|ssh| ssh.span).unwrap_or_default();
        let texts: Vec<Text> = host.texts_mut().into_iter().map(|text| text.clone()).collect();
        // The short form of `ssh` has one place for all of its texts.
        texts.into_iter().map(move |text| match text.span.length {
            0 => Text { span, ..text },
            _ => text,
        })
    }

    fn texts_mut(&mut self) -> Vec<&mut Text> {
        let Host { ssh, vagrant, ec2, ecs, peer_address, labels, .. } = self;
        let mut texts = Vec::new();
        texts.extend(ssh.iter_mut().flat_map(|ssh| ssh.value.0.texts_mut()));
        texts.extend(vagrant.iter_mut().flat_map(|vagrant| vagrant.value.texts_mut()));
        texts.extend(ec2.iter_mut().flat_map(|ec2| ec2.value.texts_mut()));
        texts.extend(ecs.iter_mut().flat_map(|ecs| ecs.value.texts_mut()));
        texts.extend(peer_address.iter_mut().chain(labels.values_mut()));
        texts
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
        for text in host.texts_mut() {
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

impl SshFields {
    fn texts_mut(&mut self) -> Vec<&mut Text> {
        let SshFields { address, user, identity, jump, known_hosts, config, .. } = self;
        let optional = [user, identity, jump, known_hosts, config];
        std::iter::once(address).chain(optional.into_iter().flatten()).collect()
    }

    fn way(&self) -> String {
        let user = self.user.as_ref().map(|user| format!("{}@", user.value)).unwrap_or_default();
        let port = self.port.as_ref().map(|port| format!(":{}", port.value)).unwrap_or_default();
        let jump = self.jump.as_ref().map(|jump| format!(" through {}", jump.value)).unwrap_or_default();
        format!("ssh {user}{}{port}{jump}", self.address.value)
    }
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
