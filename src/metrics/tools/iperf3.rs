//! Reads iperf3: a JSON report (`--json`), a JSON stream (`--json-stream`) or text. Here it is decided
//! whether the run succeeded and which report counts; `totals` and `rows` read the figures.

mod intervals;
mod rows;
mod totals;

use serde_json::Value;

use crate::metrics::json::{self, Found};
use crate::metrics::{Measurement, Metric, MetricParser, Reading, Series, ToolOutput, Values, text};
use crate::units::{Better, Unit};
use intervals::Interval;

/// The iperf3 parser.
pub struct Iperf3;

/// Index into [`Known::names`]: which way the data of a measurement went.
#[derive(Debug, Clone, Copy)]
enum Direction {
    /// The only direction of the test.
    Single = 0,
    /// With `--bidir`: from client to server.
    Forward = 1,
    /// With `--bidir`: from server to client.
    Reverse = 2,
}

impl Direction {
    /// What stands behind the names of its figures.
    fn suffix(self) -> &'static str {
        ["", "_forward", "_reverse"][self as usize]
    }
}

/// One kind of figure and its name in each [`Direction`].
#[derive(Debug)]
struct Known {
    names: [&'static str; 3],
    unit: Unit,
    better: Option<Better>,
    headline: bool,
}

macro_rules! known {
    ($id:ident, $name:literal, $unit:ident, $better:expr, $headline:literal) => {
        const $id: Known = Known {
            names: [$name, concat!($name, "_forward"), concat!($name, "_reverse")],
            unit: Unit::$unit,
            better: $better,
            headline: $headline,
        };
    };
}

known!(SENT, "throughput_sent", BitPerSecond, Some(Better::Higher), true);
known!(RECEIVED, "throughput_received", BitPerSecond, Some(Better::Higher), true);
known!(RETRANSMITS, "retransmits", Count, Some(Better::Lower), false);
known!(JITTER, "jitter", Second, Some(Better::Lower), false);
known!(PACKETS, "packets", Count, None, false);
known!(LOST_PACKETS, "lost_packets", Count, Some(Better::Lower), false);
known!(LOST_PERCENT, "lost_percent", Percent, Some(Better::Lower), false);
known!(STREAMS, "streams", Count, None, false);

impl Known {
    /// A measurement of this kind.
    fn measured(&self, direction: Direction, value: f64) -> Measurement {
        Metric::new(self.names[direction as usize], self.unit.clone(), self.better).measured(value)
    }
}

impl MetricParser for Iperf3 {
    fn tool(&self) -> &'static str {
        "iperf3"
    }

    fn metrics(&self) -> Vec<Metric> {
        let known = [SENT, RECEIVED, RETRANSMITS, JITTER, PACKETS, LOST_PACKETS, LOST_PERCENT, STREAMS];
        let named = |Known { names, unit, better, headline }: Known| {
            names.map(|name| Metric { headline, ..Metric::new(name, unit.clone(), better) })
        };
        known.into_iter().flat_map(named).collect()
    }

    fn has_series(&self) -> bool {
        true
    }

    fn needs(&self, line: &[u8]) -> bool {
        !(line.starts_with(intervals::EVENT.as_bytes()) && line.ends_with(b"}\n"))
    }

    fn read(&self, output: ToolOutput<'_>) -> Reading {
        let (stdout, intervals) = without_intervals(&text::clean(output.stdout));
        let stderr = text::clean(output.stderr);
        let found = json::find(&stdout);
        if let Some(words) = own_words(&found, &stderr) {
            return Reading::Failed { reason: words.to_owned() };
        }
        let reports = reports(&found.objects);
        if reports.is_empty() && (found.cut_off || found.objects.iter().any(|object| event(object).is_some()))
        {
            return text::failed("the JSON report is cut off", output);
        }
        if output.exit_code.is_some_and(|code| code != 0) || stdout.trim().is_empty() {
            return text::failed("iperf3 gave no result", output);
        }
        let values = match reports.as_slice() {
            [] => rows::read(&stdout),
            [report] => totals::read(report.start, report.end).map(|values| Values {
                series: report.series(intervals),
                version: report.start["version"].as_str().map(str::to_owned),
                ..values
            }),
            more => Err(format!("{} iperf3 reports in one output, expected one", more.len())),
        };
        match values {
            Err(reason) => Reading::Failed { reason },
            Ok(mut values) => {
                if !reports.is_empty() {
                    values.warnings.extend(found.lines_around());
                }
                values.warnings.extend(stderr.lines().filter_map(text::shown).take(5));
                Reading::Ok(values)
            }
        }
    }
}

/// The text, and apart from it the intervals of a JSON stream, of which there may be many.
fn without_intervals(text: &str) -> (String, Vec<Interval>) {
    let (mut rest, mut intervals) = (String::with_capacity(text.len().min(1 << 16)), Vec::new());
    for line in text.split_inclusive('\n') {
        match line.starts_with(intervals::EVENT).then(|| intervals::of_line(line)).flatten() {
            Some(interval) => intervals.push(interval),
            None => rest.push_str(line),
        }
    }
    (rest, intervals)
}

/// The parts of a report that matter: the settings, the final totals, and all of it where it is a whole document.
struct Report<'a> {
    start: &'a Value,
    end: &'a Value,
    whole: Option<&'a Value>,
}

