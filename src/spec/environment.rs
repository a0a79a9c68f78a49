//! The `environments:` section: what surrounds a workload on its host.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::located::{List, Located, Text};
use super::schema;
use super::step::Steps;

/// What surrounds a workload on its host. Without a kind key it is native.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// Where the directories of the cells are made: the file system there is the one that is measured.
    ///
    /// Default: `/var/tmp`. Example: `workdir: /mnt/nfs`
    #[schemars(with = "Option<schema::Folder>")]
    pub workdir: Option<Text>,
    /// Variables for everything that runs in it.
    ///
    /// Default: none. Example: `env: { LD_PRELOAD: /usr/lib/libjemalloc.so.2 }`
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(extend("propertyNames" = schema::variables()))]
    pub env: IndexMap<Text, Text>,
    /// Steps that make it fit for use, once for each cell and service in it, before the workload's own `setup`.
    ///
    /// Default: none. Example: `setup: [{ run: cpupower frequency-set -g performance, sudo: true, on: host }]`
    #[serde(default, skip_serializing_if = "Steps::is_empty")]
    pub setup: Steps,
    /// Steps that undo `setup`, after the workload's own `cleanup`.
    ///
    /// Default: none. Example: `cleanup: [{ run: cpupower frequency-set -g ondemand, sudo: true, on: host }]`
    #[serde(default, skip_serializing_if = "Steps::is_empty")]
    pub cleanup: Steps,
    /// The shell that gets command lines, after `-c`.
    ///
    /// Default: `sh`. Example: `shell: bash -euo pipefail`
    pub shell: Option<Text>,
    /// Kind: a container on the host's Docker Engine.
    ///
    /// Example: `container: { image: "debian:bookworm-slim", cpus: 0.5, memory: 512MiB }`
    pub container: Option<Located<Container>>,
}

impl Environment {
    /// Every text that may hold a template.
    pub fn texts(&self) -> impl Iterator<Item = Text> {
        let own = self.workdir.iter().chain(self.env.values()).chain(&self.shell).cloned();
        let steps = [&self.setup, &self.cleanup].into_iter().flat_map(|steps| steps.texts());
        let container = self.container.iter().flat_map(|container| container.value.texts());
        own.chain(container.cloned()).chain(steps)
    }
}

/// What a setting must be once it is rendered.
type Rule = fn(&str) -> Result<(), String>;

impl Environment {
    /// The settings that are no free text, each with what it must be.
    pub fn limits(&self) -> impl Iterator<Item = (Text, Rule)> {
        let rule = |text: &Option<Text>, rule: Rule| text.clone().map(|text| (text, rule));
        let container = self.container.iter().flat_map(move |container| {
            let rules = [
                rule(&container.cpus, |text| cpus(text).map(drop)),
                rule(&container.memory, |text| memory(text).map(drop)),
                rule(&container.privileged, |text| flag(text).map(drop)),
            ];
            rules.into_iter().flatten()
        });
        rule(&self.shell, |text| shell(text).map(drop)).into_iter().chain(container)
    }
}

/// A container: an image and what it may use. Limits are read back after start; one that is not enforced is
/// an error.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = schema::exactly_one(&["image", "build"])))]
pub struct Container {
    /// An image that the engine has or can pull.
    ///
    /// Example: `image: "debian:bookworm-slim"`
    pub image: Option<Text>,
    /// A folder with a Dockerfile, relative to this file; built on each engine that needs it.
    ///
    /// Example: `build: images/bench`
    pub build: Option<Text>,
    /// `host`, `none`, `bridge`, or a network of the engine; one that does not exist is made for the run.
    ///
    /// Default: `bridge`. Example: `network: host`
    pub network: Option<Text>,
    /// How many CPUs it may use.
    ///
    /// Default: no limit. Example: `cpus: 0.5`
    #[schemars(with = "Option<schema::Cpus>")]
    pub cpus: Option<Text>,
    /// How much memory it may use, with a unit that says whether it is binary: `512MiB`, `1GB`.
    ///
    /// Default: no limit. Example: `memory: 512MiB`
    #[schemars(with = "Option<schema::Amount>")]
    pub memory: Option<Text>,
    /// `source:target[:ro]` of bind mounts and named volumes of the engine's machine.
    ///
    /// Default: none. Example: `volumes: ["/srv/data:/data:ro"]`
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub volumes: List,
    /// `[address:]port:container_port[/udp]`, published on the engine's machine.
    ///
    /// Default: none. Example: `ports: ["8080:80"]`
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub ports: List,
    /// Whether it may do all that root of the machine may.
    ///
    /// Default: `false`. Example: `privileged: true`
    #[schemars(with = "Option<schema::Flag>")]
    pub privileged: Option<Text>,
    /// User inside, `name` or `uid[:gid]`.
    ///
    /// Default: the image's own. Example: `user: nobody`
    pub user: Option<Text>,
    /// A program that starts the container, as `ENTRYPOINT` of a Dockerfile does. It gets a command that
    /// only waits as its arguments and must run it in the end.
    ///
    /// Default: none; the image's own is not run. Example: `entrypoint: [/docker-entrypoint.sh]`
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub entrypoint: List,
    /// The platform of the image.
    ///
    /// Default: the engine's own. Example: `platform: linux/arm64`
    pub platform: Option<Text>,
    /// When the image is pulled.
    ///
    /// Default: `missing`. Example: `pull: never`
    #[serde(default, skip_serializing_if = "is_default")]
    pub pull: Pull,
    /// How long one container lives.
    ///
    /// Default: `cell`. Example: `fresh: trial`
    #[serde(default)]
    pub fresh: Fresh,
}

