//! Steps: what is done around the measured command. Read [`Step`] first.

use schemars::JsonSchema;
use serde::Deserialize;

use super::caches::DropCaches;
use super::located::{Located, Text};
use super::schema;
use super::string_or_map::string_or_map;
use super::time::TimeSpan;
use super::wait::{CoolDown, CoolDownFields, WaitIdle, WaitIdleFields};
use crate::diagnostic::Span;

/// One step or a list of them.
#[derive(Debug, Clone, Default)]
pub struct Steps(pub Vec<Located<Step>>);

/// Something done around the measured command.
#[derive(Debug, Clone)]
pub enum Step {
    /// A command.
    Run(RunStep),
    /// Writes the page cache back and empties it on the machine that owns it, and checks that it fell.
    DropCaches(DropCaches),
    /// Waits.
    Sleep(TimeSpan),
    /// Waits until the machine below the place has nothing to do.
    WaitIdle(WaitIdle),
    /// Waits until the CPU of the machine below the place is cool.
    CoolDown(CoolDown),
    /// Copies a file or folder into the directory of the cell.
    Upload(Upload),
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

/// A step that is more than a command line.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend(
    "oneOf" = schema::exactly_one(&["run", "sleep", "upload", "drop_caches", "wait_idle", "cool_down"]),
    "dependentRequired" = schema::only_with_run(&["on", "sudo", "timeout"])
))]
pub(super) struct StepFields {
    /// A line for the shell.
    ///
    /// Example: `{ run: sync, on: host }`
    run: Option<Text>,
    /// Where the command runs: `environment`, `host` (the machine below a container), or the name of a host.
    ///
    /// Default: `environment`. Example: `{ run: sync, on: host }`
    on: Option<Text>,
    /// Whether the command runs as root.
    ///
    /// Default: `false`. Example: `{ run: swapoff -a, sudo: true }`
    sudo: Option<bool>,
    /// The longest time the command may take.
    ///
    /// Default: the experiment's `timeout`. Example: `{ run: make, timeout: 5m }`
    timeout: Option<TimeSpan>,
    /// Waits this long.
    ///
    /// Example: `{ sleep: 2s }`
    sleep: Option<TimeSpan>,
    /// Copies a file or folder from beside this file into the directory of the cell.
    ///
    /// Example: `{ upload: scripts/load.sh }`
    upload: Option<Located<Upload>>,
    /// Settings of the step `drop_caches`, which is mostly written alone: whose caches, or the keys.
    ///
    /// Example: `{ drop_caches: [guest, host] }`
    drop_caches: Option<DropCaches>,
    /// Waits until the machine has nothing to do. Written alone, `wait_idle` has its defaults.
    ///
    /// Example: `{ wait_idle: { load_below: 0.3, within: 60s } }`
    wait_idle: Option<WaitIdleFields>,
    /// Waits until the machine's CPU is cool.
    ///
    /// Example: `{ cool_down: { below: 60C, within: 5m } }`
    cool_down: Option<CoolDownFields>,
}

/// What a step can be.
const KINDS: &str = "`run`, `sleep`, `upload`, `drop_caches`, `wait_idle` or `cool_down`";

string_or_map!(
    Step,
    StepFields,
    "a command line, `drop_caches`, `wait_idle`, or a map with `run`, `sleep`, `upload` or `cool_down`"
);

impl Step {
    fn from_text(text: &str) -> Result<Self, String> {
        Ok(match text {
            "drop_caches" => Step::DropCaches(DropCaches::default()),
            "wait_idle" => Step::WaitIdle(WaitIdle::default()),
            "cool_down" => return Err("`cool_down` needs `below`: write `cool_down: { below: 60C }`".into()),
            command => {
                Step::Run(RunStep { command: Located::unwritten(command.to_owned()), ..RunStep::default() })
            }
        })
    }

