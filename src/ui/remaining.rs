//! How long a run will still take, from what its finished trials took.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::plan::{Cell, CellName, Plan, Trial};

/// Guesses the time left.
pub struct Remaining {
    cells: BTreeMap<CellName, (Cell, BTreeSet<String>, u32)>,
    /// Seconds and number of finished trials, by cell name and by workload.
    taken: BTreeMap<String, (f64, u32)>,
}

impl Remaining {
    /// Nothing of `plan` is finished.
    pub fn new(plan: &Plan) -> Self {
        let cell =
            |cell: &Cell| (cell.name.clone(), (cell.clone(), cell.hosts(), cell.warmup + cell.repetitions));
        Remaining { cells: plan.cells.iter().map(cell).collect(), taken: BTreeMap::new() }
    }

    /// A trial took this long.
    pub fn finished(&mut self, trial: &Trial, seconds: f64) {
        let Some((cell, _, left)) = self.cells.get_mut(&trial.cell) else { return };
        *left = left.saturating_sub(1);
        for key in [trial.cell.to_string(), cell.workload.clone()] {
            let taken = self.taken.entry(key).or_default();
            *taken = (taken.0 + seconds, taken.1 + 1);
        }
    }

    /// The time of the busiest host's trials, each as long as its cell's were, or its workload's. `None`
    /// until every workload that is left has a finished trial.
    pub fn time(&self) -> Option<Duration> {
        let mut hosts: BTreeMap<&str, f64> = BTreeMap::new();
        for (name, (cell, used, left)) in self.cells.iter().filter(|(_, (.., left))| *left > 0) {
            let (seconds, count) =
                self.taken.get(name.as_str()).or_else(|| self.taken.get(&cell.workload))?;
            for host in used {
                *hosts.entry(host).or_default() += seconds / f64::from(*count) * f64::from(*left);
            }
        }
        let longest = hosts.into_values().fold(0.0, f64::max);
        Duration::try_from_secs_f64(longest).ok()
    }
}
