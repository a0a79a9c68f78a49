//! Reads qperf: any of its tests, with `-v`, with `-uu` (unified units) and in bits or bytes. Prefixes are
//! powers of 1000. A latency is one way, half of a round trip (`calc_results` in its `qperf.c`). Every value
//! has its test as a label; when a test is there again (`--loop`), the later ones have `round` too.

use std::collections::BTreeMap;

use crate::metrics::{Measurement, Metric, MetricParser, Reading, ToolOutput, Values, quantity, text};
use crate::units::{Better, Unit};

const HIGHER: Option<Better> = Some(Better::Higher);

/// qperf's names and ours. `bw` is what arrived.
const KNOWN: [(&str, Metric); 5] = [
    ("bw", Metric::headline("throughput", Unit::BitPerSecond, HIGHER)),
    ("send_bw", Metric::headline("throughput_sent", Unit::BitPerSecond, HIGHER)),
    ("recv_bw", Metric::headline("throughput_received", Unit::BitPerSecond, HIGHER)),
    ("latency", Metric::headline("latency_avg", Unit::Second, Some(Better::Lower))),
    ("msg_rate", Metric::new("messages_rate", Unit::PerSecond, HIGHER)),
];

/// The qperf parser.
pub struct Qperf;

impl MetricParser for Qperf {
    fn tool(&self) -> &'static str {
        "qperf"
    }

    fn metrics(&self) -> Vec<Metric> {
        KNOWN.map(|(_, metric)| metric).to_vec()
    }

    fn read(&self, output: ToolOutput<'_>) -> Reading {
        // Errors are printed to standard output too.
        if output.exit_code.is_some_and(|code| code != 0) {
            return text::failed("qperf failed", output);
        }
        let stdout = text::clean(output.stdout);
        let stderr = text::clean(output.stderr);
        let mut tests: Vec<Test<'_>> = Vec::new();
        let mut rounds = BTreeMap::new();
        let mut warnings: Vec<_> = stderr.lines().filter_map(text::shown).take(5).collect();
        for line in quantity::whole_lines(&stdout).filter(|line| !line.trim().is_empty()) {
            if let Some(name) = line.strip_suffix(':').filter(|name| !name.contains(' ')) {
                let round = rounds.entry(name).and_modify(|round| *round += 1).or_insert(1);
                tests.push(Test { name, round: *round, measurements: Vec::new() });
            } else if line.starts_with("warning: ") {
                warnings.extend(text::shown(line));
            } else if let (true, Some(test)) = (line.starts_with("    "), tests.last_mut()) {
                if test.read(line).is_none() {
                    return Reading::Failed {
                        reason: format!("qperf's line is not understood: {}", line.trim()),
                    };
                }
            } else {
                return Reading::Failed { reason: line.trim().to_owned() };
            }
        }
        // `conf` describes both machines.
        tests.retain(|test| test.name != "conf");
        let is_empty = |test: &&Test<'_>| test.measurements.iter().all(|one| one.value == 0.0);
        if let Some(test) = tests.iter().find(is_empty) {
            return Reading::Failed { reason: format!("qperf's test {} gave no result", test.name) };
        }
        if tests.is_empty() {
            return text::failed("qperf gave no result", output);
        }
        let measurements = tests.into_iter().flat_map(|test| test.measurements).collect();
        Reading::Ok(Values { measurements, warnings, ..Values::default() })
    }
}

/// One test of qperf's command line.
struct Test<'a> {
    name: &'a str,
    /// The how many-th of this name it is, from 1.
    round: usize,
    measurements: Vec<Measurement>,
}

impl Test<'_> {
    /// Takes `    bw  =  1.2 GB/sec` in; of other rows (processor time, costs, settings) nothing. `None`
    /// where the figure of a known row can't be read.
    fn read(&mut self, line: &str) -> Option<()> {
        let (name, value) = line.trim().split_once("  =  ")?;
        let Some((_, metric)) = KNOWN.into_iter().find(|(known, _)| *known == name.trim()) else {
            return Some(());
        };
        let (number, unit) = value.trim().split_once(' ')?;
        let value = in_base_unit(&metric.unit, quantity::number(number)?, unit)?;
        let measurement = metric.measured(value).labelled("test", self.name);
        self.measurements.push(match self.round {
            1 => measurement,
            round => measurement.labelled("round", round.to_string()),
        });
        Some(())
    }
}

/// A value in `base`; `None` for a unit that is none of it.
fn in_base_unit(base: &Unit, value: f64, unit: &str) -> Option<f64> {
    if *base == Unit::Second {
        return quantity::seconds(value, unit);
    }
    let unit = unit.strip_suffix("/sec")?;
    if *base == Unit::PerSecond {
        return quantity::scaled(value, unit, 1000.0);
    }
    let (prefix, bits) = match unit {
        "bits" => ("", 1.0),
        "bytes" => ("", 8.0),
        _ => match unit.strip_suffix('b') {
            Some(prefix) => (prefix, 1.0),
            None => (unit.strip_suffix('B')?, 8.0),
        },
    };
    quantity::scaled(value * bits, prefix, 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(stdout: &str, exit_code: i32) -> Result<Values, String> {
        let output = ToolOutput { stdout: stdout.as_bytes(), stderr: b"", exit_code: Some(exit_code) };
        match Qperf.read(output) {
            Reading::Ok(values) => Ok(values),
            Reading::Failed { reason } => Err(reason),
        }
    }

    #[test]
    fn units_are_read_or_refused() {
        let cases = [
            (Unit::BitPerSecond, 1.5, "GB/sec", Some(12e9)),
            (Unit::BitPerSecond, 1.5, "Gb/sec", Some(1.5e9)),
            (Unit::BitPerSecond, 15.0, "bytes/sec", Some(120.0)),
            (Unit::BitPerSecond, 15.0, "bits/sec", Some(15.0)),
            (Unit::BitPerSecond, 15.0, "GiB/sec", None),
            (Unit::PerSecond, 57.0, "K/sec", Some(57e3)),
            (Unit::PerSecond, 57.0, "/sec", Some(57.0)),
            (Unit::Second, 16.5, "us", Some(16.5e-6)),
            (Unit::Second, 16.5, "sec", Some(16.5)),
            (Unit::Second, 16.5, "us (16)", None),
        ];
        for (base, value, unit, expected) in cases {
            assert_eq!(in_base_unit(&base, value, unit), expected, "{unit}");
        }
    }

    #[test]
    fn failures_have_a_reason() {
        let cases = [
            ("", "qperf gave no result: no output"),
            ("tcp_bw:\n", "qperf's test tcp_bw gave no result"),
            (
                "tcp_bw:\n    bw  =  1.2 GB/sec\ntcp_lat:\n    latency  =  1",
                "qperf's test tcp_lat gave no result",
            ),
            ("tcp_bw:\n    bw  =  0 bytes/sec\n", "qperf's test tcp_bw gave no result"),
            ("tcp_bw:\n    bw  =  1,234 GB/sec\n", "qperf's line is not understood: bw  =  1,234 GB/sec"),
            ("tcp_bw:\n192.0.2.1: failed to connect\n", "192.0.2.1: failed to connect"),
        ];
        for (stdout, words) in cases {
            assert_eq!(reading(stdout, 0).unwrap_err(), words);
        }
        let stdout = "tcp_bw:\n192.0.2.1: failed to connect\n";
        let reason = reading(stdout, 1).unwrap_err();
        assert_eq!(reason, "qperf failed (exit code 1): tcp_bw:; 192.0.2.1: failed to connect");
    }
}