    fn from_fields(fields: StepFields) -> Result<Self, String> {
        let StepFields { run, on, sudo, timeout, sleep, upload, drop_caches, wait_idle, cool_down } = fields;
        let has_settings = on.is_some() || sudo.is_some() || timeout.is_some();
        let has_command = run.is_some();
        let command = |command| Step::Run(RunStep { command, on, sudo: sudo.unwrap_or(false), timeout });
        let steps = [
            run.map(command),
            sleep.map(Step::Sleep),
            upload.map(|upload| Step::Upload(upload.value.placed(upload.span))),
            drop_caches.map(Step::DropCaches),
            wait_idle.map(WaitIdle::try_from).transpose()?.map(Step::WaitIdle),
            cool_down.map(|fields| Step::CoolDown(fields.into())),
        ];
        let mut steps = steps.into_iter().flatten();
        match (steps.next(), steps.next()) {
            (None, _) => Err(format!("a step needs {KINDS}")),
            (Some(_), Some(_)) => Err("a step does one thing: write a list of steps".into()),
            (Some(_), None) if has_settings && !has_command => {
                Err("`on`, `sudo` and `timeout` belong to a step with `run`".into())
            }
            (Some(step), None) => Ok(step),
        }
    }
}

impl Steps {
    /// Whether there is no step.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those that run outside of the environment: on its host, or on another.
    pub fn outside(&self) -> Steps {
        let is_outside = |step: &&Located<Step>| match &step.value {
            Step::Run(run) => run.on.as_ref().is_some_and(|on| on.as_str() != "environment"),
            Step::DropCaches(_)
            | Step::Sleep(_)
            | Step::WaitIdle(_)
            | Step::CoolDown(_)
            | Step::Upload(_) => false,
        };
        Steps(self.0.iter().filter(is_outside).cloned().collect())
    }

    /// Every text that may hold a template.
    pub fn texts(&self) -> impl Iterator<Item = Text> {
        self.0.iter().flat_map(|step| match &step.value {
            Step::Run(run) => vec![run.command.clone()],
            Step::Upload(upload) => std::iter::once(&upload.from).chain(&upload.to).cloned().collect(),
            Step::DropCaches(_) | Step::Sleep(_) | Step::WaitIdle(_) | Step::CoolDown(_) => Vec::new(),
        })
    }

    /// The hosts that a step names with `on`.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|step| match &step.value {
            Step::Run(RunStep { on: Some(on), .. }) if !["host", "environment"].contains(&on.as_str()) => {
                Some(on.as_str())
            }
            _ => None,
        })
    }
}

impl<'de> Deserialize<'de> for Steps {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut steps: Vec<Located<Step>> = super::located::one_or_many(deserializer)?;
        for Located { value, span } in &mut steps {
            if let Step::Run(run) = value
                && run.command.span.length == 0
            {
                run.command.span = *span;
            }
        }
        Ok(Steps(steps))
    }
}

/// A file or folder that is copied into the directory of a cell: its path, or `from` and `to`.
#[derive(Debug, Clone)]
pub struct Upload {
    /// Where it lies, relative to the YAML file.
    pub from: Text,
    /// What it is called in the directory of the cell; its own name by default.
    pub to: Option<Text>,
}

/// The fields of `files` entries and `upload`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UploadFields {
    /// A file or folder, relative to this file.
    ///
    /// Example: `{ from: data, to: input }`
    from: Text,
    /// What it is called in the directory of the cell.
    ///
    /// Default: its own name. Example: `{ from: load.sh, to: bin/load.sh }`
    to: Option<Text>,
}

string_or_map!(Upload, UploadFields, "a path, or a map with `from` and `to`");

/// Reads the `files` of a workload.
pub(super) fn uploads<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<Upload>, D::Error> {
    let uploads: Vec<Located<Upload>> = super::located::one_or_many(deserializer)?;
    Ok(uploads.into_iter().map(|upload| upload.value.placed(upload.span)).collect())
}

impl Upload {
    /// A path that was written alone has the place of the whole.
    fn placed(mut self, span: Span) -> Self {
        if self.from.span.length == 0 {
            self.from.span = span;
        }
        self
    }

    fn from_text(text: &str) -> Result<Self, String> {
        Ok(Upload { from: Located::unwritten(text.to_owned()), to: None })
    }

    fn from_fields(UploadFields { from, to }: UploadFields) -> Result<Self, String> {
        Ok(Upload { from, to })
    }
}
