//! The tables of numbers: one a workload and metric, hosts as rows, what surrounds them as columns. A cell
//! reads `94.20 [94.15, 94.31] 10/10 ×0.998`: median, spread, ok of planned trials, ratio to the baseline.

use std::collections::BTreeSet;

use super::number::{NOTHING, fixed, place};
use super::view::{Column, MetricTable, Table, distinct};
use super::{distributions, notes, trials};
use crate::analysis::{Mean, Ratio, Summary, differences, versions};
use crate::record::{ELAPSED, PlannedCell, Run, word};
use crate::units::Scale;

/// The tables in the order of workloads in the file and of metrics in the records. `elapsed` has a table
/// only where a workload has no other metric; its numbers are in `summary.csv` always.
pub(super) fn metric_tables(run: &Run, summaries: &[Summary<'_>]) -> Vec<MetricTable> {
    let manifest = &run.manifest;
    let figures = distributions::other_figures(run);
    let workloads = distinct(manifest.cells.iter().map(|cell| &cell.workload));
    let tables = workloads.iter().flat_map(|workload| {
        let of_workload: Vec<_> = summaries.iter().filter(|one| one.cell.workload == *workload).collect();
        // What labels tell apart stands in one table.
        let quantity = |one: &Summary<'_>| (one.metric.name.clone(), one.metric.unit.clone());
        let mut metrics = distinct(of_workload.iter().map(|one| quantity(one)).collect::<Vec<_>>().iter());
        // The table of its values shows the other figures of a distribution, from all trials together.
        let in_table = |name: &str| figures.iter().any(|figure| figure == name);
        let alone = metrics.iter().filter(|(name, _)| !in_table(name)).count() == 1;
        metrics.retain(|(name, _)| (alone || *name != ELAPSED) && !in_table(name));
        let of_metric = |metric| of_workload.iter().copied().filter(|one| quantity(one) == metric).collect();
        metrics.into_iter().map(|metric| metric_table(run, of_metric(metric))).collect::<Vec<_>>()
    });
    let mut tables: Vec<MetricTable> = tables.flatten().collect();
    for index in 1..tables.len() {
        tables[index].unlike_is_told = tables[index].unlike == tables[index - 1].unlike;
    }
    tables
}

/// The table of `summaries`: all cells of one workload and metric.
fn metric_table(run: &Run, summaries: Vec<&Summary<'_>>) -> Option<MetricTable> {
    let first = summaries.first()?;
    let metric = &first.metric;
    let cells: Vec<&PlannedCell> = summaries.iter().map(|one| one.cell).collect();
    let unlike = differences(&cells, &metric.name, &run.hosts, &versions(run));
    let medians: Vec<f64> =
        summaries.iter().filter_map(|one| one.sample).map(|sample| sample.median).collect();
    let asked = run.manifest.units.get(&metric.name).and_then(|unit| Scale::named(unit));
    let asked = asked.filter(|(unit, _)| *unit == metric.unit).map(|(_, scale)| scale);
    let scale = asked.unwrap_or_else(|| metric.unit.scale(&medians));
    let varying = varying_parameters(&cells);
    let labels: Vec<_> = summaries.iter().map(|one| column_label(one.cell, &varying)).collect();
    let names: BTreeSet<&String> = summaries.iter().flat_map(|one| one.metric.labels.keys()).collect();
    let row = |one: &Summary<'_>| -> Vec<String> {
        let labels = names.iter().map(|name| one.metric.labels.get(*name).cloned().unwrap_or_default());
        std::iter::once(one.cell.host.clone()).chain(labels).collect()
    };
    let keys: Vec<Vec<String>> = summaries.iter().map(|one| row(one)).collect();
    let (columns, rows) = (distinct(labels.iter()), distinct(keys.iter()));
    let find = |key: &Vec<String>, column: &String| {
        let mut places = summaries.iter().zip(&keys).zip(&labels);
        let place = places.find(|((_, own), label)| *own == key && *label == column);
        place.map(|((summary, _), _)| *summary)
    };
    let found: Vec<Vec<Option<&Summary<'_>>>> =
        rows.iter().map(|key| columns.iter().map(|column| find(key, column)).collect()).collect();
    let text = |one: &Option<&Summary<'_>>| one.map(|one| cell_text(one, &scale)).unwrap_or_default();
    let origins = found.iter().zip(&rows).map(|(found, key)| {
        let of_labels = key.iter().map(|_| None);
        of_labels.chain(found.iter().map(|one| one.map(trials::origin))).collect()
    });
    let origins = origins.collect();
    let rows = rows
        .iter()
        .zip(&found)
        .map(|(key, found)| key.iter().cloned().chain(found.iter().map(text)).collect());
    let settings = run.manifest.baseline.iter().map(|(axis, value)| format!("{axis}={value}"));
    Some(MetricTable {
        workload: first.cell.workload.clone(),
        metric: metric.name.clone(),
        better: first.better.map(|better| word(&better)),
        has_interval: summaries.iter().any(|one| one.median_interval.is_some()),
        has_range: summaries.iter().any(|one| has_range(one)),
        has_suspicious: summaries.iter().any(|one| one.suspicious > 0),
        is_harmonic: summaries.iter().any(|one| one.mean == Mean::Harmonic),
        unlike: unlike.iter().map(notes::difference).collect(),
        unlike_is_told: false,
        baseline: summaries
            .iter()
            .any(|one| one.ratio.is_some())
            .then(|| settings.collect::<Vec<_>>().join(", ")),
        table: Table {
            rows: rows.collect(),
            origins,
            columns: std::iter::once(Column::text("host"))
                .chain(names.iter().map(|name| Column::text(*name)))
                .chain(columns.iter().map(Column::number))
                .collect(),
        },
        unit: scale.name,
    })
}

