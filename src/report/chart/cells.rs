//! Which cells a chart shows, and where in it: the plot, the colour and the place from left to right, each by the values
//! of axes. Nothing is put together that an axis tells apart: what no named axis takes becomes a colour of its own.
//! Read [`Grouping`].

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexSet;

use super::super::number::NOTHING;
use super::super::view::distinct;
use super::axis::size;
use super::sizes::number;
use crate::record::{ChartLayout, PlannedCell};

/// Something that has a place in a chart: of a cell, with what tells it apart within that.
#[derive(Debug, Clone)]
pub(super) struct Item<'a> {
    pub cell: &'a PlannedCell,
    pub labels: &'a BTreeMap<String, String>,
    /// The metric, with its unit: never two of them in one plot.
    pub quantity: String,
}

/// A value of the axis from left to right.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Category {
    pub text: String,
    /// What it is as a number, in bytes where it is a size of data.
    pub number: Option<f64>,
}

/// The place of one item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub panel: usize,
    pub series: usize,
    pub x: usize,
}

/// What the items of a chart amount to.
#[derive(Debug, Clone, Default)]
pub(super) struct Grouping {
    /// The titles of the plots.
    pub panels: Vec<String>,
    /// What each colour stands for; one empty text where there is but one.
    pub series: Vec<String>,
    /// The axes that the colours stand for.
    pub series_axes: Vec<String>,
    /// The axis from left to right.
    pub x_axis: String,
    /// Its values, ascending where all are numbers.
    pub xs: Vec<Category>,
    /// For each item where it is.
    pub places: Vec<Place>,
}

/// What a chart has from left to right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Names.
    Names,
    /// Numbers, where an axis has some.
    Numbers,
    /// The values themselves: no axis.
    Nothing,
}

/// Whether a layout takes a cell.
pub(super) fn taken(layout: &ChartLayout) -> impl Fn(&PlannedCell) -> bool {
    let cells: Option<BTreeSet<&str>> =
        layout.cells.as_ref().map(|cells| cells.iter().map(String::as_str).collect());
    move |cell| {
        (layout.workloads.is_empty() || layout.workloads.contains(&cell.workload))
            && cells.as_ref().is_none_or(|cells| cells.contains(cell.cell.as_str()))
    }
}

