//! The table of verdicts: a row a cell and metric. Against one run its figures have columns of their own; of several
//! each has one column.

use std::cmp::Ordering;

use indexmap::IndexMap;

use super::{Compared, Named};
use crate::analysis::{Comparison, FEWEST, MetricKey, Pair, Verdict, quantile};
use crate::report::cells::ratio;
use crate::report::number::{NOTHING, fixed, place, significant};
use crate::report::view::{Column, Table};
use crate::units::{Scale, Unit};

/// One cell and metric: its pair with each of the other runs, where there is one.
struct Row<'a> {
    pairs: Vec<Option<&'a Pair<'a>>>,
    /// Whether no trial of the cell is ok in that run, though some were in the baseline.
    is_broken: Vec<bool>,
    scale: Scale,
}

/// The table, and the gravest verdict of each row.
pub(super) fn table(baseline: Named<'_>, others: &[Compared<'_>]) -> (Table, Vec<Option<Verdict>>) {
    let mut rows = rows(baseline, others);
    rows.sort_by(order);
    let verdicts = rows.iter().map(gravest).collect();
    let table = match others {
        [_] => Table::new(columns_of_one(), rows.iter().filter_map(row_of_one).collect()),
        _ => {
            let names = ["cell", "metric", baseline.name].into_iter();
            let columns = names.chain(others.iter().map(|other| other.named.name)).map(Column::text);
            Table::new(columns.collect(), rows.iter().filter_map(row_of_many).collect())
        }
    };
    (table, verdicts)
}

fn rows<'a>(baseline: Named<'_>, others: &[Compared<'a>]) -> Vec<Row<'a>> {
    let mut found: IndexMap<(&str, &MetricKey), Vec<Option<&Pair<'_>>>> = IndexMap::new();
    for (column, other) in others.iter().enumerate() {
        for pair in &other.against.pairs {
            let row =
                found.entry((&pair.cell.cell, &pair.metric)).or_insert_with(|| vec![None; others.len()]);
            row[column] = Some(pair);
        }
    }
    // One scale for all cells of a workload and metric, as in reports.
    let mut medians: IndexMap<Scaled<'_>, Vec<f64>> = IndexMap::new();
    for pair in found.values().flatten().flatten() {
        medians.entry(scaled(pair)).or_default().push(median(&pair.before));
    }
    let asked = |metric: &MetricKey| {
        let (unit, scale) = Scale::named(baseline.run.manifest.units.get(&metric.name)?)?;
        (unit == metric.unit).then_some(scale)
    };
    let row = |(cell, pairs): (&str, Vec<Option<&'a Pair<'a>>>)| {
        let first = pairs.iter().flatten().next()?;
        let is_broken =
            |other: &Compared<'_>| other.against.broken.iter().any(|uneven| uneven.before.cell.cell == cell);
        Some(Row {
            scale: asked(&first.metric).unwrap_or_else(|| first.metric.unit.scale(&medians[&scaled(first)])),
            is_broken: others.iter().map(is_broken).collect(),
            pairs,
        })
    };
    found.iter().filter_map(|((cell, _), pairs)| row((*cell, pairs.clone()))).collect()
}

/// What has one scale.
type Scaled<'a> = (&'a str, &'a str, &'a Unit);

fn scaled<'a>(pair: &'a Pair<'a>) -> Scaled<'a> {
    (&pair.cell.workload, &pair.metric.name, &pair.metric.unit)
}

/// Graver verdicts first, of equal ones larger differences, else the order of the file.
fn order(one: &Row<'_>, other: &Row<'_>) -> Ordering {
    // What has no verdict comes last.
    let gravity = |row: &Row<'_>| gravest(row).map_or(Verdict::ALL.len(), |verdict| verdict as usize);
    let size = |row: &Row<'_>| {
        let ratios = row.pairs.iter().flatten().filter_map(|pair| pair.outcome.ok());
        ratios.map(|comparison| comparison.contrast.ratio.estimate.ln().abs()).fold(0.0, f64::max)
    };
    gravity(one).cmp(&gravity(other)).then_with(|| size(other).total_cmp(&size(one)))
}

