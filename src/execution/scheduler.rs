//! Which trial starts when: trials whose hosts are disjoint run side by side, two that share a host never
//! overlap, and on every host the order of the plan is kept, but for what had to wait for another host. Only
//! the cells that are open are held.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use futures_util::StreamExt;
use futures_util::future::{LocalBoxFuture, join_all};
use futures_util::stream::FuturesUnordered;

use super::Run;
use super::aside::Aside;
use super::attempts::{self, Finished, Of, Sample, Start};
use super::cell::CellState;
use super::queues::{Queues, Unusable};
use crate::event::Event;
use crate::plan::{Cell, Phase, Turn};

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

/// What is going on.
struct Schedule<'a> {
    run: &'a Run,
    queues: Queues<'a>,
    open: BTreeMap<usize, Open>,
    busy: BTreeSet<String>,
    aside: Aside<'a>,
    /// The cells with adaptive repetitions that are not known well enough yet, and those that are.
    samples: BTreeMap<usize, Sample>,
    known: BTreeSet<usize>,
    /// Trials that wait for a host that is set aside, at most one for each.
    waiting: Vec<Start>,
    running: FuturesUnordered<LocalBoxFuture<'a, Finished>>,
}

pub(super) async fn run(run: &Run) {
    let mut schedule = Schedule {
        run,
        queues: Queues::new(run),
        open: BTreeMap::new(),
        busy: BTreeSet::new(),
        aside: Aside::new(run),
        samples: BTreeMap::new(),
        known: BTreeSet::new(),
        waiting: Vec::new(),
        running: FuturesUnordered::new(),
    };
    for (cell, values) in run.history.samples() {
        let Some(rule) = run.plan.adaptive(*cell) else { continue };
        schedule.keep(*cell, Sample { rule, values: values.clone() });
    }
    loop {
        if !run.is_stopping() {
            schedule.start();
        }
        let is_idle = schedule.running.is_empty();
        if is_idle && (run.is_stopping() || schedule.is_over() || !schedule.aside.is_hopeful(true)) {
            break;
        }
        tokio::select! {
            Some(finished) = schedule.running.next(), if !is_idle => schedule.finished(finished),
            () = schedule.aside.change(), if !run.is_stopping() => {}
            () = run.stop.cancelled(), if is_idle => {}
        }
    }
    if !run.is_stopping() {
        schedule.give_up().await;
    }
    let rest = schedule.open.into_values().filter_map(|cell| Some((cell.cell, cell.state?)));
    let rest: Vec<(Rc<Cell>, CellState)> = rest.collect();
    join_all(rest.into_iter().map(|(cell, state)| async move { state.release(run, &cell).await })).await;
}

/// Whether a trial is needed: none beyond the least is of a cell that is known well enough.
fn is_needed(run: &Run, known: &BTreeSet<usize>, turn: &Turn) -> bool {
    !known.contains(&turn.cell)
        || turn.phase == Phase::Warmup
        || run.plan.adaptive(turn.cell).is_none_or(|rule| turn.repetition <= rule.min)
}

impl Schedule<'_> {
    /// Starts all that can be started.
    fn start(&mut self) {
        for start in std::mem::take(&mut self.waiting) {
            let unusable = Unusable { busy: &self.busy, aside: self.aside.names() };
            let cell = self.open.get(&start.turn.cell);
            match cell.is_some_and(|cell| !cell.hosts.iter().any(|host| unusable.has(host))) {
                true => self.begin(start),
                false => self.waiting.push(start),
            }
        }
        let unusable = Unusable { busy: &self.busy, aside: self.aside.names() };
        let is_needed = |turn: &Turn| is_needed(self.run, &self.known, turn);
        for turn in self.queues.startable(self.run, &unusable, &is_needed) {
            let attempts = self.run.history.past(&turn).attempts;
            self.begin(Start { turn, attempts, may_wait: true });
        }
    }

    fn begin(&mut self, start: Start) {
        let run = self.run;
        let cell = self.open.entry(start.turn.cell).or_insert_with(|| Open::new(run, start.turn.cell));
        self.busy.extend(cell.hosts.iter().cloned());
        cell.left -= 1;
        let rule = run.plan.adaptive(start.turn.cell);
        let sample = rule
            .map(|rule| self.samples.remove(&start.turn.cell).unwrap_or(Sample { rule, values: Vec::new() }));
        let (state, is_last) = (cell.state.take(), cell.left == 0);
        let of = Of { cell: cell.cell.clone(), state, is_last, sample };
        self.running.push(Box::pin(attempts::one(run, of, start)));
    }

    /// Keeps what is known of a cell; whether that is enough.
    fn keep(&mut self, cell: usize, sample: Sample) -> bool {
        let is_enough = self.known.contains(&cell) || sample.is_enough(self.run);
        if is_enough {
            self.known.insert(cell);
        }
        self.samples.insert(cell, sample);
        is_enough
    }

    fn finished(&mut self, finished: Finished) {
        let Some(cell) = self.open.get_mut(&finished.cell) else { return };
        cell.state = finished.state;
        self.busy.retain(|host| !cell.hosts.contains(host));
        self.run.say(Event::HostsFree { hosts: cell.hosts.iter().cloned().collect() });
        if finished.waits.is_some() {
            cell.left += 1;
        }
        let (left, is_released) = (cell.left, cell.state.is_none());
        let is_enough = finished.sample.is_some_and(|sample| self.keep(finished.cell, sample));
        if is_enough && left > 0 {
            self.run.say(Event::KnownWellEnough { cell: finished.cell, spared: left });
        }
        if (is_enough || left == 0) && is_released {
            self.open.remove(&finished.cell);
        }
        self.waiting.extend(finished.waits);
        for (host, reason) in finished.gone {
            self.aside.add(host, reason);
        }
    }

    /// Whether every trial is over.
    fn is_over(&self) -> bool {
        self.queues.is_empty() && self.waiting.is_empty()
    }

    /// What is left belongs to hosts that did not come back: each such trial has a record that says so.
    async fn give_up(&self) {
        // Whether more than the least would have been needed is not known.
        let is_planned = |turn: &Turn| {
            let rule = self.run.plan.adaptive(turn.cell);
            is_needed(self.run, &self.known, turn)
                && rule.is_none_or(|rule| turn.phase == Phase::Warmup || turn.repetition <= rule.min)
        };
        let never = self.queues.rest(self.run).filter(is_planned).map(|turn| {
            let attempts = self.run.history.past(&turn).attempts;
            Start { turn, attempts, may_wait: false }
        });
        let waiting = self.waiting.iter().map(|start| Start { ..*start });
        for start in waiting.chain(never) {
            if self.run.stop.is_cancelled() {
                return;
            }
            let cell = self.run.plan.cell(start.turn.cell);
            let hosts = cell.hosts();
            let reason = hosts.iter().find_map(|host| self.aside.reason(host)).unwrap_or("its host was gone");
            let reason = format!("{reason}; it did not come back before the run ended");
            attempts::not_begun(self.run, &cell, &start, reason).await;
        }
    }
}
