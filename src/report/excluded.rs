//! Trials that somebody has excluded: each with the reason, and what the figures would be with them. Read [`tables`].

use std::collections::{BTreeMap, BTreeSet};

use super::number::NOTHING;
use super::view::{Column, Table, distinct};
use super::{cells, findings, metric_table, trials};
use crate::analysis::{Summary, Verdict, summarise_against};
use crate::record::{Phase, Run};
use crate::units::Scale;

/// The settings of a baseline.
type Baseline = BTreeMap<String, String>;

/// The excluded trials with their reasons, and the figures without and with them; none where none is excluded.
pub(super) fn tables(run: &Run) -> Option<(Table, Table)> {
    let reasons = &run.manifest.presentation.excluded;
    let trials: Vec<_> = run.last_attempts().filter(|record| record.phase == Phase::Excluded).collect();
    if trials.is_empty() {
        return None;
    }
    let reason = |trial: &String| reasons.get(trial).cloned().unwrap_or_default();
    let rows = trials.iter().map(|record| record.trial()).map(|trial| vec![trial.clone(), reason(&trial)]);
    let listed = Table::new(["trial", "reason"].map(Column::text).into(), rows.collect());
    let touched: BTreeSet<&str> = trials.iter().map(|record| record.cell.as_str()).collect();
    let own = &run.manifest.presentation.tables;
    let baselines = own.iter().filter_map(|table| table.baseline.as_ref());
    let baselines = distinct([&run.manifest.baseline].into_iter().chain(baselines));
    let including = run.including();
    let rows = baselines.iter().flat_map(|baseline| figures(run, &including, baseline, &touched)).collect();
    let columns = ["cell", "metric"].map(Column::text).into_iter();
    let numbers = ["without", "with", "ratio without", "ratio with"].map(Column::number);
    Some((listed, Table::new(columns.chain(numbers).collect(), rows)))
}

/// A row for each figure of the cells in `touched`, of those that are compared with them, and of every other cell whose
/// verdict is another one.
fn figures(run: &Run, including: &Run, baseline: &Baseline, touched: &BTreeSet<&str>) -> Vec<Vec<String>> {
    let (without, with) = (summarise_against(run, baseline), summarise_against(including, baseline));
    let key = |one: &Summary<'_>| {
        (one.cell.cell.clone(), trials::metric_name(&one.metric.name, &one.metric.labels))
    };
    let without: BTreeMap<_, _> = without.iter().map(|one| (key(one), one)).collect();
    let shown = findings::shown(including, &with);
    let row = |with: &&Summary<'_>| {
        let without = without.get(&key(with)).copied();
        let is_compared_with = |other: &str| with.baseline.is_some_and(|baseline| baseline.cell == other);
        let is_touched = |cell: &&str| with.cell.cell == *cell || is_compared_with(cell);
        if !touched.iter().any(is_touched) && verdict(with) == without.and_then(verdict) {
            return None;
        }
        let scale = scale(run, with);
        let (cell, metric) = key(with);
        let value =
            |one: Option<&Summary<'_>>| one.map_or(NOTHING.to_owned(), |one| cells::value(one, &scale));
        let ratio = |one: Option<&Summary<'_>>| {
            one.and_then(|one| cells::comparison(one, baseline)).unwrap_or_default()
        };
        let metric = metric_table::with_unit(&metric, &scale.name);
        Some(vec![cell, metric, value(without), value(Some(with)), ratio(without), ratio(Some(with))])
    };
    shown.iter().filter_map(row).collect()
}

fn verdict(one: &Summary<'_>) -> Option<Verdict> {
    one.comparison.and_then(Result::ok)?.verdict
}

/// How the figures of `one` are shown: as the file asks for, or by its median.
fn scale(run: &Run, one: &Summary<'_>) -> Scale {
    let asked = run.manifest.units.get(&one.metric.name).and_then(|unit| Scale::named(unit));
    let asked = asked.filter(|(unit, _)| *unit == one.metric.unit).map(|(_, scale)| scale);
    let median: Vec<f64> = one.sample.iter().map(|sample| sample.median).collect();
    asked.unwrap_or_else(|| one.metric.unit.scale(&median))
}
