//! The medians that bars, lines, boxes and heat maps show: which summaries they are, in which unit, and where in the chart.
//! Read [`Picked`].

use std::collections::BTreeMap;

use super::super::distributions::other_figures;
use super::axis::Axis;
use super::cells::{Grouping, Item, Wanted, group, taken};
use super::data;
use super::frame::Up;
use super::trials::Trials;
use crate::analysis::{Merged, Summary};
use crate::record::{ChartLayout, ELAPSED, LogAxes, Run};
use crate::units::{Scale, Unit};

/// Everything that charts are made of.
pub(super) struct Source<'a> {
    pub run: &'a Run,
    pub summaries: &'a [Summary<'a>],
    pub trials: Trials<'a>,
    /// The distributions of all cells.
    pub merged: Vec<Merged<'a>>,
}

/// The summaries of a chart and where they are.
pub(super) struct Picked<'a> {
    pub all: Vec<&'a Summary<'a>>,
    pub grouping: Grouping,
    /// For each plot how its values are shown, and of what.
    pub shown: Vec<Shown>,
}

/// What a plot shows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shown {
    pub name: String,
    pub scale: Scale,
}

impl Shown {
    /// What stands at the axis: `throughput (MB/s)`.
    pub fn title(&self) -> String {
        titled(&self.name, &self.scale.name)
    }
}

pub(super) fn titled(name: &str, unit: &str) -> String {
    if unit.is_empty() { name.to_owned() } else { format!("{name} ({unit})") }
}

/// The first metric of a workload that says more than its time, as its tables begin with it.
pub(super) fn headline<'a>(source: &Source<'a>, workload: &str) -> Option<(&'a str, &'a Unit)> {
    let figures = other_figures(source.run);
    let own = || source.summaries.iter().filter(|one| one.cell.workload == workload);
    let first = own().find(|one| one.metric.name != ELAPSED && !figures.contains(&one.metric.name));
    first.or_else(|| own().next()).map(|one| (one.metric.name.as_str(), &one.metric.unit))
}

/// The summaries that `layout` asks for.
pub(super) fn pick<'a>(source: &Source<'a>, layout: &ChartLayout, wanted: Wanted) -> Picked<'a> {
    let mut headlines = BTreeMap::new();
    let takes = taken(layout);
    let is_wanted = |one: &&Summary<'a>| {
        let workload = one.cell.workload.as_str();
        takes(one.cell)
            && match &layout.y {
                Some(name) => one.metric.name == *name,
                None => {
                    let headline = headlines.entry(workload).or_insert_with(|| headline(source, workload));
                    headline.is_some_and(|(name, unit)| one.metric.name == name && one.metric.unit == *unit)
                }
            }
    };
    let all: Vec<&Summary<'a>> = source.summaries.iter().filter(is_wanted).collect();
    let items: Vec<Item<'_>> = all.iter().map(|one| item(one)).collect();
    let grouping = group(layout, &items, wanted);
    let shown = (0..grouping.panels.len()).map(|panel| {
        let own = || all.iter().zip(&grouping.places).filter(move |(_, place)| place.panel == panel);
        let (name, unit) = own().next().map(|(one, _)| (&one.metric.name, &one.metric.unit)).unzip();
        let name = name.cloned().unwrap_or_default();
        // Plots of one metric have one unit.
        let of_metric = all.iter().filter(|one| one.metric.name == name && Some(&one.metric.unit) == unit);
        let medians: Vec<f64> = of_metric.filter_map(|one| one.sample).map(|sample| sample.median).collect();
        let scale = scale(source.run, layout, &name, unit.unwrap_or(&Unit::Count), &medians);
        Shown { name, scale }
    });
    Picked { shown: shown.collect(), all, grouping }
}

pub(super) fn item<'a>(one: &'a Summary<'_>) -> Item<'a> {
    let quantity = titled(&one.metric.name, one.metric.unit.as_str());
    Item { cell: one.cell, labels: &one.metric.labels, quantity }
}

/// How values of `name` are shown: as the chart says, as the report says, or as fits the most of them.
pub(super) fn scale(run: &Run, layout: &ChartLayout, name: &str, unit: &Unit, values: &[f64]) -> Scale {
    let asked = [layout.unit.as_ref(), run.manifest.units.get(name)];
    let mut asked = asked.into_iter().flatten().filter_map(|name| Scale::named(name));
    asked.find(|(own, _)| own == unit).map_or_else(|| unit.scale(values), |(_, scale)| scale)
}

