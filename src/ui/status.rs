//! How far a run is, on standard output: a few lines to read, or one JSON object. Read [`View`].

use std::io::{self, Write};
use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::table::{Table, printable};
use super::time::{about, clock};
use super::{BOLD, PLAIN, RED};
use crate::analysis::Standing;
use crate::error::Error;
use crate::monitor::{HostState, Snapshot};
use crate::record::{Record, Run, word};

/// Whether a run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// A runner writes it at this moment.
    GoingOn,
    /// It has ended in order.
    Finished,
    /// It has ended itself before its last trial, and in order.
    Stopped,
    /// It was interrupted, and has ended in order.
    Interrupted,
    /// It did not end in order: killed, out of power, or the disk was full.
    Killed,
}

impl State {
    fn words(self) -> &'static str {
        match self {
            State::GoingOn => "going on",
            State::Finished => "finished",
            State::Stopped => "stopped",
            State::Interrupted => "interrupted",
            State::Killed => "killed",
        }
    }
}

/// What is shown.
#[derive(Debug)]
pub struct View<'a> {
    /// What lies on the disk.
    pub run: &'a Run,
    /// How far it is.
    pub standing: Standing<'a>,
    /// Whether it goes on.
    pub state: State,
    /// What it does, or did last.
    pub doing: Option<Snapshot>,
    /// Where its report is, once there is one.
    pub report: Option<PathBuf>,
    /// The time now.
    pub now: Timestamp,
}

impl View<'_> {
    /// How long its last sitting has gone on, in seconds: until its end, the last sign of it, or now.
    fn elapsed_s(&self) -> Option<f64> {
        let manifest = &self.run.manifest;
        let started = manifest.sittings.last().map_or(&manifest.started, |sitting| &sitting.started);
        let ended = manifest.ended.as_ref().and_then(|ended| ended.parse().ok());
        let end = match self.state {
            State::GoingOn => Some(self.now),
            State::Killed => self.last_sign(),
            State::Finished | State::Stopped | State::Interrupted => ended,
        };
        Some(end?.duration_since(started.parse().ok()?).as_secs_f64())
    }

    /// When a run that was killed was last heard of: what it does is told only now and then.
    fn last_sign(&self) -> Option<Timestamp> {
        let ends = self.run.records.iter().chain(&self.run.left_out).filter_map(|record| {
            let elapsed = SignedDuration::try_from_secs_f64(record.elapsed_s).ok()?;
            record.started?.time()?.checked_add(elapsed).ok()
        });
        ends.chain(self.doing.as_ref().map(|doing| doing.time)).max()
    }

    /// Trials that are still to be measured; of a run that goes on with adaptive repetitions at most, with its
    /// warm-up: how many are needed is seen only in the end.
    fn left(&self) -> usize {
        let is_adaptive = self.run.manifest.cells.iter().any(|cell| cell.adaptive.is_some());
        match self.doing.as_ref().filter(|_| is_adaptive && self.state == State::GoingOn) {
            Some(doing) => doing.trials.saturating_sub(doing.finished),
            None => self.standing.left(),
        }
    }

    /// Whether how much is left is known only in the end.
    fn is_open(&self) -> bool {
        self.standing.open > 0
    }

    fn planned(&self) -> usize {
        self.standing.planned.max(self.standing.ok + self.standing.failed + self.left())
    }

    fn left_s(&self) -> Option<f64> {
        let doing = self.doing.as_ref().filter(|_| self.state == State::GoingOn)?;
        Some((doing.left_s? - self.since_s(doing.time)).max(0.0))
    }

    fn since_s(&self, time: Timestamp) -> f64 {
        self.now.duration_since(time).as_secs_f64().max(0.0)
    }
}

/// Prints it to be read.
pub fn show_text(view: &View<'_>) -> Result<(), Error> {
    super::show_text(|out| write_text(out, view))
}

