//! What the trials of each cell of a run gave, value by value, for comparisons with other runs. Read [`samples`].

use std::collections::BTreeMap;

use super::refusal::sorted;
use super::summary::{MetricKey, metrics};
use crate::record::{ELAPSED, Phase, PlannedCell, Record, Run, Status};
use crate::units::Better;

/// The values of one metric of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The metric.
    pub metric: MetricKey,
    /// Which direction is good, where the metric has one.
    pub better: Option<Better>,
    /// A value for each ok trial that has one, in ascending order, in the metric's base unit; one at least.
    pub values: Vec<f64>,
}

/// One cell of a run with its values.
#[derive(Debug, Clone)]
pub struct CellSamples<'a> {
    /// The cell.
    pub cell: &'a PlannedCell,
    /// How many measured trials are ok.
    pub ok: usize,
    /// The last measured trial that is not ok; none where all are.
    pub failure: Option<&'a Record>,
    /// A sample for each metric, in the order of the records.
    pub samples: Vec<Sample>,
}

/// All cells of `run` in the order of the file. `metric` is the name of the only metric that is taken; without it all
/// are, but [`ELAPSED`] only where nothing else was measured.
pub fn samples<'a>(run: &'a Run, metric: Option<&str>) -> Vec<CellSamples<'a>> {
    let mut measured: BTreeMap<&str, Vec<&Record>> = BTreeMap::new();
    for record in run.last_attempts().filter(|record| record.phase == Phase::Measure) {
        measured.entry(&record.cell).or_default().push(record);
    }
    let of_cell = |cell: &'a PlannedCell| {
        let records = measured.get(cell.cell.as_str()).map(Vec::as_slice).unwrap_or_default();
        let ok: Vec<&Record> = records.iter().copied().filter(|record| record.status == Status::Ok).collect();
        let mut known = metrics(ok.iter().copied());
        let has_others = known.iter().any(|(key, _)| key.name != ELAPSED);
        known.retain(|(key, _)| match metric {
            Some(name) => key.name == name,
            None => key.name != ELAPSED || !has_others,
        });
        let sample = |(metric, better): (MetricKey, Option<Better>)| {
            let values = ok.iter().filter_map(|record| metric.value(record));
            let values = sorted(&values.collect::<Vec<_>>());
            (!values.is_empty()).then_some(Sample { metric, better, values })
        };
        CellSamples {
            cell,
            ok: ok.len(),
            failure: records.iter().rev().find(|record| record.status != Status::Ok).copied(),
            samples: known.into_iter().filter_map(sample).collect(),
        }
    };
    run.manifest.cells.iter().map(of_cell).collect()
}

/// Whether two cells, of one run or of two, mean the same.
pub fn is_same_cell(one: &PlannedCell, other: &PlannedCell) -> bool {
    let meaning = |cell: &PlannedCell| {
        (cell.workload.clone(), cell.host.clone(), cell.environment.clone(), cell.parameters.clone())
    };
    meaning(one) == meaning(other)
}
