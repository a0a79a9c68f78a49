//! The tables of distributions: a row a cell, the percentiles of all its values together.

use std::collections::BTreeSet;

use super::estimates::{column_label, varying_parameters};
use super::number::{NOTHING, fixed, place};
use super::trials;
use super::view::{Column, DistributionTable, Origin, Table, distinct};
use crate::analysis::{Merged, PERCENTILES, distributions};
use crate::record::{PlannedCell, Run};
use crate::units::{Scale, Unit};

/// Figures that have a table a trial too: what a trial's own figure is has a spread from trial to trial.
const BY_TRIAL: [&str; 3] = ["mean", "p50", "p99"];

/// The metrics that are figures of a distribution and need no table of their own.
pub(super) fn other_figures(run: &Run) -> BTreeSet<String> {
    let of = |name: &str| {
        let figures = PERCENTILES.iter().map(|(figure, _)| *figure).chain(["min", "max", "count"]);
        let others = figures.filter(|figure| !BY_TRIAL.contains(figure));
        others.map(|figure| format!("{name}_{figure}")).collect::<Vec<_>>()
    };
    let all = run.records.iter().flat_map(|record| &record.words().histograms);
    all.map(|found| found.name.as_str()).collect::<BTreeSet<_>>().into_iter().flat_map(of).collect()
}

/// One table a workload and quantity.
pub(super) fn tables(run: &Run) -> Vec<DistributionTable> {
    let all = distributions(run);
    let quantity = |one: &Merged<'_>| (one.cell.workload.clone(), one.name.clone(), one.unit.clone());
    let quantities: Vec<_> = all.iter().map(quantity).collect();
    let of = |wanted: &(String, String, Unit)| {
        let own: Vec<_> = all.iter().filter(|one| quantity(one) == *wanted).collect();
        table(run, &own)
    };
    distinct(quantities.iter()).iter().filter_map(of).collect()
}

fn table(run: &Run, all: &[&Merged<'_>]) -> Option<DistributionTable> {
    let first = all.first()?;
    let medians: Vec<f64> = all.iter().map(|one| one.histogram.quantile(0.5).value).collect();
    let asked = run.manifest.units.get(&format!("{}_p50", first.name)).and_then(|unit| Scale::named(unit));
    let asked = asked.filter(|(unit, _)| *unit == first.unit).map(|(_, scale)| scale);
    let scale = asked.unwrap_or_else(|| first.unit.scale(&medians));
    let cells: Vec<&PlannedCell> = all.iter().map(|one| one.cell).collect();
    let varying = varying_parameters(&cells);
    let labels: BTreeSet<&String> = all.iter().flat_map(|one| one.labels.keys()).collect();
    let row = |one: &&Merged<'_>| -> Vec<String> {
        let mut row = vec![one.cell.host.clone(), column_label(one.cell, &varying)];
        row.extend(labels.iter().map(|name| one.labels.get(*name).cloned().unwrap_or_default()));
        row.extend([one.trials.to_string(), one.histogram.count().to_string()]);
        row.push(figure(scale.apply(one.histogram.mean().value)));
        row.extend(PERCENTILES.iter().map(|(_, q)| percentile(one, *q, &scale)));
        row.push(figure(scale.apply(one.histogram.max().value)));
        row
    };
    let origins = |one: &&Merged<'_>| {
        let texts = 3 + labels.len();
        let name = |figure: &str| trials::metric_name(&format!("{}_{figure}", one.name), &one.labels);
        let origin = |figure: &str, value: Option<f64>| {
            Some(Origin { cell: one.cell.cell.clone(), metric: name(figure), value })
        };
        let mut row = vec![None; texts];
        row.push(origin("count", Some(one.histogram.count() as f64)));
        row.push(origin("mean", Some(one.histogram.mean().value)));
        row.extend(
            PERCENTILES.iter().map(|(figure, q)| origin(figure, one.percentile(*q).map(|(value, _)| value))),
        );
        row.push(origin("max", Some(one.histogram.max().value)));
        row
    };
    let texts = ["host", "environment"].into_iter().map(Column::text);
    let figures = ["trials", "values", "mean"].into_iter();
    let figures = figures.chain(PERCENTILES.iter().map(|(name, _)| *name)).chain(["max"]).map(Column::number);
    Some(DistributionTable {
        workload: first.cell.workload.clone(),
        quantity: first.name.clone(),
        table: Table {
            columns: texts.chain(labels.iter().map(|name| Column::text(*name))).chain(figures).collect(),
            rows: all.iter().map(row).collect(),
            origins: all.iter().map(origins).collect(),
        },
        unit: scale.name,
    })
}

fn figure(value: f64) -> String {
    fixed(value, place(value, None))
}

fn percentile(one: &Merged<'_>, q: f64, scale: &Scale) -> String {
    let Some((value, interval)) = one.percentile(q) else { return NOTHING.to_owned() };
    let ends = (scale.apply(interval.low), scale.apply(interval.high));
    let value = scale.apply(value);
    let place = place(value, Some(ends));
    let write = |value| fixed(value, place);
    format!("{} [{}, {}]", write(value), write(ends.0), write(ends.1))
}