fn write_text(out: &mut dyn Write, view: &View<'_>) -> io::Result<()> {
    let View { run, standing, state, .. } = view;
    let time = view.elapsed_s().map(|seconds| match state {
        State::GoingOn => format!(" for {}", about(seconds)),
        _ => format!(" after {}", about(seconds)),
    });
    let by = run.manifest.stopped.as_ref().filter(|_| *state == State::Stopped);
    let by = by.map(|by| format!(" by {}", printable(by))).unwrap_or_default();
    let (path, time) = (run.directory.path().display(), time.unwrap_or_default());
    let sitting = match run.manifest.sittings.len() {
        0 | 1 => String::new(),
        count => format!(", sitting {count}"),
    };
    writeln!(out, "{BOLD}{path}{PLAIN}: {}{by}{time}{sitting}", state.words())?;
    writeln!(out, "{}: {}", printable(&run.manifest.title), counts(view))?;
    if let Some(doing) = &view.doing {
        let what = match state {
            State::GoingOn => "hosts",
            _ => "hosts, when last heard of",
        };
        writeln!(out, "\n{BOLD}{what}{PLAIN}")?;
        let rows: Vec<_> = doing.hosts.iter().map(|host| row(view, doing, host)).collect();
        Table::lines(&rows).iter().try_for_each(|line| writeln!(out, "  {line}"))?;
    }
    if !standing.failures.is_empty() {
        writeln!(out, "\n{BOLD}last failures{PLAIN}")?;
        for record in &standing.failures {
            let attempt = match (record.attempt, record.words().repeated) {
                (attempt, true) => format!(" (attempt {attempt}, tried again)"),
                (0 | 1, false) => String::new(),
                (attempt, false) => format!(" (attempt {attempt})"),
            };
            writeln!(out, "  {}{attempt}  {RED}{}{PLAIN}", record.trial(), failure(record))?;
        }
    }
    match (&view.report, state) {
        (Some(report), State::GoingOn) => {
            writeln!(out, "\nreport of what was measured before: {}", report.display())
        }
        (Some(report), _) => writeln!(out, "\nreport: {}", report.display()),
        (None, State::GoingOn) => writeln!(out, "\nreport: {}, at its end", run.directory.report().display()),
        (None, _) => writeln!(out, "\nno report yet: `runner report {path}` makes one of what was measured"),
    }
}

/// `36 of 48 trials, 34 ok, 2 failed, 12 left, about 4 min`.
fn counts(view: &View<'_>) -> String {
    let Standing { ok, failed, interrupted, retried, .. } = view.standing;
    let mut text = format!("{} of {} trials, {ok} ok", ok + failed, view.planned());
    for (count, word) in [(failed, "failed"), (interrupted, "interrupted"), (retried, "retried")] {
        if count > 0 {
            text += &format!(", {count} {word}");
        }
    }
    if view.left() > 0 {
        let most = if view.is_open() { "at most " } else { "" };
        text += &format!(", {most}{} left", view.left());
    }
    view.left_s().map_or(text.clone(), |seconds| text + &format!(", about {}", about(seconds)))
}

/// A host: its name, what it does, for how long, and with what.
fn row(view: &View<'_>, doing: &Snapshot, host: &HostState) -> Vec<String> {
    let end = if view.state == State::GoingOn { view.now } else { doing.time };
    let time = clock(end.duration_since(host.since).as_secs_f64());
    let what = host.trial.as_ref().filter(|_| host.detail.is_empty()).unwrap_or(&host.detail);
    vec![host.host.clone(), host.doing.words().to_owned(), time, what.clone()]
}

fn failure(record: &Record) -> String {
    let words = record.words();
    let stage = words.stage.map(|stage| format!("{}: ", word(&stage))).unwrap_or_default();
    format!("{stage}{}", printable(words.reason.as_deref().unwrap_or_default()))
}

/// Prints it as one JSON object.
pub fn show_json(view: &View<'_>) -> Result<(), Error> {
    let View { run, standing, state, .. } = view;
    let failure = |record: &&Record| {
        let words = record.words();
        json!({ "trial": record.trial(), "attempt": record.attempt, "repeated": words.repeated, "stage": words.stage,
                "reason": words.reason, "started": record.start() })
    };
    let object = json!({
        "run": run.directory.path(),
        "id": run.manifest.id,
        "title": run.manifest.title,
        "state": state.words().replace(' ', "-"),
        "stopped": run.manifest.stopped,
        "started": run.manifest.started,
        "sittings": run.manifest.sittings.len(),
        "ended": run.manifest.ended,
        "elapsed_s": view.elapsed_s(),
        "planned": view.planned(),
        "ok": standing.ok,
        "failed": standing.failed,
        "interrupted": standing.interrupted,
        "retried": standing.retried,
        "left": view.left(),
        "left_s": view.left_s(),
        "hosts": view.doing.as_ref().map(|doing| &doing.hosts),
        "failures": standing.failures.iter().map(failure).collect::<Vec<_>>(),
        "report": view.report,
    });
    super::show_text(|out| writeln!(out, "{object:#}"))
}
