//! Reads netperf 2: the classic tables of TCP_STREAM and its kin, UDP_STREAM and the request/response
//! tests, and what omni tests print with `-k` (`KEY=value`) or `-o` (two lines of CSV). Units are named in
//! the output; those in bytes have binary prefixes (`format_units` and `calc_thruput` in its `netlib.c`).
//! Latencies are kept of request/response tests alone: of a stream they are those of a send call.

use crate::metrics::{Measurement, Metric, MetricParser, Reading, ToolOutput, Values, quantity, text};
use crate::units::{Better, Unit};

const HIGHER: Option<Better> = Some(Better::Higher);
const LOWER: Option<Better> = Some(Better::Lower);
const THROUGHPUT: Metric = Metric::headline("throughput", Unit::BitPerSecond, HIGHER);
const SENT: Metric = Metric::headline("throughput_sent", Unit::BitPerSecond, HIGHER);
const RECEIVED: Metric = Metric::headline("throughput_received", Unit::BitPerSecond, HIGHER);
const TRANSACTIONS_RATE: Metric = Metric::headline("transactions_rate", Unit::PerSecond, HIGHER);
const LOSS: Metric = Metric::new("loss", Unit::Percent, LOWER);
const RETRANSMITS: Metric = Metric::new("retransmits", Unit::Count, LOWER);

/// Round trips of a request and its answer: the key, the heading of the CSV, and the metric.
const ROUND_TRIPS: [(&str, &str, Metric); 7] = [
    ("MEAN_LATENCY", "Mean Latency Microseconds", Metric::headline("rtt_avg", Unit::Second, LOWER)),
    ("MIN_LATENCY", "Minimum Latency Microseconds", Metric::new("rtt_min", Unit::Second, LOWER)),
    ("P50_LATENCY", "50th Percentile Latency Microseconds", Metric::new("rtt_p50", Unit::Second, LOWER)),
    ("P90_LATENCY", "90th Percentile Latency Microseconds", Metric::new("rtt_p90", Unit::Second, LOWER)),
    ("P99_LATENCY", "99th Percentile Latency Microseconds", Metric::new("rtt_p99", Unit::Second, LOWER)),
    ("MAX_LATENCY", "Maximum Latency Microseconds", Metric::new("rtt_max", Unit::Second, LOWER)),
    ("STDDEV_LATENCY", "Stddev Latency Microseconds", Metric::new("rtt_stdev", Unit::Second, LOWER)),
];

/// The netperf parser.
pub struct Netperf;

impl MetricParser for Netperf {
    fn tool(&self) -> &'static str {
        "netperf"
    }

    fn version_option(&self) -> Option<&'static str> {
        Some("-V")
    }

    fn metrics(&self) -> Vec<Metric> {
        let mut metrics = vec![THROUGHPUT, SENT, RECEIVED, TRANSACTIONS_RATE];
        metrics.extend(ROUND_TRIPS.map(|(.., metric)| metric));
        metrics.extend([LOSS, RETRANSMITS]);
        metrics
    }

    fn read(&self, output: ToolOutput<'_>) -> Reading {
        if output.exit_code.is_some_and(|code| code != 0) {
            return text::failed("netperf failed", output);
        }
        let stdout = text::clean(output.stdout);
        let stderr = text::clean(output.stderr);
        let lines: Vec<_> = quantity::whole_lines(&stdout).map(str::trim).collect();
        if lines.iter().filter(|line| line.contains(" TEST from ")).count() > 1 {
            return Reading::Failed { reason: "more than one netperf test, expected one".to_owned() };
        }
        let fields = pairs(&lines).or_else(|| columns(&lines));
        let measurements = match fields {
            Some(fields) => omni(&fields),
            None => classic(&lines),
        };
        let Some(measurements) = measurements else {
            return text::failed(
                "no result of netperf that is understood (omni tests: use -k or -o)",
                output,
            );
        };
        if measurements[0].value == 0.0 {
            return text::failed("netperf moved no data", output);
        }
        // netperf says so in three exclamation marks when the wanted confidence was not reached.
        let remarks = lines.iter().copied().filter(|line| line.starts_with("!!!"));
        let warnings = remarks.chain(stderr.lines()).filter_map(text::shown).take(8).collect();
        Reading::Ok(Values { measurements, warnings, ..Values::default() })
    }
}

