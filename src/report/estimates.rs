//! The tables of numbers: those that the file asks for, or one a workload and metric, with hosts as rows and what
//! surrounds them as columns. A cell reads `94.20 [94.15, 94.31] 10/10`: median, spread, ok of planned trials; what may
//! be said of it against its baseline stands in a table of its own.

use std::collections::{BTreeMap, BTreeSet};

use super::axes::{Axis, Entry};
use super::grid::{Field, Grid};
use super::view::{MetricTable, Origin, distinct};
use super::{cells, distributions, notes, trials};
use crate::analysis::{Mean, Summary, differences, summarise_against, versions};
use crate::record::{ELAPSED, PlannedCell, Reference, Run, TableLayout, word};
use crate::units::{Better, Scale, Unit};

/// The most columns of a table that nobody has laid out; with more, parameters become rows.
const MOST_COLUMNS: usize = 6;

/// One table to be made.
struct Wanted<'a> {
    layout: &'a TableLayout,
    summaries: Vec<&'a Summary<'a>>,
    rows: Vec<Axis>,
    columns: Vec<Axis>,
    /// The settings that ratios are to.
    baseline: &'a BTreeMap<String, String>,
}

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
            tables.extend(table(run, Wanted { layout: &layout, summaries, rows, columns, baseline }));
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
    table(run, Wanted { layout, summaries: shown, rows, columns, baseline })
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

