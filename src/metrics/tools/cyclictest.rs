//! Reads cyclictest of rt-tests: the JSON of `--json`, or the last lines of `--quiet`. Lines that are redrawn
//! and histograms are refused: the end of the one and the unit of the other can't be known.

use serde_json::Value;

use crate::metrics::{Measurement, Metric, MetricParser, Reading, ToolOutput, Values, json, text};
use crate::units::{Better, Unit};

/// The cyclictest parser. Every value has the label `thread`.
pub struct Cyclictest;

const LOWER: Option<Better> = Some(Better::Lower);

const LATENCY_MAX: Metric = Metric::headline("latency_max", Unit::Second, LOWER);
const LATENCY_AVG: Metric = Metric::headline("latency_avg", Unit::Second, LOWER);
const LATENCY_MIN: Metric = Metric::new("latency_min", Unit::Second, LOWER);

impl MetricParser for Cyclictest {
    fn tool(&self) -> &'static str {
        "cyclictest"
    }

    fn version_option(&self) -> Option<&'static str> {
        // It begins with the version.
        Some("--help")
    }

    fn metrics(&self) -> Vec<Metric> {
        vec![LATENCY_MAX, LATENCY_AVG, LATENCY_MIN]
    }

    fn read(&self, output: ToolOutput<'_>) -> Reading {
        let stdout = text::clean(output.stdout);
        let stderr = text::clean(output.stderr);
        let said = || stderr.lines().chain(stdout.lines()).map(str::trim);
        let is_error = |line: &&str| line.starts_with("FATAL:") || line.starts_with("ERROR:");
        if let Some(reason) = said().find(is_error).and_then(text::shown) {
            return Reading::Failed { reason };
        }
        if output.exit_code.is_some_and(|code| code != 0) {
            return text::failed("cyclictest failed", output);
        }
        let found = json::find(&stdout);
        let read = match found.objects.as_slice() {
            [report] => report_values(report),
            [] => lines_values(&stdout),
            _ => Err("several reports of cyclictest".to_owned()),
        };
        let is_warning = |line: &&str| line.starts_with("WARN:") || line.starts_with("# Break value:");
        match read {
            Ok(mut values) => {
                values.warnings.extend(said().filter(is_warning).filter_map(text::shown));
                Reading::Ok(values)
            }
            Err(what) => text::failed(&what, output),
        }
    }
}

/// The latencies of one thread in seconds.
fn measurements(thread: &str, min: f64, avg: f64, max: f64) -> [Measurement; 3] {
    let all = [LATENCY_MAX.measured(max), LATENCY_AVG.measured(avg), LATENCY_MIN.measured(min)];
    all.map(|one| one.labelled("thread", thread))
}

/// Reads the JSON report. `resolution_in_ns` says whether its latencies are in nanoseconds or microseconds.
///
/// Errors: it is of no finished run, or a thread's figures are missing.
fn report_values(report: &Value) -> Result<Values, String> {
    let (Some(threads), Some(code)) = (report["thread"].as_object(), report["return_code"].as_i64()) else {
        return Err("the JSON is no report of cyclictest".to_owned());
    };
    if code != 0 {
        return Err(format!("cyclictest returned {code}"));
    }
    if report["num_threads"].as_u64() != Some(threads.len() as u64) {
        return Err("the report does not have all threads".to_owned());
    }
    let unit = match report["resolution_in_ns"].as_u64() {
        Some(0) => 1e-6,
        Some(1) => 1e-9,
        _ => return Err("the report does not say whether its unit is ns or us".to_owned()),
    };
    let mut values = Values::default();
    for (thread, figures) in threads {
        let number = |key: &str| figures[key].as_f64().filter(|value| *value >= 0.0);
        let all = number("min").zip(number("avg")).zip(number("max"));
        match (number("cycles"), all) {
            (Some(cycles), Some(((min, avg), max))) if cycles > 0.0 => {
                values.measurements.extend(measurements(thread, min * unit, avg * unit, max * unit));
            }
            _ => return Err(format!("thread {thread} did no cycle")),
        }
    }
    let version = report["rt_test_version:"].as_str().or(report["rt_test_version"].as_str());
    Ok(Values { version: version.map(str::to_owned), ..values })
}

