//! One execution of a cell. Read [`Trial`]; a [`Turn`] is the same before anybody needs its name.

use serde::{Deserialize, Serialize};

use super::CellName;

/// Whether a trial counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Kept in the data, left out of estimates.
    Warmup,
    /// Counts.
    Measure,
    /// Measured, and left out of estimates by a report section that was written afterwards: no record has it.
    #[serde(skip_deserializing)]
    Excluded,
}

/// A place in the order of a plan, and the trial whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// The number of its cell in the plan, from 0.
    pub cell: usize,
    /// Warm-up or measured.
    pub phase: Phase,
    /// From 1, counted for each phase apart.
    pub repetition: u32,
    /// Its place in the planned order, from 1.
    pub order: usize,
    /// The block of the planned order it belongs to, from 1.
    pub block: u32,
}

/// One execution of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    /// The cell it belongs to.
    pub cell: CellName,
    /// The number of that cell in the plan, from 0.
    pub index: usize,
    /// Warm-up or measured.
    pub phase: Phase,
    /// From 1, counted for each phase apart.
    pub repetition: u32,
    /// Its place in the planned order, from 1.
    pub order: usize,
    /// The block of the planned order it belongs to, from 1.
    pub block: u32,
}

impl Trial {
    /// The trial of a `turn` of the cell named `cell`.
    pub fn new(turn: Turn, cell: CellName) -> Self {
        let Turn { cell: index, phase, repetition, order, block } = turn;
        Trial { cell, index, phase, repetition, order, block }
    }

    /// What tells it apart within its cell: `3`, or `warmup-1`.
    pub fn label(&self) -> String {
        match self.phase {
            Phase::Measure | Phase::Excluded => self.repetition.to_string(),
            Phase::Warmup => format!("warmup-{}", self.repetition),
        }
    }

    /// Its name in records and messages: `disk-read/lattepanda-a/docker#3`.
    pub fn id(&self) -> String {
        format!("{}#{}", self.cell, self.label())
    }
}
