//! Reads the counters of `perf stat`: lines with separators (`-x,`, `-x\;`) or JSON lines (`-j`). Each event is a metric
//! of its own name, as perf prints it (`cycles:u`). A counter that was not counted is missing. The text for
//! people is not read: its numbers are grouped by locale.

mod separated;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::metrics::{Measurement, Metric, MetricParser, Reading, ToolOutput, Values, json, text};
use crate::units::{Scale, Unit};

/// The perf parser.
pub struct Perf;

impl MetricParser for Perf {
    fn tool(&self) -> &'static str {
        "perf"
    }

    fn metrics(&self) -> Vec<Metric> {
        Vec::new()
    }

    fn names_more(&self) -> bool {
        true
    }

    fn read(&self, output: ToolOutput<'_>) -> Reading {
        let stderr = text::clean(output.stderr);
        let stdout = text::clean(output.stdout);
        let said = stderr.lines().chain(stdout.lines());
        if let Some(reason) =
            said.map(str::trim).find(|line| line.starts_with("Workload failed:")).and_then(text::shown)
        {
            return Reading::Failed { reason };
        }
        if output.exit_code.is_some_and(|code| code != 0) {
            return text::failed("perf failed", output);
        }
        let counters = match counters(&stderr) {
            Ok(none) if none.is_empty() => counters(&stdout),
            read => read,
        };
        match counters.and_then(values) {
            Ok(values) => Reading::Ok(values),
            Err(what) => text::failed(&what, output),
        }
    }
}

/// One counter as it was printed.
#[derive(Debug, PartialEq)]
struct Counter {
    event: String,
    /// None where perf gives words in its place: `<not supported>`, `<not counted>`.
    value: Option<f64>,
    /// What stands in the place of the value.
    printed: String,
    /// `msec`, `ns`, `Joules`, …; empty for a count.
    unit: String,
    /// For how much of the time the event was counted, in percent; the value is scaled up to all of it.
    running: f64,
    /// The processor, socket, … that it was counted on.
    labels: BTreeMap<String, String>,
    span: Span,
}

/// What time a counter is of.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Span {
    Whole,
    /// One step of `--interval-print`.
    Interval,
    /// The end of `--interval-print --summary`.
    Summary,
}

/// All counters of a text, none where there are none.
///
/// Errors: some line is a counter's but is not understood.
fn counters(text: &str) -> Result<Vec<Counter>, String> {
    let found = json::find(text);
    if found.cut_off || found.around.contains("\"counter-value\"") {
        return Err(
            "the JSON of perf is not whole, or its numbers are those of a locale: set `LC_ALL=C`".to_owned()
        );
    }
    let is_counter = |object: &&Value| object.get("counter-value").is_some();
    let counters: Option<Vec<_>> = found.objects.iter().filter(is_counter).map(Counter::of_json).collect();
    match counters {
        Some(none) if none.is_empty() => separated::counters(text),
        Some(counters) => Ok(counters),
        None => Err("a counter in the JSON of perf is not understood".to_owned()),
    }
}

impl Counter {
    /// Reads one object of `-j`: `{"counter-value" : "0.47", "unit" : "msec", "event" : "task-clock", …}`.
    fn of_json(object: &Value) -> Option<Self> {
        let text = |key: &str| object.get(key).and_then(Value::as_str);
        let printed = text("counter-value")?.trim().to_owned();
        let value = text::plain_decimal(&printed);
        if value.is_none() && !printed.starts_with('<') {
            return None;
        }
        let places = ["cpu", "thread", "core", "die", "socket", "node", "cgroup"];
        let labels = places.iter().filter_map(|place| Some(((*place).to_owned(), text(place)?.to_owned())));
        Some(Self {
            event: text("event").filter(|event| !event.is_empty())?.to_owned(),
            value,
            printed,
            unit: text("unit")?.to_owned(),
            running: object["pcnt-running"].as_f64()?,
            labels: labels.collect(),
            span: if object.get("interval").is_some() { Span::Interval } else { Span::Whole },
        })
    }

