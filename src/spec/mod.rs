//! What the user wrote, typed, with the place of every value: YAML text in, [`Spec`] out. It touches no
//! file itself; who calls it reads the files. Read [`Spec`], then [`Reader`].

mod check;
pub mod environment;
pub mod host;
mod located;
pub mod matrix;
mod merge;
pub mod metric;
mod narrow;
mod parse;
pub mod range;
mod serialize;
mod string_or_map;
pub mod template;
mod time;
pub mod workload;

use std::collections::BTreeSet;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

pub use check::check;
pub use environment::Environment;
pub use host::Host;
pub use located::{List, Located, Text};
pub use merge::{Fragment, Reader};
pub use serialize::settings;
pub use time::TimeSpan;
pub use workload::Workload;

/// The largest file that is read, in bytes.
pub const FILE_LIMIT: usize = 1 << 20;

/// A whole experiment.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The report's title; the file's name by default.
    pub title: Option<Text>,
    /// Files whose declarations are merged into this one, relative to it.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub include: List,
    /// Where things can run; this machine, named `localhost`, by default.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub hosts: IndexMap<Text, Host>,
    /// What can surround a workload; `native` alone by default.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub environments: IndexMap<Text, Environment>,
    /// What can be measured.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub workloads: IndexMap<Text, Workload>,
    /// What is measured: every workload on every host in every environment by default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matrix: Vec<Located<matrix::Block>>,
    /// Measured trials of each cell; 10 by default.
    pub repetitions: Option<Located<u32>>,
    /// Warm-up trials of each cell, kept and marked, left out of estimates; 0 by default.
    pub warmup: Option<Located<u32>>,
    /// The order of the trials; `blocks` by default.
    pub order: Option<Located<Order>>,
    /// The seed of the order; a new one for each run by default, kept in its results.
    pub seed: Option<Located<u64>>,
    /// The longest time of a measured command that has no timeout of its own; 1 h by default.
    pub timeout: Option<Located<TimeSpan>>,
    /// How the results are shown.
    #[serde(default)]
    pub report: Report,
    /// Environments that are there for whoever names them, but are not measured by default: `native` where
    /// others are declared, and those that only a file given with `--hosts` declares.
    #[serde(skip)]
    pub offered: BTreeSet<String>,
}

impl Spec {
    /// The order of the trials, `blocks` unless the file says otherwise.
    pub fn order(&self) -> Order {
        self.order.as_ref().map_or_else(Order::default, |order| order.value)
    }

    /// Gives every cell this many measured trials, whatever the file says.
    pub fn set_repetitions(&mut self, repetitions: u32) {
        self.repetitions = Some(Located::unwritten(repetitions));
        for workload in self.workloads.values_mut() {
            workload.repetitions = None;
        }
        for block in &mut self.matrix {
            block.value.repetitions = None;
        }
    }
}

/// The order of the trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Repetition 1 of every cell in random order, then repetition 2 of every cell in another, …
    #[default]
    Blocks,
    /// Every repetition of the first cell, then of the second, …
    Sequential,
    /// All trials in one random order; the trials of a cell keep their own.
    Shuffled,
}

impl Order {
    /// Its name in YAML and records.
    pub fn as_str(self) -> &'static str {
        match self {
            Order::Blocks => "blocks",
            Order::Sequential => "sequential",
            Order::Shuffled => "shuffled",
        }
    }
}

/// How the results are shown.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// What the other cells are compared with: axis to value, e.g. `{ environment: native }`.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub baseline: IndexMap<Text, Text>,
}
