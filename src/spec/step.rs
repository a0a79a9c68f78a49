//! Steps: what is done around the measured command. Read [`Step`] first.

use schemars::JsonSchema;
use serde::Deserialize;

use super::located::{Located, Text};
use super::schema;
use super::string_or_map::string_or_map;
use super::time::TimeSpan;
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
    DropCaches {
        /// Whether a machine where that is not possible gives a warning instead of a failure.
        optional: bool,
    },
    /// Waits.
    Sleep(TimeSpan),
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
    "oneOf" = schema::exactly_one(&["run", "sleep", "upload", "drop_caches"]),
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
    /// Settings of the step `drop_caches`, which is mostly written alone.
    ///
    /// Example: `{ drop_caches: { optional: true } }`
    drop_caches: Option<DropCachesFields>,
}

/// Settings of `drop_caches`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DropCachesFields {
    /// Whether a machine where the page cache can't be dropped gives a warning instead of a failure.
    ///
    /// Default: `false`. Example: `{ optional: true }`
    optional: Option<bool>,
}

string_or_map!(Step, StepFields, "a command line, `drop_caches`, or a map with `run`, `sleep` or `upload`");

impl Step {
    fn from_text(text: &str) -> Result<Self, String> {
        Ok(match text {
            "drop_caches" => Step::DropCaches { optional: false },
            command => {
                Step::Run(RunStep { command: Located::unwritten(command.to_owned()), ..RunStep::default() })
            }
        })
    }

    fn from_fields(fields: StepFields) -> Result<Self, String> {
        let StepFields { run, on, sudo, timeout, sleep, upload, drop_caches } = fields;
        let has_settings = on.is_some() || sudo.is_some() || timeout.is_some();
        let kinds = [run.is_some(), sleep.is_some(), upload.is_some(), drop_caches.is_some()];
        match kinds.iter().filter(|is_there| **is_there).count() {
            0 => return Err("a step needs `run`, `sleep`, `upload` or `drop_caches`".into()),
            1 if has_settings && run.is_none() => {
                return Err("`on`, `sudo` and `timeout` belong to a step with `run`".into());
            }
            1 => {}
            _ => return Err("a step does one thing: write a list of steps".into()),
        }
        let command =
            run.map(|command| Step::Run(RunStep { command, on, sudo: sudo.unwrap_or(false), timeout }));
        let drop = drop_caches.map(|fields| Step::DropCaches { optional: fields.optional.unwrap_or(false) });
        let upload = upload.map(|upload| Step::Upload(upload.value.placed(upload.span)));
        let step = command.or(sleep.map(Step::Sleep)).or(upload).or(drop);
        step.ok_or_else(|| "a step needs `run`, `sleep`, `upload` or `drop_caches`".into())
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
            Step::DropCaches { .. } | Step::Sleep(_) | Step::Upload(_) => false,
        };
        Steps(self.0.iter().filter(is_outside).cloned().collect())
    }

    /// Every text that may hold a template.
    pub fn texts(&self) -> impl Iterator<Item = Text> {
        self.0.iter().flat_map(|step| match &step.value {
            Step::Run(run) => vec![run.command.clone()],
            Step::Upload(upload) => std::iter::once(&upload.from).chain(&upload.to).cloned().collect(),
            Step::DropCaches { .. } | Step::Sleep(_) => Vec::new(),
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