/// The figures of an omni test by name.
type Fields<'a> = Vec<(&'a str, &'a str)>;

/// `THROUGHPUT=941.33`, a line each.
fn pairs<'a>(lines: &[&'a str]) -> Option<Fields<'a>> {
    let is_key = |key: &str| key.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    let pairs = lines.iter().filter_map(|line| line.split_once('=').filter(|(key, _)| is_key(key)));
    Some(pairs.collect::<Vec<_>>()).filter(|pairs| !pairs.is_empty())
}

/// A line of headings, then one of values. Not read where a value holds a comma itself.
fn columns<'a>(lines: &[&'a str]) -> Option<Fields<'a>> {
    let at = lines.iter().position(|line| line.split(',').any(|heading| heading == "Throughput Units"))?;
    let (headings, values) = (lines[at].split(','), lines.get(at + 1)?.split(','));
    (headings.clone().count() == values.clone().count()).then(|| headings.zip(values).collect())
}

/// The figures of an omni test. Those that netperf could not measure are negative and left out.
fn omni(fields: &[(&str, &str)]) -> Option<Vec<Measurement>> {
    let text = |key: &str, heading: &str| {
        fields.iter().find(|(name, _)| *name == key || *name == heading).map(|(_, value)| value.trim())
    };
    let figure = |key: &str, heading: &str| text(key, heading).and_then(quantity::number);
    let (value, unit) = (figure("THROUGHPUT", "Throughput")?, text("THROUGHPUT_UNITS", "Throughput Units")?);
    let mut measurements = Vec::new();
    if unit == "Trans/s" {
        measurements.push(TRANSACTIONS_RATE.measured(value));
        for (key, heading, metric) in &ROUND_TRIPS {
            let value = figure(key, heading).and_then(|value| quantity::seconds(value, "usec"));
            measurements.extend(value.map(|value| metric.measured(value)));
        }
    } else {
        measurements.push(THROUGHPUT.measured(value * bits_per_second(unit)?));
        let sent = figure("LOCAL_SEND_THROUGHPUT", "Local Send Throughput");
        let received = figure("REMOTE_RECV_THROUGHPUT", "Remote Recv Throughput");
        for (metric, value) in [(SENT, sent), (RECEIVED, received)] {
            // 0 is that of the direction in which nothing was to go.
            let value =
                value.filter(|value| *value > 0.0).and_then(|value| Some(value * bits_per_second(unit)?));
            measurements.extend(value.map(|value| metric.measured(value)));
        }
    }
    let retransmits = figure("LOCAL_TRANSPORT_RETRANS", "Local Transport Retransmissions");
    measurements.extend(retransmits.map(|count| RETRANSMITS.measured(count)));
    Some(measurements)
}

/// How many bit/s a unit of netperf is; `None` for other words.
fn bits_per_second(unit: &str) -> Option<f64> {
    let unit = unit.strip_suffix("/sec").or_else(|| unit.strip_suffix("/s"))?;
    match unit {
        "10^0bits" => Some(1.0),
        "10^3bits" => Some(1e3),
        "10^6bits" => Some(1e6),
        "10^9bits" => Some(1e9),
        _ => quantity::scaled(8.0, unit.strip_suffix("Bytes")?, 1024.0),
    }
}

