//! Reads sockperf's client: ping-pong and under-load (latencies), throughput (rates). A latency is half of
//! a round trip, except with `--full-rtt`: then it is the whole one, and the metrics are called `rtt_…`.
//! sockperf's `Mbps` are 1024 * 1024 bit/s of payload that was sent, and its `Gbps` 1000 of them
//! (`stream_statistics` in its `client.cpp`).

use crate::metrics::histogram::smallest_count;
use crate::metrics::{Measurement, Metric, MetricParser, Reading, ToolOutput, Values, quantity, text};
use crate::units::{Better, Unit};

const LOWER: Option<Better> = Some(Better::Lower);
const HIGHER: Option<Better> = Some(Better::Higher);
const THROUGHPUT: Metric = Metric::headline("throughput", Unit::BitPerSecond, HIGHER);
const MESSAGES_RATE: Metric = Metric::headline("messages_rate", Unit::PerSecond, HIGHER);
const OBSERVATIONS: Metric = Metric::new("observations", Unit::Count, None);

/// What sockperf calls a time, and the names for half of a round trip and for the whole. The first pair is
/// kept when the file does not choose.
const TIMES: [(&str, [&str; 2]); 12] = [
    ("avg", ["latency_avg", "rtt_avg"]),
    ("std-dev", ["latency_stdev", "rtt_stdev"]),
    ("<MIN> observation", ["latency_min", "rtt_min"]),
    ("percentile 25.000", ["latency_p25", "rtt_p25"]),
    ("percentile 50.000", ["latency_p50", "rtt_p50"]),
    ("percentile 75.000", ["latency_p75", "rtt_p75"]),
    ("percentile 90.000", ["latency_p90", "rtt_p90"]),
    ("percentile 99.000", ["latency_p99", "rtt_p99"]),
    ("percentile 99.900", ["latency_p99.9", "rtt_p99.9"]),
    ("percentile 99.990", ["latency_p99.99", "rtt_p99.99"]),
    ("percentile 99.999", ["latency_p99.999", "rtt_p99.999"]),
    ("<MAX> observation", ["latency_max", "rtt_max"]),
];

/// Counts of sockperf's line of errors, and their metrics.
const COUNTS: [(&str, Metric); 3] = [
    ("dropped", Metric::new("messages_dropped", Unit::Count, LOWER)),
    ("duplicated", Metric::new("messages_duplicated", Unit::Count, LOWER)),
    ("out-of-order", Metric::new("messages_out_of_order", Unit::Count, LOWER)),
];

/// The sockperf parser.
pub struct Sockperf;

impl MetricParser for Sockperf {
    fn tool(&self) -> &'static str {
        "sockperf"
    }

    fn metrics(&self) -> Vec<Metric> {
        let mut metrics = vec![THROUGHPUT, MESSAGES_RATE];
        for kind in [0, 1] {
            metrics.extend(TIMES.iter().enumerate().map(|(at, (_, names))| time(names[kind], at == 0)));
        }
        metrics.push(OBSERVATIONS);
        metrics.extend(COUNTS.map(|(_, metric)| metric));
        metrics
    }

    fn read(&self, output: ToolOutput<'_>) -> Reading {
        let stdout = text::clean(output.stdout);
        let stderr = text::clean(output.stderr);
        let lines: Vec<_> = quantity::whole_lines(&stdout).map(own_words).collect();
        let errors = lines.iter().copied().chain(stderr.lines()).filter(|line| line.contains("ERROR: "));
        if let Some(reason) = errors.filter_map(text::shown).next() {
            return Reading::Failed { reason };
        }
        if output.exit_code.is_some_and(|code| code != 0) {
            return text::failed("sockperf failed", output);
        }
        if lines.iter().filter(|line| line.contains("statistics for Server No")).count() > 1 {
            return Reading::Failed { reason: "sockperf had several servers, expected one".to_owned() };
        }
        let Some(measurements) = latencies(&lines).or_else(|| rates(&lines)) else {
            return text::failed("sockperf gave no result", output);
        };
        if measurements[0].value == 0.0 {
            return text::failed("sockperf measured nothing", output);
        }
        let remarks =
            lines.iter().filter(|line| line.starts_with("Info: ") || line.contains(" of burst of "));
        let warnings = remarks.copied().chain(stderr.lines()).filter_map(text::shown).take(5).collect();
        let version = lines.iter().find_map(|line| line.split_once("== version #")?.1.split_once(" =="));
        Reading::Ok(Values {
            measurements,
            warnings,
            version: version.map(|(version, _)| version.to_owned()),
            ..Values::default()
        })
    }
}

/// Whether a percentile of so many observations has a 95 % interval. With fewer, sockperf prints the largest for it.
fn has_enough(name: &str, observations: f64) -> bool {
    let percent = name.rsplit_once("_p").and_then(|(_, percent)| percent.parse::<f64>().ok());
    percent.is_none_or(|percent| observations >= smallest_count(percent / 100.0) as f64)
}

/// A metric of a time.
fn time(name: &'static str, is_headline: bool) -> Metric {
    if is_headline {
        Metric::headline(name, Unit::Second, LOWER)
    } else {
        Metric::new(name, Unit::Second, LOWER)
    }
}

fn own_words(line: &str) -> &str {
    line.trim().strip_prefix("sockperf: ").unwrap_or(line).trim()
}

