//! The records of a run, boiled down to one [`Summary`] a cell and metric. Warm-up trials, trials that are
//! not ok and attempts that were repeated are left out here and nowhere else.

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::sync::Arc;

use super::autocorrelation::is_dependent;
use super::compare::Baselines;
use super::descriptive::{Description, describe};
use super::drift::{Drift, drift};
use super::interval::{Interval, median_interval};
use super::mean::Mean;
use super::noise::is_suspicious;
use super::outliers::outliers;
use super::refusal::Refusal;
use super::verdict::{Comparison, Contrast, judge, margin, paired_contrast};
use indexmap::IndexMap;

use crate::cores::in_order;
use crate::record::{Common, ELAPSED, PlannedCell, Record, RecordedMetric, Run, counted};
use crate::units::{Better, Unit};

/// What is measured: values with different keys are never put together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MetricKey {
    /// The metric's name.
    pub name: String,
    /// The base unit of all values.
    pub unit: Unit,
    /// What tells apart several values of one metric in a trial; empty for most.
    pub labels: BTreeMap<String, String>,
}

impl MetricKey {
    fn is_of(&self, metric: &RecordedMetric) -> bool {
        self.name == metric.name && self.unit == metric.unit && self.labels == metric.labels
    }

    /// Its value in a trial. There is one at most; should there be more, the first counts.
    pub fn value(&self, record: &Record) -> Option<f64> {
        record.measured().find_map(|(metric, value)| self.is_of(metric).then_some(value))
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
    /// Repetition and value of each, in ascending order of repetitions.
    pub values: Vec<(u32, f64)>,
    /// The repetitions whose values are far from all others. They count like all others.
    pub outliers: Vec<u32>,
    /// The sample; none where no trial is ok.
    pub sample: Option<Description>,
    /// Which mean `sample.mean` is.
    pub mean: Mean,
    /// 95 % t interval of that mean.
    pub mean_interval: Option<Interval>,
    /// 95 % order-statistic interval of the median.
    pub median_interval: Option<Interval>,
    /// Whether its trials are unlike over time.
    pub drift: Option<Drift>,
    /// Whether neighbouring trials are alike, so that intervals are too narrow.
    pub is_dependent: bool,
    /// The cell that it is compared with; none for a baseline cell itself.
    pub baseline: Option<&'a PlannedCell>,
    /// What may be said of it against that cell, paired by repetition; none without one.
    pub comparison: Option<Result<Comparison, Refusal>>,
}

/// Summaries by cell in the order of the manifest, then by metric in the order of first appearance in the
/// cell's workload. Every cell has every metric of its workload, and [`ELAPSED`] where nothing was measured
/// at all, so that a cell without any ok trial is seen too. Of values that labels tell apart it has those of the cells
/// with its parameters, where these have any: a grid over a small file has no records of the size of a large one.
pub fn summarise(run: &Run) -> Vec<Summary<'_>> {
    summarise_against(run, &run.manifest.baseline)
}

/// The same, compared with the cells that have the settings of `baseline`: axis name to value.
pub fn summarise_against<'a>(run: &'a Run, baseline: &BTreeMap<String, String>) -> Vec<Summary<'a>> {
    let cells = &run.manifest.cells;
    let counted = run.by_cell().into_iter().map(|(cell, records)| (cell, counted(records).collect()));
    let counted: HashMap<&str, Vec<&Record>> = counted.collect();
    let records_of = |cell: &PlannedCell| counted.get(cell.cell.as_str()).into_iter().flatten();
    let all = metrics_of_cells(cells, |cell| records_of(cell).copied());
    let baselines = Baselines::new(cells, baseline);
    let of_cell = |cell: &PlannedCell| counted.get(cell.cell.as_str()).map_or(&[][..], Vec::as_slice);
    let with_contrasts = |_: &mut (), place: usize| {
        let cell: &'a PlannedCell = &cells[place];
        let one = |(metric, better): &Measured| {
            let own = summary(cell, metric.clone(), *better, of_cell(cell));
            let baseline = baselines.of(cell);
            let contrast =
                |other| paired_contrast(&own.values, &sample(&column(of_cell(other), &own.metric)));
            let contrast = baseline.map(contrast);
            (Summary { baseline, ..own }, contrast)
        };
        all[place].iter().map(one).collect::<Vec<_>>()
    };
    let (mut summaries, mut contrasts) = (Vec::new(), Vec::new());
    let take = |of_cell: Vec<(Summary<'a>, Option<Result<Contrast, Refusal>>)>| -> Result<(), Infallible> {
        let (own, with) = of_cell.into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
        summaries.extend(own);
        contrasts.extend(with);
        Ok(())
    };
    let Ok(()) = in_order(cells.len(), || (), with_contrasts, take);
    compare(&mut summaries, contrasts, margin(run));
    summaries
}

