//! Reads wrk 4 and wrk2, with and without `--latency`. Times are those of whole requests, in us, ms, s or
//! minutes; amounts have binary prefixes (`format_binary` in wrk's `units.c`). wrk2's percentiles are
//! counted from when a request should have started; those of its `--u_latency` leave a late start out and
//! have names of their own.

use crate::metrics::{Measurement, Metric, MetricParser, Reading, ToolOutput, Values, quantity, text};
use crate::units::{Better, Unit};

const LOWER: Option<Better> = Some(Better::Lower);
const REQUESTS_RATE: Metric = Metric::headline("requests_rate", Unit::PerSecond, Some(Better::Higher));
const MEAN: Metric = Metric::new("latency_mean", Unit::Second, LOWER);
const DEVIATION: Metric = Metric::new("latency_stdev", Unit::Second, LOWER);
const MAXIMUM: Metric = Metric::new("latency_max", Unit::Second, LOWER);
const TRANSFER_RATE: Metric = Metric::new("transfer_rate", Unit::BytePerSecond, Some(Better::Higher));
const REQUESTS: Metric = Metric::new("requests", Unit::Count, None);
const ERRORS_STATUS: Metric = Metric::new("errors_status", Unit::Count, LOWER);

/// Kinds of socket errors, in the order of wrk's line, and their metrics.
const ERRORS: [(&str, Metric); 4] = [
    ("connect", Metric::new("errors_connect", Unit::Count, LOWER)),
    ("read", Metric::new("errors_read", Unit::Count, LOWER)),
    ("write", Metric::new("errors_write", Unit::Count, LOWER)),
    ("timeout", Metric::new("errors_timeout", Unit::Count, LOWER)),
];

/// Percentiles as printed without closing zeros, with their names for both distributions.
const PERCENTILES: [(&str, &str, &str); 7] = [
    ("50", "latency_p50", "uncorrected_latency_p50"),
    ("75", "latency_p75", "uncorrected_latency_p75"),
    ("90", "latency_p90", "uncorrected_latency_p90"),
    ("99", "latency_p99", "uncorrected_latency_p99"),
    ("99.9", "latency_p99.9", "uncorrected_latency_p99.9"),
    ("99.99", "latency_p99.99", "uncorrected_latency_p99.99"),
    ("99.999", "latency_p99.999", "uncorrected_latency_p99.999"),
];

/// The parser of wrk and wrk2.
pub struct Wrk;

impl MetricParser for Wrk {
    fn tool(&self) -> &'static str {
        "wrk"
    }

    fn metrics(&self) -> Vec<Metric> {
        let percentiles = PERCENTILES.iter().map(|(_, name, _)| Metric::new(name, Unit::Second, LOWER));
        let uncorrected = PERCENTILES.iter().map(|(.., name)| Metric::new(name, Unit::Second, LOWER));
        let mut metrics = vec![REQUESTS_RATE, MEAN, DEVIATION, MAXIMUM];
        metrics.extend(percentiles.chain(uncorrected));
        metrics.extend([TRANSFER_RATE, REQUESTS]);
        metrics.extend(ERRORS.map(|(_, metric)| metric).into_iter().chain([ERRORS_STATUS]));
        metrics
    }

    fn read(&self, output: ToolOutput<'_>) -> Reading {
        let stdout = text::clean(output.stdout);
        let mut lines: Vec<_> = quantity::whole_lines(&stdout).map(str::trim).collect();
        if output.exit_code.is_some_and(|code| code != 0) {
            return text::failed("wrk failed", output);
        }
        if lines.iter().filter(|line| line.starts_with("Requests/sec:")).count() > 1 {
            return Reading::Failed { reason: "more than one result of wrk, expected one".to_owned() };
        }
        // A script may print more behind wrk's own last line.
        let Some(last) = lines.iter().position(|line| line.starts_with("Transfer/sec:")) else {
            return text::failed("no closing line of wrk", output);
        };
        lines.truncate(last + 1);
        if let Some((asked, took)) = times(&lines).filter(|(asked, took)| *took < 0.9 * asked) {
            return Reading::Failed { reason: format!("wrk was ended after {took} s of {asked} s") };
        }
        let Some(mut measurements) = totals(&lines) else {
            return text::failed("wrk's totals are not understood", output);
        };
        let mut warnings = Vec::new();
        for line in &lines {
            match errors(line) {
                Some(found) if found.is_empty() => {
                    return text::failed("wrk's errors are not understood", output);
                }
                Some(found) => {
                    measurements.extend(found);
                    warnings.push((*line).to_owned());
                }
                None => {}
            }
        }
        let count = |metric: Metric| {
            measurements.iter().find(|one| one.name == metric.name).map_or(0.0, |one| one.value)
        };
        if count(REQUESTS) <= count(ERRORS_STATUS) {
            return text::failed("no request succeeded", output);
        }
        let stderr = text::clean(output.stderr);
        warnings.extend(stderr.lines().filter_map(text::shown).take(5));
        Reading::Ok(Values { measurements, warnings, ..Values::default() })
    }
}

/// How long the test was to take, and how long it took, in seconds.
fn times(lines: &[&str]) -> Option<(f64, f64)> {
    let asked = lines.iter().find_map(|line| line.strip_prefix("Running ")?.split_once(" test @"))?.0;
    let took = lines.iter().find_map(|line| line.split_once(" requests in ")?.1.split_once(','))?.0;
    Some((seconds(asked)?, seconds(took)?))
}