/// Whether the axis from left to right is logarithmic: as the chart says, or where its numbers span a factor of 8.
pub(super) fn is_log_across(layout: &ChartLayout, numbers: impl Iterator<Item = f64>, factor: f64) -> bool {
    let (low, high) =
        numbers.fold((f64::INFINITY, 0.0_f64), |(low, high), one| (low.min(one), high.max(one)));
    match layout.log {
        Some(log) => matches!(log, LogAxes::X | LogAxes::Both) && low > 0.0,
        None => low > 0.0 && high >= factor * low,
    }
}

/// Whether the axis upwards is logarithmic.
pub(super) fn is_log_up(layout: &ChartLayout) -> bool {
    matches!(layout.log, Some(LogAxes::Y | LogAxes::Both))
}

/// The axes upwards of plots with these values, and whether they differ: plots of one quantity share one, unless that would
/// press one of them flat.
pub(super) fn axes_up(shown: &[Shown], values: &[Vec<f64>], is_log: bool, has_zero: bool) -> (Vec<Up>, bool) {
    let most = |values: &[f64]| values.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    let mut has_own = false;
    let mut ups = Vec::new();
    for (panel, own) in shown.iter().zip(values) {
        let alike: Vec<&Vec<f64>> =
            shown.iter().zip(values).filter(|(other, _)| *other == panel).map(|(_, values)| values).collect();
        let largest = alike.iter().map(|values| most(values)).fold(0.0, f64::max);
        let is_pressed = |values: &&&Vec<f64>| !values.is_empty() && most(values) < largest / 10.0;
        let is_own = !is_log && alike.iter().any(|values| is_pressed(&values));
        has_own |= is_own;
        let together: Vec<f64> =
            if is_own { own.clone() } else { alike.into_iter().flatten().copied().collect() };
        let logarithmic = if is_log { Axis::logarithmic(together.iter().copied()) } else { None };
        ups.push(Up::Numbers(
            logarithmic.unwrap_or_else(|| Axis::linear(together.iter().copied(), has_zero, 5)),
        ));
    }
    (ups, has_own)
}

/// The columns of the data of estimates.
pub(super) const COLUMNS: &str =
    "plot series x cell workload host environment metric unit planned ok suspicious median low high";

/// One estimate as a row of the chart's data.
pub(super) fn row(picked: &Picked<'_>, index: usize) -> Vec<String> {
    let (one, place) = (picked.all[index], picked.grouping.places[index]);
    let Grouping { panels, series, xs, .. } = &picked.grouping;
    let text = |texts: &[String], index: usize| texts.get(index).cloned().unwrap_or_default();
    vec![
        text(panels, place.panel),
        text(series, place.series),
        xs.get(place.x).map(|x| x.text.clone()).unwrap_or_default(),
        one.cell.cell.clone(),
        one.cell.workload.clone(),
        one.cell.host.clone(),
        one.cell.environment.clone(),
        one.metric.name.clone(),
        one.metric.unit.to_string(),
        one.cell.planned().to_string(),
        one.ok.to_string(),
        one.suspicious.to_string(),
        data::number(one.sample.map(|sample| sample.median)),
        data::number(one.median_interval.map(|ends| ends.low)),
        data::number(one.median_interval.map(|ends| ends.high)),
    ]
}

/// What an estimate is, in words, for who points at it.
pub(super) fn told(picked: &Picked<'_>, index: usize) -> String {
    let one = picked.all[index];
    let Some(shown) = picked.shown.get(picked.grouping.places[index].panel) else { return String::new() };
    let labels = one.metric.labels.iter().map(|(name, value)| format!(" {name}={value}")).collect::<String>();
    let of = format!("{}{labels}: ", one.cell.cell);
    let write = |value: f64| super::axis::figure(shown.scale.apply(value));
    let trials = format!("{}/{} trials ok", one.ok, one.cell.planned());
    match (one.sample, one.median_interval) {
        (None, _) => format!("{of}no value, {trials}"),
        (Some(sample), Some(ends)) => {
            format!(
                "{of}{} [{}, {}] {}, {trials}",
                write(sample.median),
                write(ends.low),
                write(ends.high),
                shown.scale.name
            )
        }
        (Some(sample), None) => format!("{of}{} {}, {trials}", write(sample.median), shown.scale.name),
    }
}
