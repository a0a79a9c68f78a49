//! What each host still has to do, in the order of the plan, read ahead by one trial a host. A trial whose
//! other host is set aside is passed by; the queue of that host keeps it.

use std::collections::BTreeSet;

use super::Run;
use crate::plan::{Turn, Turns};

/// The turns of one host that are still to come.
struct Queue<'a> {
    host: String,
    turns: Turns<'a>,
    next: Option<Turn>,
}

impl Queue<'_> {
    fn advance(&mut self, run: &Run) {
        let is_due = |turn: &Turn| run.plan.is_busy(&self.host, turn.cell) && !run.history.past(turn).is_done;
        self.next = self.turns.find(is_due);
    }

    /// Whether a turn is behind it: started, or kept by another queue.
    fn has_passed(&self, turn: &Turn) -> bool {
        self.next.is_none_or(|next| next.order > turn.order)
    }
}

/// Hosts that can't be used now.
pub(super) struct Unusable<'a> {
    /// Those that a trial runs on.
    pub busy: &'a BTreeSet<String>,
    /// Those that do not answer.
    pub aside: &'a BTreeSet<String>,
}

impl Unusable<'_> {
    pub(super) fn has(&self, host: &str) -> bool {
        self.busy.contains(host) || self.aside.contains(host)
    }
}

/// The queues of all hosts.
pub(super) struct Queues<'a>(Vec<Queue<'a>>);

impl<'a> Queues<'a> {
    pub(super) fn new(run: &'a Run) -> Self {
        let new = |host| {
            let mut queue = Queue { host, turns: run.plan.turns(), next: None };
            queue.advance(run);
            queue
        };
        Queues(run.plan.hosts().into_iter().map(new).collect())
    }

    /// Takes every turn that can be started now, in the order of the plan: those that are the next one on each
    /// of their hosts, or were passed by there, while all of these can be used.
    pub(super) fn startable(
        &mut self,
        run: &Run,
        unusable: &Unusable<'_>,
        is_needed: &dyn Fn(&Turn) -> bool,
    ) -> Vec<Turn> {
        self.pass_by(run, unusable, is_needed);
        let usable = self.0.iter().filter(|queue| !unusable.has(&queue.host));
        let mut heads: Vec<Turn> = usable.filter_map(|queue| queue.next).collect();
        heads.sort_by_key(|turn| turn.order);
        heads.dedup();
        let (mut start, mut taken) = (Vec::new(), BTreeSet::new());
        for turn in heads {
            let of_turn = || self.0.iter().filter(|queue| run.plan.is_busy(&queue.host, turn.cell));
            let is_free = |queue: &Queue<'_>| {
                let is_next = queue.next == Some(turn) || queue.has_passed(&turn);
                is_next && !unusable.has(&queue.host) && !taken.contains(&queue.host)
            };
            if of_turn().all(is_free) {
                taken.extend(of_turn().map(|queue| queue.host.clone()));
                start.push(turn);
            }
        }
        for queue in &mut self.0 {
            if queue.next.is_some_and(|next| start.contains(&next)) {
                queue.advance(run);
            }
        }
        start
    }

    /// Passes by what is not needed any more, and what waits for a host that is set aside and that keeps it.
    fn pass_by(&mut self, run: &Run, unusable: &Unusable<'_>, is_needed: &dyn Fn(&Turn) -> bool) {
        for index in 0..self.0.len() {
            while let Some(turn) = self.0[index].next {
                let host = &self.0[index].host;
                if unusable.has(host) {
                    break;
                }
                let keeps = |other: &Queue<'_>| {
                    other.host != *host
                        && unusable.aside.contains(&other.host)
                        && run.plan.is_busy(&other.host, turn.cell)
                        && !other.has_passed(&turn)
                };
                if is_needed(&turn) && !self.0.iter().any(keeps) {
                    break;
                }
                self.0[index].advance(run);
            }
        }
    }

    /// Whether a trial is still to come.
    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|queue| queue.next.is_none())
    }

    /// Every turn that was never started.
    pub(super) fn rest<'r>(&'r self, run: &'r Run) -> impl Iterator<Item = Turn> + 'r {
        let is_kept = move |turn: &Turn| {
            let keeps =
                |queue: &Queue<'_>| !queue.has_passed(turn) && run.plan.is_busy(&queue.host, turn.cell);
            !run.history.past(turn).is_done && self.0.iter().any(keeps)
        };
        run.plan.turns().filter(is_kept)
    }
}
