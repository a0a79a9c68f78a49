//! What the user wrote, typed, with the place of every value: YAML text in, [`Spec`] out. It touches no
//! file itself; who calls it reads the files. Read [`Spec`], then [`Reader`].

pub mod caches;
mod check;
pub mod cost;
pub mod environment;
pub mod expect;
mod fargate;
pub mod filters;
pub mod host;
mod located;
pub mod matrix;
mod merge;
pub mod metric;
mod narrow;
mod parse;
mod paths;
pub mod range;
mod repetitions;
pub mod report;
mod schema;
mod serialize;
pub mod service;
mod set;
pub mod step;
mod string_or_map;
pub mod template;
mod time;
mod tree;
mod variables;
pub mod wait;
pub mod workload;

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use check::{LOCALHOST, NATIVE, check};
pub use environment::Environment;
pub use fargate::TaskSize;
pub use host::Host;
pub use located::{List, Located, Text};
pub use merge::{Fragment, Reader};
pub use repetitions::{Adaptive, Repetitions, Share};
pub use report::{Chart, ChartKind, LogAxes, Report};
pub use schema::schema;
pub use serialize::settings;
pub use time::TimeSpan;
pub use workload::Workload;

/// The largest file that is read, in bytes.
pub const FILE_LIMIT: usize = 1 << 20;

/// A whole experiment. Only `workloads` has no default.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The report's title.
    ///
    /// Default: the file's name. Example: `title: Docker against native`
    pub title: Option<Text>,
    /// Files whose hosts, environments and workloads are taken over, relative to this one, which wins.
    ///
    /// Default: none. Example: `include: [hosts/boards.yaml]`
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub include: List,
    /// Where things can run, by name.
    ///
    /// Default: this machine, named `localhost`. Example: `hosts: { board: { ssh: pi@192.0.2.11 } }`
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(extend("propertyNames" = schema::names()))]
    pub hosts: IndexMap<Text, Host>,
    /// What can surround a workload, by name.
    ///
    /// Default: `native` alone. Example: `environments: { native: {}, docker: { container: { image: debian } } }`
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(extend("propertyNames" = schema::names()))]
    pub environments: IndexMap<Text, Environment>,
    /// What can be measured, by name.
    ///
    /// Default: none, and an experiment needs one. Example: `workloads: { nap: { run: sleep 0.1 } }`
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(extend("propertyNames" = schema::names()))]
    pub workloads: IndexMap<Text, Workload>,
    /// What is measured: a list of blocks.
    ///
    /// Default: every workload on every host in every environment. Example: `matrix: [{ host: [a, b], size: [1, 2] }]`
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matrix: Vec<Located<matrix::Block>>,
    /// Measured trials of each cell: a number, or `{ min, max, until }`.
    ///
    /// Default: `10`. Example: `repetitions: { min: 10, max: 50, until: 2% }`
    pub repetitions: Option<Located<Repetitions>>,
    /// Warm-up trials of each cell, kept and marked, left out of estimates.
    ///
    /// Default: `0`. Example: `warmup: 1`
    pub warmup: Option<Located<u32>>,
    /// The order of the trials.
    ///
    /// Default: `blocks`. Example: `order: sequential`
    pub order: Option<Located<Order>>,
    /// The seed of the order.
    ///
    /// Default: a new one for each run, kept in its results. Example: `seed: 42`
    pub seed: Option<Located<u64>>,
    /// The longest time of a command that has no timeout of its own.
    ///
    /// Default: `1h`. Example: `timeout: 10m`
    pub timeout: Option<Located<TimeSpan>>,
    /// The longest time of a whole trial: services, `prepare`, `run` and `conclude`. One that takes longer has failed.
    ///
    /// Default: none. Example: `trial_timeout: 15m`
    pub trial_timeout: Option<Located<TimeSpan>>,
    /// The longest time of the whole run. When it is over, what runs is ended, everything is cleaned up, and the
    /// report is written; `--resume` goes on with the rest.
    ///
    /// Default: none. Example: `deadline: 8h`
    pub deadline: Option<Located<TimeSpan>>,
    /// How often a trial is tried again that failed for a cause that may pass: a lost connection, a service that was
    /// not ready in time, something busy. What was measured, read or expected is never tried again.
    ///
    /// Default: `2`. Example: `retries: 0`
    #[schemars(range(max = 100))]
    pub retries: Option<Located<u32>>,
    /// What becomes of the run when a trial has failed for good.
    ///
    /// Default: `continue`. Example: `on_failure: stop`
    pub on_failure: Option<Located<OnFailure>>,
    /// How the results are shown.
    ///
    /// Default: no baseline. Example: `report: { baseline: { environment: native } }`
    #[serde(default)]
    pub report: Report,
    /// Environments that are there for whoever names them, but are not measured by default: `native` where
    /// others are declared, and those that only a file given with `--hosts` declares.
    #[serde(skip)]
    pub offered: BTreeSet<String>,
    /// The values of `{{ env.NAME }}`, by name: given by who reads the environment, never written.
    #[serde(skip)]
    pub variables: BTreeMap<String, String>,
}

impl Spec {
    /// The order of the trials, `blocks` unless the file says otherwise.
    pub fn order(&self) -> Order {
        self.order.as_ref().map_or_else(Order::default, |order| order.value)
    }

    /// Gives every cell this many measured trials, whatever the file says.
    pub fn set_repetitions(&mut self, repetitions: u32) {
        self.repetitions = Some(Located::unwritten(Repetitions::Fixed(repetitions)));
        for workload in self.workloads.values_mut() {
            workload.repetitions = None;
        }
        for block in &mut self.matrix {
            block.value.repetitions = None;
        }
        for workload in self.workloads.values_mut() {
            workload.repetitions = None;
        }
    }
}

/// What becomes of the run when a trial has failed for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum OnFailure {
    /// The other trials go on.
    #[default]
    Continue,
    /// No other trial starts; what runs goes on to its end, and the report is written.
    Stop,
}

impl OnFailure {
    /// Its name in YAML.
    pub fn as_str(self) -> &'static str {
        match self {
            OnFailure::Continue => "continue",
            OnFailure::Stop => "stop",
        }
    }
}

/// The order of the trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
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
