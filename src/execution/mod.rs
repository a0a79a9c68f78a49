//! Runs a [`Plan`]: which trial when, what belongs to a cell, what happens in a trial. It says what happens
//! by [`Event`]s alone; it prints nothing and writes no result. Read [`Run`], then `scheduler.rs`.

mod aside;
mod attempts;
mod cell;
mod expect;
mod history;
mod limits;
mod machines;
mod noise;
mod old_files;
mod place;
mod queues;
mod readiness;
mod reread;
mod scheduler;
mod service;
mod step;
mod telling;
mod trial;
mod wait;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use crate::diagnostic::Sources;
use crate::environments::{self, Shared};
use crate::event::{Event, Stage, Status};
use crate::hosts::{Fate, Ledger, Machine};
use crate::plan::Plan;
use crate::spec::Spec;
use crate::transports::TransportError;

use machines::Machines;

pub use history::{History, Past};
pub use limits::DEFAULT_RETRIES;
pub use machines::{Connected, Connector, connect, facts};
pub use reread::{Kept, Reread, read_again};

/// The longest time of a command when the file sets no timeout.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(3600);
/// The longest time of each clean-up command.
const CLEAN_UP_TIMEOUT: Duration = Duration::from_secs(60);
/// The longest time for what is left on a machine at the end; the ledger keeps what takes longer.
const LEAVE_LIMIT: Duration = Duration::from_secs(120);

/// The time now as records hold it: RFC 3339 in UTC, to the millisecond.
#[expect(clippy::disallowed_methods, reason = "a record says when its trial began")]
pub fn timestamp() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

/// Everything that a run needs.
pub struct Run {
    /// Unique; part of the names of what is made on the machines.
    pub id: String,
    /// The experiment, checked.
    pub spec: Spec,
    /// Its files, for paths that are relative to them.
    pub sources: Sources,
    /// What is to be done.
    pub plan: Plan,
    /// What earlier sittings have done; empty in a new run.
    pub history: History,
    machines: Machines,
    /// Whether a sample is precise enough for a part of 1: the rule of adaptive repetitions. Without one they go
    /// on to their maximum.
    pub is_precise: fn(&[f64], f64) -> bool,
    /// How a host is connected that was not there at the start; as the experiment says, if nothing else is.
    pub connector: Option<Connector>,
    /// Cancelled to end the run early.
    pub stop: CancellationToken,
    /// Where events go.
    pub events: UnboundedSender<Event>,
    /// Whether each command is told with its output: a copy that nobody reads would be made for nothing.
    pub tells_commands: bool,
    /// By what the run was stopped, where nobody interrupted it.
    stopped: OnceLock<String>,
    shared: Shared,
    told: Mutex<BTreeSet<Vec<String>>>,
    loads: noise::Loads,
}

impl Run {
    /// A run that has not begun. `machines` are every host of the plan: connected, or why it is not.
    pub fn new(
        id: String,
        experiment: (Spec, Sources, Plan),
        machines: Connected,
        stop: CancellationToken,
        events: UnboundedSender<Event>,
    ) -> Self {
        let (spec, sources, plan) = experiment;
        Run {
            id,
            spec,
            sources,
            plan,
            history: History::default(),
            machines: Machines::new(machines),
            connector: None,
            is_precise: |_, _| false,
            stop,
            events,
            tells_commands: false,
            stopped: OnceLock::new(),
            shared: Shared::default(),
            told: Mutex::default(),
            loads: noise::Loads::default(),
        }
    }

    /// The same run, which says in `ledger` what it makes before it makes it.
    ///
    /// # Errors
    /// When that can't be written.
    pub fn with_ledger(mut self, ledger: Ledger) -> Result<Self, TransportError> {
        for machine in self.machines.connected() {
            environments::begin(&machine, &self.id, &ledger)?;
        }
        self.shared = Shared::new(ledger);
        Ok(self)
    }

