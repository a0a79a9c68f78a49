//! Which trial starts when: trials whose hosts are disjoint run side by side, two that share a host never
//! overlap, and on every host the order of the plan is kept.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use futures_util::StreamExt;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;

use super::cell::CellState;
use super::{Run, trial};
use crate::event::Event;
use crate::plan::{Cell, CellName, Trial};

/// A cell while some of its trials are still to come.
struct Open<'a> {
    cell: &'a Cell,
    hosts: BTreeSet<String>,
    left: u32,
    state: Option<CellState>,
}

/// What comes back when a trial is over.
type Finished = (CellName, Option<CellState>);

pub(super) async fn run(run: &Run) {
    let mut open: BTreeMap<&CellName, Open<'_>> = run
        .plan
        .cells
        .iter()
        .map(|cell| {
            let left = cell.warmup + cell.repetitions;
            (&cell.name, Open { cell, hosts: cell.hosts(), left, state: None })
        })
        .collect();
    let mut waiting: VecDeque<&Trial> = run.plan.trials.iter().collect();
    let mut busy: BTreeSet<String> = BTreeSet::new();
    let mut running: FuturesUnordered<LocalBoxFuture<'_, Finished>> = FuturesUnordered::new();
    loop {
        if !run.stop.is_cancelled() {
            for trial in startable(&mut waiting, &open, &busy) {
                let Some(cell) = open.get_mut(&trial.cell) else { continue };
                busy.extend(cell.hosts.iter().cloned());
                cell.left -= 1;
                running.push(Box::pin(one(run, cell.cell, trial, cell.state.take(), cell.left == 0)));
            }
        }
        let Some((name, state)) = running.next().await else { break };
        if let Some(cell) = open.get_mut(&name) {
            cell.state = state;
            busy.retain(|host| !cell.hosts.contains(host));
            run.say(Event::HostsFree { hosts: cell.hosts.iter().cloned().collect() });
        }
    }
    let rest = open.into_values().filter_map(|cell| cell.state.map(|state| state.release(run, cell.cell)));
    futures_util::future::join_all(rest).await;
}

/// Takes out of `waiting` every trial that can start now. A trial that must wait keeps its hosts from
/// later ones, so that none overtakes it there.
fn startable<'a>(
    waiting: &mut VecDeque<&'a Trial>,
    open: &BTreeMap<&CellName, Open<'_>>,
    busy: &BTreeSet<String>,
) -> Vec<&'a Trial> {
    let all: BTreeSet<&String> = open.values().flat_map(|cell| &cell.hosts).collect();
    let mut taken = busy.clone();
    let mut start = Vec::new();
    let mut index = 0;
    while index < waiting.len() && taken.len() < all.len() {
        let hosts = open.get(&waiting[index].cell).map(|cell| &cell.hosts);
        let is_free = hosts.is_some_and(|hosts| hosts.is_disjoint(&taken));
        taken.extend(hosts.into_iter().flatten().cloned());
        match is_free {
            true => start.extend(waiting.remove(index)),
            false => index += 1,
        }
    }
    start
}

async fn one(run: &Run, cell: &Cell, trial: &Trial, state: Option<CellState>, is_last: bool) -> Finished {
    run.say(Event::TrialStarted { trial: trial.clone(), hosts: cell.hosts().into_iter().collect() });
    let mut state = match state {
        Some(state) => state,
        None => CellState::new(run, cell),
    };
    let outcome = trial::execute(run, cell, &mut state, trial).await;
    run.say(Event::TrialFinished(Box::new(outcome)));
    // Who receives the event writes its record now, before the next trial starts: on the machine that
    // runs `runner`, the write would disturb it.
    tokio::task::yield_now().await;
    if is_last {
        state.release(run, cell).await;
        return (cell.name.clone(), None);
    }
    (cell.name.clone(), Some(state))
}