/// The times and counts of a ping-pong or under-load test, the average first. The smallest observation
/// closes the table; without it nothing is read.
fn latencies(lines: &[&str]) -> Option<Vec<Measurement>> {
    let average = lines.iter().find_map(|line| line.strip_prefix("====> avg-"))?;
    let (kind, figures) = average.split_once('=')?;
    let kind = ["latency", "rtt"].iter().position(|known| *known == kind)?;
    let figures = figures.split(')').next()?;
    let (average, more) = figures.split_once(" (")?;
    let deviation = more.split(", ").find_map(|figure| figure.strip_prefix("std-dev="))?;
    let mut printed = vec![("avg", average), ("std-dev", deviation)];
    let table = lines.iter().filter_map(|line| line.strip_prefix("---> ")?.split_once(" = "));
    printed.extend(table.map(|(name, value)| (name.trim(), value.trim())));
    printed.iter().find(|(name, _)| *name == "<MIN> observation")?;
    let mut measurements = Vec::new();
    for (at, (known, names)) in TIMES.iter().enumerate() {
        // Small samples have no low percentiles.
        let Some((_, value)) = printed.iter().find(|(name, _)| name == known) else { continue };
        let value = quantity::seconds(quantity::number(value)?, "usec")?;
        measurements.push(time(names[kind], at == 0).measured(value));
    }
    let observations = lines.iter().find_map(|line| line.strip_prefix("Total ")?.split_once(" observations"));
    measurements
        .extend(observations.and_then(|(count, _)| Some(OBSERVATIONS.measured(quantity::number(count)?))));
    if let Some(count) = measurements.iter().find(|one| one.name == OBSERVATIONS.name).map(|one| one.value) {
        measurements.retain(|one| has_enough(&one.name, count));
    }
    let counts = lines.iter().find(|line| line.starts_with("# dropped messages"));
    for field in counts.into_iter().flat_map(|line| line.split("; ")) {
        let (name, count) = field.trim_start_matches("# ").split_once(" messages = ")?;
        let metric = COUNTS.into_iter().find(|(known, _)| *known == name).map(|(_, metric)| metric)?;
        measurements.push(metric.measured(quantity::number(count.trim())?));
    }
    Some(measurements)
}

/// The rates of a throughput test: `Message Rate is 511158 [msg/sec]` and, as the last line,
/// `BandWidth is 682.470 MBps (5459.756 Mbps)`.
fn rates(lines: &[&str]) -> Option<Vec<Measurement>> {
    let after = |start: &str| lines.iter().find_map(|line| line.strip_prefix(start));
    let (messages, _) = after("Summary: Message Rate is ")?.split_once(" [msg/sec]")?;
    let (_, bits) = after("Summary: BandWidth is ")?.strip_suffix(')')?.split_once(" (")?;
    let (value, unit) = bits.split_once(' ')?;
    let mebibit = 1024.0 * 1024.0;
    let factor = match unit {
        "Mbps" => mebibit,
        "Gbps" => 1000.0 * mebibit,
        _ => return None,
    };
    let throughput = THROUGHPUT.measured(quantity::number(value)? * factor);
    Some(vec![throughput, MESSAGES_RATE.measured(quantity::number(messages)?)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(stdout: &str, exit_code: i32) -> Result<Values, String> {
        let output = ToolOutput { stdout: stdout.as_bytes(), stderr: b"", exit_code: Some(exit_code) };
        match Sockperf.read(output) {
            Reading::Ok(values) => Ok(values),
            Reading::Failed { reason } => Err(reason),
        }
    }

    const GOOD: &str = "sockperf: ====> avg-latency=9.000 (std-dev=1.000, mean-ad=0.500, 99.0% ci=[8.0, 10.0])\n\
        sockperf: ---> <MAX> observation =   20.000\nsockperf: ---> <MIN> observation =    8.000\n";

    #[test]
    fn later_versions_and_gigabits_are_read() {
        let values = reading(GOOD, 0).unwrap().measurements;
        let values: Vec<_> = values.iter().map(|one| (one.name.as_str(), one.value)).collect();
        let expected =
            [("latency_avg", 9e-6), ("latency_stdev", 1e-6), ("latency_min", 8e-6), ("latency_max", 20e-6)];
        assert_eq!(values, expected);
        let rates = "sockperf: Summary: Message Rate is 5 [msg/sec], Packet Rate is about 10 [pkt/sec] (2 ip \
                     frags / msg)\nsockperf: Summary: BandWidth is 0.250 GBps (2.000 Gbps)\n";
        let values = reading(rates, 0).unwrap().measurements;
        assert_eq!(values, [THROUGHPUT.measured(2000.0 * 1048576.0), MESSAGES_RATE.measured(5.0)]);
    }

    #[test]
    fn failures_have_a_reason() {
        let several = "sockperf: Printing statistics for Server No: 0\n".repeat(2);
        let zero = GOOD.replace("9.000", "0.000");
        let odd = GOOD.replace("20.000", "nan");
        let cases = [
            ("", "sockperf gave no result: no output"),
            (GOOD.trim_end(), "sockperf gave no result"),
            (&several, "sockperf had several servers"),
            (&zero, "sockperf measured nothing"),
            (&odd, "sockperf gave no result"),
            ("sockperf: ERROR: Can`t connect socket\n", "ERROR: Can`t connect socket"),
        ];
        for (stdout, words) in cases {
            let reason = reading(stdout, 0).unwrap_err();
            assert!(reason.starts_with(words), "{reason}");
        }
        assert!(reading(GOOD, 1).unwrap_err().starts_with("sockperf failed"));
    }
}
