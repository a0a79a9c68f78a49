//! Reads stress-ng: the YAML of `--metrics --yaml FILE` where it is printed, else the table of `--metrics` or
//! `--metrics-brief` in the log. The log also tells whether the run succeeded. The version is in the YAML alone.

mod rows;

use std::collections::BTreeSet;

use crate::metrics::{Metric, MetricParser, Reading, ToolOutput, Values, text};
use crate::units::{Better, Unit};

use rows::Row;

/// The stress-ng parser.
pub struct StressNg;

const HIGHER: Option<Better> = Some(Better::Higher);

/// How many operations a stressor did each second of real time, all its instances together.
const OPERATIONS_RATE: Metric = Metric::headline("operations_rate", Unit::PerSecond, HIGHER);
/// The same for each second of processor time, user and system.
const OPERATIONS_RATE_CPU: Metric = Metric::new("operations_rate_cpu", Unit::PerSecond, HIGHER);
const OPERATIONS: Metric = Metric::new("operations", Unit::Count, None);
const SECONDS: Metric = Metric::new("seconds", Unit::Second, None);
const USER: Metric = Metric::new("user", Unit::Second, None);
const SYSTEM: Metric = Metric::new("system", Unit::Second, None);

impl MetricParser for StressNg {
    fn tool(&self) -> &'static str {
        "stress-ng"
    }

    fn metrics(&self) -> Vec<Metric> {
        vec![OPERATIONS_RATE, OPERATIONS_RATE_CPU, OPERATIONS, SECONDS, USER, SYSTEM]
    }

    fn read(&self, output: ToolOutput<'_>) -> Reading {
        let stdout = text::clean(output.stdout);
        let stderr = text::clean(output.stderr);
        let log: Vec<_> =
            text::whole_lines(&stderr).chain(text::whole_lines(&stdout)).map(Message::of).collect();
        if let Some(reason) = failure(&log) {
            return Reading::Failed { reason };
        }
        if output.exit_code.is_some_and(|code| code != 0) {
            return text::failed("stress-ng failed", output);
        }
        let has_succeeded =
            log.iter().any(|message| message.words.starts_with("successful run completed in "));
        if !has_succeeded && (stderr.contains("stress-ng: ") || stdout.contains("stress-ng: ")) {
            return text::failed("stress-ng did not say that it completed", output);
        }
        let (rows, version) = match rows::document(&stdout) {
            Some(document) => document,
            // Its figures would be other ones, rounded.
            None if stdout.contains("system-info:") || stdout.starts_with("---") => {
                return text::failed("the YAML of stress-ng is not whole", output);
            }
            None if has_succeeded => (rows::table(log.iter().map(|message| message.words)), None),
            None => (Vec::new(), None),
        };
        if rows.is_empty() {
            return text::failed("no metrics of stress-ng: add `--metrics-brief`", output);
        }
        match (values(&rows, &log), cut_short(&log)) {
            (Ok(_), Some(reason)) => Reading::Failed { reason },
            (Ok(values), None) => Reading::Ok(Values { version, ..values }),
            (Err(what), _) => text::failed(&what, output),
        }
    }
}

/// A line of the log: `stress-ng: info:  [31814] dispatching hogs: 2 cpu`; with `--log-brief` the words alone.
struct Message<'a> {
    /// `info`, `warn`, `fail`, …; empty where the line does not say.
    level: &'a str,
    words: &'a str,
}

impl<'a> Message<'a> {
    fn of(line: &'a str) -> Self {
        let bare = Self { level: "", words: line.trim() };
        let Some((head, words)) = line.strip_prefix("stress-ng: ").and_then(|line| line.split_once("] "))
        else {
            return bare;
        };
        let level = head.split_whitespace().find_map(|word| word.strip_suffix(':')).unwrap_or("");
        Self { level, words: words.trim() }
    }

    /// The number behind `label`, as in `failed: 1: cpu (1)`.
    fn count(&self, label: &str) -> Option<u64> {
        self.words.strip_prefix(label)?.split(':').next()?.trim().parse().ok()
    }
}