/// A metric, and which direction of it is good.
type Measured = (MetricKey, Option<Better>);

/// The metrics of each of `cells`.
fn metrics_of_cells<'a, R: Iterator<Item = &'a Record>>(
    cells: &'a [PlannedCell],
    records: impl Fn(&'a PlannedCell) -> R,
) -> Vec<Arc<[Measured]>> {
    let mut workloads: BTreeMap<&str, Vec<&PlannedCell>> = BTreeMap::new();
    for cell in cells {
        workloads.entry(&cell.workload).or_default().push(cell);
    }
    let of = |group: &[&'a PlannedCell]| metrics(group.iter().flat_map(|cell| records(cell)));
    let workloads: BTreeMap<_, Arc<[Measured]>> =
        workloads.into_iter().map(|(name, group)| (name, of(&group).into())).collect();
    let mut groups: HashMap<(&str, &BTreeMap<String, String>), Vec<&PlannedCell>> = HashMap::new();
    let is_labelled = |name: &str| workloads[name].iter().any(|(metric, _)| !metric.labels.is_empty());
    for cell in cells.iter().filter(|cell| is_labelled(&cell.workload)) {
        groups.entry((&cell.workload, &cell.parameters)).or_default().push(cell);
    }
    let narrowed = groups.into_iter().map(|((workload, parameters), group)| {
        let own = of(&group);
        let is_there = |metric: &&Measured| {
            let is_alike =
                |(other, _): &&Measured| (&other.name, &other.unit) == (&metric.0.name, &metric.0.unit);
            own.iter().any(|(other, _)| *other == metric.0) || !own.iter().any(|other| is_alike(&other))
        };
        ((workload, parameters), workloads[workload].iter().filter(is_there).cloned().collect())
    });
    let narrowed: HashMap<_, Arc<[Measured]>> = narrowed.collect();
    let of_cell = |cell: &PlannedCell| {
        let own = narrowed.get(&(cell.workload.as_str(), &cell.parameters));
        own.unwrap_or(&workloads[cell.workload.as_str()]).clone()
    };
    cells.iter().map(of_cell).collect()
}

/// A trial that has the metric, and what it is there.
type Found<'a> = (&'a Record, &'a RecordedMetric, f64);

fn column<'a>(records: &[&'a Record], metric: &MetricKey) -> Vec<Found<'a>> {
    let mut last: Option<(&Arc<Common>, Option<usize>)> = None;
    let found = records.iter().filter_map(|&record| {
        // Neighbours mostly have it in the same place.
        let place = match last.filter(|(common, _)| Arc::ptr_eq(common, &record.common)) {
            Some((_, place)) => place,
            None => record.metrics.iter().position(|own| metric.is_of(own)),
        };
        last = Some((&record.common, place));
        Some((record, record.metrics.get(place?)?, *record.values().get(place?)?))
    });
    found.collect()
}

/// Repetition and value of each.
fn sample(column: &[Found<'_>]) -> Vec<(u32, f64)> {
    column.iter().map(|(record, _, value)| (record.repetition, *value)).collect()
}

/// The same values by the clock: repetitions that were tried again, or in a later sitting, are not in the order of
/// their numbers.
fn in_time(column: &[Found<'_>]) -> Vec<f64> {
    let mut column: Vec<_> = column.iter().map(|(record, _, value)| (record.started, *value)).collect();
    column.sort_by_key(|(started, _)| *started);
    column.into_iter().map(|(_, value)| value).collect()
}

/// One cell and metric by the records that count, without what it is compared with.
fn summary<'a>(
    cell: &'a PlannedCell,
    metric: MetricKey,
    better: Option<Better>,
    records: &[&Record],
) -> Summary<'a> {
    let column = column(records, &metric);
    let values = sample(&column);
    let mut sorted: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
    let far = outliers(&sorted).unwrap_or_default();
    let in_time = in_time(&column);
    sorted.sort_by(f64::total_cmp);
    let mean = Mean::of(&metric.unit, column.iter().map(|(_, metric, _)| metric.fixed), &sorted);
    let described = |sample: Description| Description { mean: mean.value(&sorted), ..sample };
    Summary {
        cell,
        better,
        ok: sorted.len(),
        suspicious: column.iter().filter(|(record, ..)| is_suspicious(record)).count(),
        sample: describe(&sorted).map(described),
        mean,
        mean_interval: mean.interval(&sorted),
        median_interval: median_interval(&sorted),
        drift: drift(&in_time),
        is_dependent: is_dependent(&in_time).unwrap_or(false),
        outliers: far.into_iter().map(|place| values[place].0).collect(),
        values,
        baseline: None,
        comparison: None,
        metric,
    }
}

