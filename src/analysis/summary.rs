//! The records of a run, boiled down to one [`Summary`] a cell and metric. Warm-up trials, trials that are
//! not ok and attempts that were repeated are left out here and nowhere else.

use std::collections::{BTreeMap, BTreeSet};

use super::compare::{Ratio, baseline_of, paired_ratio};
use super::descriptive::{Description, describe};
use super::drift::{Drift, drift};
use super::interval::{Interval, mean_interval, median_interval};
use super::noise::is_suspicious;
use crate::metrics::Measurement;
use crate::record::{ELAPSED, Phase, PlannedCell, Record, Run, Status};
use crate::units::{Better, Unit};

/// What is measured: values with different keys are never put together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricKey {
    /// The metric's name.
    pub name: String,
    /// The base unit of all values.
    pub unit: Unit,
    /// What tells apart several values of one metric in a trial; empty for most.
    pub labels: BTreeMap<String, String>,
}

impl MetricKey {
    fn is_of(&self, measurement: &Measurement) -> bool {
        self.name == measurement.name && self.unit == measurement.unit && self.labels == measurement.labels
    }
}

/// One cell and metric in numbers, in the metric's base unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary<'a> {
    /// The cell.
    pub cell: &'a PlannedCell,
    /// The metric.
    pub metric: MetricKey,
    /// Which direction is good, where the metric has one.
    pub better: Option<Better>,
    /// How many trials are ok and have this metric: the size of the sample; `cell.repetitions` were planned.
    pub ok: usize,
    /// How many of them are suspicious. They count like all others.
    pub suspicious: usize,
    /// The sample; none where no trial is ok.
    pub sample: Option<Description>,
    /// 95 % t interval of the mean.
    pub mean_interval: Option<Interval>,
    /// 95 % order-statistic interval of the median.
    pub median_interval: Option<Interval>,
    /// Whether its trials are unlike over time.
    pub drift: Option<Drift>,
    /// The ratio to the baseline cell; none for the baseline itself.
    pub ratio: Option<Ratio>,
}

/// Summaries by cell in the order of the manifest, then by metric in the order of first appearance in the
/// cell's workload. Every cell has every metric of its workload, and [`ELAPSED`] where nothing was measured
/// at all, so that a cell without any ok trial is seen too.
pub fn summarise(run: &Run) -> Vec<Summary<'_>> {
    let cells = &run.manifest.cells;
    let mut counted: BTreeMap<&str, Vec<&Record>> = BTreeMap::new();
    for record in run.last_attempts() {
        if record.phase == Phase::Measure && record.status == Status::Ok {
            counted.entry(&record.cell).or_default().push(record);
        }
    }
    let records_of = |cell: &PlannedCell| counted.get(cell.cell.as_str()).into_iter().flatten();
    let metrics_of = |workload: &str| {
        let of_workload = cells.iter().filter(|cell| cell.workload == workload);
        metrics(of_workload.flat_map(records_of).flat_map(|record| &record.measurements))
    };
    // A trial has one value of a metric; should there be more, the first counts.
    let sample = |cell: &PlannedCell, metric: &MetricKey| -> BTreeMap<u32, f64> {
        let value = |record: &Record| {
            record.measurements.iter().find(|measurement| metric.is_of(measurement)).map(|found| found.value)
        };
        records_of(cell).filter_map(|record| Some((record.repetition, value(record)?))).collect()
    };
    // Repetitions that were tried again, or in a later sitting, are not in the order of their numbers.
    let in_time = |cell: &PlannedCell, metric: &MetricKey| -> Vec<f64> {
        let mut records: Vec<_> = records_of(cell).collect();
        records.sort_by(|one, other| one.started.cmp(&other.started));
        let values = |record: &&Record| {
            record.measurements.iter().find(|measurement| metric.is_of(measurement)).map(|found| found.value)
        };
        records.into_iter().filter_map(values).collect()
    };
    let summary = |cell, (metric, better): (MetricKey, _)| {
        let values = sample(cell, &metric);
        let baseline = baseline_of(cell, cells, &run.manifest.baseline);
        let ratio = baseline.and_then(|baseline| paired_ratio(&values, &sample(baseline, &metric)));
        let is_disturbed = |record: &&&Record| {
            is_suspicious(record) && record.measurements.iter().any(|one| metric.is_of(one))
        };
        let suspicious = records_of(cell).filter(is_disturbed).count();
        let mut sorted: Vec<f64> = values.into_values().collect();
        let drift = drift(&in_time(cell, &metric));
        sorted.sort_by(f64::total_cmp);
        Summary {
            cell,
            better,
            ok: sorted.len(),
            suspicious,
            sample: describe(&sorted),
            mean_interval: mean_interval(&sorted),
            median_interval: median_interval(&sorted),
            drift,
            ratio,
            metric,
        }
    };
    let workloads: BTreeSet<_> = cells.iter().map(|cell| cell.workload.as_str()).collect();
    let metrics: BTreeMap<_, _> = workloads.into_iter().map(|name| (name, metrics_of(name))).collect();
    cells
        .iter()
        .flat_map(|cell| metrics[cell.workload.as_str()].iter().cloned().map(move |metric| (cell, metric)))
        .map(|(cell, metric)| summary(cell, metric))
        .collect()
}

/// The different metrics among `measurements`, in the order of first appearance.
fn metrics<'a>(measurements: impl Iterator<Item = &'a Measurement>) -> Vec<(MetricKey, Option<Better>)> {
    let mut found: Vec<(MetricKey, Option<Better>)> = Vec::new();
    for measurement in measurements {
        if !found.iter().any(|(known, _)| known.is_of(measurement)) {
            let Measurement { name, unit, labels, better, .. } = measurement.clone();
            found.push((MetricKey { name, unit, labels }, better));
        }
    }
    if found.is_empty() {
        let elapsed = MetricKey { name: ELAPSED.into(), unit: Unit::Second, labels: BTreeMap::new() };
        found.push((elapsed, Some(Better::Lower)));
    }
    found
}
