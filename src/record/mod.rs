//! A run on disk: the only thing that the measuring half and the reporting half share. Read [`Line`],
//! [`Record`] and [`Manifest`] first, then `layout.rs` for where each file lies.

mod below;
mod change;
mod changes;
mod error;
mod excluded;
mod files;
mod inputs;
mod kept;
mod known;
mod layout;
mod line;
mod lines;
mod lock;
mod mould;
mod newest;
mod outputs;
mod presentation;
mod reader;
mod reference;
mod reopen;
mod started;
mod tail;
mod templates;
mod tried;
mod writer;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::plan::Cell;

// Parts of a record; the reading half knows them from here alone.
pub use crate::event::{
    CacheDrop, Expectation, Noise, Stage, Status, Suspicion, Throttling, Verdict, Verdicts, Wait,
};
pub use crate::metrics::{Details, ELAPSED, Measurement, Series};
pub use crate::monitor::Snapshot;
pub use crate::plan::{Adaptive, CellCost, ChartKind, ChartLayout, LogAxes, Phase};

pub use below::{newest_in, optional_files, read_if_there, runs_below};
pub use change::change_manifest;
pub use changes::changes;
pub use error::RecordError;
pub use excluded::read_reported;
pub use files::{list_folder, read_file, remove_file, write_file, write_file_with};
pub use inputs::Inputs;
pub use kept::{Common, Record, RecordedMetric, Words};
pub use layout::{RunDirectory, directory_name};
pub use line::Line;
pub use lines::read_lines;
pub use lock::{hold, is_being_written};
pub use newest::{age, newest_run};
pub use outputs::{OutputText, read_outputs};
pub use presentation::{Presentation, TableLayout};
pub use reader::{
    ListedRun, Run, counted, experiment_folder, list_ledgers, list_runs, read_manifest, read_run,
    read_status, trials,
};
pub use reference::{Reference, parse as parse_references};
pub use reopen::{Reopened, reopen};
pub use started::Started;
pub use templates::{TEMPLATE_ENDING, TemplateFile, keep_templates, kept_templates, read_templates};
pub use tried::Tried;
pub use writer::RunWriter;

/// The version of the format of `records.jsonl` and `manifest.json`.
pub const FORMAT_VERSION: u32 = 1;

/// The word that stands for an enum in every file, e.g. `ok` for [`Status::Ok`]: the one that serde writes.
pub fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

/// One file below `output/`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptOutput {
    /// Relative to the run's directory, e.g. `output/disk-read/lattepanda-a/docker/3/stdout`.
    pub path: String,
    /// Bytes that the command printed.
    pub size: u64,
    /// Whether only the first part was kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// What a run is: `manifest.json`, written at the start and again at the end of each sitting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`FORMAT_VERSION`] of the writer.
    pub format: u32,
    /// Part of the name of everything that the run makes on machines, and the value of its label there:
    /// that of the last sitting.
    pub id: String,
    /// The version of `runner`, in the last sitting.
    pub runner: String,
    /// The experiment's title; its file name without extension if it has none.
    pub title: String,
    /// The experiment's name: its file name without extension.
    pub experiment: String,
    /// The command's experiment file, as given.
    pub file: String,
    /// What the command line changed of it: option to value, e.g. `--hosts: lab/hosts.yaml`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// SHA-256, in hexadecimal, of `experiment.yaml` without a seed that was only drawn for this run.
    pub digest: String,
    /// The git commit of the experiment file's repository, with `-dirty` if the file was changed since.
    pub commit: Option<String>,
    /// The seed of the order.
    pub seed: u64,
    /// `blocks`, `sequential` or `shuffled`.
    pub order: String,
    /// RFC 3339, UTC.
    pub started: String,
    /// RFC 3339, UTC; missing while the run goes on, or when it was killed.
    pub ended: Option<String>,
    /// Whether the run was interrupted, the last time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// By what the run was stopped before its last trial: `its deadline of 8h`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// Each time that somebody sat down to it: the first, and one for each `--resume`. Empty in runs that
    /// were made before there were sittings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sittings: Vec<Sitting>,
    /// How each host is reached, by name, e.g. `ssh pi@192.0.2.11`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hosts: BTreeMap<String, String>,
    /// What the cells take from the machine of the command; missing in runs of older runners.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Inputs>,
    /// Every cell in the order of the file: the rows and columns of the report.
    pub cells: Vec<PlannedCell>,
    /// The cell settings that comparisons are made against: axis name to value, e.g. `environment: native`.
    pub baseline: BTreeMap<String, String>,
    /// In which unit a metric is shown, by its name, where the file says so.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub units: BTreeMap<String, String>,
    /// How the results are to be shown.
    #[serde(default, skip_serializing_if = "Presentation::is_empty")]
    pub presentation: Presentation,
    /// The charts that the file asks for; empty where it leaves them to the report.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub charts: Vec<ChartLayout>,
    /// The folder of the templates of its report, as it was named; a copy of them lies in `templates/`. Missing
    /// where the built-in ones are used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub templates: Option<String>,
    /// How many trials ended how; empty until the end.
    pub counts: BTreeMap<String, usize>,
}