/// Gives each item its place.
pub(super) fn group(layout: &ChartLayout, items: &[Item<'_>], wanted: Wanted) -> Grouping {
    let varying: Vec<String> = axes(items).into_iter().filter(|axis| values(items, axis).len() > 1).collect();
    let is_free = |axis: &&String| layout.facet.as_ref() != Some(*axis) && !layout.series.contains(axis);
    let named = layout.x.clone().map(|axis| canonical(&axis, items));
    let x_axis = match wanted {
        Wanted::Nothing => String::new(),
        Wanted::Names => named
            .or_else(|| varying.iter().filter(is_free).find(|axis| *axis == "host").cloned())
            .or_else(|| {
                varying
                    .iter()
                    .filter(is_free)
                    .find(|axis| !["workload", QUANTITY].contains(&axis.as_str()))
                    .cloned()
            })
            .unwrap_or_else(|| "host".to_owned()),
        Wanted::Numbers => named
            .or_else(|| varying.iter().filter(is_free).find(|axis| is_numeric(items, axis)).cloned())
            .or_else(|| varying.iter().find(is_free).cloned())
            .unwrap_or_else(|| "host".to_owned()),
    };
    let asked: Vec<String> = layout.series.iter().map(|axis| canonical(axis, items)).collect();
    let facet = layout.facet.clone().map(|axis| canonical(&axis, items));
    let facet = facet.or_else(|| {
        let is_used = x_axis == "workload" || asked.iter().any(|axis| axis == "workload");
        (varying.iter().any(|axis| axis == "workload") && !is_used).then(|| "workload".to_owned())
    });
    let quantity = (varying.iter().any(|axis| axis == QUANTITY)).then(|| QUANTITY.to_owned());
    let panel_axes: Vec<String> = facet.into_iter().chain(quantity).collect();
    let is_left = |axis: &&String| **axis != x_axis && !panel_axes.contains(axis) && !asked.contains(axis);
    let left: Vec<String> = varying.iter().filter(is_left).cloned().collect();
    let series_axes = match asked.is_empty() {
        true => left,
        false => with_needed(items, &panel_axes, &x_axis, asked, left),
    };
    let panel_names = items.iter().map(|item| name(item, &panel_axes)).collect::<Vec<_>>();
    let series_names = items.iter().map(|item| name(item, &series_axes)).collect::<Vec<_>>();
    let categories = categories(items, &x_axis);
    let xs = ascending(distinct_categories(&categories));
    let panels: IndexSet<&String> = panel_names.iter().collect();
    let series: IndexSet<&String> = series_names.iter().collect();
    let columns: BTreeMap<&str, usize> =
        xs.iter().enumerate().map(|(x, own)| (own.text.as_str(), x)).collect();
    let places = panel_names.iter().zip(&series_names).zip(&categories).map(|((panel, own), x)| Place {
        panel: panels.get_index_of(panel).unwrap_or_default(),
        series: series.get_index_of(own).unwrap_or_default(),
        x: columns.get(x.text.as_str()).copied().unwrap_or_default(),
    });
    let places: Vec<Place> = places.collect();
    let names = |set: IndexSet<&String>| set.into_iter().cloned().collect::<Vec<_>>();
    let panels = without_needless(items, &places, &panel_axes, names(panels));
    Grouping { places, panels, series: names(series), series_axes, x_axis, xs }
}

/// The titles of plots without the metric, which stands at their axes, where they are told apart without it.
fn without_needless(
    items: &[Item<'_>],
    places: &[Place],
    axes: &[String],
    titles: Vec<String>,
) -> Vec<String> {
    let axes: Vec<String> = axes.iter().filter(|axis| *axis != QUANTITY).cloned().collect();
    let title = |panel| {
        let first = places.iter().position(|place| place.panel == panel)?;
        Some(name(&items[first], &axes)).filter(|name| !name.is_empty())
    };
    let short: Option<Vec<String>> = (0..titles.len()).map(title).collect();
    match short {
        Some(short) if short.iter().collect::<BTreeSet<_>>().len() == titles.len() => short,
        _ => titles,
    }
}

/// The axes that a file names as the colours, and of those that are `left` the ones without which two cells would lie in
/// one place.
fn with_needed(
    items: &[Item<'_>],
    panel_axes: &[String],
    x_axis: &str,
    asked: Vec<String>,
    left: Vec<String>,
) -> Vec<String> {
    let places = |series: &[String]| {
        let axes: Vec<&String> = panel_axes.iter().chain(series).collect();
        let place =
            |item| axes.iter().map(|axis| value(item, axis)).chain([value(item, x_axis)]).collect::<Vec<_>>();
        items.iter().map(place).collect::<BTreeSet<_>>().len()
    };
    left.into_iter().fold(asked, |mut series, axis| {
        let before = places(&series);
        series.push(axis);
        if places(&series) == before {
            series.pop();
        }
        series
    })
}

/// The axis of the metrics, which no file names.
const QUANTITY: &str = "metric";

/// Every axis of the items, those of all experiments first.
fn axes(items: &[Item<'_>]) -> Vec<String> {
    let fixed = ["workload", "host", "environment", QUANTITY].map(str::to_owned);
    let parameters = items.iter().flat_map(|item| item.cell.parameters.keys().cloned());
    let labels = items.iter().flat_map(|item| item.labels.keys().map(|name| format!("label.{name}")));
    distinct(fixed.into_iter().chain(parameters).chain(labels).collect::<Vec<_>>().iter())
}

/// The name of an axis as [`axes`] has it: a label may be written without `label.` where no parameter has its name.
fn canonical(axis: &str, items: &[Item<'_>]) -> String {
    let own = axes(items);
    let label = format!("label.{axis}");
    if !own.iter().any(|known| known == axis) && own.contains(&label) { label } else { axis.to_owned() }
}

/// The value of an item on an axis; empty where it has none.
pub(super) fn value<'a>(item: &'a Item<'_>, axis: &str) -> &'a str {
    match axis {
        "workload" => &item.cell.workload,
        "host" => &item.cell.host,
        "environment" => &item.cell.environment,
        QUANTITY if !item.cell.parameters.contains_key(QUANTITY) => &item.quantity,
        _ => match axis.strip_prefix("label.") {
            Some(label) => item.labels.get(label).map_or("", String::as_str),
            None => item.cell.parameters.get(axis).map_or("", String::as_str),
        },
    }
}

fn values(items: &[Item<'_>], axis: &str) -> Vec<String> {
    distinct(items.iter().map(|item| value(item, axis).to_owned()).collect::<Vec<_>>().iter())
}

/// What an item is on several axes: `docker, server=native`.
fn name(item: &Item<'_>, axes: &[String]) -> String {
    let part = |axis: &String| match (axis.as_str(), value(item, axis)) {
        ("workload" | "host" | "environment" | QUANTITY, value) => value.to_owned(),
        (axis, value) => format!("{}={value}", bare(axis)),
    };
    let has_value = |axis: &&String| !value(item, axis).is_empty();
    let parts: Vec<String> = axes.iter().filter(has_value).map(part).collect();
    match parts.is_empty() && !axes.is_empty() {
        true => NOTHING.to_owned(),
        false => parts.join(", "),
    }
}

/// The name of an axis as it is shown.
pub(super) fn bare(axis: &str) -> &str {
    axis.strip_prefix("label.").unwrap_or(axis)
}

/// Whether an axis holds numbers alone, and more than one.
pub(super) fn is_numeric(items: &[Item<'_>], axis: &str) -> bool {
    let values = values(items, axis);
    values.len() > 1 && values.iter().all(|value| number(axis, value).is_some())
}

/// The axes of numbers among those of the items.
pub(super) fn numeric_axes(items: &[Item<'_>]) -> Vec<String> {
    axes(items).into_iter().filter(|axis| is_numeric(items, axis)).collect()
}

fn categories(items: &[Item<'_>], axis: &str) -> Vec<Category> {
    let texts: Vec<&str> = items.iter().map(|item| value(item, axis)).collect();
    let numbers: Vec<_> = texts.iter().map(|text| number(axis, text)).collect();
    let are_numbers = !axis.is_empty() && numbers.iter().all(Option::is_some);
    let are_sizes = are_numbers && numbers.iter().flatten().any(|(_, is_size)| *is_size);
    let category = |(text, number): (&&str, &Option<(f64, bool)>)| match number {
        Some((number, _)) if are_sizes => Category { text: size(*number), number: Some(*number) },
        Some((number, _)) if are_numbers => Category { text: (*text).to_owned(), number: Some(*number) },
        _ => Category { text: if text.is_empty() { NOTHING } else { text }.to_owned(), number: None },
    };
    texts.iter().zip(&numbers).map(category).collect()
}

fn distinct_categories(all: &[Category]) -> Vec<Category> {
    let mut seen = BTreeSet::new();
    all.iter().filter(|category| seen.insert(category.text.as_str())).cloned().collect()
}

fn ascending(mut categories: Vec<Category>) -> Vec<Category> {
    let key = |category: &Category| category.number.unwrap_or(0.0);
    if categories.iter().all(|category| category.number.is_some()) {
        categories.sort_by(|one, other| key(one).total_cmp(&key(other)));
    }
    categories
}
