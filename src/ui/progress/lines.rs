//! Events as lines that stay: one a line and event, without anything that steers a terminal but colour. Read
//! [`line`]; a new event gets its arm there.

use super::commands;
use crate::event::{Event, Outcome, Status};
use crate::monitor::Monitor;
use crate::record::word;
use crate::ui::table::printable;
use crate::ui::{PLAIN, RED, YELLOW};
use crate::units::Unit;

/// How much a line matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// Only to who asks for everything.
    Detail,
    /// To who can't see it on the board of a terminal.
    Note,
    /// Always.
    Problem,
}

/// What is said of `event`, which `monitor` has taken in already; `None` for what only the board shows.
pub(super) fn line(event: &Event, monitor: &Monitor) -> Option<(Weight, String)> {
    let line = match event {
        Event::HostReady { host } => (Weight::Note, format!("{}: connected", printable(host))),
        Event::HostFailed { reason, .. } => {
            (Weight::Problem, format!("{RED}host failed{PLAIN} {}", printable(reason)))
        }
        Event::HostSetAside { host, reason } => {
            let (host, reason) = (printable(host), printable(reason));
            let text = format!("{RED}set aside{PLAIN}  {host}: {reason}; its trials wait, others go on");
            (Weight::Problem, text)
        }
        Event::HostAwaited { host, within_s } => {
            let text = format!("{YELLOW}waiting{PLAIN} for {}: up to {within_s} s more", printable(host));
            (Weight::Problem, text)
        }
        Event::HostBack { host } => {
            (Weight::Problem, format!("back       {}: its trials go on", printable(host)))
        }
        Event::HostLocked { host, holder } => {
            let (host, holder) = (printable(host), printable(holder));
            let text = format!("{YELLOW}waiting{PLAIN} for {host}, which is locked by {holder}");
            (Weight::Problem, text)
        }
        Event::RunStopped { by } => {
            let by = printable(by);
            (Weight::Problem, format!("{YELLOW}stopping{PLAIN}: stopped by {by}; nothing new starts"))
        }
        Event::Preparing { host, what } => {
            (Weight::Detail, format!("{}: {}", printable(host), printable(what)))
        }
        Event::HostSaid { host, line } => {
            (Weight::Detail, format!("{}: {}", printable(host), printable(line)))
        }
        Event::CommandStarted(start) => (Weight::Detail, commands::start(start, monitor)),
        Event::CommandEnded(end) => (Weight::Detail, commands::end(end, monitor)),
        Event::TrialFinished(outcome) => finished(outcome, monitor),
        Event::CleanUpFailed { host, what, reason } => {
            let [host, what, reason] = [host, what, reason].map(|text| printable(text));
            (Weight::Problem, format!("{YELLOW}clean-up failed{PLAIN} on {host}: {what}: {reason}"))
        }
        Event::FactsFound { .. }
        | Event::KnownWellEnough { .. }
        | Event::TrialStarted { .. }
        | Event::TrialSetUp { .. }
        | Event::StageStarted { .. }
        | Event::HostsFree { .. } => return None,
    };
    Some(line)
}

fn finished(outcome: &Outcome, monitor: &Monitor) -> (Weight, String) {
    let (finished, trials) = (monitor.counts().0, monitor.trials());
    let count = format!("{finished:>width$}/{trials}", width = trials.to_string().len());
    let id = outcome.trial.id();
    let attempt = match outcome.attempt {
        0 | 1 => String::new(),
        attempt => format!(" (attempt {attempt})"),
    };
    let reason = || {
        let stage = outcome.stage.map(|stage| format!("{}: ", word(&stage))).unwrap_or_default();
        format!("{stage}{}", printable(outcome.reason.as_deref().unwrap_or_default()))
    };
    if outcome.is_repeated {
        let (blank, again) = (" ".repeat(count.len()), format!("{YELLOW}tried again{PLAIN}"));
        let text = format!("{blank}  {again}  {id} (attempt {} failed)  {}", outcome.attempt, reason());
        return (Weight::Problem, text);
    }
    if outcome.status == Status::Ok {
        return (Weight::Note, format!("{count}  ok           {id}{attempt}  {}", headline(outcome)));
    }
    let status = word(&outcome.status);
    (Weight::Problem, format!("{count}  {RED}{status:<11}{PLAIN}  {id}{attempt}  {}", reason()))
}

/// The first value of a trial, as a person reads it.
fn headline(outcome: &Outcome) -> String {
    let Some(first) = outcome.measurements.first() else { return String::new() };
    let scale = first.unit.scale(&[first.value]);
    let digits = if first.unit == Unit::Count { 0 } else { 3 };
    format!("{} {:.digits$} {}", first.name, scale.apply(first.value), scale.name)
}