impl Report<'_> {
    fn series(&self, of_stream: Vec<Interval>) -> Vec<Series> {
        let is_bidir = self.end.get("sum_sent_bidir_reverse").is_some()
            || self.start["test_start"]["bidir"].as_u64() == Some(1);
        intervals::series(&self.whole.map_or(of_stream, intervals::of_report), is_bidir)
    }
}

/// All complete reports: whole documents, or where there is none (`--json-stream`) the `end` events, each
/// with the `start` event before it.
fn reports(objects: &[Value]) -> Vec<Report<'_>> {
    let whole = objects.iter().filter(|object| object["start"].is_object() && object["end"].is_object());
    let mut reports: Vec<_> = whole
        .map(|object| Report { start: &object["start"], end: &object["end"], whole: Some(object) })
        .collect();
    if !reports.is_empty() {
        return reports;
    }
    let mut start = &Value::Null;
    for object in objects {
        match event(object) {
            Some("start") => start = &object["data"],
            Some("end") => reports.push(Report { start, end: &object["data"], whole: None }),
            _ => {}
        }
    }
    reports
}

/// The name of a stream event.
fn event(object: &Value) -> Option<&str> {
    object.get("data").and(object["event"].as_str())
}

/// The tool's own words for a failure, wherever it left them. They count whatever the exit code is:
/// with `--json`, iperf3 exits with 0 when it can't connect.
fn own_words<'a>(found: &'a Found, stderr: &'a str) -> Option<&'a str> {
    let reported = |object: &'a Value| match event(object) {
        Some("error") => object["data"].as_str(),
        Some(_) => object["data"]["error"].as_str(),
        None => object["error"].as_str().filter(|_| object["start"].is_object()),
    };
    let printed = |line: &'a str| {
        let line = line.trim().strip_prefix("iperf3")?;
        let marks = ["error - ", "interrupt - "];
        marks.iter().find_map(|mark| line.split_once(mark)).map(|(_, words)| words)
    };
    let lines = stderr.lines().chain(found.around.lines());
    found.objects.iter().find_map(reported).or_else(|| lines.into_iter().find_map(printed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(stdout: &str, stderr: &str, exit_code: i32) -> Reading {
        Iperf3.read(ToolOutput {
            stdout: stdout.as_bytes(),
            stderr: stderr.as_bytes(),
            exit_code: Some(exit_code),
        })
    }

    const REPORT: &str = r#"{"start":{},"end":{
        "sum_sent":{"bits_per_second":8.5,"retransmits":3},"sum_received":{"bits_per_second":8.0}}}"#;

    #[test]
    fn failures_have_a_reason() {
        let stream_start = r#"{"event":"start","data":{}}"#;
        let twice = format!("{REPORT}\n{REPORT}");
        let cases = [
            ("", "", 0, "iperf3 gave no result: no output"),
            (
                "",
                "sh: iperf3: not found",
                127,
                "iperf3 gave no result (exit code 127): sh: iperf3: not found",
            ),
            (
                "",
                "iperf3: error - unable to connect to server: Connection refused",
                1,
                "unable to connect to server: Connection refused",
            ),
            ("", "iperf3: parameter error - unknown role", 1, "unknown role"),
            ("iperf3: interrupt - the client has terminated", "", 1, "the client has terminated"),
            (r#"{"start":{},"end":{},"error":"the server is busy"}"#, "", 0, "the server is busy"),
            (r#"{"event":"error","data":"no route to host"}"#, "", 0, "no route to host"),
            (stream_start, "", 0, r#"the JSON report is cut off: {"event":"start","data":{}}"#),
            (
                &REPORT[..40],
                "Connection closed.",
                255,
                "the JSON report is cut off (exit code 255): Connection closed.",
            ),
            (REPORT, "killed", 137, "iperf3 gave no result (exit code 137): killed"),
            (&twice, "", 0, "2 iperf3 reports in one output, expected one"),
            (
                r#"{"error":"not ours"}"#,
                "",
                0,
                "no final sender or receiver row in the text output; add `--json`",
            ),
        ];
        for (stdout, stderr, exit_code, reason) in cases {
            let expected = Reading::Failed { reason: reason.to_owned() };
            assert_eq!(read(stdout, stderr, exit_code), expected, "{stdout}{stderr}");
        }
    }

    #[test]
    fn a_whole_report_after_stream_events_counts_once() {
        let stream = format!(
            "{}\n{}\n{REPORT}",
            r#"{"event":"start","data":{}}"#,
            r#"{"event":"end","data":{"sum_sent":{"bits_per_second":8.5}}}"#
        );
        for stdout in [REPORT, &stream] {
            let Reading::Ok(Values { measurements, warnings, .. }) = read(stdout, "", 0) else {
                panic!("{stdout}")
            };
            let values: Vec<_> = measurements.iter().map(|m| (m.name.as_str(), m.value)).collect();
            assert_eq!(
                values,
                [("throughput_sent", 8.5), ("throughput_received", 8.0), ("retransmits", 3.0)]
            );
            assert!(warnings.is_empty());
        }
    }

    #[test]
    fn every_metric_is_declared_once() {
        let metrics = Iperf3.metrics();
        let names: std::collections::BTreeSet<_> = metrics.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), 24);
        assert_eq!(metrics.iter().filter(|metric| metric.headline).count(), 6);
    }
}
