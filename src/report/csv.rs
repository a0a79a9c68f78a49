//! The results as comma-separated values (RFC 4180 quoting, decimal point, line feeds as in every other
//! file of a run): every digit, fixed columns first, then a column for each label and parameter. The
//! columns are an interface. Codes for a terminal are left out of them.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;

use crate::analysis::{Interval, Summary};
use crate::record::{Measurement, Record, Run, Series, Status, word};
use crate::terminal;

const SAMPLES: &str =
    "trial cell workload host environment repetition attempt phase status metric value unit";

const SERIES: &str = "trial cell workload host environment repetition phase series unit seconds value";

const SUMMARY: &str = "cell workload host environment metric unit better planned ok mean median sd cov min max \
    mean_low mean_high median_low median_high ratio ratio_low ratio_high verdict mean_kind \
    baseline p adjusted_p rank_p margin needed";

type Text = Result<String, Box<dyn Error + Send + Sync>>;

/// `samples.csv`: a row per attempt and metric; a row without metric for an attempt that measured nothing.
pub(super) fn samples(run: &Run) -> Text {
    let labels = names(run.records.iter().flat_map(|record| &record.measurements).map(|one| &one.labels));
    let parameters = names(run.records.iter().map(|record| &record.parameters));
    let row = |record: &Record, measurement: Option<&Measurement>| {
        let mut row = trial(record).to_vec();
        row.extend([
            record.attempt.to_string(),
            word(&record.phase),
            word(&record.status),
            measurement.map(|one| one.name.clone()).unwrap_or_default(),
            number(measurement.map(|one| one.value)),
            measurement.map(|one| one.unit.to_string()).unwrap_or_default(),
        ]);
        row.extend(values(&labels, measurement.map(|one| &one.labels)));
        row.extend(values(&parameters, Some(&record.parameters)));
        row
    };
    let rows = run.records.iter().flat_map(|record| {
        let measured = record.measurements.iter().map(|one| row(record, Some(one)));
        measured.chain(record.measurements.is_empty().then(|| row(record, None))).collect::<Vec<_>>()
    });
    write(SAMPLES, &labels, &parameters, rows)
}

/// `summary.csv`: a row per cell and metric, in base units.
pub(super) fn summary(summaries: &[Summary<'_>]) -> Text {
    let labels = names(summaries.iter().map(|summary| &summary.metric.labels));
    let parameters = names(summaries.iter().map(|summary| &summary.cell.parameters));
    let row = |summary: &Summary<'_>| {
        let Summary { cell, metric, sample, baseline, .. } = summary;
        let comparison = summary.comparison.and_then(Result::ok);
        let ratio = comparison.map(|comparison| comparison.contrast.ratio);
        let mut row = vec![
            cell.cell.clone(),
            cell.workload.clone(),
            cell.host.clone(),
            cell.environment.clone(),
            metric.name.clone(),
            metric.unit.to_string(),
            summary.better.map(|better| word(&better)).unwrap_or_default(),
            cell.planned().to_string(),
            summary.ok.to_string(),
            number(sample.map(|sample| sample.mean)),
            number(sample.map(|sample| sample.median)),
            number(sample.and_then(|sample| sample.sd)),
            number(sample.and_then(|sample| sample.cov)),
            number(sample.map(|sample| sample.min)),
            number(sample.map(|sample| sample.max)),
        ];
        row.extend(ends(summary.mean_interval));
        row.extend(ends(summary.median_interval));
        row.push(number(ratio.map(|ratio| ratio.estimate)));
        row.extend(ends(ratio.map(|ratio| ratio.interval)));
        let verdict = comparison.and_then(|comparison| comparison.verdict);
        row.push(verdict.map(|verdict| verdict.as_str().to_owned()).unwrap_or_default());
        row.push(sample.map(|_| summary.mean.as_str().to_owned()).unwrap_or_default());
        row.push(baseline.map(|baseline| baseline.cell.clone()).unwrap_or_default());
        row.push(number(comparison.map(|comparison| comparison.contrast.p)));
        row.push(number(comparison.and_then(|comparison| comparison.adjusted_p)));
        row.push(number(comparison.and_then(|comparison| comparison.contrast.rank_p)));
        row.push(number(comparison.map(|comparison| comparison.margin)));
        row.push(
            comparison.and_then(|comparison| comparison.needed).map(|n| n.to_string()).unwrap_or_default(),
        );
        row.extend(values(&labels, Some(&metric.labels)));
        row.extend(values(&parameters, Some(&cell.parameters)));
        row
    };
    write(SUMMARY, &labels, &parameters, summaries.iter().map(row))
}

/// `series.csv`: a row per point of what changes in the course of a trial; none where nothing was kept.
pub(super) fn series(run: &Run) -> Option<Text> {
    let parameters = names(run.records.iter().map(|record| &record.parameters));
    let row = |record: &Record, series: &Series, (seconds, value): (f64, f64)| {
        let mut row = trial(record).to_vec();
        row.extend([
            word(&record.phase),
            series.name.clone(),
            series.unit.to_string(),
            number(Some(seconds)),
            number(Some(value)),
        ]);
        row.extend(values(&parameters, Some(&record.parameters)));
        row
    };
    let of_record = |record: &Record| {
        let all = record.details.series.iter();
        all.flat_map(|series| series.points.iter().map(|point| row(record, series, *point)))
            .collect::<Vec<_>>()
    };
    let ok = run.last_attempts().filter(|record| record.status == Status::Ok);
    let mut rows = ok.flat_map(of_record).peekable();
    rows.peek().is_some().then(|| write(SERIES, &BTreeSet::new(), &parameters, rows))
}

/// The columns that say which trial it is.
fn trial(record: &Record) -> [String; 6] {
    [
        record.trial.clone(),
        record.cell.clone(),
        record.workload.clone(),
        record.host.clone(),
        record.environment.clone(),
        record.repetition.to_string(),
    ]
}

pub(super) fn write(
    fixed: &str,
    labels: &BTreeSet<&str>,
    parameters: &BTreeSet<&str>,
    rows: impl Iterator<Item = Vec<String>>,
) -> Text {
    let mut header: Vec<String> = fixed.split(' ').map(str::to_owned).collect();
    header.extend(labels.iter().map(|name| format!("label.{name}")));
    header.extend(parameters.iter().map(|name| format!("param.{name}")));
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(header)?;
    for row in rows {
        writer.write_record(row.iter().map(|field| terminal::plain(field).into_owned()))?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

pub(super) fn names<'a>(maps: impl Iterator<Item = &'a BTreeMap<String, String>>) -> BTreeSet<&'a str> {
    maps.flat_map(BTreeMap::keys).map(String::as_str).collect()
}

pub(super) fn values(names: &BTreeSet<&str>, map: Option<&BTreeMap<String, String>>) -> Vec<String> {
    names.iter().map(|name| map.and_then(|map| map.get(*name)).cloned().unwrap_or_default()).collect()
}

/// The shortest text that reads back as the same number; nothing for a number that there is not.
pub(super) fn number(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map(|value| value.to_string()).unwrap_or_default()
}

pub(super) fn ends(interval: Option<Interval>) -> [String; 2] {
    [number(interval.map(|interval| interval.low)), number(interval.map(|interval| interval.high))]
}
