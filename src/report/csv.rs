//! The results as comma-separated values (RFC 4180 quoting, decimal point, line feeds as in every other
//! file of a run): every digit, fixed columns first, then a column for each label and parameter. The
//! columns are an interface. Codes for a terminal are left out of them.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io::{self, Write};
use std::sync::Arc;

use crate::analysis::{Interval, Summary};
use crate::record::{Common, Record, Run, Status, word};
use crate::terminal;

const SERIES: &str = "trial cell workload host environment repetition phase series unit seconds value";

const SUMMARY: &str = "cell workload host environment metric unit better planned ok mean median sd cov min max \
    mean_low mean_high median_low median_high ratio ratio_low ratio_high verdict mean_kind \
    baseline pairs p adjusted_p rank_p margin needed";

pub(super) type Text = Result<String, Box<dyn Error + Send + Sync>>;

/// `summary.csv`: a row per cell and metric, in base units.
pub(super) fn summary(summaries: &[Summary<'_>]) -> Text {
    let labels = names(summaries.iter().map(|summary| &summary.metric.labels));
    let parameters = names(summaries.iter().map(|summary| &summary.cell.parameters));
    let mut writer = Writer::new(SUMMARY, &labels, &parameters)?;
    for summary in summaries {
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
        row.push(comparison.map(|one| one.contrast.size.to_string()).unwrap_or_default());
        row.push(number(comparison.map(|comparison| comparison.contrast.p)));
        row.push(number(comparison.and_then(|comparison| comparison.adjusted_p)));
        row.push(number(comparison.and_then(|comparison| comparison.contrast.rank_p)));
        row.push(number(comparison.map(|comparison| comparison.margin)));
        row.push(
            comparison.and_then(|comparison| comparison.needed).map(|n| n.to_string()).unwrap_or_default(),
        );
        for text in &row {
            writer.text(text)?;
        }
        writer.values(&labels, Some(&metric.labels))?;
        writer.values(&parameters, Some(&cell.parameters))?;
        writer.end()?;
    }
    writer.finish()
}

/// `series.csv`: a row per point of what changes in the course of a trial; none where nothing was kept.
pub(super) fn series(run: &Run) -> Option<Text> {
    let has_some = |record: &&Record| {
        record.status == Status::Ok && record.words().series.iter().any(|series| !series.points.is_empty())
    };
    let mut records = run.last_attempts().filter(has_some).peekable();
    records.peek()?;
    let parameters = names(distinct(run).map(|common| &common.parameters));
    let write = || {
        let mut writer = Writer::new(SERIES, &BTreeSet::new(), &parameters)?;
        for record in records {
            for series in &record.words().series {
                for (seconds, value) in &series.points {
                    writer.trial(record)?;
                    writer.text(&word(&record.phase))?;
                    writer.text(&series.name)?;
                    writer.text(series.unit.as_str())?;
                    writer.text(&number(Some(*seconds)))?;
                    writer.text(&number(Some(*value)))?;
                    writer.values(&parameters, Some(&record.parameters))?;
                    writer.end()?;
                }
            }
        }
        writer.finish()
    };
    Some(write())
}

/// What the records have in common, for each stretch of them that shares it.
pub(super) fn distinct(run: &Run) -> impl Iterator<Item = &Common> {
    run.records
        .chunk_by(|one, next| Arc::ptr_eq(&one.common, &next.common))
        .map(|records| &*records[0].common)
}

/// Fields as they stand in a file, with commas between.
pub(super) fn fields(texts: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<u8> {
    let mut written = Vec::new();
    for (index, text) in texts.into_iter().enumerate() {
        let text = terminal::plain(text.as_ref());
        written.extend((index > 0).then_some(b','));
        match text.bytes().any(|byte| matches!(byte, b',' | b'"' | b'\r' | b'\n')) {
            true => written.extend(format!("\"{}\"", text.replace('"', "\"\"")).bytes()),
            false => written.extend_from_slice(text.as_bytes()),
        }
    }
    written
}

/// Rows written field by field: a run may have a million of them.
struct Writer(csv::Writer<Vec<u8>>);

type Written = Result<(), Box<dyn Error + Send + Sync>>;

impl Writer {
    fn new(
        fixed: &str,
        labels: &BTreeSet<&str>,
        parameters: &BTreeSet<&str>,
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let mut writer = Writer(csv::Writer::from_writer(Vec::new()));
        for name in fixed.split_whitespace() {
            writer.text(name)?;
        }
        for (kind, names) in [("label", labels), ("param", parameters)] {
            for name in names {
                writer.text(&format!("{kind}.{name}"))?;
            }
        }
        writer.end()?;
        Ok(writer)
    }

    fn text(&mut self, field: &str) -> Written {
        Ok(self.0.write_field(terminal::plain(field).as_bytes())?)
    }

    /// The columns that say which trial it is.
    fn trial(&mut self, record: &Record) -> Written {
        for text in [&record.trial(), &record.cell, &record.workload, &record.host, &record.environment] {
            self.text(text)?;
        }
        self.text(&record.repetition.to_string())
    }

    fn values(&mut self, names: &BTreeSet<&str>, map: Option<&BTreeMap<String, String>>) -> Written {
        for name in names {
            self.text(map.and_then(|map| map.get(*name)).map_or("", String::as_str))?;
        }
        Ok(())
    }

    fn end(&mut self) -> Written {
        Ok(self.0.write_record(None::<&[u8]>)?)
    }

    fn finish(self) -> Text {
        Ok(String::from_utf8(self.0.into_inner()?)?)
    }
}

/// Rows that are there already: the fixed columns, then those of labels and parameters.
pub(super) fn write(
    fixed: &str,
    labels: &BTreeSet<&str>,
    parameters: &BTreeSet<&str>,
    rows: impl Iterator<Item = Vec<String>>,
) -> Text {
    let mut writer = Writer::new(fixed, labels, parameters)?;
    for row in rows {
        row.iter().try_for_each(|field| writer.text(field))?;
        writer.end()?;
    }
    writer.finish()
}

pub(super) fn values(names: &BTreeSet<&str>, map: Option<&BTreeMap<String, String>>) -> Vec<String> {
    names.iter().map(|name| map.and_then(|map| map.get(*name)).cloned().unwrap_or_default()).collect()
}

pub(super) fn names<'a>(maps: impl Iterator<Item = &'a BTreeMap<String, String>>) -> BTreeSet<&'a str> {
    let mut names = BTreeSet::new();
    for name in maps.flat_map(BTreeMap::keys) {
        if !names.contains(name.as_str()) {
            names.insert(name.as_str());
        }
    }
    names
}

/// The shortest text that reads back as the same number; nothing for a number that there is not.
pub(super) fn number(value: Option<f64>) -> String {
    let mut text = Vec::new();
    // Nothing keeps a text from growing.
    let _ = write_number(&mut text, value);
    String::from_utf8(text).unwrap_or_default()
}

pub(super) fn write_number(out: &mut dyn Write, value: Option<f64>) -> io::Result<()> {
    match value.filter(|value| value.is_finite()) {
        // Adding 0 takes the sign from a 0.
        Some(value) => write!(out, "{}", value + 0.0),
        None => Ok(()),
    }
}

pub(super) fn ends(interval: Option<Interval>) -> [String; 2] {
    [number(interval.map(|interval| interval.low)), number(interval.map(|interval| interval.high))]
}
