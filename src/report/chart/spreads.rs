//! The many values that ECDFs and histograms show: those of a distribution where a workload has one of that name, else
//! those of its trials. Read [`Spread`].

use super::cells::{Grouping, Item, Wanted, group, taken};
use super::estimates::{Shown, Source, headline, item, scale, titled};
use crate::analysis::Summary;
use crate::record::{ChartLayout, PlannedCell};
use crate::units::Unit;

/// So many values between two ends, in base units; both are one where the values are known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Lump {
    pub low: f64,
    pub high: f64,
    pub count: u64,
}

/// All values of one quantity in one cell.
pub(super) struct Spread<'a> {
    pub cell: &'a PlannedCell,
    pub name: String,
    pub unit: &'a Unit,
    /// In the order of `low`.
    pub lumps: Vec<Lump>,
    /// What to call one of them: a value, or a trial.
    pub of_trials: bool,
}

/// The spreads of a chart and where they are.
pub(super) struct PickedSpreads<'a> {
    pub all: Vec<Spread<'a>>,
    pub grouping: Grouping,
    pub shown: Vec<Shown>,
}

pub(super) fn pick<'a>(source: &'a Source<'a>, layout: &ChartLayout) -> PickedSpreads<'a> {
    let takes = taken(layout);
    let mut spreads = Vec::new();
    let mut items = Vec::new();
    let is_asked = |name: &str| layout.y.as_deref().is_none_or(|asked| asked == name);
    for merged in source.merged.iter().filter(|one| takes(one.cell) && is_asked(&one.name)) {
        let lumps = merged.histogram.buckets().iter();
        items.push(Item {
            cell: merged.cell,
            labels: &merged.labels,
            quantity: titled(&merged.name, merged.unit.as_str()),
        });
        spreads.push(Spread {
            cell: merged.cell,
            name: merged.name.clone(),
            unit: &merged.unit,
            lumps: lumps.map(|one| Lump { low: one.low, high: one.high, count: one.count }).collect(),
            of_trials: false,
        });
    }
    if spreads.is_empty() {
        let is_wanted = |one: &&Summary<'_>| takes(one.cell) && is_of(source, layout, one);
        for one in source.summaries.iter().filter(is_wanted) {
            items.push(item(one));
            spreads.push(Spread {
                cell: one.cell,
                name: one.metric.name.clone(),
                unit: &one.metric.unit,
                lumps: of_trials(source, one),
                of_trials: true,
            });
        }
    }
    let grouping = group(layout, &items, Wanted::Nothing);
    let shown = (0..grouping.panels.len()).map(|panel| {
        let own = spreads.iter().zip(&grouping.places).find(|(_, place)| place.panel == panel);
        let Some((first, _)) = own else {
            return Shown { name: String::new(), scale: Unit::Count.scale(&[]) };
        };
        let alike = spreads.iter().filter(|one| one.name == first.name && one.unit == first.unit);
        let middles: Vec<f64> = alike.filter_map(|one| median(&one.lumps)).collect();
        let by_name = format!("{}_p50", first.name);
        let name = if first.of_trials { &first.name } else { &by_name };
        Shown { name: first.name.clone(), scale: scale(source.run, layout, name, first.unit, &middles) }
    });
    PickedSpreads { shown: shown.collect(), all: spreads, grouping }
}

fn is_of(source: &Source<'_>, layout: &ChartLayout, one: &Summary<'_>) -> bool {
    match &layout.y {
        Some(name) => one.metric.name == *name,
        None => headline(source, &one.cell.workload)
            .is_some_and(|(name, unit)| one.metric.name == name && one.metric.unit == *unit),
    }
}

fn of_trials(source: &Source<'_>, one: &Summary<'_>) -> Vec<Lump> {
    let mut values: Vec<f64> = source.trials.of(one).iter().map(|trial| trial.value).collect();
    values.sort_by(f64::total_cmp);
    values.into_iter().map(|value| Lump { low: value, high: value, count: 1 }).collect()
}

fn median(lumps: &[Lump]) -> Option<f64> {
    let half = lumps.iter().map(|lump| lump.count).sum::<u64>() / 2;
    let mut before = 0;
    let found = lumps.iter().find(|lump| {
        before += lump.count;
        before > half
    });
    found.map(|lump| lump.low / 2.0 + lump.high / 2.0)
}

/// What the values of a chart are, for its notes.
pub(super) fn of_what(all: &[Spread<'_>]) -> &'static str {
    match all.iter().any(|spread| spread.of_trials) {
        true => "A value a trial",
        false => "All values of all trials together",
    }
}
