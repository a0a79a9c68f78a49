//! Reads hyperfine's JSON report (`--export-json`). Its own means count runs that failed; here they are made of
//! the times of valid runs. Its text is rounded and does not say which runs failed: it is not read.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::metrics::histogram::{Bucket, Histogram};
use crate::metrics::{
    Distribution, Measurement, Metric, MetricParser, Reading, ToolOutput, Values, json, text,
};
use crate::units::{Better, Unit};

/// The hyperfine parser.
pub struct Hyperfine;

const LOWER: Option<Better> = Some(Better::Lower);

const TIME_MEAN: Metric = Metric::headline("time_mean", Unit::Second, LOWER);
const TIME_MEDIAN: Metric = Metric::new("time_median", Unit::Second, LOWER);
/// The standard deviation of the sample, over n - 1; none of a single run.
const TIME_STDDEV: Metric = Metric::new("time_stddev", Unit::Second, LOWER);
const TIME_MIN: Metric = Metric::new("time_min", Unit::Second, LOWER);
const TIME_MAX: Metric = Metric::new("time_max", Unit::Second, LOWER);
const USER: Metric = Metric::new("user", Unit::Second, LOWER);
const SYSTEM: Metric = Metric::new("system", Unit::Second, LOWER);
/// How many runs the times are of.
const RUNS: Metric = Metric::new("runs", Unit::Count, None);

impl MetricParser for Hyperfine {
    fn tool(&self) -> &'static str {
        "hyperfine"
    }

    fn metrics(&self) -> Vec<Metric> {
        vec![TIME_MEAN, TIME_MEDIAN, TIME_STDDEV, TIME_MIN, TIME_MAX, USER, SYSTEM, RUNS]
    }

    fn read(&self, output: ToolOutput<'_>) -> Reading {
        let stdout = text::clean(output.stdout);
        let stderr = text::clean(output.stderr);
        if let Some(error) = stdout.lines().chain(stderr.lines()).find(|line| line.starts_with("Error: ")) {
            return Reading::Failed { reason: text::shown(error).unwrap_or_default() };
        }
        if output.exit_code.is_some_and(|code| code != 0) {
            return text::failed("hyperfine failed", output);
        }
        let found = json::find(&stdout);
        let mut reports = found.objects.iter().filter_map(|object| object["results"].as_array());
        let report = match (reports.next(), reports.next()) {
            (Some(report), None) => report,
            (Some(_), Some(_)) => {
                return Reading::Failed { reason: "several reports of hyperfine".to_owned() };
            }
            _ => {
                return text::failed(
                    "no JSON report: add `--export-json FILE` and print it (`cat FILE`)",
                    output,
                );
            }
        };
        let said = found.around.lines().chain(stderr.lines()).map(str::trim);
        let warnings = said.filter(|line| line.starts_with("Warning: ")).filter_map(text::shown).collect();
        match values(report, warnings) {
            Ok(values) => Reading::Ok(values),
            Err(reason) => Reading::Failed { reason },
        }
    }
}

/// The values of every command that has valid runs; `warnings` are hyperfine's own.
///
/// Errors: no command has any, or two commands have one name.
fn values(report: &[Value], warnings: Vec<String>) -> Result<Values, String> {
    let mut values = Values { warnings, ..Values::default() };
    let mut left_out = Vec::new();
    let mut commands = BTreeSet::new();
    for result in report {
        let Some(command) = result["command"].as_str() else {
            return Err("a result of hyperfine does not name its command".to_owned());
        };
        if !commands.insert(command) {
            return Err(format!(
                "two results of the command `{command}`: tell them apart with `--command-name`"
            ));
        }
        match Times::of(result) {
            Ok((times, doubt)) => {
                values
                    .measurements
                    .extend(times.measurements(result).map(|one| one.labelled("command", command)));
                values.histograms.push(times.distribution(command)?);
                values.warnings.extend(doubt.map(|doubt| format!("`{command}`: {doubt}")));
            }
            Err(reason) => left_out.push(format!("`{command}` has no time: {reason}")),
        }
    }
    if values.measurements.is_empty() {
        let reason = left_out.join("; ");
        return Err(if reason.is_empty() { "hyperfine's report has no result".to_owned() } else { reason });
    }
    values.warnings.extend(left_out);
    Ok(values)
}

/// The times of one command's valid runs in seconds: not empty, in order, all above 0.
struct Times {
    sorted: Vec<f64>,
    /// Whether some runs have failed, so that means of all runs mean nothing.
    is_part: bool,
}

