//! One trial with all its attempts: which failure is tried again, and when its record is told.

use std::rc::Rc;
use std::time::Duration;

use futures_util::future::join_all;

use super::cell::CellState;
use super::{Cause, Run, limits, timestamp, trial};
use crate::event::{Event, Outcome, Stage, Status, Verdict, Verdicts};
use crate::plan::{Adaptive, Cell, Phase, Trial, Turn};

/// How long the record of the last trial of a cell waits for the cell's clean-up: a kill in between would lose
/// that trial.
const RECORD_WAITS: Duration = Duration::from_secs(20);

/// A trial that is to be started.
pub(super) struct Start {
    pub turn: Turn,
    /// How often it was tried before.
    pub attempts: u32,
    /// Whether it waits once for a host that does not answer, rather than fail for good.
    pub may_wait: bool,
}

/// What is known of a cell while its repetitions are adaptive.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    pub rule: Adaptive,
    pub values: Vec<f64>,
}

impl Sample {
    /// Whether it is known well enough.
    pub(super) fn is_enough(&self, run: &Run) -> bool {
        let Adaptive { min, until, .. } = self.rule;
        self.values.len() >= min as usize && (run.is_precise)(&self.values, until.fraction())
    }
}

/// A cell of which a trial is started.
pub(super) struct Of {
    pub cell: Rc<Cell>,
    pub state: Option<CellState>,
    /// Whether no other trial of it follows.
    pub is_last: bool,
    /// Its values so far, where its repetitions are adaptive.
    pub sample: Option<Sample>,
}

/// What comes back when a trial is over.
pub(super) struct Finished {
    pub cell: usize,
    pub state: Option<CellState>,
    /// What is known of it now.
    pub sample: Option<Sample>,
    /// The hosts that do not answer any more, and why.
    pub gone: Vec<(String, String)>,
    /// The trial itself, when it waits for one of them.
    pub waits: Option<Start>,
}

/// Tries a trial until it is over.
pub(super) async fn one(
    run: &Run,
    Of { cell, state, mut is_last, mut sample }: Of,
    Start { turn, attempts, may_wait }: Start,
) -> Finished {
    let trial = Trial::new(turn, cell.name.clone());
    let mut state = match state {
        Some(state) => state,
        None => CellState::new(run, &cell),
    };
    let retries = limits::retries(run, &cell);
    let mut attempt = attempts;
    let (outcome, cause) = loop {
        attempt += 1;
        until_ours(run, &cell).await;
        run.say(Event::TrialStarted { trial: trial.clone(), hosts: cell.hosts().into_iter().collect() });
        let (mut outcome, cause) = trial::execute(run, &cell, &mut state, &trial, attempt).await;
        let retry = attempt - attempts;
        if retry > retries || !cause.is_some_and(Cause::may_pass) || run.stop.is_cancelled() {
            break (outcome, cause);
        }
        outcome.is_repeated = true;
        told(run, outcome).await;
        tokio::select! {
            () = tokio::time::sleep(limits::wait_before(retry)) => {}
            // Its record says that another attempt was to follow.
            () = run.stop.cancelled() => {
                return Finished { cell: turn.cell, state: Some(state), sample, gone: Vec::new(), waits: None };
            }
        }
    };
    let is_failed = cause.is_some() && !run.stop.is_cancelled();
    let gone =
        if is_failed && cause == Some(Cause::Connection) { gone(run, &cell).await } else { Vec::new() };
    let waits = (!gone.is_empty() && may_wait && retries > 0).then_some(Start {
        turn,
        attempts: attempt,
        may_wait: false,
    });
    if waits.is_some() {
        told(run, Outcome { is_repeated: true, ..outcome }).await;
        return Finished { cell: turn.cell, state: Some(state), sample, gone, waits };
    }
    if is_failed && limits::stops_on_failure(run, &cell) {
        run.stop_by(format!("`on_failure: stop`, after {} failed", trial.id()));
    }
    if let Some(sample) = &mut sample
        && turn.phase == Phase::Measure
        && let Some(first) = outcome.measurements.first()
    {
        sample.values.push(first.value);
        is_last |= sample.is_enough(run);
    }
    let state = match is_last {
        true => {
            release(run, &cell, state, outcome).await;
            None
        }
        false => {
            told(run, outcome).await;
            Some(state)
        }
    };
    Finished { cell: turn.cell, state, sample, gone, waits }
}

/// A machine whose connection was lost may have been given to another run: it is waited for.
async fn until_ours(run: &Run, cell: &Cell) {
    let waits = cell.hosts().into_iter().filter_map(|host| run.machine(&host).ok()).map(async |machine| {
        let tell = |holder: &str| {
            run.say(Event::HostLocked { host: machine.name.clone(), holder: holder.to_owned() });
        };
        machine.until_ours(tell).await
    });
    tokio::select! {
        _ = join_all(waits) => {}
        () = run.stop.cancelled() => {}
    }
}

/// Tells what became of an attempt. Who receives the event writes its record now, before the next trial
/// starts: on the machine that runs `runner`, the write would disturb it.
async fn told(run: &Run, outcome: Outcome) {
    run.say(Event::TrialFinished(Box::new(outcome)));
    tokio::task::yield_now().await;
}

/// Removes what was made for a cell, so that the record of its last trial tells of it; not longer than that
/// record may wait.
async fn release(run: &Run, cell: &Cell, state: CellState, outcome: Outcome) {
    let troubles = state.troubles.clone();
    let mut releasing = std::pin::pin!(state.release(run, cell));
    let is_over = tokio::time::timeout(RECORD_WAITS, &mut releasing).await.is_ok();
    told(run, trial::with_troubles(outcome, troubles.take())).await;
    if !is_over {
        releasing.await;
    }
}

/// The hosts of a cell that do not answer, and why.
async fn gone(run: &Run, cell: &Cell) -> Vec<(String, String)> {
    let hosts = cell.hosts();
    let answers = join_all(hosts.iter().map(|host| run.machines.answers(run, host))).await;
    let gone = hosts.into_iter().zip(answers);
    gone.filter_map(|(host, answer)| Some((host, answer.err()?))).collect()
}

/// Tells that a trial was never begun, because its host did not come back.
pub(super) async fn not_begun(run: &Run, cell: &Cell, start: &Start, reason: String) {
    let outcome = Outcome {
        trial: Trial::new(start.turn, cell.name.clone()),
        attempt: start.attempts + 1,
        status: Status::Failed,
        stage: Some(Stage::Host),
        reason: Some(reason),
        is_repeated: false,
        verdicts: Verdicts { setup: Verdict::Failed, ..Verdicts::default() },
        started: timestamp(),
        elapsed_s: 0.0,
        measurements: Vec::new(),
        warnings: Vec::new(),
        caches: Vec::new(),
        waits: Vec::new(),
        noise: None,
        noise_of_services: Default::default(),
        details: Default::default(),
        expectations: Vec::new(),
        outputs: Default::default(),
    };
    told(run, outcome).await;
}
