//! The only thing execution says: one [`Event`] after the other, consumed by the record writer and the
//! user interface alike. It prints nothing and stores nothing.

mod noise;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::metrics::{Details, Measurement};
use crate::plan::Trial;

pub use noise::{Noise, Suspicion, Throttling, Wait};

/// Something that happened in a run.
#[derive(Debug, Clone)]
pub enum Event {
    /// A host is connected.
    HostReady {
        /// The host's name.
        host: String,
    },
    /// Something is known of a host, or of what a container there holds.
    FactsFound {
        /// The host's name.
        host: String,
        /// What was found; it comes on top of what was known before.
        facts: Facts,
    },
    /// A host can't be connected at the start; it is set aside, and tried again.
    HostFailed {
        /// The host's name.
        host: String,
        /// Why, with what to do about it.
        reason: String,
    },
    /// A host does not answer any more: its trials wait until it does, other hosts go on.
    HostSetAside {
        /// The host's name.
        host: String,
        /// Why.
        reason: String,
    },
    /// Nothing else is left to do: a host that is set aside is waited for, this long at most.
    HostAwaited {
        /// The host's name.
        host: String,
        /// Seconds.
        within_s: u64,
    },
    /// A host that was set aside answers again.
    HostBack {
        /// The host's name.
        host: String,
    },
    /// A host waits until somebody else frees it.
    HostLocked {
        /// The host's name.
        host: String,
        /// Who holds it.
        holder: String,
    },
    /// A host is busy with something that is not a trial: building an image, setting up a cell.
    Preparing {
        /// The host's name.
        host: String,
        /// What it does, as a person reads it.
        what: String,
    },
    /// A line that a tool has printed while it made a host.
    HostSaid {
        /// The host's name.
        host: String,
        /// The line.
        line: String,
    },
    /// The run ends before its last trial, and not because somebody interrupted it: nothing new starts.
    RunStopped {
        /// By what, as a person reads it after "stopped by": `its deadline of 8h`.
        by: String,
    },
    /// A trial begins; its hosts (its own, and those of its services) are busy until it finishes.
    TrialStarted {
        /// Which trial.
        trial: Trial,
        /// The names of its hosts.
        hosts: Vec<String>,
    },
    /// Its cell is set up: from now on the trial itself takes place.
    TrialSetUp {
        /// Which trial.
        trial: Trial,
        /// The host it runs on.
        host: String,
    },
    /// A trial comes to its next stage. That of the measured command is said, and heard, before the command
    /// starts, and the next one after it has ended.
    StageStarted {
        /// The host it runs on.
        host: String,
        /// What begins.
        stage: Stage,
    },
    /// A command of the experiment is about to run; said only where commands are wanted.
    CommandStarted(Box<CommandStart>),
    /// A command of the experiment has ended; said only where commands are wanted.
    CommandEnded(Box<CommandEnd>),
    /// A trial ended, whatever its outcome.
    TrialFinished(Box<Outcome>),
    /// A cell of adaptive repetitions is known well enough: the rest of its trials is not needed.
    KnownWellEnough {
        /// The number of the cell in the plan.
        cell: usize,
        /// How many were planned at most beyond it.
        spared: u32,
    },
    /// Hosts are idle again.
    HostsFree {
        /// The names of the hosts.
        hosts: Vec<String>,
    },
    /// Clean-up of something failed; the measurements stand.
    CleanUpFailed {
        /// The host's name.
        host: String,
        /// What was to be removed or run.
        what: String,
        /// Why it failed.
        reason: String,
    },
}

/// A command of the experiment: a step, a service or what is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandStart {
    /// The host it runs on.
    pub host: String,
    /// What it belongs to.
    pub stage: Stage,
    /// The command with its values, as a person would type it.
    pub command: String,
}

/// How a command of the experiment ended.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandEnd {
    /// The command.
    pub start: CommandStart,
    /// Its exit code; `None` when it is not known.
    pub exit_code: Option<i32>,
    /// Why it did not end by itself, or was lost; `None` when it ended by itself.
    pub reason: Option<String>,
    /// Wall time in seconds, taken on its machine; by this machine's clock when it was lost.
    pub elapsed_s: f64,
    /// Standard output.
    pub stdout: Captured,
    /// Standard error.
    pub stderr: Captured,
}

/// How a trial ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It was measured and its output was read.
    Ok,
    /// Something failed; there is no measurement.
    Failed,
    /// The run was stopped before it ended.
    Interrupted,
}

