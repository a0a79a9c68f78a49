//! Reads the final report of sysbench 0.4, 0.5, 1.0 and 1.1: cpu, memory, threads, mutex, fileio, OLTP and own
//! scripts. Here it is decided whether there is one; `report` finds its lines, `rates` knows each test.
//! The layouts are those of `report_cumulative` in sysbench's sources.

mod rates;
mod report;

use crate::metrics::{Metric, MetricParser, Reading, ToolOutput, Values, text};
use crate::units::{Better, Unit};

use report::Report;

/// The sysbench parser.
pub struct Sysbench;

const HIGHER: Option<Better> = Some(Better::Higher);
const LOWER: Option<Better> = Some(Better::Lower);

const MEMORY_RATE: Metric = Metric::headline("memory_rate", Unit::BytePerSecond, HIGHER);
const EVENTS_RATE: Metric = Metric::headline("events_rate", Unit::PerSecond, HIGHER);
const READ_RATE: Metric = Metric::headline("read_rate", Unit::BytePerSecond, HIGHER);
const WRITE_RATE: Metric = Metric::headline("write_rate", Unit::BytePerSecond, HIGHER);
const READ_IOPS: Metric = Metric::headline("read_iops", Unit::PerSecond, HIGHER);
const WRITE_IOPS: Metric = Metric::headline("write_iops", Unit::PerSecond, HIGHER);
const FSYNC_RATE: Metric = Metric::new("fsync_rate", Unit::PerSecond, HIGHER);
const TRANSACTIONS_RATE: Metric = Metric::headline("transactions_rate", Unit::PerSecond, HIGHER);
const QUERIES_RATE: Metric = Metric::headline("queries_rate", Unit::PerSecond, HIGHER);
const TRANSACTIONS: Metric = Metric::new("transactions", Unit::Count, None);
const QUERIES: Metric = Metric::new("queries", Unit::Count, None);
const IGNORED_ERRORS: Metric = Metric::new("ignored_errors", Unit::Count, LOWER);
const RECONNECTS: Metric = Metric::new("reconnects", Unit::Count, LOWER);
const OPERATIONS_RATE: Metric = Metric::new("operations_rate", Unit::PerSecond, HIGHER);
const OPERATIONS: Metric = Metric::new("operations", Unit::Count, None);
const EVENTS: Metric = Metric::new("events", Unit::Count, None);
const SECONDS: Metric = Metric::new("seconds", Unit::Second, LOWER);
const LATENCY_AVG: Metric = Metric::new("latency_avg", Unit::Second, LOWER);
const LATENCY_MIN: Metric = Metric::new("latency_min", Unit::Second, LOWER);
const LATENCY_MAX: Metric = Metric::new("latency_max", Unit::Second, LOWER);
/// The percentiles that have a name of their own.
const PERCENTILES: [(&str, Metric); 5] = [
    ("50", Metric::new("latency_p50", Unit::Second, LOWER)),
    ("75", Metric::new("latency_p75", Unit::Second, LOWER)),
    ("90", Metric::new("latency_p90", Unit::Second, LOWER)),
    ("95", Metric::new("latency_p95", Unit::Second, LOWER)),
    ("99", Metric::new("latency_p99", Unit::Second, LOWER)),
];
/// Any other percentile, which its label `percentile` tells.
const LATENCY_PERCENTILE: Metric = Metric::new("latency_percentile", Unit::Second, LOWER);

impl MetricParser for Sysbench {
    fn tool(&self) -> &'static str {
        "sysbench"
    }

    fn metrics(&self) -> Vec<Metric> {
        let mut metrics = vec![
            MEMORY_RATE,
            EVENTS_RATE,
            READ_RATE,
            WRITE_RATE,
            READ_IOPS,
            WRITE_IOPS,
            FSYNC_RATE,
            TRANSACTIONS_RATE,
            QUERIES_RATE,
            TRANSACTIONS,
            QUERIES,
            IGNORED_ERRORS,
            RECONNECTS,
            OPERATIONS_RATE,
            OPERATIONS,
            EVENTS,
            SECONDS,
            LATENCY_AVG,
            LATENCY_MIN,
            LATENCY_MAX,
            LATENCY_PERCENTILE,
        ];
        metrics.extend(PERCENTILES.into_iter().map(|(_, metric)| metric));
        metrics
    }

    fn read(&self, output: ToolOutput<'_>) -> Reading {
        let stdout = text::clean(output.stdout);
        let stderr = text::clean(output.stderr);
        let is_fatal = |line: &&str| line.trim_start().starts_with("FATAL:");
        let fatal: Vec<_> = stdout.lines().chain(stderr.lines()).filter(is_fatal).collect();
        if !fatal.is_empty() {
            return Reading::Failed { reason: text::last_lines(&fatal.join("\n"), 3) };
        }
        if output.exit_code.is_some_and(|code| code != 0) {
            return text::failed("sysbench failed", output);
        }
        let report = Report::new(&stdout);
        match report.completions() {
            0 => {
                return text::failed(
                    "no report of a sysbench run (`prepare` and `cleanup` give none)",
                    output,
                );
            }
            1 if !report.has_checkpoints() => {}
            _ => {
                let what = "several reports of sysbench: run it once a trial, without `--report-checkpoints`";
                return Reading::Failed { reason: what.to_owned() };
            }
        }
        match values(&report) {
            Ok(values) => Reading::Ok(values),
            Err(what) => text::failed(&what, output),
        }
    }
}

