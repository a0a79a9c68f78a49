//! One point of the matrix and its name: values, as execution and records use them. Which cells there are
//! is the business of `grid.rs`. Read [`Cell`] first.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::spec::Adaptive;

/// The name of a cell: `workload/host/environment`, then `/parameter=value` for each parameter.
/// Readable, unique in an experiment, and the same as long as the settings are.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CellName(String);

impl CellName {
    /// The name of the cell with these settings.
    pub(super) fn new<'a>(
        place: [&str; 3],
        parameters: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let mut name = place.join("/");
        for (parameter, value) in parameters {
            push_parameter(&mut name, parameter, &as_path(value));
        }
        CellName(name)
    }

    /// The name as text; also a relative path, since no part of it holds `/`, or is `.` or `..`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CellName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Adds the part of one parameter to a name; `path` is its value by [`as_path`].
pub(super) fn push_parameter(name: &mut String, parameter: &str, path: &str) {
    name.push('/');
    name.push_str(parameter);
    name.push('=');
    name.push_str(path);
}

/// A parameter's value as part of a path: each byte of what a path can't hold is written as `%` and two
/// hexadecimal digits, and what is too long for one is cut, with `~` and a digest of the whole. Two values
/// never become the same text, for neither `%` nor `~` stands for itself.
pub(super) fn as_path(value: &str) -> String {
    const LIMIT: usize = 100;
    let mut path = String::with_capacity(value.len());
    for c in value.chars() {
        if c.is_alphanumeric() || "-_.+,:@".contains(c) {
            path.push(c);
            continue;
        }
        for byte in c.encode_utf8(&mut [0; 4]).bytes() {
            path.push('%');
            path.extend([byte >> 4, byte & 15].map(|digit| b"0123456789ABCDEF"[digit as usize] as char));
        }
    }
    if path.len() > LIMIT {
        let digest: String = Sha256::digest(value).iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        path.truncate(path.floor_char_boundary(LIMIT));
        path.push('~');
        path.push_str(&digest);
    }
    path
}

/// One point of the matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Its name.
    pub name: CellName,
    /// A digest of the settings that make it what it is, 16 hexadecimal digits: its workload (apart from
    /// how often it is repeated), its environment and its point. It is the same as long as they are, and
    /// tells cells of one name apart when a command was changed.
    pub id: String,
    /// Its workload.
    pub workload: String,
    /// Where it runs.
    pub host: String,
    /// What surrounds it there.
    pub environment: String,
    /// The value of each parameter of the workload, as text.
    pub parameters: BTreeMap<String, String>,
    /// Its services, with the host and environment of each.
    pub services: Vec<PlannedService>,
    /// Other hosts on which a step of its workload runs.
    pub step_hosts: BTreeSet<String>,
    /// How many measured trials it has, at most.
    pub repetitions: u32,
    /// What ends them earlier.
    pub adaptive: Option<Adaptive>,
    /// How many warm-up trials come before them.
    pub warmup: u32,
}

/// A service of a cell, and where it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedService {
    /// Its name in the workload.
    pub name: String,
    /// Its host.
    pub host: String,
    /// Its environment.
    pub environment: String,
}

impl Cell {
    /// Every host that is busy while a trial of this cell runs: its own, those of its services and its steps.
    pub fn hosts(&self) -> BTreeSet<String> {
        let services = self.services.iter().map(|service| &service.host);
        std::iter::once(&self.host).chain(services).chain(&self.step_hosts).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::as_path;

    #[test]
    fn values_become_parts_of_paths_one_to_one() {
        for (value, path) in [
            ("4KiB", "4KiB"),
            ("a b/c", "a%20b%2Fc"),
            ("%", "%25"),
            ("€", "%E2%82%AC"),
            (" AC", "%20AC"),
            ("größe", "größe"),
            ("\u{7}7", "%077"),
            ("~", "%7E"),
            ("", ""),
        ] {
            assert_eq!(as_path(value), path);
        }
        let long = "x".repeat(101);
        assert_eq!(as_path(&long).len(), 100 + 1 + 12);
        assert_ne!(as_path(&long), as_path(&"x".repeat(102)));
        assert_eq!(as_path(&"x".repeat(100)), "x".repeat(100));
        assert!(as_path(&"ß".repeat(99)).starts_with('ß'), "cut between letters");
    }
}
