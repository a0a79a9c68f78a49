//! What a run does now: the sum of its events, for whoever shows it and for `status.json`. It touches
//! nothing and reads no clock; each event comes with its time. Read [`Monitor`], then [`Pace`].

mod pace;
mod remaining;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use self::remaining::Remaining;
use crate::event::{Event, Outcome, Stage, Status};
use crate::plan::{Plan, Trial};

pub use pace::{Moment, Pace};

/// From here on a trial is long: what is shown when it starts is read before it ends.
const LONG_S: f64 = 1.0;

/// How long the trials of a cell take, by the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    Unknown,
    Short,
    Long,
}

/// What a run does at one moment: `status.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The moment.
    pub time: Timestamp,
    /// When this sitting began.
    pub started: Timestamp,
    /// Trials to be done, warm-up included.
    pub trials: usize,
    /// Trials that are ok or have failed.
    pub finished: usize,
    /// Those of them that have failed.
    pub failed: usize,
    /// Attempts that failed and were, or are to be, followed by another.
    pub retried: usize,
    /// Seconds left, as guessed from the trials so far; `None` when nothing is known yet.
    pub left_s: Option<f64>,
    /// Every host, by name.
    pub hosts: Vec<HostState>,
}

/// What one host does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostState {
    /// The host's name.
    pub host: String,
    /// What it does.
    pub doing: Doing,
    /// The trial that it is busy with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<String>,
    /// What a person should know besides.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// Since when.
    pub since: Timestamp,
}

/// What a host does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Doing {
    /// It is being reached.
    Connecting,
    /// Nothing, until somebody else frees it.
    Locked,
    /// Nothing, until a trial begins.
    Waiting,
    /// A cell is set up on it.
    SettingUp,
    /// Services start.
    Starting,
    /// The steps of `prepare`.
    Preparing,
    /// The measured command.
    Running,
    /// What comes after the measured command.
    Concluding,
    /// Services or steps of a trial that runs on another host.
    Assisting,
    /// Nothing, until its trial is tried again.
    Retrying,
    /// Nothing: it does not answer, and is tried again now and then.
    Aside,
}

impl Doing {
    /// As a person reads it.
    pub fn words(self) -> &'static str {
        match self {
            Doing::Connecting => "connecting",
            Doing::Locked => "locked",
            Doing::Waiting => "waiting",
            Doing::SettingUp => "setting up",
            Doing::Starting => "starting",
            Doing::Preparing => "preparing",
            Doing::Running => "running",
            Doing::Concluding => "concluding",
            Doing::Assisting => "assisting",
            Doing::Retrying => "retrying",
            Doing::Aside => "set aside",
        }
    }
}

/// A host as it is followed.
#[derive(Debug)]
struct Host {
    doing: Doing,
    trial: Option<Trial>,
    detail: String,
    since: Timestamp,
}

/// Follows a run.
#[derive(Debug)]
pub struct Monitor {
    started: Timestamp,
    trials: usize,
    finished: usize,
    failed: usize,
    retried: usize,
    /// Whether nothing new starts.
    is_stopping: bool,
    remaining: Remaining,
    /// By the number of the cell.
    lengths: Vec<Length>,
    /// The time left in seconds, and when that was true.
    left: Option<(f64, Timestamp)>,
    hosts: BTreeMap<String, Host>,
    /// Hosts that are this machine.
    here: BTreeSet<String>,
    /// Hosts whose measured command runs now, on this machine or with its help.
    measured_here: BTreeSet<String>,
}

impl Monitor {
    /// Nothing of `plan` has begun. `here` are the hosts that are the machine which runs this program.
    pub fn new(plan: &Plan, here: BTreeSet<String>, now: Timestamp) -> Self {
        let host =
            |name| (name, Host { doing: Doing::Connecting, trial: None, detail: String::new(), since: now });
        Monitor {
            started: now,
            trials: plan.trial_count(),
            finished: 0,
            failed: 0,
            retried: 0,
            is_stopping: false,
            remaining: Remaining::new(plan),
            lengths: vec![Length::Unknown; plan.cell_count()],
            left: None,
            hosts: plan.hosts().into_iter().map(host).collect(),
            here,
            measured_here: BTreeSet::new(),
        }
    }

    /// Counts a trial of the cell number `cell` that an earlier sitting has done.
    pub fn skip(&mut self, cell: usize, is_ok: bool) {
        self.finished += 1;
        self.failed += usize::from(!is_ok);
        self.remaining.skip(cell, 1);
    }

    /// Takes in what happened, and says whether now is a good moment to show it.
    pub fn follow(&mut self, event: &Event, now: Timestamp) -> Moment {
        match event {
            Event::HostReady { host } | Event::HostBack { host } => self.set(host, Doing::Waiting, "", now),
            Event::HostFailed { host, reason } | Event::HostSetAside { host, reason } => {
                self.set(host, Doing::Aside, reason, now);
            }
            Event::HostLocked { host, holder } => {
                self.set(host, Doing::Locked, &format!("by {holder}"), now);
            }
            Event::RunStopped { .. } => self.is_stopping = true,
            Event::Preparing { host, what } => {
                // The words for what it does say so already, and its trial stands beside them.
                let detail = if what.starts_with("setting up ") { "" } else { what };
                self.set(host, Doing::SettingUp, detail, now);
            }
            Event::TrialStarted { trial, hosts } => {
                let doing = if hosts.len() == 1 { Doing::SettingUp } else { Doing::Assisting };
                for host in hosts {
                    self.set(host, doing, "", now);
                    self.hosts.entry(host.clone()).and_modify(|host| host.trial = Some(trial.clone()));
                }
            }
            Event::StageStarted { host, stage } => return self.stage(host, *stage, now),
            Event::KnownWellEnough { cell, spared } => {
                self.trials = self.trials.saturating_sub(*spared as usize);
                self.remaining.skip(*cell, *spared);
                self.left = self.remaining.time().map(|time| (time.as_secs_f64(), now));
            }
            Event::TrialFinished(outcome) => self.finished(outcome, now),
            Event::HostsFree { hosts } => {
                for host in hosts {
                    self.set(host, Doing::Waiting, "", now);
                    self.hosts.entry(host.clone()).and_modify(|host| host.trial = None);
                }
            }
            Event::FactsFound { .. }
            | Event::HostSaid { .. }
            | Event::HostAwaited { .. }
            | Event::TrialSetUp { .. }
            | Event::CommandStarted(_)
            | Event::CommandEnded(_)
            | Event::CleanUpFailed { .. } => {}
        }
        self.moment()
    }