/// All figures of a report that is complete.
fn values(report: &Report<'_>) -> Result<Values, String> {
    let events = report.number("total number of events:");
    if events == Some(0.0) {
        return Err("sysbench did no event".to_owned());
    }
    let mut values = Values { version: report.version(), warnings: report.complaints(), ..Values::default() };
    rates::read(report, &mut values)?;
    values.measurements.extend(events.map(|count| EVENTS.measured(count)));
    values.measurements.extend(report.seconds().map(|seconds| SECONDS.measured(seconds)));
    latencies(report, &mut values);
    Ok(values)
}

/// Adds the latencies. One printed as 0.00 is below what the two decimals show, not 0: it is left out.
fn latencies(report: &Report<'_>, values: &mut Values) {
    let mut found: Vec<_> = [("avg:", LATENCY_AVG), ("min:", LATENCY_MIN), ("max:", LATENCY_MAX)]
        .into_iter()
        .filter_map(|(label, metric)| Some(metric.measured(report.latency(report.after(label)?)?)))
        .collect();
    found.extend(report.percentile().map(|(percentile, value)| {
        match PERCENTILES.into_iter().find(|(known, _)| *known == percentile) {
            Some((_, metric)) => metric.measured(value),
            None => LATENCY_PERCENTILE.measured(value).labelled("percentile", percentile),
        }
    }));
    let (unseen, seen): (Vec<_>, Vec<_>) = found.into_iter().partition(|one| one.value == 0.0);
    values.measurements.extend(seen);
    if !unseen.is_empty() {
        let names: Vec<_> = unseen.iter().map(|one| one.name.as_str()).collect();
        values.warnings.push(format!("left out, too small for the digits printed: {}", names.join(", ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(stdout: &str) -> Result<Values, String> {
        match Sysbench.read(ToolOutput { stdout: stdout.as_bytes(), ..ToolOutput::default() }) {
            Reading::Ok(values) => Ok(values),
            Reading::Failed { reason } => Err(reason),
        }
    }

    fn of(values: &Values, name: &str) -> Option<f64> {
        values.measurements.iter().find(|one| one.name == name).map(|one| one.value)
    }

    const END: &str = "General statistics:\n    total time:   2.0000s\n    total number of events:   10\n\
                       Latency (ms):\n min: 0.00\n avg: 1.50\n max: 3.00\n 97th percentile: 2.00\n sum: 15.00\n";

    #[test]
    fn a_rate_that_is_not_printed_is_events_by_seconds() {
        let values = read(END).unwrap();
        assert_eq!(of(&values, "events_rate"), Some(5.0));
        assert_eq!(of(&values, "latency_avg"), Some(0.0015));
        assert_eq!(of(&values, "latency_min"), None);
        let percentile = values.measurements.iter().find(|one| one.name == "latency_percentile").unwrap();
        assert_eq!((percentile.value, percentile.labels["percentile"].as_str()), (0.002, "97"));
        assert_eq!(values.warnings, ["left out, too small for the digits printed: latency_min"]);
    }

    #[test]
    fn few_digits_of_time_are_told() {
        let values = read(&END.replace("2.0000s", "0.0095s")).unwrap();
        assert_eq!(of(&values, "events_rate"), Some(10.0 / 0.0095));
        assert_eq!(values.warnings[0], "events_rate is of a time of 0.0095 s, printed with few digits");
        assert!(
            read(&END.replace("2.0000s", "0.0000s"))
                .unwrap_err()
                .starts_with("sysbench's report has no rate")
        );
    }

    #[test]
    fn what_is_no_single_finished_run_is_refused() {
        let cases = [
            (END.replace(" sum: 15.00\n", " sum: 15.00"), "no report of a sysbench run"),
            (format!("{END}{END}"), "several reports of sysbench"),
            (END.replace("events:   10", "events:   0"), "sysbench did no event"),
            (format!("{END}FATAL: it broke\n"), "FATAL: it broke"),
        ];
        for (text, reason) in cases {
            let told = read(&text).unwrap_err();
            assert!(told.starts_with(reason), "{told}");
        }
    }

    #[test]
    fn what_it_warned_of_is_kept() {
        let values = read(&format!("WARNING: old option\nALERT: error 1205\n{END}")).unwrap();
        assert_eq!(values.warnings[..2], ["WARNING: old option", "ALERT: error 1205"]);
    }
}
