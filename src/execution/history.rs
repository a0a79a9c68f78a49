//! What earlier sittings of a run have done already: which trials are over, and how often each was tried.

use std::collections::BTreeMap;

use crate::plan::{Phase, Turn};

/// What became of the trials of a run before this sitting.
#[derive(Debug, Clone, Default)]
pub struct History {
    past: BTreeMap<(usize, Phase, u32), Past>,
    samples: BTreeMap<usize, Vec<f64>>,
}

/// What became of one trial.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Past {
    /// How often it was tried.
    pub attempts: u32,
    /// Whether it is over and not to be tried again.
    pub is_done: bool,
}

impl History {
    /// Keeps what became of repetition `repetition` (from 1, each phase apart) of the cell with this index.
    pub fn insert(&mut self, cell: usize, phase: Phase, repetition: u32, past: Past) {
        self.past.insert((cell, phase, repetition), past);
    }

    /// Keeps the first value of a measured trial that is ok, of a cell with adaptive repetitions: whether it is
    /// known well enough is decided anew, from the same values.
    pub fn insert_value(&mut self, cell: usize, value: f64) {
        self.samples.entry(cell).or_default().push(value);
    }

    /// The values that were kept, by cell.
    pub(super) fn samples(&self) -> &BTreeMap<usize, Vec<f64>> {
        &self.samples
    }

    /// What became of the trial of `turn`; one that is not known was never tried.
    pub fn past(&self, turn: &Turn) -> Past {
        self.past.get(&(turn.cell, turn.phase, turn.repetition)).copied().unwrap_or_default()
    }

    /// How many trials of a cell are over.
    pub(super) fn done(&self, cell: usize) -> u32 {
        let of_cell = self.past.range((cell, Phase::Warmup, 0)..=(cell, Phase::Measure, u32::MAX));
        of_cell.map(|(_, past)| u32::from(past.is_done)).sum()
    }
}