/// The parameters that tell `cells` apart.
pub(super) fn varying_parameters<'a>(cells: &[&'a PlannedCell]) -> BTreeSet<&'a str> {
    let names = cells.iter().flat_map(|cell| cell.parameters.keys());
    let values = |name: &str| cells.iter().map(|cell| cell.parameters.get(name)).collect::<BTreeSet<_>>();
    names.map(String::as_str).filter(|name| values(name).len() > 1).collect()
}

pub(super) fn column_label(cell: &PlannedCell, varying: &BTreeSet<&str>) -> String {
    let parameters = cell.parameters.iter().filter(|(name, _)| varying.contains(name.as_str()));
    let parts = parameters.map(|(name, value)| format!("{name}={value}"));
    std::iter::once(cell.environment.clone()).chain(parts).collect::<Vec<_>>().join(", ")
}

/// Too few trials for an interval of the median, and more than one.
fn has_range(summary: &Summary<'_>) -> bool {
    summary.median_interval.is_none() && summary.ok > 1
}

fn cell_text(summary: &Summary<'_>, scale: &Scale) -> String {
    let of_planned = format!("{}/{}", summary.ok, summary.cell.planned());
    let Some(sample) = summary.sample else {
        return format!("{NOTHING} {of_planned}");
    };
    let median = scale.apply(sample.median);
    let interval = summary.median_interval.map(|ends| (scale.apply(ends.low), scale.apply(ends.high)));
    let place_of_median = place(median, interval);
    let write = |value| fixed(value, place_of_median);
    let mut parts = vec![write(median)];
    match interval {
        Some((low, high)) => parts.push(format!("[{}, {}]", write(low), write(high))),
        None if has_range(summary) => {
            let (min, max) = (scale.apply(sample.min), scale.apply(sample.max));
            parts.push(format!("({}–{})", write(min), write(max)));
        }
        None => {}
    }
    parts.push(of_planned);
    if summary.suspicious > 0 {
        parts.push(format!("!{}", summary.suspicious));
    }
    parts.extend(summary.ratio.map(|Ratio { estimate, interval }| {
        let place = place(estimate, Some((interval.low, interval.high)));
        let write = |value| fixed(value, place);
        format!("×{} [{}, {}]", write(estimate), write(interval.low), write(interval.high))
    }));
    parts.join(" ")
}