/// Metrics of one name and unit; what labels tell apart stands in one table.
fn quantity(one: &Summary<'_>) -> (String, Unit) {
    (one.metric.name.clone(), one.metric.unit.clone())
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

/// How each quantity of a table is shown: asked for, or by its values.
fn scales(run: &Run, wanted: &Wanted<'_>) -> BTreeMap<(String, Unit), Scale> {
    let quantities = distinct(wanted.summaries.iter().map(|one| quantity(one)).collect::<Vec<_>>().iter());
    let scale = |key: &(String, Unit)| {
        let asked = wanted.layout.units.get(&key.0).or_else(|| run.manifest.units.get(&key.0));
        let asked = asked.and_then(|unit| Scale::named(unit)).filter(|(unit, _)| *unit == key.1);
        let of_metric = wanted.summaries.iter().filter(|one| quantity(one) == *key);
        let medians: Vec<f64> = of_metric.filter_map(|one| one.sample).map(|sample| sample.median).collect();
        asked.map_or_else(|| key.1.scale(&medians), |(_, scale)| scale)
    };
    quantities.iter().map(|key| (key.clone(), scale(key))).collect()
}

fn table(run: &Run, wanted: Wanted<'_>) -> Option<MetricTable> {
    let scales = scales(run, &wanted);
    let summaries = &wanted.summaries;
    let workloads = distinct(summaries.iter().map(|one| &one.cell.workload));
    let metrics = distinct(summaries.iter().map(|one| &one.metric.name));
    let presentation = &run.manifest.presentation;
    let published: Vec<&Reference> = presentation
        .references
        .iter()
        .filter(|one| {
            workloads.contains(&one.workload) && scales.contains_key(&(one.metric.clone(), one.unit.clone()))
        })
        .collect();
    let measured = summaries.iter().map(|one| Entry::Measured(one));
    let entries: Vec<Entry<'_>> = measured.chain(published.iter().map(|one| Entry::Published(one))).collect();
    let grid = Grid::new(&entries, wanted.rows.clone(), wanted.columns.clone(), presentation);
    let scale = |name: &str, unit: &Unit| &scales[&(name.to_owned(), unit.clone())];
    let header = |axis: &Axis, value: &str| match axis {
        Axis::Metric => {
            let of_name = scales.iter().find(|((name, _), _)| name == value);
            of_name.map_or(value.to_owned(), |(_, scale)| with_unit(value, &scale.name))
        }
        _ => axis.in_header(value),
    };
    let value = |number: usize| match entries[number] {
        Entry::Measured(one) => {
            let text = cells::value(one, scale(&one.metric.name, &one.metric.unit));
            Some(Field { text, origin: Some(trials::origin(one)) })
        }
        Entry::Published(one) => {
            Some(Field { text: cells::published(one, scale(&one.metric, &one.unit)), origin: None })
        }
    };
    let comparison = |number: usize| match entries[number] {
        Entry::Measured(one) => one.comparison.as_ref().map(|comparison| {
            let value = comparison.ok().map(|comparison| comparison.contrast.ratio.estimate);
            let origin = Origin { value, ..trials::origin(one) };
            Field { text: cells::comparison(comparison), origin: Some(origin) }
        }),
        Entry::Published(_) => None,
    };
    let price = prices(run, summaries, &scales);
    let priced = |number: usize| {
        let (text, _) = price.get(number)?.as_ref()?;
        let origin = Origin { value: text.parse().ok(), ..trials::origin(summaries[number]) };
        Some(Field { text: text.clone(), origin: Some(origin) })
    };
    let places: Vec<&PlannedCell> = summaries.iter().map(|one| one.cell).collect();
    let unlike = metrics.first().map(|metric| differences(&places, metric, &run.hosts, &versions(run)));
    let unit = if scales.len() == 1 { scales.values().next()?.name.clone() } else { String::new() };
    let (workload, metric) = (workloads.join(", "), metrics.join(", "));
    let title = wanted.layout.title.clone().unwrap_or_else(|| format!("{workload}: {metric}"));
    let settings = wanted.baseline.iter().map(|(axis, value)| format!("{axis}={value}"));
    let comparison = grid.table(comparison, header);
    Some(MetricTable {
        title: with_unit(&title, &unit),
        workload,
        metric,
        unit,
        better: direction(summaries),
        has_interval: summaries.iter().any(|one| one.median_interval.is_some()),
        has_range: summaries.iter().any(|one| cells::has_range(one)),
        has_suspicious: summaries.iter().any(|one| one.suspicious > 0),
        is_harmonic: summaries.iter().any(|one| one.mean == Mean::Harmonic),
        unlike: unlike.iter().flatten().map(notes::difference).collect(),
        unlike_is_told: false,
        baseline: comparison.is_some().then(|| settings.collect::<Vec<_>>().join(", ")),
        verdicts: notes::verdicts(summaries),
        comparison,
        price: grid.table(priced, header),
        price_unit: price.iter().flatten().map(|(_, unit)| unit.clone()).next(),
        published: distinct(published.iter().map(|one| source(one)).collect::<Vec<_>>().iter()),
        table: grid.table(value, header)?,
    })
}

fn with_unit(title: &str, unit: &str) -> String {
    if unit.is_empty() { title.to_owned() } else { format!("{title} ({unit})") }
}

/// Which direction is good, where it is the same of all.
fn direction(summaries: &[&Summary<'_>]) -> Option<String> {
    let directions: Vec<Option<Better>> = distinct(summaries.iter().map(|one| &one.better));
    if let [Some(better)] = directions.as_slice() { Some(word(better)) } else { None }
}

/// What each measured value costs, with its unit, where the costs of all hosts are known in one currency and all have
/// one unit.
fn prices(
    run: &Run,
    summaries: &[&Summary<'_>],
    scales: &BTreeMap<(String, Unit), Scale>,
) -> Vec<Option<(String, String)>> {
    let costs = &run.manifest.presentation.costs;
    let price = |one: &&Summary<'_>| cells::price(one, &scales[&quantity(one)], costs.get(&one.cell.host)?);
    let all: Vec<_> = summaries.iter().map(price).collect();
    let units = distinct(all.iter().flatten().map(|(_, unit)| unit));
    if units.len() == 1 { all } else { Vec::new() }
}

/// `SOURCE, DATE: NOTE`.
fn source(reference: &Reference) -> String {
    let Reference { source, date, note, .. } = reference;
    let date = if date.is_empty() { String::new() } else { format!(", {date}") };
    let note = if note.is_empty() { String::new() } else { format!(": {note}") };
    format!("{source}{date}{note}")
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
