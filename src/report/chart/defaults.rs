//! Which charts a run has whose file asks for none: few, and only such as say something. Read [`layouts`].

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::super::view::distinct;
use super::cells::{numeric_axes, value};
use super::estimates::{Source, headline, item};
use crate::analysis::Summary;
use crate::record::{ChartKind, ChartLayout};

/// More bars or rows than this are no picture any more, and belong to a chart that chooses among them.
const MOST_BARS: usize = 60;
const MOST_ROWS: usize = 40;
/// The most curves that an eye follows.
const MOST_CURVES: usize = 16;
/// The most charts of a run.
const MOST_CHARTS: usize = 24;

/// For each workload a chart of its first metric: as a heat map over two axes of at least three numbers, as lines over
/// one axis of numbers, else as bars; then its distribution and what changes over time, where it has such.
pub(super) fn layouts(source: &Source<'_>) -> Vec<ChartLayout> {
    let workloads = distinct(source.run.manifest.cells.iter().map(|cell| &cell.workload));
    let of_workload = |workload: &String| {
        let of_kind =
            |kind: ChartKind| ChartLayout { workloads: vec![workload.clone()], ..ChartLayout::new(kind) };
        let kinds = [of_estimates(source, workload), of_values(source, workload), of_time(source, workload)];
        kinds.into_iter().flatten().map(of_kind).collect::<Vec<_>>()
    };
    workloads.iter().flat_map(of_workload).take(MOST_CHARTS).collect()
}

fn of_estimates(source: &Source<'_>, workload: &str) -> Option<ChartKind> {
    let (name, unit) = headline(source, workload)?;
    let is_own = |one: &&Summary<'_>| {
        one.cell.workload == workload && one.metric.name == name && one.metric.unit == *unit
    };
    let own: Vec<&Summary<'_>> = source.summaries.iter().filter(is_own).collect();
    // One bar says no more than its number.
    if own.len() < 2 || own.iter().all(|one| one.sample.is_none()) {
        return None;
    }
    let items: Vec<_> = own.iter().map(|one| item(one)).collect();
    let count = |axis: &String| items.iter().map(|one| value(one, axis)).collect::<BTreeSet<_>>().len();
    let mut numeric: Vec<usize> = numeric_axes(&items).iter().map(count).collect();
    numeric.sort_unstable_by_key(|count| Reverse(*count));
    // How many rows, or lines, the axis with the most numbers leaves.
    let left = own.len().div_ceil(numeric.first().copied().unwrap_or(1));
    match numeric.as_slice() {
        [_, second, ..] if *second >= 3 && left <= MOST_ROWS => Some(ChartKind::Heatmap),
        [_, ..] if left <= MOST_CURVES => Some(ChartKind::Lines),
        [] if own.len() <= MOST_BARS => Some(ChartKind::Bars),
        _ => None,
    }
}

/// Several distributions are compared; of a single one both levels are shown.
fn of_values(source: &Source<'_>, workload: &str) -> Option<ChartKind> {
    match source.merged.iter().filter(|one| one.cell.workload == workload).count() {
        1 => Some(ChartKind::Histogram),
        2..=MOST_CURVES => Some(ChartKind::Ecdf),
        _ => None,
    }
}

fn of_time(source: &Source<'_>, workload: &str) -> Option<ChartKind> {
    let cells = source.run.manifest.cells.iter().filter(|cell| cell.workload == workload);
    let with_series = cells
        .filter(|cell| source.trials.of_cell(&cell.cell).any(|record| !record.words().series.is_empty()));
    (1..=MOST_CURVES).contains(&with_series.count()).then_some(ChartKind::Series)
}