/// Rates, latencies and the number of requests; `None` where one of them can't be read.
fn totals(lines: &[&str]) -> Option<Vec<Measurement>> {
    let words = |start: &str| {
        let line = lines.iter().find_map(|line| line.strip_prefix(start))?;
        Some(line.split_whitespace().collect::<Vec<_>>())
    };
    let [rate] = *words("Requests/sec:")?.as_slice() else { return None };
    let [transfer_rate] = *words("Transfer/sec:")?.as_slice() else { return None };
    let [mean, deviation, maximum, _] = *words("Latency ").filter(|words| words.len() == 4)?.as_slice()
    else {
        return None;
    };
    let (requests, _) = lines.iter().find_map(|line| line.split_once(" requests in "))?;
    let (amount, unit) = quantity::split(transfer_rate)?;
    let mut measurements = vec![
        REQUESTS_RATE.measured(quantity::number(rate)?),
        MEAN.measured(seconds(mean)?),
        DEVIATION.measured(seconds(deviation)?),
        MAXIMUM.measured(seconds(maximum)?),
    ];
    measurements.extend(percentiles(lines)?);
    measurements.extend([
        TRANSFER_RATE.measured(quantity::scaled(amount, unit.strip_suffix('B')?, 1024.0)?),
        REQUESTS.measured(quantity::number(requests)?),
    ]);
    Some(measurements)
}

/// The tables of percentiles. 100 % is the maximum, which has its name already.
fn percentiles(lines: &[&str]) -> Option<Vec<Measurement>> {
    let mut found = Vec::new();
    for (at, heading) in lines.iter().enumerate() {
        let is_uncorrected = match heading.strip_prefix("Latency Distribution").map(str::trim) {
            Some("" | "(HdrHistogram - Recorded Latency)") => false,
            Some(kind) if kind.starts_with("(HdrHistogram - Uncorrected Latency") => true,
            Some(_) => return None,
            None => continue,
        };
        for (percent, value) in lines[at + 1..].iter().map_while(|line| line.split_once('%')) {
            let value = seconds(value.trim())?;
            let percent = match percent.contains('.') {
                true => percent.trim_end_matches('0').trim_end_matches('.'),
                false => percent,
            };
            if let Some((_, name, uncorrected)) = PERCENTILES.iter().find(|(known, ..)| *known == percent) {
                let name = if is_uncorrected { uncorrected } else { name };
                found.push(Metric::new(name, Unit::Second, LOWER).measured(value));
            }
        }
    }
    Some(found)
}

fn seconds(text: &str) -> Option<f64> {
    let (value, unit) = quantity::split(text)?;
    quantity::seconds(value, unit)
}

/// What a line tells of errors: nothing, or its counts, which are empty where they can't be read. wrk
/// leaves both lines out when it has nothing to tell.
fn errors(line: &str) -> Option<Vec<Measurement>> {
    if let Some(count) = line.strip_prefix("Non-2xx or 3xx responses:") {
        return Some(
            quantity::number(count.trim()).map(|count| ERRORS_STATUS.measured(count)).into_iter().collect(),
        );
    }
    let kinds = line.strip_prefix("Socket errors:")?.split(',').map(str::trim);
    let read = |(kind, (known, metric)): (&str, &(&str, Metric))| {
        let count = kind.strip_prefix(known)?.trim();
        quantity::number(count).map(|count| metric.measured(count))
    };
    let found: Option<Vec<_>> = kinds.zip(&ERRORS).map(read).collect();
    Some(found.filter(|found| found.len() == ERRORS.len()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "Running 1s test @ http://h/\n  1 threads and 2 connections\n  \
        Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency     1.00ms  500.00us   0.92m    91.20%\n    \
        Req/Sec     3.44k   583.11     7.02k    68.75%\n  100 requests in 1.00s, 27.57MB read\n\
        Requests/sec:     99.90\nTransfer/sec:      1.50MB\n";

    fn reading(stdout: &str, exit_code: i32) -> Result<Values, String> {
        let output = ToolOutput { stdout: stdout.as_bytes(), stderr: b"", exit_code: Some(exit_code) };
        match Wrk.read(output) {
            Reading::Ok(values) => Ok(values),
            Reading::Failed { reason } => Err(reason),
        }
    }

    #[test]
    fn minutes_and_binary_prefixes_are_read() {
        let values = reading(GOOD, 0).unwrap();
        let values: Vec<_> = values.measurements.iter().map(|one| (one.name.as_str(), one.value)).collect();
        let expected = [
            ("requests_rate", 99.9),
            ("latency_mean", 0.001),
            ("latency_stdev", 0.0005),
            ("latency_max", 0.92 * 60.0),
            ("transfer_rate", 1.5 * 1024.0 * 1024.0),
            ("requests", 100.0),
        ];
        assert_eq!(values, expected);
    }

    #[test]
    fn failures_have_a_reason() {
        let twice = format!("{GOOD}{GOOD}");
        let all_errors = GOOD.replace("Requests/sec", "  Non-2xx or 3xx responses: 100\nRequests/sec");
        let odd_errors = GOOD.replace("Requests/sec", "  Socket errors: connect 0, read x\nRequests/sec");
        let odd_table = GOOD.replace("  100 requests", "  Latency Distribution (other)\n  100 requests");
        let odd_unit = GOOD.replace("1.00ms", "1.00cs");
        let cases = [
            ("", "no closing line of wrk: no output"),
            (GOOD.trim_end(), "no closing line of wrk"),
            (&twice, "more than one result of wrk"),
            (&all_errors, "no request succeeded"),
            (&odd_errors, "wrk's errors are not understood"),
            (&odd_table, "wrk's totals are not understood"),
            (&odd_unit, "wrk's totals are not understood"),
        ];
        for (stdout, words) in cases {
            let reason = reading(stdout, 0).unwrap_err();
            assert!(reason.starts_with(words), "{reason}");
        }
        assert!(reading(GOOD, 1).unwrap_err().starts_with("wrk failed (exit code 1)"));
    }
}
