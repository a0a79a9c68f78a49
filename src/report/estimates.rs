//! The tables of numbers: those that the file asks for, or one a workload and metric, with hosts as rows and what
//! surrounds them as columns. A cell reads `94.20 [94.15, 94.31] 10/10`: median, spread, ok of planned trials; what may
//! be said of it against its baseline stands in a table of its own.

use std::collections::BTreeSet;

use super::axes::Axis;
use super::distributions;
use super::metric_table::{Wanted, quantity, table};
use super::view::{MetricTable, distinct};
use crate::analysis::{Summary, summarise_against};
use crate::record::{ELAPSED, PlannedCell, Run, TableLayout};

/// The most columns of a table that nobody has laid out; with more, parameters become rows.
const MOST_COLUMNS: usize = 6;

/// The tables of the file, or of every workload in the order of the file and of metrics in the records. `elapsed` has
/// a table only where a workload has no other metric, or the file asks for it; its numbers are in `summary.csv` always.
pub(super) fn metric_tables(run: &Run, summaries: &[Summary<'_>]) -> Vec<MetricTable> {
    let layouts = &run.manifest.presentation.tables;
    let mut tables = match layouts.is_empty() {
        true => default_tables(run, summaries),
        false => layouts.iter().filter_map(|layout| laid_out(run, summaries, layout)).collect(),
    };
    for index in 1..tables.len() {
        tables[index].unlike_is_told = tables[index].unlike == tables[index - 1].unlike;
    }
    tables
}

fn default_tables(run: &Run, summaries: &[Summary<'_>]) -> Vec<MetricTable> {
    let layout = TableLayout::default();
    let figures = distributions::other_figures(run);
    let workloads = distinct(run.manifest.cells.iter().map(|cell| &cell.workload));
    let mut tables = Vec::new();
    for workload in &workloads {
        let of_workload: Vec<_> = summaries.iter().filter(|one| one.cell.workload == *workload).collect();
        let mut metrics = distinct(of_workload.iter().map(|one| quantity(one)).collect::<Vec<_>>().iter());
        // The table of its values shows the other figures of a distribution, from all trials together.
        let in_table = |name: &str| figures.contains(name);
        let alone = metrics.iter().filter(|(name, _)| !in_table(name)).count() == 1;
        metrics.retain(|(name, _)| (alone || *name != ELAPSED) && !in_table(name));
        for metric in metrics {
            let summaries: Vec<_> =
                of_workload.iter().copied().filter(|one| quantity(one) == metric).collect();
            let (rows, columns) = default_axes(&summaries);
            let baseline = &run.manifest.baseline;
            tables.extend(table(run, &Wanted { layout: &layout, summaries, rows, columns, baseline }));
        }
    }
    tables
}

fn laid_out(run: &Run, summaries: &[Summary<'_>], layout: &TableLayout) -> Option<MetricTable> {
    let own = layout.baseline.as_ref().map(|baseline| summarise_against(run, baseline));
    let baseline = layout.baseline.as_ref().unwrap_or(&run.manifest.baseline);
    let shown = shown_in(run, own.as_deref().unwrap_or(summaries), layout);
    let named = |names: &[String]| names.iter().map(|name| Axis::named(name)).collect::<Vec<_>>();
    let (rows, columns) = match (layout.rows.is_empty(), layout.columns.is_empty()) {
        (true, true) => default_axes(&shown),
        (true, false) => (vec![Axis::Host], named(&layout.columns)),
        (false, true) => (named(&layout.rows), default_axes(&shown).1),
        (false, false) => (named(&layout.rows), named(&layout.columns)),
    };
    let is_in_columns = !layout.columns.is_empty();
    let (mut rows, mut columns) = (rows, columns);
    // What the file names stays; what nobody has named gives way.
    if is_in_columns {
        rows.retain(|axis| !columns.contains(axis))
    } else {
        columns.retain(|axis| !rows.contains(axis))
    }
    if rows.is_empty() {
        rows.push(Axis::Workload);
    }
    if distinct(shown.iter().map(|one| quantity(one)).collect::<Vec<_>>().iter()).len() > 1 {
        columns.push(Axis::Metric);
    }
    table(run, &Wanted { layout, summaries: shown, rows, columns, baseline })
}

/// A sentence for each table of the file that is left out, since no cell is for it.
pub(super) fn empty_tables(run: &Run, summaries: &[Summary<'_>]) -> Vec<String> {
    let layouts = run.manifest.presentation.tables.iter().enumerate();
    let empty = layouts.filter(|(_, layout)| shown_in(run, summaries, layout).is_empty());
    let name = |(number, layout): (usize, &TableLayout)| {
        let name = layout.title.clone().unwrap_or_else(|| format!("number {}", number + 1));
        format!("The table {name} is left out: no cell of this run is for it.")
    };
    empty.map(name).collect()
}

/// Those of `summaries` that a table shows, in the order of its metrics.
pub(super) fn shown_in<'a>(
    run: &Run,
    summaries: &'a [Summary<'a>],
    layout: &TableLayout,
) -> Vec<&'a Summary<'a>> {
    let is_shown = |one: &&Summary<'_>| {
        let metric = &one.metric.name;
        let is_wanted = match layout.metrics.is_empty() {
            true => *metric == headline(summaries, &one.cell.workload),
            false => layout.metrics.contains(metric),
        };
        is_wanted
            && (layout.workloads.is_empty() || layout.workloads.contains(&one.cell.workload))
            && layout.condition.as_ref().is_none_or(|text| run.manifest.presentation.holds(text, one.cell))
    };
    let mut shown: Vec<_> = summaries.iter().filter(is_shown).collect();
    let place = |one: &&Summary<'_>| layout.metrics.iter().position(|name| *name == one.metric.name);
    shown.sort_by_key(place);
    shown
}

/// The first metric of a workload, which stands for it; not `elapsed` where there is another.
pub(super) fn headline<'a>(summaries: &'a [Summary<'_>], workload: &str) -> &'a str {
    let mut names =
        summaries.iter().filter(|one| one.cell.workload == workload).map(|one| one.metric.name.as_str());
    names.find(|name| *name != ELAPSED).unwrap_or(ELAPSED)
}

fn default_axes(summaries: &[&Summary<'_>]) -> (Vec<Axis>, Vec<Axis>) {
    let cells: Vec<&PlannedCell> = summaries.iter().map(|one| one.cell).collect();
    let varying = varying_parameters(&cells);
    let parameters = varying.iter().map(|name| Axis::Parameter((*name).to_owned()));
    let labels: BTreeSet<&String> = summaries.iter().flat_map(|one| one.metric.labels.keys()).collect();
    let labels = labels.into_iter().map(|name| Axis::Label(name.clone()));
    let labels_of = cells.iter().map(|cell| column_label(cell, &varying));
    let is_wide = distinct(labels_of.collect::<Vec<_>>().iter()).len() > MOST_COLUMNS;
    let (mut rows, mut columns) = (vec![Axis::Host], vec![Axis::Environment]);
    if is_wide {
        rows.extend(parameters)
    } else {
        columns.extend(parameters)
    }
    rows.extend(labels);
    (rows, columns)
}

/// The parameters that tell `cells` apart.
pub(super) fn varying_parameters<'a>(cells: &[&'a PlannedCell]) -> BTreeSet<&'a str> {
    let names: BTreeSet<&str> =
        cells.iter().flat_map(|cell| cell.parameters.keys()).map(String::as_str).collect();
    let values = |name: &str| cells.iter().map(|cell| cell.parameters.get(name)).collect::<BTreeSet<_>>();
    names.into_iter().filter(|name| values(name).len() > 1).collect()
}

pub(super) fn column_label(cell: &PlannedCell, varying: &BTreeSet<&str>) -> String {
    let parameters = cell.parameters.iter().filter(|(name, _)| varying.contains(name.as_str()));
    let parts = parameters.map(|(name, value)| format!("{name}={value}"));
    std::iter::once(cell.environment.clone()).chain(parts).collect::<Vec<_>>().join(", ")
}