    /// Executes every trial, then removes everything that was made, also after `stop`, and lets others use
    /// the machines.
    pub async fn execute(&self) {
        let deadline = self.spec.deadline.as_ref().map(|time| time.value);
        let mut running = std::pin::pin!(scheduler::run(self));
        tokio::select! {
            () = &mut running => {}
            by = limits::over(deadline) => {
                self.stop_by(by);
                self.stop.cancel();
                // Nor is any machine waited for that does not answer.
                crate::transports::hurry();
                running.await;
            }
        }
        let machines = self.machines.connected();
        join_all(machines.iter().map(|machine| self.leave(machine))).await;
    }

    /// Removes what could not be removed before, and frees the machine.
    async fn leave(&self, machine: &Machine) {
        let left = environments::remove_left(machine, self.shared.ledger());
        for (thing, fate) in tokio::time::timeout(LEAVE_LIMIT, left).await.unwrap_or_default() {
            if let Fate::Left(reason) = fate {
                let (host, what) = (machine.name.clone(), thing.to_string());
                self.say(Event::CleanUpFailed { host, what, reason });
            }
        }
        machine.transport.shells().close().await;
        let left = self.shared.ledger().left_on(&machine.name);
        if !left.iter().any(|(_, thing)| thing.kind.is_whole_machine()) {
            // Nobody is to begin on one that is given back now.
            machine.unlock().await;
        }
    }

    /// Lets nothing new start; the first reason is the one to tell.
    fn stop_by(&self, by: String) {
        if !self.stop.is_cancelled() && self.stopped.set(by.clone()).is_ok() {
            self.say(Event::RunStopped { by });
        }
    }

    /// Whether nothing new starts any more.
    fn is_stopping(&self) -> bool {
        self.stop.is_cancelled() || self.stopped.get().is_some()
    }

    /// The failure of what the end of the run has ended.
    fn interrupted(&self, stage: Stage) -> Failure {
        match self.stopped.get() {
            Some(by) => {
                let reason = format!("the run was stopped by {by}");
                Failure { reason, ..Failure::interrupted(stage) }
            }
            None => Failure::interrupted(stage),
        }
    }

    fn say(&self, event: Event) {
        // Nobody listens any more only when the program ends with an error of its own.
        let _ = self.events.send(event);
    }

    /// Whether something was not told before.
    fn is_news(&self, what: &[&str]) -> bool {
        let news = what.iter().map(|&part| part.to_owned()).collect();
        self.told.lock().is_ok_and(|mut told| told.insert(news))
    }

    fn machine(&self, host: &str) -> Result<Arc<Machine>, Failure> {
        self.machines.machine(host)
    }
}

/// Why a trial has no measurement.
#[derive(Debug, Clone)]
struct Failure {
    status: Status,
    stage: Stage,
    reason: String,
    cause: Cause,
}

/// What kind of thing went wrong, as far as it decides what is done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// The way to a machine was lost or could not be made.
    Connection,
    /// A service was not ready in time.
    NotReady,
    /// Somebody else has what the trial needs.
    Busy,
    /// Anything else, above all the measurement itself.
    Other,
}

impl Failure {
    fn new(stage: Stage, reason: impl Into<String>) -> Self {
        Failure { status: Status::Failed, stage, reason: reason.into(), cause: Cause::Other }
    }

    fn with(self, cause: Cause) -> Self {
        Failure { cause, ..self }
    }

    /// `what` says what was tried; empty when the error says it.
    fn of(stage: Stage, what: &str, error: &TransportError) -> Self {
        let cause = if error.is_lost { Cause::Connection } else { Cause::of_words(&error.message) };
        Failure::new(stage, format!("{what}{}", error.with_hint())).with(cause)
    }

    fn interrupted(stage: Stage) -> Self {
        Failure::new(stage, "the run was interrupted").with_status(Status::Interrupted)
    }

    /// The same failure as part of something else.
    fn at(self, stage: Stage, whose: &str) -> Self {
        Failure { stage, reason: format!("{whose}{}", self.reason), ..self }
    }

    fn with_status(self, status: Status) -> Self {
        Failure { status, ..self }
    }
}