impl Times {
    /// The valid times of a result, and a warning about runs that are left out.
    ///
    /// Errors: why there is no valid time.
    fn of(result: &Value) -> Result<(Self, Option<String>), String> {
        let times: Option<Vec<f64>> =
            result["times"].as_array().and_then(|times| times.iter().map(Value::as_f64).collect());
        let times = times.filter(|times| !times.is_empty()).ok_or("its runs are not in the report")?;
        let (valid, doubt) = match result["exit_codes"].as_array() {
            // A run that a signal ended has no code.
            Some(codes) if codes.len() == times.len() => {
                let is_valid = |(_, code): &(&f64, &Value)| code.as_i64() == Some(0);
                let valid: Vec<f64> =
                    times.iter().zip(codes).filter(is_valid).map(|(time, _)| *time).collect();
                let failed = times.len() - valid.len();
                let doubt = format!("{failed} of {} runs failed and are left out", times.len());
                (valid, (failed > 0).then_some(doubt))
            }
            Some(_) => return Err("exit codes and times differ in number".to_owned()),
            None => {
                (times.clone(), Some("the report has no exit codes: failed runs may be counted".to_owned()))
            }
        };
        if valid.is_empty() {
            return Err(format!("all {} runs failed", times.len()));
        }
        if valid.iter().any(|time| *time <= 0.0) {
            return Err("it is as short as the start of a shell: use `--shell=none`".to_owned());
        }
        let is_part = valid.len() < times.len();
        let mut sorted = valid;
        sorted.sort_by(f64::total_cmp);
        Ok((Self { sorted, is_part }, doubt))
    }

    /// The time of each run.
    fn distribution(&self, command: &str) -> Result<Distribution, String> {
        let runs = self.sorted.iter().map(|time| Bucket { low: *time, high: *time, count: 1 });
        let labels = BTreeMap::from([("command".to_owned(), command.to_owned())]);
        let histogram = Histogram::new(runs.collect())?;
        Ok(Distribution { name: "run_time".to_owned(), unit: Unit::Second, labels, histogram })
    }

    fn measurements(&self, result: &Value) -> impl Iterator<Item = Measurement> {
        let (count, last) = (self.sorted.len() as f64, self.sorted.len() - 1);
        let mean = self.sorted.iter().sum::<f64>() / count;
        let median = (self.sorted[last / 2] + self.sorted[last.div_ceil(2)]) / 2.0;
        let squares: f64 = self.sorted.iter().map(|time| (time - mean).powi(2)).sum();
        let deviation = (last > 0).then(|| (squares / (count - 1.0)).sqrt());
        let of_all = |key: &str| result[key].as_f64().filter(|_| !self.is_part);
        let all = [
            (TIME_MEAN, Some(mean)),
            (TIME_MEDIAN, Some(median)),
            (TIME_STDDEV, deviation),
            (TIME_MIN, Some(self.sorted[0])),
            (TIME_MAX, Some(self.sorted[last])),
            (USER, of_all("user")),
            (SYSTEM, of_all("system")),
            (RUNS, Some(count)),
        ];
        all.into_iter().filter_map(|(metric, value)| Some(metric.measured(value?)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(results: &Value) -> Result<Values, String> {
        let stdout = json!({ "results": results }).to_string();
        match Hyperfine.read(ToolOutput { stdout: stdout.as_bytes(), ..ToolOutput::default() }) {
            Reading::Ok(values) => Ok(values),
            Reading::Failed { reason } => Err(reason),
        }
    }

    #[test]
    fn valid_runs_alone_count() {
        let codes = json!([0, 1, 0, null]);
        let results = json!([{"command": "a", "mean": 9.0, "user": 9.0, "times": [1.0, 9.0, 3.0, 9.0], "exit_codes": codes}]);
        let values = read(&results).unwrap();
        let found: Vec<_> = values.measurements.iter().map(|one| (one.name.as_str(), one.value)).collect();
        let expected = [
            ("time_mean", 2.0),
            ("time_median", 2.0),
            ("time_stddev", 2_f64.sqrt()),
            ("time_min", 1.0),
            ("time_max", 3.0),
            ("runs", 2.0),
        ];
        assert_eq!(found, expected);
        assert_eq!(values.warnings, ["`a`: 2 of 4 runs failed and are left out"]);
    }

    #[test]
    fn a_single_run_of_an_old_version_has_no_deviation() {
        let values = read(&json!([{"command": "a", "times": [1.5], "user": 1.0, "system": 0.0}])).unwrap();
        assert!(values.measurements.iter().all(|one| one.name != "time_stddev"));
        assert_eq!(values.warnings, ["`a`: the report has no exit codes: failed runs may be counted"]);
    }

    #[test]
    fn no_valid_time_is_a_failure() {
        let one = |times: Value, codes: Value| json!({"command": "a", "times": times, "exit_codes": codes});
        let good = one(json!([1.0]), json!([0]));
        let cases = [
            (json!([]), "hyperfine's report has no result"),
            (json!([{"times": [1.0]}]), "a result of hyperfine does not name its command"),
            (
                json!([good.clone(), good]),
                "two results of the command `a`: tell them apart with `--command-name`",
            ),
            (json!([one(json!([0.1, 0.1]), json!([1, 2]))]), "`a` has no time: all 2 runs failed"),
            (
                json!([one(json!([0.1]), json!([0, 0]))]),
                "`a` has no time: exit codes and times differ in number",
            ),
            (json!([one(Value::Null, json!([0]))]), "`a` has no time: its runs are not in the report"),
            (
                json!([one(json!([0.1, 0.0]), json!([0, 0]))]),
                "`a` has no time: it is as short as the start of a shell: use `--shell=none`",
            ),
        ];
        for (results, reason) in cases {
            assert_eq!(read(&results).unwrap_err(), reason);
        }
    }
}