    /// The counter in its base unit: perf prints times in `msec` or `ns`.
    fn measurement(&self) -> Option<Measurement> {
        let (unit, factor) = match self.unit.as_str() {
            "" => (Unit::Count, 1.0),
            "msec" => (Unit::Second, 1e-3),
            other => match Scale::named(other) {
                Some((unit, scale)) => (unit, scale.factor),
                None => (Unit::Other(other.to_owned()), 1.0),
            },
        };
        let (name, labels) = (self.event.clone(), self.labels.clone());
        Some(Measurement { name, value: self.value? * factor, unit, better: None, fixed: None, labels })
    }

    /// What a user should know of the counter.
    fn warning(&self) -> Option<String> {
        match self.value {
            None => Some(format!("{} is {}: left out", self.event, self.printed)),
            Some(_) if self.running < 100.0 => {
                Some(format!("{} was counted {} % of the time, and scaled up", self.event, self.running))
            }
            Some(_) => None,
        }
    }
}

/// The counters that were counted, over all the time.
///
/// Errors: there are none, only those of intervals, or two of one name.
fn values(counters: Vec<Counter>) -> Result<Values, String> {
    let has = |span: &&Span| counters.iter().any(|counter| counter.span == **span);
    // In JSON the summary of intervals looks like counters of the whole.
    let Some(span) = [Span::Summary, Span::Whole, Span::Interval].iter().find(has).copied() else {
        return Err("no counters of perf: run `perf stat -x,` or `perf stat -j`".to_owned());
    };
    if span == Span::Interval {
        return Err("the counters are of intervals: add `--summary`, or leave `-I` out".to_owned());
    }
    let mut values = Values::default();
    for counter in counters.iter().filter(|counter| counter.span == span) {
        values.warnings.extend(counter.warning());
        let Some(measurement) = counter.measurement() else { continue };
        let is_same = |one: &Measurement| one.name == measurement.name && one.labels == measurement.labels;
        if values.measurements.iter().any(is_same) {
            return Err(format!("two counters have the name {}", measurement.name));
        }
        values.measurements.push(measurement);
    }
    match values.measurements.is_empty() {
        true => Err("perf counted nothing".to_owned()),
        false => Ok(values),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(stderr: &str) -> Result<Values, String> {
        match Perf.read(ToolOutput { stderr: stderr.as_bytes(), ..ToolOutput::default() }) {
            Reading::Ok(values) => Ok(values),
            Reading::Failed { reason } => Err(reason),
        }
    }

    #[test]
    fn what_is_not_certain_is_refused() {
        let json = "{\"counter-value\" : \"5.000000\", \"unit\" : \"\", \"event\" : \"a\", \"pcnt-running\" : 100.00}\n";
        let cases = [
            (String::new(), "no counters of perf"),
            ("5,,a,1,100.00,,\n5,,a,1,100.00,,\n".to_owned(), "two counters have the name a"),
            ("<not counted>,,a,0,100.00,,\n".to_owned(), "perf counted nothing"),
            ("     0.100179328,5,,a,1,100.00,,\n".to_owned(), "the counters are of intervals"),
            (json.replace("100.00", "100,00"), "the JSON of perf is not whole"),
            (json.replace("5.000000", "5 000"), "a counter in the JSON of perf is not understood"),
            (format!("{json}{{\"counter"), "the JSON of perf is not whole"),
            (
                "Workload failed: No such file or directory\n5,,a,1,100.00,,\n".to_owned(),
                "Workload failed: No such",
            ),
        ];
        for (stderr, reason) in cases {
            let told = read(&stderr).unwrap_err();
            assert!(told.starts_with(reason), "{told}");
        }
    }

    #[test]
    fn a_counter_that_shared_its_place_is_told() {
        let values = read("500,,cycles:u,1,45.20,,\n3.5,Joules,power/energy-pkg/,1,100.00,,\n").unwrap();
        assert_eq!(values.warnings, ["cycles:u was counted 45.2 % of the time, and scaled up"]);
        assert_eq!((values.measurements[0].name.as_str(), values.measurements[0].value), ("cycles:u", 500.0));
        assert_eq!(values.measurements[1].unit, Unit::Other("Joules".to_owned()));
    }
}
