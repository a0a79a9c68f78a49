//! The many values of each cell, all its trials together: histograms are merged by their counts, and percentiles
//! come from the merged counts; they are never averaged. Read [`distributions`].

use std::collections::BTreeMap;

use super::interval::Interval;
use crate::metrics::Distribution;
use crate::metrics::histogram::{Histogram, smallest_count};
use crate::record::{Phase, PlannedCell, Run, Status};
use crate::units::Unit;

/// All values of one quantity in one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Merged<'a> {
    /// The cell.
    pub cell: &'a PlannedCell,
    /// The quantity.
    pub name: String,
    /// The base unit of the values.
    pub unit: Unit,
    /// What tells it apart from others of the same name.
    pub labels: BTreeMap<String, String>,
    /// From how many trials they are.
    pub trials: usize,
    /// The counts of all these trials.
    pub histogram: Histogram,
}

impl Merged<'_> {
    /// A percentile with its 95 % interval by order statistics, where there are enough values for one. The values
    /// of a trial are taken for independent, which latencies of messages in a row often are not.
    pub fn percentile(&self, q: f64) -> Option<(f64, Interval)> {
        if self.histogram.count() < smallest_count(q) {
            return None;
        }
        let bounds = self.histogram.interval(q)?;
        Some((self.histogram.quantile(q).value, Interval { low: bounds.low, high: bounds.high }))
    }
}

/// Every distribution of the measured trials that are ok, by cell in the order of the manifest.
pub fn distributions(run: &Run) -> Vec<Merged<'_>> {
    let mut merged: BTreeMap<_, Merged<'_>> = BTreeMap::new();
    let cells: BTreeMap<&str, usize> =
        run.manifest.cells.iter().enumerate().map(|(place, cell)| (cell.cell.as_str(), place)).collect();
    let counted =
        run.last_attempts().filter(|record| record.phase == Phase::Measure && record.status == Status::Ok);
    for record in counted {
        for Distribution { name, unit, labels, histogram } in &record.words().histograms {
            let Some(place) = cells.get(record.cell.as_str()) else { continue };
            merged
                .entry((*place, name.as_str(), unit, labels))
                .and_modify(|all| {
                    all.trials += 1;
                    all.histogram.merge(histogram);
                })
                .or_insert_with(|| Merged {
                    cell: &run.manifest.cells[*place],
                    name: name.clone(),
                    unit: unit.clone(),
                    labels: labels.clone(),
                    trials: 1,
                    histogram: histogram.clone(),
                });
        }
    }
    merged.into_values().collect()
}
