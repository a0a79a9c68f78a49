//! Which trial starts when: trials whose hosts are disjoint run side by side, two that share a host never
//! overlap, and on every host the order of the plan is kept. The order is read ahead by one trial a host;
//! only the cells that are open are held.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use futures_util::StreamExt;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;

use super::cell::CellState;
use super::{Run, trial};
use crate::event::Event;
use crate::plan::{Cell, Trial, Turn, Turns};

/// A cell of which a trial was started.
struct Open {
    cell: Rc<Cell>,
    hosts: BTreeSet<String>,
    left: u32,
    state: Option<CellState>,
}

impl Open {
    fn new(run: &Run, index: usize) -> Self {
        let cell = run.plan.cell(index);
        let left = cell.warmup + cell.repetitions - run.history.done(index);
        Open { hosts: cell.hosts(), left, cell: Rc::new(cell), state: None }
    }
}

/// The turns of one host that are still to come.
struct Queue<'a> {
    host: String,
    turns: Turns<'a>,
    next: Option<Turn>,
}

impl<'a> Queue<'a> {
    fn new(run: &'a Run, host: String) -> Self {
        let mut queue = Queue { host, turns: run.plan.turns(), next: None };
        queue.advance(run);
        queue
    }

    fn advance(&mut self, run: &Run) {
        let is_due = |turn: &Turn| run.plan.is_busy(&self.host, turn.cell) && !run.history.past(turn).is_done;
        self.next = self.turns.find(is_due);
    }
}

/// What comes back when a trial is over.
type Finished = (usize, Option<CellState>);

pub(super) async fn run(run: &Run) {
    let plan = &run.plan;
    let mut queues: Vec<Queue<'_>> = plan.hosts().into_iter().map(|host| Queue::new(run, host)).collect();
    let mut open: BTreeMap<usize, Open> = BTreeMap::new();
    let mut busy: BTreeSet<String> = BTreeSet::new();
    let mut running: FuturesUnordered<LocalBoxFuture<'_, Finished>> = FuturesUnordered::new();
    loop {
        if !run.stop.is_cancelled() {
            for turn in startable(run, &mut queues, &busy) {
                let cell = open.entry(turn.cell).or_insert_with(|| Open::new(run, turn.cell));
                busy.extend(cell.hosts.iter().cloned());
                cell.left -= 1;
                let trial = Trial::new(turn, cell.cell.name.clone());
                running.push(Box::pin(one(run, cell.cell.clone(), trial, cell.state.take(), cell.left == 0)));
            }
        }
        let Some((index, state)) = running.next().await else { break };
        if let Some(cell) = open.get_mut(&index) {
            cell.state = state;
            busy.retain(|host| !cell.hosts.contains(host));
            run.say(Event::HostsFree { hosts: cell.hosts.iter().cloned().collect() });
            if cell.left == 0 {
                open.remove(&index);
            }
        }
    }
    let rest: Vec<(Rc<Cell>, CellState)> =
        open.into_values().filter_map(|cell| Some((cell.cell, cell.state?))).collect();
    let rest = rest.into_iter().map(|(cell, state)| async move { state.release(run, &cell).await });
    futures_util::future::join_all(rest).await;
}

/// Takes every turn that can be started now, in the order of the plan: those that are the next one on each
/// of their hosts, none of which is busy.
fn startable(run: &Run, queues: &mut [Queue<'_>], busy: &BTreeSet<String>) -> Vec<Turn> {
    let mut start: BTreeMap<usize, Turn> = BTreeMap::new();
    for queue in queues.iter().filter(|queue| !busy.contains(&queue.host)) {
        let Some(turn) = queue.next else { continue };
        let mut others = queues.iter().filter(|other| run.plan.is_busy(&other.host, turn.cell));
        if others.all(|other| other.next == Some(turn) && !busy.contains(&other.host)) {
            start.insert(turn.order, turn);
        }
    }
    for queue in queues.iter_mut() {
        if queue.next.is_some_and(|turn| start.contains_key(&turn.order)) {
            queue.advance(run);
        }
    }
    start.into_values().collect()
}

/// A machine whose connection was lost may have been given to another run: it is waited for.
async fn until_ours(run: &Run, hosts: &BTreeSet<String>) {
    let waits = hosts.iter().filter_map(|host| run.machine(host).ok()).map(|machine| {
        machine.until_ours(|holder| {
            run.say(Event::HostLocked { host: machine.name.clone(), holder: holder.to_owned() });
        })
    });
    tokio::select! {
        _ = futures_util::future::join_all(waits) => {}
        () = run.stop.cancelled() => {}
    }
}

async fn one(run: &Run, cell: Rc<Cell>, trial: Trial, state: Option<CellState>, is_last: bool) -> Finished {
    until_ours(run, &cell.hosts()).await;
    run.say(Event::TrialStarted { trial: trial.clone(), hosts: cell.hosts().into_iter().collect() });
    let mut state = match state {
        Some(state) => state,
        None => CellState::new(run, &cell),
    };
    let outcome = trial::execute(run, &cell, &mut state, &trial).await;
    run.say(Event::TrialFinished(Box::new(outcome)));
    // Who receives the event writes its record now, before the next trial starts: on the machine that
    // runs `runner`, the write would disturb it.
    tokio::task::yield_now().await;
    if is_last {
        state.release(run, &cell).await;
        return (trial.index, None);
    }
    (trial.index, Some(state))
}