fn gravest(row: &Row<'_>) -> Option<Verdict> {
    let broken = row.is_broken.contains(&true).then_some(Verdict::Worse);
    row.pairs.iter().flatten().filter_map(|pair| pair.verdict()).chain(broken).min()
}

fn columns_of_one() -> Vec<Column> {
    let (text, number) = (Column::text, Column::number);
    vec![
        text("verdict"),
        text("cell"),
        text("metric"),
        number("baseline"),
        number("compared"),
        text("ratio"),
        text("p"),
        text("trials"),
    ]
}

fn row_of_one(row: &Row<'_>) -> Option<Vec<String>> {
    let pair = row.pairs[0]?;
    let comparison = pair.outcome.ok();
    let mut trials = format!("{} and {}", pair.before.len(), pair.now.len());
    if let Some(needed) = comparison.and_then(|comparison| comparison.needed) {
        trials += &format!(", {needed} needed");
    }
    Some(vec![
        verdict(pair),
        pair.cell.cell.clone(),
        metric(&pair.metric),
        value(&pair.before, &row.scale),
        value(&pair.now, &row.scale),
        comparison.map_or_else(|| NOTHING.to_owned(), |one| ratio(&one.contrast.ratio)),
        p(pair),
        trials,
    ])
}

fn row_of_many(row: &Row<'_>) -> Option<Vec<String>> {
    let first = row.pairs.iter().flatten().next()?;
    let other = |(pair, is_broken): (&Option<&Pair<'_>>, &bool)| {
        let Some(pair) = pair else {
            return if *is_broken { "worse: no trial is ok".to_owned() } else { NOTHING.to_owned() };
        };
        let ratio = pair
            .outcome
            .ok()
            .map(|comparison| format!(" {}", ratio(&comparison.contrast.ratio)))
            .unwrap_or_default();
        format!("{} {}{ratio}", verdict(pair), value(&pair.now, &row.scale))
    };
    let fixed = [first.cell.cell.clone(), metric(&first.metric), value(&first.before, &row.scale)];
    Some(fixed.into_iter().chain(row.pairs.iter().zip(&row.is_broken).map(other)).collect())
}

/// The verdict, or why there is none.
fn verdict(pair: &Pair<'_>) -> String {
    match pair.outcome {
        Ok(Comparison { verdict: Some(verdict), .. }) => verdict.as_str().to_owned(),
        _ if pair.before == pair.now => "all the same".to_owned(),
        _ if pair.before.len().min(pair.now.len()) < FEWEST => "too few trials".to_owned(),
        _ => "no ratio".to_owned(),
    }
}

/// After Holm where there is a verdict; that of the rank test alone where there is no ratio.
fn p(pair: &Pair<'_>) -> String {
    let write = |p: f64| if p < 0.001 { "below 0.001".to_owned() } else { significant(p, 2) };
    match (pair.outcome, pair.rank_p) {
        (Ok(comparison), _) => comparison.adjusted_p.map_or_else(|| NOTHING.to_owned(), write),
        (Err(_), Some(p)) => format!("{} by ranks", write(p)),
        (Err(_), None) => NOTHING.to_owned(),
    }
}

/// `throughput`, or `throughput size=64` where labels tell several apart.
pub(in crate::report) fn metric(metric: &MetricKey) -> String {
    let labels = metric.labels.iter().map(|(name, value)| format!(" {name}={value}"));
    metric.name.clone() + &labels.collect::<String>()
}

/// The median with its unit.
fn value(sorted: &[f64], scale: &Scale) -> String {
    let median = scale.apply(median(sorted));
    format!("{} {}", fixed(median, place(median, None)), scale.name).trim_end().to_owned()
}

/// Of values in ascending order, one at least.
pub(super) fn median(sorted: &[f64]) -> f64 {
    quantile(sorted, 0.5)
}
