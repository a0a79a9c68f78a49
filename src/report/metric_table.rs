//! One table of numbers with what stands below it: its values, what may be said of them against their baseline, and
//! what they cost. Read [`table`]; which tables there are is in `estimates.rs`.

use std::collections::BTreeMap;

use super::axes::{Axis, Entry};
use super::grid::{Field, Grid, mark};
use super::view::{MetricTable, Origin, distinct};
use super::{cells, notes, trials};
use crate::analysis::{Mean, Summary, differences, versions};
use crate::record::{CellCost, PlannedCell, Reference, Run, TableLayout, word};
use crate::units::{Better, Scale, Unit};

/// One table to be made.
pub(super) struct Wanted<'a> {
    pub layout: &'a TableLayout,
    pub summaries: Vec<&'a Summary<'a>>,
    pub rows: Vec<Axis>,
    pub columns: Vec<Axis>,
    /// The settings that ratios are to.
    pub baseline: &'a BTreeMap<String, String>,
}

/// How each quantity is shown.
type Scales = BTreeMap<(String, Unit), Scale>;

/// Metrics of one name and unit; what labels tell apart stands in one table.
pub(super) fn quantity(one: &Summary<'_>) -> (String, Unit) {
    (one.metric.name.clone(), one.metric.unit.clone())
}

/// How each quantity of a table is shown: asked for, or by its values.
fn scales(run: &Run, wanted: &Wanted<'_>) -> Scales {
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

/// The fields of a table by the numbers of their entries.
struct Fields<'a> {
    wanted: &'a Wanted<'a>,
    entries: Vec<Entry<'a>>,
    scales: &'a Scales,
}

impl Fields<'_> {
    fn value(&self, number: usize) -> Option<Field> {
        let scale = |name: &str, unit: &Unit| self.scales.get(&(name.to_owned(), unit.clone()));
        Some(match self.entries[number] {
            Entry::Measured(one) => Field {
                text: cells::value(one, scale(&one.metric.name, &one.metric.unit)?),
                origin: Some(trials::origin(one)),
            },
            Entry::Published(one) => {
                let origin =
                    Origin { cell: String::new(), metric: one.metric.clone(), value: Some(one.value) };
                Field { text: cells::published(one, scale(&one.metric, &one.unit)?), origin: Some(origin) }
            }
        })
    }

    fn comparison(&self, number: usize) -> Option<Field> {
        let Entry::Measured(one) = self.entries[number] else { return None };
        let judged = one.comparison.and_then(Result::ok);
        let value = judged.map(|comparison| comparison.contrast.ratio.estimate);
        let origin = Some(Origin { value, ..trials::origin(one) });
        Some(Field { text: cells::comparison(one, self.wanted.baseline)?, origin })
    }

    fn header(&self, axis: &Axis, value: &str) -> String {
        let of_name = self.scales.iter().find(|((name, _), _)| name == value);
        match (axis, of_name) {
            (Axis::Metric, Some((_, scale))) => with_unit(value, &scale.name),
            _ => axis.in_header(value),
        }
    }
}

/// The table of `wanted`; none where no cell is for it.
pub(super) fn table(run: &Run, wanted: &Wanted<'_>) -> Option<MetricTable> {
    let scales = scales(run, wanted);
    let summaries = &wanted.summaries;
    let workloads = distinct(summaries.iter().map(|one| &one.cell.workload));
    let metrics = distinct(summaries.iter().map(|one| &one.metric.name));
    let presentation = &run.manifest.presentation;
    let is_beside = |one: &&Reference| {
        workloads.contains(&one.workload) && scales.contains_key(&(one.metric.clone(), one.unit.clone()))
    };
    let published: Vec<&Reference> = presentation.references.iter().filter(is_beside).collect();
    let measured = summaries.iter().map(|one| Entry::Measured(one));
    let entries: Vec<Entry<'_>> = measured.chain(published.iter().map(|one| Entry::Published(one))).collect();
    let sources = distinct(published.iter().map(|one| one.cited()).collect::<Vec<_>>().iter());
    let grid = Grid::new(&entries, wanted.rows.clone(), wanted.columns.clone(), presentation, &sources);
    let fields = Fields { wanted, entries, scales: &scales };
    let prices = prices(run, summaries, &scales);
    let priced = |number: usize| {
        let (text, _) = prices.values.get(number)?.as_ref()?;
        let origin = Origin { value: text.parse().ok(), ..trials::origin(summaries[number]) };
        Some(Field { text: text.clone(), origin: Some(origin) })
    };
    let header = |axis: &Axis, value: &str| fields.header(axis, value);
    let places: Vec<&PlannedCell> = summaries.iter().map(|one| one.cell).collect();
    let unlike = metrics.first().map(|metric| differences(&places, metric, &run.hosts, &versions(run)));
    let unit = if scales.len() == 1 { scales.values().next()?.name.clone() } else { String::new() };
    let (workload, metric) = (workloads.join(", "), metrics.join(", "));
    let title = wanted.layout.title.clone().unwrap_or_else(|| format!("{workload}: {metric}"));
    let comparison = grid.table(|number| fields.comparison(number), header);
    let cited = sources.iter().map(|source| format!("{}: {source}", mark(source, &sources).trim_start()));
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
        baseline: comparison.is_some().then(|| settings(wanted.baseline)),
        verdicts: notes::verdicts(summaries),
        comparison,
        price: grid.table(priced, header),
        price_unit: prices.values.iter().flatten().map(|(_, unit)| unit.clone()).next(),
        price_without: prices.without,
        published: cited.collect(),
        table: grid.table(|number| fields.value(number), header)?,
    })
}

/// `environment=native, size=4`.
fn settings(baseline: &BTreeMap<String, String>) -> String {
    baseline.iter().map(|(axis, value)| format!("{axis}={value}")).collect::<Vec<_>>().join(", ")
}

pub(super) fn with_unit(title: &str, unit: &str) -> String {
    if unit.is_empty() { title.to_owned() } else { format!("{title} ({unit})") }
}

/// Which direction is good, where it is the same of all.
fn direction(summaries: &[&Summary<'_>]) -> Option<String> {
    let directions: Vec<Option<Better>> = distinct(summaries.iter().map(|one| &one.better));
    if let [Some(better)] = directions.as_slice() { Some(word(better)) } else { None }
}

/// What values cost, or give for their cost.
#[derive(Default)]
struct Prices {
    /// Of each value, with its unit; empty where it can't be said.
    values: Vec<Option<(String, String)>>,
    /// The hosts that take part and have no cost.
    without: Vec<String>,
}

/// What each measured value costs, where the costs of all cells are known, are of the same hosts in one currency, and
/// all have one unit.
fn prices(run: &Run, summaries: &[&Summary<'_>], scales: &Scales) -> Prices {
    let costs = &run.manifest.presentation.costs;
    let of_cells = summaries.iter().map(|one| costs.get(&one.cell.cell)).collect::<Option<Vec<_>>>();
    let Some(of_cells) = of_cells else { return Prices::default() };
    let price = |(one, cost): (&&Summary<'_>, &&CellCost)| cells::price(one, &scales[&quantity(one)], cost);
    let values: Vec<_> = summaries.iter().zip(&of_cells).map(price).collect();
    let units = distinct(values.iter().flatten().map(|(_, unit)| unit));
    let without = distinct(of_cells.iter().map(|cost| &cost.without));
    match (units.as_slice(), without.as_slice()) {
        ([_], [without]) => Prices { without: without.clone(), values },
        _ => Prices::default(),
    }
}
