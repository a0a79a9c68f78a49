//! Trials that somebody has excluded: each with the reason, and what the figures would be with them. Read [`tables`].

use std::collections::{BTreeMap, BTreeSet};

use super::view::{Column, Table};
use super::{cells, findings, metric_table, trials};
use crate::analysis::{Summary, summarise};
use crate::record::{Phase, Run};
use crate::units::Scale;

/// The excluded trials with their reasons, and the figures without and with them; none where none is excluded.
pub(super) fn tables(run: &Run, summaries: &[Summary<'_>]) -> Option<(Table, Table)> {
    let reasons = &run.manifest.presentation.excluded;
    let trials: Vec<_> = run.last_attempts().filter(|record| record.phase == Phase::Excluded).collect();
    if trials.is_empty() {
        return None;
    }
    let reason = |trial: &String| reasons.get(trial).cloned().unwrap_or_default();
    let rows = trials.iter().map(|record| record.trial()).map(|trial| vec![trial.clone(), reason(&trial)]);
    let listed = Table::new(["trial", "reason"].map(Column::text).into(), rows.collect());
    let touched: BTreeSet<&str> = trials.iter().map(|record| record.cell.as_str()).collect();
    Some((listed, figures(run, summaries, &touched)))
}

/// A row for each figure of the cells in `touched`, and of those that are compared with them.
fn figures(run: &Run, summaries: &[Summary<'_>], touched: &BTreeSet<&str>) -> Table {
    let including = run.including();
    let with = summarise(&including);
    let key = |one: &Summary<'_>| {
        (one.cell.cell.clone(), trials::metric_name(&one.metric.name, &one.metric.labels))
    };
    let with: BTreeMap<_, _> = with.iter().map(|one| (key(one), one)).collect();
    let shown = findings::shown(run, summaries);
    let is_touched = |one: &&&Summary<'_>| {
        touched.contains(one.cell.cell.as_str())
            || one.baseline.is_some_and(|baseline| touched.contains(baseline.cell.as_str()))
    };
    let baseline = &run.manifest.baseline;
    let row = |one: &&Summary<'_>| {
        let with = with.get(&key(one))?;
        let scale = scale(run, one);
        let (cell, metric) = key(one);
        let metric = metric_table::with_unit(&metric, &scale.name);
        let values = [cells::value(one, &scale), cells::value(with, &scale)];
        let ratios = [cells::comparison(one, baseline), cells::comparison(with, baseline)];
        let ratios = ratios.map(Option::unwrap_or_default);
        Some([cell, metric].into_iter().chain(values).chain(ratios).collect::<Vec<_>>())
    };
    let mut rows: Vec<Vec<String>> = shown.iter().filter(is_touched).filter_map(row).collect();
    let mut columns: Vec<Column> = ["cell", "metric"].map(Column::text).into();
    columns.extend(["without", "with"].map(Column::number));
    columns.extend(["ratio without", "ratio with"].map(Column::number));
    if rows.iter().all(|row| row[4..].iter().all(String::is_empty)) {
        columns.truncate(4);
        rows.iter_mut().for_each(|row| row.truncate(4));
    }
    Table::new(columns, rows)
}

/// How the figures of `one` are shown: as the file asks for, or by its median.
fn scale(run: &Run, one: &Summary<'_>) -> Scale {
    let asked = run.manifest.units.get(&one.metric.name).and_then(|unit| Scale::named(unit));
    let asked = asked.filter(|(unit, _)| *unit == one.metric.unit).map(|(_, scale)| scale);
    let median: Vec<f64> = one.sample.iter().map(|sample| sample.median).collect();
    asked.unwrap_or_else(|| one.metric.unit.scale(&median))
}
