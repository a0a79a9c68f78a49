//! How long a run will still take, from what its finished trials took. Trials that are busy on the same hosts
//! in the same environment count alike, so that it stays as small however many cells there are.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::plan::{Cell, Plan, Trial};

/// Guesses the time left.
#[derive(Debug)]
pub(super) struct Remaining {
    plan: Plan,
    kinds: BTreeMap<Kind, Trials>,
}

/// What tells trials of different length apart; their parameters do so too, but every block of the order
/// mixes these alike.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    workload: String,
    environment: String,
    hosts: BTreeSet<String>,
}

impl Kind {
    fn of(cell: &Cell) -> Self {
        Kind { workload: cell.workload.clone(), environment: cell.environment.clone(), hosts: cell.hosts() }
    }
}

/// The trials of one kind.
#[derive(Debug, Default)]
struct Trials {
    left: u64,
    finished: u64,
    /// What the finished ones took together.
    seconds: f64,
}

impl Remaining {
    /// Nothing of `plan` is finished.
    pub(super) fn new(plan: &Plan) -> Self {
        let mut kinds: BTreeMap<Kind, Trials> = BTreeMap::new();
        for cell in plan.cells() {
            kinds.entry(Kind::of(&cell)).or_default().left += u64::from(cell.warmup + cell.repetitions);
        }
        Remaining { plan: plan.clone(), kinds }
    }

    /// So many trials of the cell number `cell` are not to come.
    pub(super) fn skip(&mut self, cell: usize, count: u32) {
        if let Some(trials) = self.kinds.get_mut(&Kind::of(&self.plan.cell(cell))) {
            trials.left = trials.left.saturating_sub(count.into());
        }
    }

    /// A trial took this long.
    pub(super) fn finished(&mut self, trial: &Trial, seconds: f64) {
        let kind = Kind::of(&self.plan.cell(trial.index));
        if let Some(trials) = self.kinds.get_mut(&kind) {
            trials.left = trials.left.saturating_sub(1);
            trials.finished += 1;
            trials.seconds += seconds;
        }
    }

    /// The time of the busiest host's trials, each as long as those of its kind were, or of its workload.
    /// `None` until every workload that is left has a finished trial.
    pub(super) fn time(&self) -> Option<Duration> {
        let mut hosts: BTreeMap<&str, f64> = BTreeMap::new();
        for (kind, trials) in self.kinds.iter().filter(|(_, trials)| trials.left > 0) {
            let mean = self.mean(kind, trials)?;
            for host in &kind.hosts {
                *hosts.entry(host).or_default() += mean * trials.left as f64;
            }
        }
        let longest = hosts.into_values().fold(0.0, f64::max);
        Duration::try_from_secs_f64(longest).ok()
    }

    fn mean(&self, kind: &Kind, trials: &Trials) -> Option<f64> {
        if trials.finished > 0 {
            return Some(trials.seconds / trials.finished as f64);
        }
        let of_workload = self.kinds.iter().filter(|(other, _)| other.workload == kind.workload);
        let (seconds, finished) =
            of_workload.fold((0.0, 0), |sum, (_, trials)| (sum.0 + trials.seconds, sum.1 + trials.finished));
        (finished > 0).then(|| seconds / finished as f64)
    }
}