impl Container {
    /// Every text that may hold a template.
    pub fn texts(&self) -> impl Iterator<Item = &Text> {
        let Container { image, build, network, cpus, memory, privileged, user, platform, .. } = self;
        let lists: [&List; 3] = [&self.volumes, &self.ports, &self.entrypoint];
        [image, build, network, cpus, memory, privileged, user, platform]
            .into_iter()
            .flatten()
            .chain(lists.into_iter().flat_map(|list| &list.values))
    }
}

/// How long one container lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Fresh {
    /// A new container for each trial; `setup` and `cleanup` run in each.
    Trial,
    /// One container for all trials of a cell.
    #[default]
    Cell,
    /// One container for all cells of the run with the same settings of the environment on a host.
    Run,
}

/// When an image is pulled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Pull {
    /// When the engine does not have it.
    #[default]
    Missing,
    /// Once a run on each engine.
    Always,
    /// Not at all: the engine must have it.
    Never,
}

impl Fresh {
    /// Its name in YAML.
    pub fn as_str(self) -> &'static str {
        match self {
            Fresh::Trial => "trial",
            Fresh::Cell => "cell",
            Fresh::Run => "run",
        }
    }
}

impl Pull {
    /// Its name in YAML.
    pub fn as_str(self) -> &'static str {
        match self {
            Pull::Missing => "missing",
            Pull::Always => "always",
            Pull::Never => "never",
        }
    }
}

fn is_default(pull: &Pull) -> bool {
    *pull == Pull::default()
}

/// A number of CPUs.
///
/// # Errors
/// When it is not a number above 0.
pub fn cpus(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| *number > 0.0 && number.is_finite());
    number.ok_or_else(|| format!("`{text}` is not a number of CPUs such as `0.5` or `2`"))
}

/// The words of a shell: a program and its options.
///
/// # Errors
/// When there is none, or a quote is not closed.
pub fn shell(text: &str) -> Result<Vec<String>, String> {
    let words = shell_words::split(text).unwrap_or_default();
    if words.is_empty() { Err(format!("`{text}` is not a shell")) } else { Ok(words) }
}

/// `true` or `false`.
///
/// # Errors
/// When it is neither.
pub fn flag(text: &str) -> Result<bool, String> {
    text.parse().map_err(|_| format!("`{text}` is neither `true` nor `false`"))
}

/// An amount of memory in bytes; the unit must say whether it is binary.
///
/// # Errors
/// When it is not a number with `B`, `kB`, `MB`, `GB`, `KiB`, `MiB` or `GiB`.
pub fn memory(text: &str) -> Result<u64, String> {
    let refused = || format!("`{text}` is not an amount of memory such as `512MiB` or `1GB`");
    let text = text.trim();
    if !text.ends_with('B') {
        return Err(refused());
    }
    text.parse::<bytesize::ByteSize>()
        .map(|size| size.as_u64())
        .ok()
        .filter(|bytes| *bytes > 0)
        .ok_or_else(refused)
}

#[cfg(test)]
mod tests {
    use super::{cpus, memory};

    #[test]
    fn limits() {
        assert_eq!(memory("512MiB"), Ok(512 << 20));
        assert_eq!(memory("1GB"), Ok(1_000_000_000));
        assert_eq!(memory("1.5 GiB"), Ok(3 << 29));
        for text in ["512m", "512", "lots", "0B", "-1MB"] {
            assert!(memory(text).is_err(), "{text}");
        }
        assert_eq!(cpus("0.5"), Ok(0.5));
        for text in ["0", "-1", "two", "inf", "nan"] {
            assert!(cpus(text).is_err(), "{text}");
        }
    }
}
