//! Progress of a run: a line a host and a total on a terminal, one plain line a trial elsewhere.

use std::collections::BTreeMap;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::remaining::Remaining;
use super::{PLAIN, RED, YELLOW, tell, without_secrets};
use crate::event::{Event, Outcome, Status};
use crate::plan::Plan;
use crate::spec::Spec;
use crate::units::Unit;

/// What is shown of a run while it goes on.
pub struct Progress {
    bars: MultiProgress,
    hosts: BTreeMap<String, ProgressBar>,
    total: ProgressBar,
    remaining: Remaining,
    trials: usize,
    finished: usize,
    failed: usize,
    is_stopping: bool,
}

impl Progress {
    /// Shows the hosts of `plan`, all idle.
    pub fn start(plan: &Plan, spec: &Spec) -> Self {
        let bars = MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(1));
        let names = plan.hosts();
        // A clock that ticks on the measured machine itself would disturb what it measures.
        let may_tick =
            names.iter().all(|name| spec.hosts.get(name.as_str()).is_some_and(|host| host.local.is_none()));
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or_default();
        let hosts = names.into_iter().map(|name| {
            let bar = bars.add(line(&format!("  {{prefix:{width}}}  {{wide_msg}}")));
            bar.set_prefix(name.clone());
            bar.set_message("connecting");
            (name, bar)
        });
        let hosts = hosts.collect();
        let total = bars.add(line("{elapsed_precise}  {msg}"));
        if may_tick {
            total.enable_steady_tick(Duration::from_secs(1));
        }
        let (trials, remaining) = (plan.trial_count(), Remaining::new(plan));
        let progress =
            Progress { bars, hosts, total, remaining, trials, finished: 0, failed: 0, is_stopping: false };
        progress.show_total();
        progress
    }

    /// Shows one event.
    pub fn show(&mut self, event: &Event) {
        match event {
            Event::HostReady { host } => self.set(host, "ready"),
            Event::FactsFound { .. } => {}
            Event::HostFailed { host, reason } => {
                self.set(host, "can't be used");
                self.line(&format!("{RED}host failed{PLAIN} {reason}"));
            }
            Event::HostSetAside { host, reason } => {
                self.set(host, "set aside");
                self.line(&format!("{RED}set aside{PLAIN}  {host}: {reason}; its trials wait, others go on"));
            }
            Event::HostBack { host } => {
                self.set(host, "");
                self.line(&format!("back         {host}: its trials go on"));
            }
            Event::KnownWellEnough { cell, spared } => {
                self.trials -= *spared as usize;
                self.remaining.spared(*cell, *spared);
            }
            Event::RunStopped { by } => {
                self.is_stopping = true;
                self.line(&format!("{YELLOW}stopping{PLAIN}: stopped by {by}; nothing new starts"));
            }
            Event::HostLocked { host, holder } => {
                self.set(host, &format!("locked by {holder}"));
                self.line(&format!("{YELLOW}waiting{PLAIN} for {host}, which is locked by {holder}"));
            }
            Event::Preparing { host, what } => self.set(host, what),
            Event::TrialStarted { trial, hosts } => hosts.iter().for_each(|host| self.set(host, &trial.id())),
            Event::TrialSetUp { trial, host } => self.set(host, &trial.id()),
            Event::TrialFinished(outcome) => self.finished(outcome),
            Event::HostsFree { hosts } => hosts.iter().for_each(|host| self.set(host, "")),
            Event::CleanUpFailed { host, what, reason } => {
                self.line(&format!("{YELLOW}clean-up failed{PLAIN} on {host}: {what}: {reason}"));
            }
        }
        self.show_total();
    }

    /// Counts a trial of the cell number `cell` that an earlier sitting has done.
    pub fn skip(&mut self, cell: usize, is_ok: bool) {
        self.finished += 1;
        self.failed += usize::from(!is_ok);
        self.remaining.skip(cell);
        self.show_total();
    }

    fn finished(&mut self, outcome: &Outcome) {
        if outcome.is_repeated {
            let (id, attempt) = (outcome.trial.id(), outcome.attempt);
            let reason = outcome.reason.as_deref().unwrap_or_default();
            self.line(&format!("{YELLOW}tried again{PLAIN}  {id}  attempt {attempt} failed: {reason}"));
            return;
        }
        self.finished += 1;
        self.remaining.finished(&outcome.trial, outcome.elapsed_s);
        let count =
            format!("{:>width$}/{}", self.finished, self.trials, width = self.trials.to_string().len());
        let id = outcome.trial.id();
        let text = match outcome.status {
            Status::Ok => format!("{count}  ok           {id}  {}", headline(outcome)),
            status => {
                self.failed += 1;
                let reason = outcome.reason.as_deref().unwrap_or_default();
                let word = format!("{status:?}").to_lowercase();
                format!("{count}  {RED}{word:<11}{PLAIN}  {id}  {reason}")
            }
        };
        // On a terminal only what went wrong stays; the rest is in the bars.
        if self.bars.is_hidden() || outcome.status != Status::Ok {
            self.line(&text);
        }
    }

    fn show_total(&self) {
        let left = match self.remaining.time() {
            Some(time) if self.finished < self.trials => {
                format!(", about {} left", indicatif::HumanDuration(time))
            }
            _ => String::new(),
        };
        let failed = if self.failed > 0 { format!(", {} failed", self.failed) } else { String::new() };
        self.total.set_message(format!("{} of {} trials{failed}{left}", self.finished, self.trials));
    }

    fn set(&self, host: &str, text: &str) {
        if let Some(bar) = self.hosts.get(host) {
            bar.set_message(without_secrets(text).into_owned());
        }
    }

    /// A line that stays. indicatif loses lines when it draws nothing, so they go round it then.
    fn line(&self, text: &str) {
        self.bars.suspend(|| tell(text));
    }

    /// Says that an interrupt was understood.
    pub fn stopping(&self) {
        if self.is_stopping {
            return;
        }
        self.line(&format!(
            "{YELLOW}stopping{PLAIN}: ending what runs and removing what was made; Ctrl-C again leaves at once"
        ));
    }

    /// Says how the run ended.
    pub fn finish(self) {
        let ok = self.finished - self.failed;
        let time = indicatif::HumanDuration(self.total.elapsed());
        self.line(&format!("{ok} of {} trials ok in {time}", self.trials));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        for bar in self.hosts.values().chain([&self.total]) {
            bar.finish_and_clear();
        }
    }
}

fn line(template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new_spinner().with_style(style)
}

/// The first value of a trial, as a person reads it.
fn headline(outcome: &Outcome) -> String {
    let Some(first) = outcome.measurements.first() else { return String::new() };
    let scale = first.unit.scale(&[first.value]);
    let digits = if first.unit == Unit::Count { 0 } else { 3 };
    format!("{} {:.digits$} {}", first.name, scale.apply(first.value), scale.name)
}
