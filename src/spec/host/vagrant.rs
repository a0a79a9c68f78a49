//! `vagrant:` of a host: a virtual machine that Vagrant brings up, from a Vagrantfile that is there, is given
//! in the experiment, or is made of a few fields.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::TimeSpan;
use super::super::located::{Located, Text};
use super::super::string_or_map::string_or_map;
use crate::diagnostic::Span;

/// A machine of Vagrant.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Vagrant {
    /// The folder of its Vagrantfile, relative to this file. With `vagrantfile` the file is written there.
    ///
    /// Default: with `vagrantfile`, `.runner/vagrant/HOST` beside this file; else this file's folder.
    /// Example: `directory: vms`
    pub directory: Option<Text>,
    /// Its name in the Vagrantfile.
    ///
    /// Default: `default`, Vagrant's name of the only machine. Example: `machine: node1`
    pub machine: Option<Text>,
    /// What runs it: `virtualbox`, `vmware_desktop`, `libvirt`, `docker`, or any other that Vagrant has.
    ///
    /// Default: what Vagrant chooses. Example: `provider: libvirt`
    pub provider: Option<Text>,
    /// What becomes at the end of a machine that the run has brought up; one that was running goes on.
    ///
    /// Default: `restore`. Example: `after: halt`
    pub after: Option<After>,
    /// A Vagrantfile: its text, or the fields that it is made of.
    ///
    /// Default: the file in `directory`. Example: `vagrantfile: { box: debian/bookworm64, cpus: 2, memory: 2GiB }`
    pub vagrantfile: Option<Located<Vagrantfile>>,
    /// The longest time that it may take to come up.
    ///
    /// Default: `30m`. Example: `up_within: 1h`
    pub up_within: Option<TimeSpan>,
    /// How long a lost connection is tried again.
    ///
    /// Default: `10m`. Example: `reconnect: 30m`
    pub reconnect: Option<TimeSpan>,
}

/// What becomes of a machine that the run has brought up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum After {
    /// It is as it was found: destroyed where there was none, halted where it was halted.
    #[default]
    Restore,
    /// It goes on running.
    Leave,
    /// It is shut down.
    Halt,
    /// It is deleted, with its disk.
    Destroy,
}

impl After {
    /// Its name in YAML.
    pub fn as_str(self) -> &'static str {
        match self {
            After::Restore => "restore",
            After::Leave => "leave",
            After::Halt => "halt",
            After::Destroy => "destroy",
        }
    }
}

/// What a Vagrantfile is made of.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VagrantfileFields {
    /// The box; with the provider `docker`, the image.
    ///
    /// Example: `box: debian/bookworm64`
    #[serde(rename = "box")]
    pub base: Text,
    /// The version of the box.
    ///
    /// Default: the newest that Vagrant finds. Example: `version: 12.20250126.1`
    pub version: Option<Text>,
    /// How many CPUs it has.
    ///
    /// Default: what the box says. Example: `cpus: 2`
    pub cpus: Option<Located<u32>>,
    /// Its memory.
    ///
    /// Default: what the box says. Example: `memory: 2GiB`
    #[schemars(with = "Option<super::super::schema::Amount>")]
    pub memory: Option<Text>,
    /// The user to log in as.
    ///
    /// Default: `vagrant`. Example: `user: bench`
    pub user: Option<Text>,
    /// The private key of that user, where it is not the box's own: an image of the provider `docker` has none.
    ///
    /// Default: the box's, which Vagrant replaces by a new one. Example: `identity: ~/.ssh/lab`
    pub identity: Option<Text>,
    /// Folders of this machine that it sees.
    ///
    /// Default: none. Example: `synced_folders: [{ type: nfs, host: shared, guest: /mnt/nfs }]`
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub synced_folders: Vec<SyncedFolder>,
}

/// A folder of the machine below that the virtual machine sees.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SyncedFolder {
    /// How: `nfs`, `rsync`, `virtualbox`, `vmware`, `9p`, `virtiofs`, `smb`, `docker`, or what a plug-in of Vagrant adds.
    ///
    /// Example: `type: nfs`
    #[serde(rename = "type")]
    pub kind: Text,
    /// The folder on this machine, relative to this file; it is made if it is not there.
    ///
    /// Example: `host: shared`
    pub host: Text,
    /// The path in the virtual machine.
    ///
    /// Example: `guest: /mnt/shared`
    pub guest: Text,
}

