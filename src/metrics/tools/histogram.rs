//! Distributions that programs write: what HdrHistogram writes, a table of ranges and counts, or raw values one a
//! line. None of them says what is measured, so that figures have the number's own unit, but for a table that
//! tells it. A rule of `extract` gives them a name and a unit.

use std::io::BufRead;

use crate::metrics::extract::labels_of_tag;
use crate::metrics::histogram::hdr::{self, Tagged};
use crate::metrics::histogram::{self, Histogram as Counts, ranges, values};
use crate::metrics::{Distribution, Metric, MetricParser, Reading, ToolOutput, Values, text};
use crate::units::Unit;

/// The parser of distributions.
pub struct Histogram;

const BARE: Unit = Unit::Other(String::new());

impl MetricParser for Histogram {
    fn tool(&self) -> &'static str {
        "histogram"
    }

    fn program(&self) -> Option<&'static str> {
        None
    }

    fn metrics(&self) -> Vec<Metric> {
        let bare = ["min", "p90", "p95", "p99.9", "p99.99"];
        let headline = ["mean", "max", "p50", "p99"];
        let bare = bare.into_iter().map(|name| Metric::new(name, BARE, None));
        let headline = headline.into_iter().map(|name| Metric::headline(name, BARE, None));
        headline.chain(bare).chain([Metric::new("count", Unit::Count, None)]).collect()
    }

    fn read_long(&self, reader: &mut dyn BufRead) -> Option<Reading> {
        let begin = reader.fill_buf().ok()?;
        let is_number = first_line(begin).is_some_and(|line| line.trim().parse::<f64>().is_ok());
        let read = || values::read(reader, 1.0).map(untagged);
        is_number.then(|| reading(read(), &BARE))
    }

    fn read(&self, output: ToolOutput<'_>) -> Reading {
        if output.exit_code.is_some_and(|code| code != 0) {
            return text::failed("there is no histogram of a command that failed", output);
        }
        if let Some(read) = self.read_long(&mut &*output.stdout) {
            return read;
        }
        let text = text::clean(output.stdout);
        if text.trim().is_empty() {
            return text::failed("there is no histogram", output);
        }
        let is_log = ["#[", "\"StartTimestamp\"", "1/(1-Percentile)"].iter().any(|mark| text.contains(mark));
        if is_log {
            return reading(hdr::read(&text, 1.0), &BARE);
        }
        // A table that tells its unit is one of times.
        let (counts, unit) = match ranges::read(&text, None) {
            Ok(counts) => (Ok(counts), Unit::Second),
            Err(_) => (ranges::read(&text, Some(1.0)), BARE),
        };
        reading(counts.map(untagged), &unit)
    }
}

/// The first line that is neither blank nor a remark.
fn first_line(begin: &[u8]) -> Option<&str> {
    let text = begin.split(|byte| *byte == b'\n').map(str::from_utf8);
    text.map_while(Result::ok).map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'))
}

fn untagged(histogram: Counts) -> Vec<Tagged> {
    vec![Tagged { tag: None, histogram }]
}

fn reading(found: Result<Vec<Tagged>, String>, unit: &Unit) -> Reading {
    let found = match found {
        Ok(found) => found,
        Err(reason) => return Reading::Failed { reason },
    };
    let mut all = Values::default();
    for Tagged { tag, histogram } in found {
        let labels = labels_of_tag(tag);
        let figures = histogram::measurements("", unit, &histogram).into_iter();
        all.measurements.extend(figures.map(|mut figure| {
            figure.labels = labels.clone();
            figure
        }));
        all.warnings.extend(histogram::warnings("", unit, &histogram));
        let (name, unit) = ("value".to_owned(), unit.clone());
        all.histograms.push(Distribution { name, unit, labels, histogram });
    }
    Reading::Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(stdout: &str) -> Result<Vec<(String, f64)>, String> {
        match Histogram.read(ToolOutput { stdout: stdout.as_bytes(), stderr: b"", exit_code: Some(0) }) {
            Reading::Ok(values) => Ok(values.measurements.into_iter().map(|m| (m.name, m.value)).collect()),
            Reading::Failed { reason } => Err(reason),
        }
    }

    #[test]
    fn raw_values_are_told_by_their_first_line() {
        let found = read("# us\n\n1\n2\n3\n4\n5\n6\n").unwrap();
        assert_eq!(found[0], ("mean".to_owned(), 3.5));
        assert_eq!(found.last(), Some(&("count".to_owned(), 6.0)));
        assert!(read("1\nNaN\n").is_err());
        assert!(read("1\n2").unwrap_err().contains("line 2"), "the last may be cut");
    }

    #[test]
    fn what_is_no_distribution_is_refused() {
        assert_eq!(read("").unwrap_err(), "there is no histogram: no output");
        assert_eq!(read("hello\n").unwrap_err(), "no table of ranges and counts");
    }
}