/// That the run was ended before its time, by a signal: it says that it was successful all the same.
fn cut_short(log: &[Message<'_>]) -> Option<String> {
    let asked = log.iter().find_map(|message| {
        let (number, unit) = message.words.strip_prefix("setting to a ")?.split_once(' ')?;
        let number: f64 = number.parse().ok()?;
        unit.starts_with("second run").then_some(number)
    })?;
    let took = log.iter().find_map(|message| {
        let took = message.words.split_once("successful run completed in ")?.1;
        // `1.00s`; longer runs are told in minutes and more, and those are not looked at.
        took.split_whitespace().next()?.trim_end_matches(',').strip_suffix('s')?.parse::<f64>().ok()
    })?;
    (took < 0.9 * asked).then(|| format!("stress-ng was ended after {took} s of {asked} s"))
}

/// Why the run did not succeed, in its own words.
fn failure(log: &[Message<'_>]) -> Option<String> {
    let is_failure = |message: &&Message<'_>| {
        message.level == "fail" || message.count("failed:").is_some_and(|count| count > 0)
    };
    let first = log.iter().find(is_failure);
    let has_failed = log.iter().any(|message| message.words.starts_with("unsuccessful run completed"));
    match (first, has_failed) {
        (Some(message), _) => text::shown(message.words),
        (None, true) => {
            let error = log.iter().find(|message| message.level == "error");
            error
                .and_then(|message| text::shown(message.words))
                .or_else(|| Some("unsuccessful run completed".into()))
        }
        _ => None,
    }
}

/// The rows that did work, each once, and what was said beside them.
///
/// Errors: no stressor did anything, or two have the same name.
fn values(rows: &[Row], log: &[Message<'_>]) -> Result<Values, String> {
    let mut values = Values::default();
    let mut names = BTreeSet::new();
    let complaints = log.iter().filter(|message| {
        message.words.ends_with("skipping stressor")
            || message.words.contains("will be skipped")
            || matches!(message.level, "warn" | "error")
            || message.count("metrics untrustworthy:").is_some_and(|count| count > 0)
    });
    for warning in complaints.filter_map(|message| text::shown(message.words)) {
        if !values.warnings.contains(&warning) {
            values.warnings.push(warning);
        }
    }
    for row in rows {
        if !names.insert(&row.stressor) {
            return Err(format!("two results of the stressor {}", row.stressor));
        }
        match row.operations > 0.0 && row.rate > 0.0 {
            true => values.measurements.extend(row.measurements()),
            false => values.warnings.push(format!("{} did no operation: left out", row.stressor)),
        }
    }
    match values.measurements.is_empty() {
        true => Err("no stressor did any operation".to_owned()),
        false => Ok(values),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "stress-ng: info:  [1] stressor       bogo ops real time  usr time  sys time   bogo ops/s   bogo ops/s\n\
                        stress-ng: info:  [1]                           (secs)    (secs)    (secs)   (real time) (usr+sys time)\n";
    const CPU: &str = "stress-ng: info:  [1] cpu                1250      2.00      0.50      0.00       625.00        2500.00\n";
    const END: &str = "stress-ng: info:  [1] successful run completed in 2.07s\n";

    fn read(stdout: &str, stderr: &str) -> Result<Values, String> {
        let output = ToolOutput { stdout: stdout.as_bytes(), stderr: stderr.as_bytes(), exit_code: Some(0) };
        match StressNg.read(output) {
            Reading::Ok(values) => Ok(values),
            Reading::Failed { reason } => Err(reason),
        }
    }

    #[test]
    fn the_table_of_older_versions_is_read() {
        let values = read("", &format!("{HEAD}{CPU}{END}")).unwrap();
        assert_eq!(values.measurements[0], OPERATIONS_RATE.measured(625.0).labelled("stressor", "cpu"));
        assert_eq!(values.measurements.len(), 6);
    }

    #[test]
    fn failures_have_the_tools_words() {
        let cases = [
            (format!("{HEAD}{CPU}"), "stress-ng did not say that it completed"),
            (format!("{HEAD}{END}"), "no metrics of stress-ng"),
            (format!("{HEAD}{CPU}{CPU}{END}"), "two results of the stressor cpu"),
            (format!("{HEAD}{CPU}stress-ng: fail:  [2] cpu: wrong sum\n{END}"), "cpu: wrong sum"),
            (format!("{HEAD}{CPU}stress-ng: info:  [1] failed: 1: cpu (1)\n{END}"), "failed: 1: cpu (1)"),
            (
                format!("{HEAD}{CPU}{}", END.replace("successful", "unsuccessful")),
                "unsuccessful run completed",
            ),
            (format!("{HEAD}{}{END}", CPU.replace("1250", "0")), "no stressor did any operation"),
            (format!("{HEAD}{}{END}", CPU.replace("625.00", "625,00")), "no metrics of stress-ng"),
            (String::new(), "no metrics of stress-ng"),
        ];
        for (log, reason) in cases {
            let told = read("", &log).unwrap_err();
            assert!(told.starts_with(reason), "{told}");
        }
    }

    #[test]
    fn what_it_says_beside_is_a_warning() {
        let said = "stress-ng: info:  [1] failed: 0\nstress-ng: info:  [1] metrics untrustworthy: 1: cpu (1)\n\
                    stress-ng: warn:  [1] cpu: aborted early\n";
        let values = read("", &format!("{HEAD}{CPU}{said}{END}")).unwrap();
        assert_eq!(values.warnings, ["metrics untrustworthy: 1: cpu (1)", "cpu: aborted early"]);
    }

    #[test]
    fn a_document_without_its_end_gives_nothing() {
        let whole = "---\nmetrics:\n    - stressor: cpu\n      bogo-ops: 10\n      bogo-ops-per-second-usr-sys-time: 20.0\n      \
                     bogo-ops-per-second-real-time: 5.0\n      wall-clock-time: 2.0\n      user-time: 0.5\n      \
                     system-time: 0.0\n\ntimes:\n      run-time: 2\n...\n";
        assert_eq!(read(whole, "").unwrap().measurements[0].value, 5.0);
        assert!(read(whole.trim_end_matches("...\n"), "").is_err());
        assert!(read(&whole.replace("wall-clock-time: 2.0", ""), "").is_err());
    }
}