/// A classic table. Processor columns (`-c`, `-C`) come behind the rate.
fn classic(lines: &[&str]) -> Option<Vec<Measurement>> {
    let at = lines.iter().position(|line| line.contains(" TEST from "))?;
    let (banner, table) = (lines[at], &lines[at + 1..]);
    let is_row = |line: &&&str| line.starts_with(|c: char| c.is_ascii_digit());
    let mut rows = table.iter().filter(is_row).map(|line| line.split_whitespace().collect::<Vec<_>>());
    let row = rows.next()?;
    let figure = |row: &[&str], at: usize| row.get(at).and_then(|figure| quantity::number(figure));
    let headings = table.iter().flat_map(|line| line.split_whitespace());
    let has = |word: &str| headings.clone().any(|heading| heading == word);
    if banner.to_ascii_uppercase().contains("REQUEST/RESPONSE TEST") {
        // The sizes of the other side close the table.
        let is_whole = has("Trans.") && has("Rate") && matches!(row.len(), 6 | 10) && rows.next()?.len() == 2;
        return is_whole.then_some(vec![TRANSACTIONS_RATE.measured(figure(&row, 5)?)]);
    }
    let factor = headings.clone().find_map(bits_per_second).filter(|_| has("Throughput"))?;
    if !banner.contains("UDP STREAM TEST") {
        return matches!(row.len(), 5 | 9).then_some(vec![THROUGHPUT.measured(figure(&row, 4)? * factor)]);
    }
    let other = rows.next()?;
    if !matches!((row.len(), other.len()), (6, 4) | (8, 6)) {
        return None;
    }
    let (sent, received) = (figure(&row, 3)?, figure(&other, 2)?);
    let mut measurements =
        vec![SENT.measured(figure(&row, 5)? * factor), RECEIVED.measured(figure(&other, 3)? * factor)];
    measurements
        .extend((received <= sent && sent > 0.0).then(|| LOSS.measured(100.0 * (sent - received) / sent)));
    Some(measurements)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = "MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.0.2.1 () port 0 \
        AF_INET : demo\nRecv   Send    Send                          \nSocket Socket  Message  Elapsed\n\
        Size   Size    Size     Time     Throughput  \nbytes  bytes   bytes    secs.    10^6bits/sec  \n\n\
        131072  16384  16384    10.00    9406.44   \n";

    fn reading(stdout: &str, exit_code: i32) -> Result<Vec<Measurement>, String> {
        let output = ToolOutput { stdout: stdout.as_bytes(), stderr: b"", exit_code: Some(exit_code) };
        match Netperf.read(output) {
            Reading::Ok(values) => Ok(values.measurements),
            Reading::Failed { reason } => Err(reason),
        }
    }

    #[test]
    fn units_are_read_or_refused() {
        let cases = [
            ("10^6bits/sec", Some(1e6)),
            ("10^9bits/s", Some(1e9)),
            ("MBytes/s", Some(8.0 * 1048576.0)),
            ("Bytes/s", Some(8.0)),
            ("secs.", None),
            ("Trans/s", None),
        ];
        for (unit, expected) in cases {
            assert_eq!(bits_per_second(unit), expected, "{unit}");
        }
    }

    #[test]
    fn what_was_not_measured_is_left_out() {
        let stdout = "THROUGHPUT=100.00\nTHROUGHPUT_UNITS=Trans/s\nMEAN_LATENCY=50.00\nP99_LATENCY=-1\n\
                      LOCAL_TRANSPORT_RETRANS=-2\n";
        let expected = [TRANSACTIONS_RATE.measured(100.0), ROUND_TRIPS[0].2.measured(50e-6)];
        assert_eq!(reading(stdout, 0).unwrap(), expected);
        let stream = stdout.replace("Trans/s", "10^6bits/s");
        assert_eq!(reading(&stream, 0).unwrap(), [THROUGHPUT.measured(1e8)]);
    }

    #[test]
    fn failures_have_a_reason() {
        let twice = STREAM.repeat(2);
        let zero = STREAM.replace("9406.44", "0.00");
        let no_unit = STREAM.replace("10^6bits/sec", "10^7bits/sec");
        let no_row = STREAM.replace("131072  16384", "131072");
        let not_understood = "no result of netperf that is understood";
        let cases = [
            ("", not_understood),
            (STREAM.trim_end(), not_understood),
            (&no_unit, not_understood),
            (&no_row, not_understood),
            ("THROUGHPUT=100.00\n", not_understood),
            ("Throughput,Throughput Units,Command Line\n1.00,Trans/s,\"a,b\"\n", not_understood),
            (&twice, "more than one netperf test"),
            (&zero, "netperf moved no data"),
        ];
        for (stdout, words) in cases {
            let reason = reading(stdout, 0).unwrap_err();
            assert!(reason.starts_with(words), "{reason}");
        }
        assert!(reading(STREAM, 1).unwrap_err().starts_with("netperf failed"));
    }
}