impl Manifest {
    /// How many measured trials were planned over all cells.
    pub fn planned(&self) -> usize {
        self.cells.iter().map(|cell| cell.planned() as usize).sum()
    }

    /// What the names of everything hold that the run has made on machines, in any sitting.
    pub fn ids(&self) -> BTreeSet<&str> {
        self.sittings.iter().map(|sitting| sitting.id.as_str()).chain([self.id.as_str()]).collect()
    }
}

/// A stretch of a run that one process has done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sitting {
    /// Part of the name of everything that it made on machines.
    pub id: String,
    /// RFC 3339, UTC.
    pub started: String,
    /// RFC 3339, UTC; missing while it goes on, or when it was killed.
    pub ended: Option<String>,
    /// Whether it was interrupted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// The version of `runner`.
    pub runner: String,
    /// What the command line changed of the experiment, e.g. `--repetitions=3`; what it kept
    /// of earlier sittings among it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// What is other on the machines than in the sittings before: `pi4: kernel Linux 6.6, was Linux 6.1`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_facts: Vec<String>,
}

/// A cell as it was planned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedCell {
    /// The cell's name.
    pub cell: String,
    /// The workload's name.
    pub workload: String,
    /// The host's name.
    pub host: String,
    /// The environment's name.
    pub environment: String,
    /// The value of each parameter, as text.
    pub parameters: BTreeMap<String, String>,
    /// Planned measured trials, without warm-up; at most, where they are adaptive.
    pub repetitions: u32,
    /// Planned warm-up trials.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub warmup: u32,
    /// The digest of its settings: a record with another one counts no longer. [`Cell::id`], and after a `-` the
    /// digest of what it takes from elsewhere: see [`Inputs`], and the hosts. Empty in runs that were made before
    /// it was kept.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub settings: String,
    /// What ends them earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adaptive: Option<Adaptive>,
    /// The repetition that an adaptive cell has reached, by its records; known to who has read these.
    #[serde(skip)]
    pub reached: Option<u32>,
    /// How many of its measured trials count in no figure; see [`Run::excluding`].
    #[serde(skip)]
    pub excluded: u32,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl PlannedCell {
    /// How many measured trials were planned; of adaptive ones those that were, as it turned out, needed. Without those
    /// that are excluded.
    pub fn planned(&self) -> u32 {
        let planned = match (self.adaptive, self.reached) {
            (Some(rule), reached) => reached.unwrap_or_default().max(rule.min),
            (None, _) => self.repetitions,
        };
        planned.saturating_sub(self.excluded)
    }
}

impl From<&Cell> for PlannedCell {
    fn from(cell: &Cell) -> Self {
        PlannedCell {
            cell: cell.name.to_string(),
            workload: cell.workload.clone(),
            host: cell.host.clone(),
            environment: cell.environment.clone(),
            parameters: cell.parameters.clone(),
            repetitions: cell.repetitions,
            warmup: cell.warmup,
            settings: cell.id.clone(),
            adaptive: cell.adaptive,
            reached: None,
            excluded: 0,
        }
    }
}

/// What is known of one machine: `hosts/NAME.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFacts {
    /// The host's name.
    pub host: String,
    /// Name and value, in the order they are shown: kernel, cpu, memory, …
    pub facts: indexmap::IndexMap<String, String>,
}
