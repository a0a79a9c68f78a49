//! The `workloads:` section: what is measured, what it needs beside it, and how its output is read.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::located::{List, Located, Text};
use super::metric::Metrics;
use super::string_or_map::string_or_map;
use super::time::TimeSpan;

/// One workload. `setup` and `cleanup` run once a cell, `prepare` and `conclude` around each trial.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// The axes of this workload beside host and environment, with their default values.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub parameters: IndexMap<Text, Text>,
    /// Processes that run beside it while it is measured.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub services: IndexMap<Text, Service>,
    /// Steps before the first trial of a cell.
    #[serde(default, skip_serializing_if = "Steps::is_empty")]
    pub setup: Steps,
    /// Steps before each trial, after the services are ready.
    #[serde(default, skip_serializing_if = "Steps::is_empty")]
    pub prepare: Steps,
    /// The measured command: a line for the shell, or a list of arguments.
    pub run: Command,
    /// Steps after each trial.
    #[serde(default, skip_serializing_if = "Steps::is_empty")]
    pub conclude: Steps,
    /// Steps after the last trial of a cell.
    #[serde(default, skip_serializing_if = "Steps::is_empty")]
    pub cleanup: Steps,
    /// What is read from its output; `elapsed` is always measured.
    #[serde(default)]
    pub metrics: Metrics,
    /// The longest time the measured command may take.
    pub timeout: Option<Located<TimeSpan>>,
    /// Measured trials of each of its cells, where the block says nothing.
    pub repetitions: Option<Located<u32>>,
    /// Warm-up trials of each of its cells, where the block says nothing.
    pub warmup: Option<Located<u32>>,
}

impl Workload {
    /// The hosts that a step names with `on`.
    pub fn step_hosts(&self) -> impl Iterator<Item = &str> {
        let steps = [&self.setup, &self.prepare, &self.conclude, &self.cleanup];
        steps.into_iter().flat_map(|steps| &steps.0).filter_map(|step| match &step.value {
            Step::Run(RunStep { on: Some(on), .. }) if !["host", "environment"].contains(&on.as_str()) => {
                Some(on.as_str())
            }
            _ => None,
        })
    }
}

/// A command: text for `sh`, which may be made of quoted arguments.
#[derive(Debug, Clone, Default)]
pub struct Command {
    /// What the shell gets, or each argument of a command that no shell splits.
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

/// A process beside the workload, started before `prepare` and always stopped.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// The host it runs on; the trial's by default.
    pub host: Option<Text>,
    /// The environment it runs in; the trial's by default.
    pub environment: Option<Text>,
    /// The command; a free port is offered as `{{ port }}`.
    pub run: Command,
    /// When it may be used.
    pub ready: Located<Ready>,
}

/// The sign that a service may be used: exactly one of `port`, `log`, `command`.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Ready {
    /// Something listens on this TCP port of the service's machine.
    pub port: Option<Text>,
    /// A line of its output matches this regular expression.
    pub log: Option<Text>,
    /// This command ends with 0 where the service runs.
    pub command: Option<Text>,
    /// The longest wait; 10 s by default.
    pub within: Option<Located<TimeSpan>>,
}

/// One step or a list of them.
#[derive(Debug, Clone, Default)]
pub struct Steps(pub Vec<Located<Step>>);

/// Something done around the measured command.
#[derive(Debug, Clone)]
pub enum Step {
    /// A command.
    Run(RunStep),
    /// Writes the page cache back and empties it on the machine that owns it, and checks that it fell.
    DropCaches,
    /// Waits.
    Sleep(TimeSpan),
}

/// The `run` step.
#[derive(Debug, Clone, Default)]
pub struct RunStep {
    /// A line for the shell.
    pub command: Text,
    /// `environment` (the default), `host`, or the name of a host.
    pub on: Option<Text>,
    /// Whether it runs as root.
    pub sudo: bool,
    /// The longest time it may take; the experiment's timeout by default.
    pub timeout: Option<TimeSpan>,
}

/// The keys of a step that is written as a map.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct StepFields {
    run: Option<Text>,
    on: Option<Text>,
    sudo: Option<bool>,
    timeout: Option<TimeSpan>,
    sleep: Option<TimeSpan>,
    /// Known only to say how it is written.
    drop_caches: Option<serde::de::IgnoredAny>,
}

string_or_map!(Step, StepFields, "a command line, `drop_caches`, or a map with `run` or `sleep`");

impl Step {
    fn from_text(text: &str) -> Result<Self, String> {
        Ok(match text {
            "drop_caches" => Step::DropCaches,
            command => {
                Step::Run(RunStep { command: Located::unwritten(command.to_owned()), ..RunStep::default() })
            }
        })
    }

    fn from_fields(fields: StepFields) -> Result<Self, String> {
        match fields {
            StepFields { drop_caches: Some(_), .. } => {
                Err("`drop_caches` has no settings: write it alone, as `prepare: [drop_caches]`".into())
            }
            StepFields { run: Some(command), sleep: None, on, sudo, timeout, .. } => {
                Ok(Step::Run(RunStep { command, on, sudo: sudo.unwrap_or(false), timeout }))
            }
            StepFields { run: None, on: None, sudo: None, timeout: None, sleep: Some(time), .. } => {
                Ok(Step::Sleep(time))
            }
            StepFields { run: None, sleep: None, .. } => Err("a step needs `run` or `sleep`".into()),
            StepFields { sleep: Some(_), .. } => Err("`sleep` stands alone in a step".into()),
        }
    }
}

impl Steps {
    /// Whether there is no step.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'de> Deserialize<'de> for Steps {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        super::located::one_or_many(deserializer).map(Steps)
    }
}
