//! The `workloads:` section: what is measured, what it needs beside it, and how its output is read.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::expect::Expect;
use super::located::{List, Located, Text};
use super::metric::Metrics;
use super::schema;
use super::service::{Ready, Service};
use super::step::{Steps, Upload};
use super::time::TimeSpan;
use super::{OnFailure, Repetitions};

/// One workload. `setup` and `cleanup` run once a cell, `prepare` and `conclude` around each trial. All
/// commands of a cell run in one fresh directory, which is removed at the end.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// The axes of this workload beside host and environment, with their default values. A default may be
    /// made of other names: `"{{ size * 2 }}"`.
    ///
    /// Default: none. Example: `parameters: { size: 64MiB, threads: 4 }`
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(extend("propertyNames" = schema::identifiers()))]
    pub parameters: IndexMap<Text, Text>,
    /// Processes that run beside it while it is measured, by name.
    ///
    /// Default: none. Example: `services: { server: { run: "serve {{ port }}", ready: { port: "{{ port }}" } } }`
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(extend("propertyNames" = schema::identifiers()))]
    pub services: IndexMap<Text, Service>,
    /// Variables for all its commands; they win over those of the environment.
    ///
    /// Default: none. Example: `env: { OMP_NUM_THREADS: "{{ threads }}" }`
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(extend("propertyNames" = schema::variables()))]
    pub env: IndexMap<Text, Text>,
    /// Files and folders that are copied into the directory of the cell before `setup`, and into those of its
    /// services: paths relative to this file, or `{ from, to }`.
    ///
    /// Default: none. Example: `files: [scripts/load.sh, { from: data, to: input }]`
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "super::step::uploads")]
    #[schemars(with = "schema::Files")]
    pub files: Vec<Upload>,
    /// Steps before the first trial of a cell.
    ///
    /// Default: none. Example: `setup: fallocate -l 1G data`
    #[serde(default, skip_serializing_if = "Steps::is_empty")]
    pub setup: Steps,
    /// Steps before each trial, after the services are ready.
    ///
    /// Default: none. Example: `prepare: [drop_caches, { sleep: 2s }]`
    #[serde(default, skip_serializing_if = "Steps::is_empty")]
    pub prepare: Steps,
    /// The measured command: text for the shell, or a list of arguments that no shell touches. Of several lines
    /// one that fails does not stop the next: begin with `set -e`.
    ///
    /// Example: `run: dd if=data of=/dev/null bs=1M`
    pub run: Command,
    /// Steps after each trial.
    ///
    /// Default: none. Example: `conclude: rm -f out`
    #[serde(default, skip_serializing_if = "Steps::is_empty")]
    pub conclude: Steps,
    /// Steps after the last trial of a cell.
    ///
    /// Default: none. Example: `cleanup: rm -f data`
    #[serde(default, skip_serializing_if = "Steps::is_empty")]
    pub cleanup: Steps,
    /// Files that are brought back after each trial, after `conclude`: paths in the directory of the cell,
    /// or patterns of the shell. One that is not there fails the trial.
    ///
    /// Default: none. Example: `fetch: [result.json, "logs/*.txt"]`
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub fetch: List,
    /// What is read from its output; `elapsed` is always measured.
    ///
    /// Default: `elapsed` alone. Example: `metrics: { tool: dd }`
    #[serde(default, skip_serializing_if = "Metrics::is_empty")]
    pub metrics: Metrics,
    /// What must hold for a trial to count.
    ///
    /// Default: exit code 0, and an output that is understood. Example: `expect: { exit: [0, 1], not: "(?i)warning" }`
    pub expect: Option<Located<Expect>>,
    /// The longest time the measured command may take.
    ///
    /// Default: the experiment's `timeout`. Example: `timeout: 90s`
    pub timeout: Option<Located<TimeSpan>>,
    /// The longest time of a whole trial: services, `prepare`, `run` and `conclude`.
    ///
    /// Default: the experiment's `trial_timeout`. Example: `trial_timeout: 5m`
    pub trial_timeout: Option<Located<TimeSpan>>,
    /// How often a trial is tried again that failed for a cause that may pass.
    ///
    /// Default: the experiment's `retries`. Example: `retries: 5`
    #[schemars(range(max = 100))]
    pub retries: Option<Located<u32>>,
    /// What becomes of the run when a trial has failed for good.
    ///
    /// Default: the experiment's `on_failure`. Example: `on_failure: stop`
    pub on_failure: Option<Located<OnFailure>>,
    /// Measured trials of each of its cells: a number, or `{ min, max, until }`.
    ///
    /// Default: the experiment's `repetitions`. Example: `repetitions: 5`
    pub repetitions: Option<Located<Repetitions>>,
    /// Warm-up trials of each of its cells, kept and marked, left out of estimates.
    ///
    /// Default: the experiment's `warmup`. Example: `warmup: 1`
    pub warmup: Option<Located<u32>>,
}

impl Workload {
    /// The four lists of steps, in the order of a cell's life.
    pub fn steps(&self) -> [&Steps; 4] {
        [&self.setup, &self.prepare, &self.conclude, &self.cleanup]
    }

    /// Every text of its commands that may hold a template.
    pub fn texts(&self) -> Vec<Text> {
        let mut texts: Vec<Text> = self.run.words.iter().chain(self.env.values()).cloned().collect();
        texts.extend(self.files.iter().flat_map(|file| std::iter::once(&file.from).chain(&file.to)).cloned());
        texts.extend(self.steps().into_iter().flat_map(Steps::texts));
        texts.extend(self.fetch.values.iter().cloned());
        texts.extend(self.expect.iter().filter_map(|expect| expect.not.clone()));
        for service in self.services.values() {
            let Ready { port, log, command, .. } = &service.ready.value;
            texts.extend(service.run.words.iter().chain(port).chain(log).chain(command).cloned());
        }
        texts
    }

    /// The hosts that a step names with `on`.
    pub fn step_hosts(&self) -> impl Iterator<Item = &str> {
        self.steps().into_iter().flat_map(Steps::hosts)
    }
}

/// A command: text for a shell, or the arguments of a program that is started without one.
#[derive(Debug, Clone, Default)]
pub struct Command {
    /// What the shell gets, or each argument.
    pub words: Vec<Text>,
    /// Whether `words` is a list of arguments.
    pub is_list: bool,
}

impl<'de> Deserialize<'de> for Command {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let List { values, is_list } = List::deserialize(deserializer)?;
        if values.first().is_none_or(|word| word.trim().is_empty()) {
            return Err(serde::de::Error::custom("the command is empty"));
        }
        Ok(Command { words: values, is_list })
    }
}