    /// Whether now is a good moment to show something.
    pub fn moment(&self) -> Moment {
        if self.measured_here.is_empty() { Moment::Any } else { Moment::Measured }
    }

    /// What the run does now.
    pub fn snapshot(&self, now: Timestamp) -> Snapshot {
        let host = |(name, host): (&String, &Host)| HostState {
            host: name.clone(),
            doing: host.doing,
            trial: host.trial.as_ref().map(Trial::id),
            detail: host.detail.clone(),
            since: host.since,
        };
        Snapshot {
            time: now,
            started: self.started,
            trials: self.trials,
            finished: self.finished,
            failed: self.failed,
            retried: self.retried,
            left_s: self.left_s(now),
            hosts: self.hosts.iter().map(host).collect(),
        }
    }

    /// How many trials there are.
    pub fn trials(&self) -> usize {
        self.trials
    }

    /// How many trials are over, and how many of them are not ok.
    pub fn counts(&self) -> (usize, usize) {
        (self.finished, self.failed)
    }

    /// The trial that `host` is busy with.
    pub fn trial(&self, host: &str) -> Option<&Trial> {
        self.hosts.get(host)?.trial.as_ref()
    }

    /// The names of the hosts.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.hosts.keys().map(String::as_str)
    }

    /// Seconds left, counted down since the last trial ended.
    pub fn left_s(&self, now: Timestamp) -> Option<f64> {
        let (seconds, then) = self.left.filter(|_| !self.is_stopping)?;
        Some((seconds - now.duration_since(then).as_secs_f64().max(0.0)).max(0.0))
    }

    fn set(&mut self, name: &str, doing: Doing, detail: &str, now: Timestamp) {
        self.measured_here.remove(name);
        if let Some(host) = self.hosts.get_mut(name) {
            *host = Host { doing, trial: host.trial.take(), detail: detail.to_owned(), since: now };
        }
    }

    fn stage(&mut self, name: &str, stage: Stage, now: Timestamp) -> Moment {
        let doing = match stage {
            Stage::Host | Stage::Setup => Doing::SettingUp,
            Stage::Service => Doing::Starting,
            Stage::Prepare => Doing::Preparing,
            Stage::Run => Doing::Running,
            Stage::Conclude | Stage::Fetch | Stage::Metrics | Stage::Expect => Doing::Concluding,
        };
        self.set(name, doing, "", now);
        // What is measured already must not be disturbed for what is about to be.
        let moment = self.moment();
        let Some(trial) = self.trial(name).filter(|_| doing == Doing::Running) else { return moment };
        let mut busy = self.hosts.iter().filter(|(_, host)| host.trial.as_ref() == Some(trial));
        let length = self.lengths.get(trial.index).copied().unwrap_or(Length::Unknown);
        if busy.any(|(name, _)| self.here.contains(name)) {
            self.measured_here.insert(name.to_owned());
        }
        match (moment, length) {
            (Moment::Any, Length::Long) => Moment::Last,
            (Moment::Any, Length::Unknown) => Moment::PerhapsLast,
            _ => moment,
        }
    }

    fn finished(&mut self, outcome: &Outcome, now: Timestamp) {
        let doing = if outcome.is_repeated { Doing::Retrying } else { Doing::Concluding };
        match (outcome.is_repeated, outcome.status) {
            (true, _) => self.retried += 1,
            // It is not over; nothing new starts.
            (false, Status::Interrupted) => self.is_stopping = true,
            (false, _) => self.count(outcome),
        }
        self.left = self.remaining.time().map(|time| (time.as_secs_f64(), now));
        let is_busy = |host: &Host| host.trial.as_ref() == Some(&outcome.trial);
        let hosts: Vec<String> =
            self.hosts.iter().filter(|(_, host)| is_busy(host)).map(|(name, _)| name.clone()).collect();
        hosts.iter().for_each(|host| self.set(host, doing, "", now));
    }

    /// Counts a trial that is over.
    fn count(&mut self, outcome: &Outcome) {
        self.finished += 1;
        self.failed += usize::from(outcome.status == Status::Failed);
        if outcome.stage == Some(Stage::Host) {
            // It tells nothing of the time that others take.
            self.remaining.skip(outcome.trial.index, 1);
            return;
        }
        self.remaining.finished(&outcome.trial, outcome.elapsed_s);
        if let Some(length) = self.lengths.get_mut(outcome.trial.index) {
            *length = if outcome.elapsed_s < LONG_S { Length::Short } else { Length::Long };
        }
    }
}
