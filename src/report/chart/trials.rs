//! The values of single trials, which the summaries have boiled down: for points, quartiles and marks. Only trials that
//! are ok, as everywhere.

use std::collections::HashMap;

use crate::analysis::{Summary, is_suspicious, outliers};
use crate::record::{Record, Run, counted};

/// The value of one trial, in base units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Trial<'a> {
    /// Its record.
    pub record: &'a Record,
    /// Its value.
    pub value: f64,
    /// Whether something disturbed it.
    pub is_suspicious: bool,
    /// Whether it is far from the others of its cell.
    pub is_outlier: bool,
}

/// The records of each cell, in the order of their numbers.
pub(super) struct Trials<'a>(HashMap<&'a str, &'a [Record]>);

impl<'a> Trials<'a> {
    pub fn new(run: &'a Run) -> Self {
        Self(run.by_cell())
    }

    /// The counted records of a cell.
    pub fn of_cell(&self, cell: &str) -> impl Iterator<Item = &'a Record> {
        counted(self.0.get(cell).copied().unwrap_or_default())
    }

    /// What a summary was made of.
    pub fn of(&self, summary: &Summary<'_>) -> Vec<Trial<'a>> {
        let trial = |record: &'a Record| {
            let value = summary.metric.value(record)?;
            Some(Trial { record, value, is_suspicious: is_suspicious(record), is_outlier: false })
        };
        let mut trials: Vec<Trial<'_>> = self.of_cell(&summary.cell.cell).filter_map(trial).collect();
        let values: Vec<f64> = trials.iter().map(|trial| trial.value).collect();
        for place in outliers(&values).unwrap_or_default() {
            trials[place].is_outlier = true;
        }
        trials
    }
}
