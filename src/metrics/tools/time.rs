//! Reads the lines of `time`: of GNU (`-v`, the default, `-p`), BSD and macOS (`-l`), busybox, and the word of
//! bash and POSIX shells. `layouts` knows how each looks. GNU time 1.7 printed four times the memory; its output
//! looks like that of later versions.

mod layouts;

use crate::metrics::{Measurement, Metric, MetricParser, Reading, ToolOutput, Values, text};
use crate::units::{Better, Unit};

/// The parser of `time`.
pub struct Time;

const LOWER: Option<Better> = Some(Better::Lower);

/// The tool's own figure. Where it is kept, it stands in the place of the one that every trial has.
const ELAPSED: Metric = Metric::new(crate::metrics::ELAPSED, Unit::Second, LOWER);
const USER: Metric = Metric::headline("user", Unit::Second, LOWER);
const SYSTEM: Metric = Metric::headline("system", Unit::Second, LOWER);
const MAX_RSS: Metric = Metric::headline("max_rss", Unit::Byte, LOWER);

impl MetricParser for Time {
    fn tool(&self) -> &'static str {
        "time"
    }

    fn program(&self) -> Option<&'static str> {
        None
    }

    fn metrics(&self) -> Vec<Metric> {
        vec![ELAPSED, USER, SYSTEM, MAX_RSS]
    }

    fn read(&self, output: ToolOutput<'_>) -> Reading {
        let stderr = text::clean(output.stderr);
        let stdout = text::clean(output.stdout);
        if let Some(reason) = stderr.lines().chain(stdout.lines()).find_map(failure) {
            return Reading::Failed { reason };
        }
        if output.exit_code.is_some_and(|code| code != 0) {
            return text::failed("the command failed", output);
        }
        let mut found = layouts::find(&stderr);
        if found.is_empty() {
            found = layouts::find(&stdout);
        }
        match found.as_slice() {
            [] => text::failed("no times are found: run `time -p`, or `/usr/bin/time -v`", output),
            [one] => values(one).map_or_else(|| text::failed("too short to be timed", output), Reading::Ok),
            _ => Reading::Failed { reason: "several results of time".to_owned() },
        }
    }
}

/// The words of `time` for a command that did not succeed.
fn failure(line: &str) -> Option<String> {
    let starts =
        ["Command terminated by signal", "Command exited with non-zero status", "Command stopped by signal"];
    let line = line.trim();
    let code = line.strip_prefix("Exit status: ").and_then(|status| status.trim().parse::<i32>().ok());
    let status = code.is_some_and(|code| code != 0);
    (status || starts.iter().any(|start| line.starts_with(start))).then(|| text::shown(line)).flatten()
}

/// What one result of `time` holds.
#[derive(Debug, Default, PartialEq)]
struct Found {
    /// In seconds, as `user` and `system` are.
    elapsed: f64,
    user: f64,
    system: f64,
    /// In bytes.
    max_rss: Option<f64>,
    warning: Option<&'static str>,
}

/// `None` where every figure is 0. An elapsed time of 0 is one that the digits do not show: it is left out.
fn values(found: &Found) -> Option<Values> {
    let max_rss = found.max_rss.filter(|bytes| *bytes > 0.0);
    let elapsed = (found.elapsed > 0.0).then_some(found.elapsed);
    if elapsed.is_none() && max_rss.is_none() && found.user + found.system == 0.0 {
        return None;
    }
    let all =
        [(ELAPSED, elapsed), (USER, Some(found.user)), (SYSTEM, Some(found.system)), (MAX_RSS, max_rss)];
    let measured = |(metric, value): (Metric, Option<f64>)| value.map(|value| metric.measured(value));
    let measurements: Vec<Measurement> = all.into_iter().filter_map(measured).collect();
    let short = elapsed.is_none().then_some("elapsed is printed as 0: left out");
    let warnings = short.into_iter().chain(found.warning).map(str::to_owned).collect();
    Some(Values { measurements, warnings, ..Values::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(stderr: &str) -> Result<Values, String> {
        match Time.read(ToolOutput { stderr: stderr.as_bytes(), ..ToolOutput::default() }) {
            Reading::Ok(values) => Ok(values),
            Reading::Failed { reason } => Err(reason),
        }
    }

    #[test]
    fn failures_have_a_reason() {
        let good = "real 1.00\nuser 0.50\nsys 0.25\n";
        let cases = [
            (String::new(), "no times are found"),
            (format!("{good}{good}"), "several results of time"),
            (
                format!("Command exited with non-zero status 3\n{good}"),
                "Command exited with non-zero status 3",
            ),
            (format!("Command terminated by signal 11\n{good}"), "Command terminated by signal 11"),
            (format!("{good}\tExit status: 1"), "Exit status: 1"),
            ("real 0.00\nuser 0.00\nsys 0.00\n".to_owned(), "too short to be timed"),
        ];
        for (stderr, reason) in cases {
            let told = read(&stderr).unwrap_err();
            assert!(told.starts_with(reason), "{told}");
        }
    }

    #[test]
    fn a_time_below_its_digits_is_left_out() {
        let values = read("real 0.00\nuser 0.01\nsys 0.00\n").unwrap();
        let names: Vec<_> = values.measurements.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["user", "system"]);
        assert_eq!(values.warnings, ["elapsed is printed as 0: left out"]);
    }
}