string_or_map!(Vagrantfile, VagrantfileFields, "the text of a Vagrantfile, or a map with `box`");

/// A Vagrantfile, however it was written.
#[derive(Debug, Clone)]
pub enum Vagrantfile {
    /// Its text.
    Inline(Text),
    /// The fields that it is made of.
    Made(Box<VagrantfileFields>),
}

impl Vagrantfile {
    fn from_fields(fields: VagrantfileFields) -> Result<Self, String> {
        Ok(Vagrantfile::Made(Box::new(fields)))
    }

    fn from_text(text: &str) -> Result<Self, String> {
        let is_one = |line: &str| line.trim_start().starts_with("Vagrant.configure");
        match text.lines().any(is_one) {
            true => Ok(Vagrantfile::Inline(Located::unwritten(text.to_owned()))),
            false => Err("this is no Vagrantfile: it has no `Vagrant.configure`".into()),
        }
    }
}

impl Serialize for Vagrantfile {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Vagrantfile::Inline(text) => serializer.serialize_str(text),
            Vagrantfile::Made(fields) => fields.serialize(serializer),
        }
    }
}

impl JsonSchema for Vagrantfile {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Vagrantfile".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let fields = generator.subschema_for::<VagrantfileFields>();
        schemars::json_schema!({ "anyOf": [{ "type": "string", "pattern": "Vagrant\\.configure" }, fields] })
    }
}

impl Vagrant {
    /// Every text that may hold a template. The text of a Vagrantfile stands as it is: Ruby has braces of its own.
    pub(super) fn texts_mut(&mut self) -> Vec<&mut Text> {
        let Vagrant { directory, machine, provider, vagrantfile, .. } = self;
        let mut texts: Vec<&mut Text> = [directory, machine, provider].into_iter().flatten().collect();
        if let Some(Located { value: Vagrantfile::Made(fields), .. }) = vagrantfile {
            let VagrantfileFields { base, version, memory, user, identity, synced_folders, .. } =
                &mut **fields;
            texts.extend([version, memory, user, identity].into_iter().flatten().chain([base]));
            texts.extend(synced_folders.iter_mut().flat_map(|folder| {
                let SyncedFolder { kind, host, guest } = folder;
                [kind, host, guest]
            }));
        }
        texts
    }

    /// Says where its folder is, if the file leaves that out. `span` is its place.
    pub(in crate::spec) fn add_directory(&mut self, host: &str, span: Span) {
        let usual = match self.vagrantfile {
            Some(_) => format!(".runner/vagrant/{host}"),
            None => ".".to_owned(),
        };
        self.directory.get_or_insert(Text { value: usual, span });
    }

    /// Its paths on this machine.
    pub(in crate::spec) fn paths_mut(&mut self) -> Vec<&mut Text> {
        let mut paths: Vec<&mut Text> = self.directory.iter_mut().collect();
        if let Some(Located { value: Vagrantfile::Made(fields), .. }) = &mut self.vagrantfile {
            paths.extend(fields.synced_folders.iter_mut().map(|folder| &mut folder.host));
            paths.extend(&mut fields.identity);
        }
        paths
    }

    /// The key that the experiment gives for it.
    pub fn identity(&self) -> Option<&Text> {
        match &self.vagrantfile.as_ref()?.value {
            Vagrantfile::Made(fields) => fields.identity.as_ref(),
            Vagrantfile::Inline(_) => None,
        }
    }

    /// The name of its machine.
    pub fn machine(&self) -> &str {
        self.machine.as_ref().map_or("default", |machine| machine.as_str())
    }

    /// How a person reads it.
    pub(super) fn way(&self) -> String {
        let provider = self.provider.as_ref().map(|provider| format!(" of {}", provider.value));
        format!("Vagrant machine {}{}", self.machine(), provider.unwrap_or_default())
    }
}