/// Workload, metric and unit.
type Family<'a> = (&'a str, String, Unit);

/// Judges what was contrasted: those of one workload, metric and unit, which stand in one table, are one family.
fn compare(summaries: &mut [Summary<'_>], contrasts: Vec<Option<Result<Contrast, Refusal>>>, margin: f64) {
    let mut families: IndexMap<Family<'_>, Vec<(usize, Contrast)>> = IndexMap::new();
    for (index, (summary, contrast)) in summaries.iter_mut().zip(contrasts).enumerate() {
        match contrast {
            Some(Ok(contrast)) => {
                let family = (
                    summary.cell.workload.as_str(),
                    summary.metric.name.clone(),
                    summary.metric.unit.clone(),
                );
                families.entry(family).or_default().push((index, contrast));
            }
            Some(Err(refusal)) => summary.comparison = Some(Err(refusal)),
            None => {}
        }
    }
    for members in families.into_values() {
        let (places, contrasts): (Vec<usize>, Vec<Contrast>) = members.into_iter().unzip();
        let judged = judge(&contrasts, summaries[places[0]].better, margin);
        for (index, place) in places.into_iter().enumerate() {
            summaries[place].comparison =
                Some(judged.as_ref().map(|all| all[index]).map_err(|refusal| *refusal));
        }
    }
}

/// The different metrics of `records`, in the order of first appearance.
pub(super) fn metrics<'a>(records: impl Iterator<Item = &'a Record>) -> Vec<Measured> {
    let mut found: Vec<Measured> = Vec::new();
    let mut last = None;
    for record in records {
        // Neighbours mostly have the same ones.
        if last.replace(Arc::as_ptr(&record.common)) == Some(Arc::as_ptr(&record.common)) {
            continue;
        }
        for metric in &record.metrics {
            if !found.iter().any(|(known, _)| known.is_of(metric)) {
                let RecordedMetric { name, unit, labels, better, .. } = metric.clone();
                found.push((MetricKey { name, unit, labels }, better));
            }
        }
    }
    if found.is_empty() {
        let elapsed = MetricKey { name: ELAPSED.into(), unit: Unit::Second, labels: BTreeMap::new() };
        found.push((elapsed, Some(Better::Lower)));
    }
    found
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A cell `w/HOST/ENVIRONMENT` with these values of `throughput`, and a summary whose cell is to be put in.
    pub fn summary(host: &str, environment: &str, values: &[f64]) -> (PlannedCell, Summary<'static>) {
        static NONE: std::sync::LazyLock<PlannedCell> = std::sync::LazyLock::new(|| cell("", ""));
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let metric =
            MetricKey { name: "throughput".into(), unit: Unit::BytePerSecond, labels: BTreeMap::new() };
        let summary = Summary {
            cell: &NONE,
            metric,
            better: Some(Better::Higher),
            ok: values.len(),
            suspicious: 0,
            values: (1..).zip(values.iter().copied()).collect(),
            outliers: Vec::new(),
            sample: describe(&sorted),
            mean: Mean::Arithmetic,
            mean_interval: None,
            median_interval: median_interval(&sorted),
            drift: None,
            is_dependent: false,
            baseline: None,
            comparison: None,
        };
        (cell(host, environment), summary)
    }

    fn cell(host: &str, environment: &str) -> PlannedCell {
        PlannedCell {
            cell: format!("w/{host}/{environment}"),
            workload: "w".into(),
            host: host.into(),
            environment: environment.into(),
            parameters: BTreeMap::new(),
            repetitions: 5,
            warmup: 0,
            settings: String::new(),
            adaptive: None,
            reached: None,
            excluded: 0,
        }
    }
}