/// Where in its life a trial failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Connecting to the host, making its directory or container.
    Host,
    /// The cell's `setup` steps.
    Setup,
    /// Starting a service, or a service that died.
    Service,
    /// The trial's `prepare` steps.
    Prepare,
    /// The workload itself.
    Run,
    /// The trial's `conclude` steps, when the run was stopped in them.
    Conclude,
    /// Bringing back the files of `fetch`.
    Fetch,
    /// Reading the metrics.
    Metrics,
    /// What the file expects of a trial.
    Expect,
}

/// How one part of a trial went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Nothing of it failed.
    Ok,
    /// Something of it failed.
    Failed,
    /// It did not come to it, or it was stopped in the middle.
    #[default]
    #[serde(rename = "not reached")]
    NotReached,
}

/// How each part of a trial went, apart from the others: a failed clean-up never voids a good measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Verdicts {
    /// The place of the cell, its `setup`, and the trial's `prepare`.
    pub setup: Verdict,
    /// Starting the services, and their staying alive.
    pub services: Verdict,
    /// The measured command and its exit code.
    pub measurement: Verdict,
    /// Bringing files back, and reading the metrics.
    pub metrics: Verdict,
    /// The rules of `expect`.
    pub expectations: Verdict,
    /// `conclude`, and after the last trial of a cell its `cleanup` and the removal of what was made.
    pub cleanup: Verdict,
}

impl Verdicts {
    /// Sets the verdict on the part that `stage` belongs to.
    pub fn set(&mut self, stage: Stage, verdict: Verdict) {
        *match stage {
            Stage::Host | Stage::Setup | Stage::Prepare => &mut self.setup,
            Stage::Service => &mut self.services,
            Stage::Run => &mut self.measurement,
            Stage::Conclude => &mut self.cleanup,
            Stage::Fetch | Stage::Metrics => &mut self.metrics,
            Stage::Expect => &mut self.expectations,
        } = verdict;
    }
}

/// What became of one attempt at a trial.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Which trial.
    pub trial: Trial,
    /// 1 for the first try.
    pub attempt: u32,
    /// How it ended.
    pub status: Status,
    /// Where it failed; `None` when it did not.
    pub stage: Option<Stage>,
    /// Why it failed, with the last lines of output where they help.
    pub reason: Option<String>,
    /// Whether another attempt follows: this one failed for a cause that may pass.
    pub is_repeated: bool,
    /// How each of its parts went.
    pub verdicts: Verdicts,
    /// When the trial began, by the clock of the machine that runs `runner`, RFC 3339 in UTC.
    pub started: String,
    /// Wall time of the whole trial in seconds, services and preparation included.
    pub elapsed_s: f64,
    /// What was measured; empty unless `status` is `Ok`.
    pub measurements: Vec<Measurement>,
    /// Text around the tool's report, a clock that was set back: things a reader should see.
    pub warnings: Vec<String>,
    /// Page cache before and after each `drop_caches`, in order.
    pub caches: Vec<CacheDrop>,
    /// What was waited for by each `wait_idle` and `cool_down`, in order.
    pub waits: Vec<Wait>,
    /// What its host was like around the measured command; none where it was not reached or tells nothing.
    pub noise: Option<Noise>,
    /// The same of the other hosts of its services, around each service, by name.
    pub noise_of_services: BTreeMap<String, Noise>,
    /// What became of each rule of `expect`, in order.
    pub expectations: Vec<Expectation>,
    /// What was read besides values; also of a trial that failed later.
    pub details: Details,
    /// Everything that was printed or fetched: `stdout`, `stderr`, `services/NAME/stdout`, `files/PATH`, …
    pub outputs: BTreeMap<String, Captured>,
}

/// `Cached` of /proc/meminfo around one cache drop, in kB.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheDrop {
    /// The machine that owns the page cache.
    pub host: String,
    /// Before.
    pub cached_before_kb: u64,
    /// After.
    pub cached_after_kb: u64,
}

/// The verdict on one rule of `expect`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expectation {
    /// The rule as it is written: `exit: 0, 1`, `when: throughput > 10e6`.
    pub rule: String,
    /// Whether it holds.
    pub holds: bool,
    /// What was found instead; empty when it holds.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub found: String,
}

/// One captured output.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Captured {
    /// The bytes as they came, cut at the size limit.
    pub bytes: Vec<u8>,
    /// The size on the machine, in bytes; larger than `bytes.len()` when it was cut.
    pub size: u64,
}

impl Captured {
    /// Whether only the first part was kept.
    pub fn is_cut(&self) -> bool {
        self.size > self.bytes.len() as u64
    }
}

/// What is known of a machine: an ordered list of name and value (`kernel`, `cpu`, `memory`, …).
pub type Facts = indexmap::IndexMap<String, String>;

/// The place of a trial's outputs below `output/`, one folder a trial.
pub fn output_directory(trial: &Trial) -> PathBuf {
    PathBuf::from(trial.cell.as_str()).join(trial.label())
}
