//! Reads stress-ng: the YAML of `--metrics --yaml FILE` where it is printed, else the table of `--metrics` or
//! `--metrics-brief` in the log. The log also tells whether the run succeeded. The version is in the YAML alone.

use std::collections::BTreeSet;

use crate::metrics::{Measurement, Metric, MetricParser, Reading, ToolOutput, Values, text};
use crate::units::{Better, Unit};

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
        let (rows, version) = match document(&stdout) {
            Some(document) => document,
            // Its figures would be other ones, rounded.
            None if stdout.contains("system-info:") || stdout.starts_with("---") => {
                return text::failed("the YAML of stress-ng is not whole", output);
            }
            None if has_succeeded => (table(&log), None),
            None => (Vec::new(), None),
        };
        if rows.is_empty() {
            return text::failed("no metrics of stress-ng: add `--metrics-brief`", output);
        }
        match values(&rows, &log) {
            Ok(values) => Reading::Ok(Values { version, ..values }),
            Err(what) => text::failed(&what, output),
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

/// What was measured of one stressor.
#[derive(Debug, PartialEq)]
struct Row {
    stressor: String,
    operations: f64,
    /// In seconds, as `user` and `system` are.
    seconds: f64,
    user: f64,
    system: f64,
    /// Each second of real time.
    rate: f64,
    /// Each second of processor time.
    rate_cpu: f64,
}

impl Row {
    fn measurements(&self) -> Vec<Measurement> {
        // Processor time too short for its digits makes this rate 0.
        let rate_cpu = (self.rate_cpu > 0.0).then(|| OPERATIONS_RATE_CPU.measured(self.rate_cpu));
        let mut all = vec![OPERATIONS_RATE.measured(self.rate)];
        all.extend(rate_cpu);
        all.extend([
            OPERATIONS.measured(self.operations),
            SECONDS.measured(self.seconds),
            USER.measured(self.user),
            SYSTEM.measured(self.system),
        ]);
        all.into_iter().map(|one| one.labelled("stressor", &*self.stressor)).collect()
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

/// The rows of the log's table: the name, operations, three times in seconds, two rates, and with `--metrics`
/// more. Rows that follow in other words (`miscellaneous metrics`) are not of it.
fn table(log: &[Message<'_>]) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut is_inside = false;
    for message in log {
        let words: Vec<_> = message.words.split_whitespace().collect();
        if message.words.starts_with("stressor ") && message.words.contains("bogo ops") {
            is_inside = true;
        } else if is_inside && !message.words.starts_with("(secs)") {
            match row(&words) {
                Some(row) => rows.push(row),
                None => is_inside = false,
            }
        }
    }
    rows
}

fn row(words: &[&str]) -> Option<Row> {
    let (stressor, numbers) = words.split_first()?;
    let numbers: Option<Vec<f64>> = numbers.iter().map(|number| text::plain_decimal(number)).collect();
    let [operations, seconds, user, system, rate, rate_cpu, ..] = numbers?[..] else { return None };
    Some(Row { stressor: (*stressor).to_owned(), operations, seconds, user, system, rate, rate_cpu })
}

/// The rows and the version of the YAML document, which `...` ends. Its lines are so few in kind that they are
/// read one by one.
fn document(text: &str) -> Option<(Vec<Row>, Option<String>)> {
    let lines: Vec<_> = text::whole_lines(text).collect();
    let start = lines.iter().position(|line| *line == "metrics:")?;
    let end = start + lines[start..].iter().position(|line| *line == "...")?;
    let value = |line: &'_ str| Some(line.split_once(": ")?.1.trim().trim_matches(['\'', '"']).to_owned());
    let is_version = |line: &&&str| line.trim_start().starts_with("stress-ng-version:");
    let version = lines[..start].iter().find(is_version).and_then(|line| value(line));
    let of_section =
        lines[start + 1..end].iter().take_while(|line| line.is_empty() || line.starts_with([' ', '-']));
    let of_section: Vec<_> = of_section.map(|line| line.trim()).collect();
    let mut starts: Vec<_> =
        (0..of_section.len()).filter(|at| of_section[*at].starts_with("- stressor: ")).collect();
    starts.push(of_section.len());
    let mut rows = Vec::new();
    for pair in starts.windows(2) {
        let lines = &of_section[pair[0]..pair[1]];
        let number = |key: &str| {
            let printed = lines.iter().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "))?;
            text::plain_decimal(printed.trim())
        };
        rows.push(Row {
            stressor: value(lines.first()?)?,
            operations: number("bogo-ops")?,
            seconds: number("wall-clock-time")?,
            user: number("user-time")?,
            system: number("system-time")?,
            rate: number("bogo-ops-per-second-real-time")?,
            rate_cpu: number("bogo-ops-per-second-usr-sys-time")?,
        });
    }
    Some((rows, version))
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
