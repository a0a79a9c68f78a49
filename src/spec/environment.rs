//! The `environments:` section: what surrounds a workload on its host.

use serde::{Deserialize, Serialize};

use super::located::{Located, Text};

/// One environment; without a kind key it is native.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// Where the directories of the cells are made; `/var/tmp` by default.
    pub workdir: Option<Text>,
    /// Kind: a container on the host's Docker Engine.
    pub container: Option<Located<Container>>,
}

/// A container: an image and what it may use. Limits are read back after start.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Container {
    /// An image that the engine has or can pull.
    pub image: Option<Text>,
    /// A folder with a Dockerfile, relative to this file; built on each engine that needs it.
    pub build: Option<Text>,
    /// `host`, `none`, `bridge`, or a network of the engine; one that does not exist is made for the run.
    pub network: Option<Text>,
    /// How many CPUs, e.g. `0.5`.
    pub cpus: Option<Text>,
    /// How much memory, e.g. `512MiB`.
    pub memory: Option<Text>,
    /// `source:target[:ro]` of bind mounts and named volumes of the engine's machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<Text>,
    /// `[address:]port:container_port[/udp]`, published on the engine's machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<Text>,
    /// User inside, `name` or `uid[:gid]`; the image's own by default.
    pub user: Option<Text>,
    /// How long one container lives.
    #[serde(default)]
    pub fresh: Fresh,
}

/// How long one container lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fresh {
    /// A new container for each trial; `setup` and `cleanup` run in each.
    Trial,
    /// One container for all trials of a cell.
    #[default]
    Cell,
}

/// A number of CPUs.
///
/// # Errors
/// When it is not a number above 0.
pub fn cpus(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| *number > 0.0 && number.is_finite());
    number.ok_or_else(|| format!("`{text}` is not a number of CPUs such as `0.5` or `2`"))
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