/// Reads the line that `--quiet` leaves of each thread at the end.
///
/// Errors: there is none, or it can't be told whether these are the last ones or what their unit is.
fn lines_values(stdout: &str) -> Result<Values, String> {
    let refused = |what: &str| Err(format!("{what}: add `--quiet`, or `--json=FILE` and print it"));
    if stdout.lines().any(|line| line.starts_with("policy:")) {
        return refused("lines that are redrawn can't be read");
    }
    if stdout.lines().any(|line| line.starts_with("# Histogram")) {
        return refused("a histogram does not say whether its unit is ns or us");
    }
    let lines = text::whole_lines(stdout).filter(|line| line.starts_with("T:"));
    let Some(threads) = lines.map(Thread::of).collect::<Option<Vec<_>>>() else {
        return refused("a line of cyclictest is not understood");
    };
    let mut values = Values::default();
    for (place, Thread { name, min, avg, max }) in threads.iter().enumerate() {
        if threads[..place].iter().any(|other| other.name == *name) {
            return refused("several lines of one thread");
        }
        values.measurements.extend(measurements(name, *min, *avg, *max));
    }
    match threads.is_empty() {
        true => refused("no result of cyclictest"),
        false => Ok(values),
    }
}

/// One thread's line: `T: 0 (12582) P: 0 I:1000 C:   1000 Min:     33 Act:   77 Avg:  122 Max:    3573`.
struct Thread<'a> {
    name: &'a str,
    /// In seconds, as `avg` and `max` are.
    min: f64,
    avg: f64,
    max: f64,
}

impl<'a> Thread<'a> {
    /// `None` for a line that is not of a thread that ran, or whose unit is not certain.
    fn of(line: &'a str) -> Option<Self> {
        let (name, rest) = line.strip_prefix("T:")?.split_once('(')?;
        let (cycles, rest) = rest.split_once(" C:")?.1.split_once(" Min:")?;
        let (min, rest) = rest.split_once(" Act:")?;
        let (act, rest) = rest.split_once(" Avg:")?;
        let (avg, max) = rest.split_once(" Max:")?;
        let max = max.split_whitespace().next()?;
        let number = |field: &str| field.trim().parse::<u64>().ok().map(|value| value as f64);
        number(cycles).filter(|cycles| *cycles > 0.0)?;
        number(act)?;
        let unit = match (Self::unit(act), Self::unit(avg)) {
            (Some(one), Some(other)) if one != other => return None,
            (one, other) => one.or(other)?,
        };
        Some(Self {
            name: name.trim(),
            min: number(min)? * unit,
            avg: number(avg)? * unit,
            max: number(max)? * unit,
        })
    }

    /// The unit of a column, which only its width tells: 5 in microseconds, 8 in nanoseconds. One of 8 digits can
    /// be either.
    fn unit(column: &str) -> Option<f64> {
        match column.len() {
            5..=7 => Some(1e-6),
            8 if column.starts_with(' ') => Some(1e-9),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(act: &str, avg: &str) -> String {
        format!("T: 0 (12582) P: 0 I:1000 C:   1000 Min:     33 Act:{act} Avg:{avg} Max:    3573\n")
    }

    fn of(stdout: &str) -> Result<Vec<f64>, String> {
        match Cyclictest.read(ToolOutput { stdout: stdout.as_bytes(), ..ToolOutput::default() }) {
            Reading::Ok(values) => Ok(values.measurements.iter().map(|one| one.value).collect()),
            Reading::Failed { reason } => Err(reason),
        }
    }

    #[test]
    fn the_width_of_a_column_tells_its_unit() {
        let cases = [
            ("   77", "  122", Some(1e-6)),
            ("123456", "12345", Some(1e-6)),
            ("      77", "     122", Some(1e-9)),
            ("12345678", "     122", Some(1e-9)),
            ("12345678", "12345678", None),
            ("   77", "     122", None),
            (" 77", " 122", None),
        ];
        for (act, avg, unit) in cases {
            let expected = unit.map(|unit| 3573.0 * unit);
            assert_eq!(of(&line(act, avg)).ok().map(|values| values[0]), expected, "{act} {avg}");
        }
    }

    #[test]
    fn what_is_not_certain_is_refused() {
        let good = line("   77", "  122");
        let cases = [
            (good.trim_end().to_owned(), "no result of cyclictest"),
            (format!("{good}{good}"), "several lines of one thread"),
            (format!("policy: other\n{good}"), "lines that are redrawn can't be read"),
            (good.replace("C:   1000", "C:      0"), "a line of cyclictest is not understood"),
            (format!("ERROR: no clock\n{good}"), "ERROR: no clock"),
            ("{\"thread\": {}}".to_owned(), "the JSON is no report of cyclictest"),
            ("{\"thread\": {}, \"return_code\": 1, \"num_threads\": 0}".to_owned(), "cyclictest returned 1"),
            (
                "{\"thread\": {\"0\": {}}, \"return_code\": 0, \"num_threads\": 1}".to_owned(),
                "the report does not say whether its unit is ns or us",
            ),
        ];
        for (stdout, reason) in cases {
            let told = of(&stdout).unwrap_err();
            assert!(told.starts_with(reason), "{told}");
        }
    }
}
