//! Reads iperf 2, not iperf3: text with any `-f`, `-e`, and CSV (`-y C`). `throughput` is what the program
//! itself measured: a client what it sent (with `-R` what came), a server what came. Of UDP the server's
//! report gives `throughput_received`, jitter and loss. Rates in bits have prefixes of 1000, those in bytes
//! of 1024 (`byte_snprintf` in its `stdio.c`).
//!
//! iperf closes its output with nothing, so a total must prove itself: see [`rows::totals`].

mod csv;
mod rows;

use crate::metrics::{Measurement, Metric, MetricParser, Reading, ToolOutput, Values, text};
use crate::units::{Better, Unit};
use rows::{Row, Totals};

const HIGHER: Option<Better> = Some(Better::Higher);
const LOWER: Option<Better> = Some(Better::Lower);
const THROUGHPUT: Metric = Metric::headline("throughput", Unit::BitPerSecond, HIGHER);
const RECEIVED: Metric = Metric::headline("throughput_received", Unit::BitPerSecond, HIGHER);
const RETRANSMITS: Metric = Metric::new("retransmits", Unit::Count, LOWER);
const JITTER: Metric = Metric::new("jitter", Unit::Second, LOWER);
const LOSS: Metric = Metric::new("loss", Unit::Percent, LOWER);
const LOST: Metric = Metric::new("lost_packets", Unit::Count, LOWER);
const PACKETS: Metric = Metric::new("packets", Unit::Count, None);

/// The iperf2 parser.
pub struct Iperf2;

impl MetricParser for Iperf2 {
    fn tool(&self) -> &'static str {
        "iperf2"
    }

    fn program(&self) -> Option<&'static str> {
        Some("iperf")
    }

    fn metrics(&self) -> Vec<Metric> {
        vec![THROUGHPUT, RECEIVED, RETRANSMITS, JITTER, LOSS, LOST, PACKETS]
    }

    fn read(&self, output: ToolOutput<'_>) -> Reading {
        let stdout = text::clean(output.stdout);
        let stderr = text::clean(output.stderr);
        let mut said = stderr.lines().chain(stdout.lines());
        if let Some(reason) = said.find(|line| is_error(line)).and_then(text::shown) {
            return Reading::Failed { reason };
        }
        if output.exit_code.is_some_and(|code| code != 0) {
            return text::failed("iperf failed", output);
        }
        if stdout.contains("Bounce-back test") {
            return Reading::Failed { reason: "iperf's bounce-back test is not read".to_owned() };
        }
        let read = if csv::is_csv(&stdout) { csv::of_csv(&stdout) } else { rows::of_text(&stdout) };
        let Totals { total, reports, streams } = match rows::totals(read) {
            Ok(totals) => totals,
            Err(what) => return text::failed(&what, output),
        };
        if total.bits_per_second == 0.0 {
            return text::failed("iperf moved no data", output);
        }
        let is_sender = stdout.contains("UDP") && stdout.contains("Client connecting to");
        if is_sender && reports.is_empty() && total.datagrams.is_none() {
            let what = "no report of iperf's server: what it received is not known, and the rate of a client is what it sent";
            return text::failed(what, output);
        }
        let mut warnings: Vec<_> = stderr.lines().filter_map(text::shown).take(5).collect();
        let mut measurements = vec![THROUGHPUT.measured(total.bits_per_second)];
        measurements.extend(total.retransmits.map(|count| RETRANSMITS.measured(count)));
        measurements.extend(datagrams(&total));
        match reports.as_slice() {
            [] => {}
            [report] if streams <= 1 => {
                measurements.push(RECEIVED.measured(report.bits_per_second));
                measurements.extend(datagrams(report));
            }
            more => warnings.push(format!("{} reports of the server left out: they have no sum", more.len())),
        }
        Reading::Ok(Values { measurements, warnings, ..Values::default() })
    }
}

/// `connect failed: Connection refused`, `listener bind failed: …`, `error: Name or service not known`.
fn is_error(line: &str) -> bool {
    line.contains(" failed: ") || line.trim_start().to_ascii_lowercase().starts_with("error: ")
}

/// Jitter and loss of a side that received datagrams.
fn datagrams(row: &Row) -> Vec<Measurement> {
    let Some((jitter, lost, packets)) = row.datagrams else { return Vec::new() };
    vec![
        JITTER.measured(jitter),
        LOSS.measured(100.0 * lost / packets),
        LOST.measured(lost),
        PACKETS.measured(packets),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(stdout: &str) -> Result<Values, String> {
        let output = ToolOutput { stdout: stdout.as_bytes(), stderr: b"", exit_code: Some(0) };
        match Iperf2.read(output) {
            Reading::Ok(values) => Ok(values),
            Reading::Failed { reason } => Err(reason),
        }
    }

    const CLIENT: &str = "Client connecting to 192.0.2.1, TCP port 5001\n\
        [  3] local 192.0.2.2 port 5 connected with 192.0.2.1 port 5001\n[ ID] Interval       Transfer     Bandwidth\n";

    #[test]
    fn versions_and_units_are_read() {
        let cases = [
            ("[  3]  0.0-10.0 sec  1.10 GBytes   941 Mbits/sec\n", 941e6),
            (
                "[  3]  0.0- 1.0 sec  1 GBytes   9 Gbits/sec\n[  3]  0.0- 2.0 sec  1 GBytes   4 Gbits/sec\n",
                4e9,
            ),
            ("[  3] 0.00-10.01 sec  1.10 GBytes   941000 Kbits/sec\n", 941e6),
            ("[  3]  0.0-10.0 sec  1.10 GBytes  0.50 MBytes/sec\n", 0.5 * 1048576.0 * 8.0),
            ("[  3]  0.0-10.0 sec  100 Bytes  80 bits/sec\n", 80.0),
            ("[ *1] 0.0000-1.0054 sec  1.81 GBytes  15.4 Gbits/sec\n", 15.4e9),
        ];
        for (rows, value) in cases {
            let values = reading(&format!("{CLIENT}{rows}")).unwrap();
            assert_eq!(values.measurements, [THROUGHPUT.measured(value)], "{rows}");
        }
    }

    #[test]
    fn the_report_of_a_csv_server_has_its_addresses_swapped() {
        let stdout = "20260101000000,192.0.2.2,5,192.0.2.1,5001,3,0.0-10.0,1250000,1000000\n\
                      20260101000000,192.0.2.1,5001,192.0.2.2,5,3,0.0-10.0,1249000,999000,0.050,1,850,0.118,0\n";
        let expected = [
            THROUGHPUT.measured(1e6),
            RECEIVED.measured(999e3),
            JITTER.measured(0.05e-3),
            LOSS.measured(100.0 / 850.0),
            LOST.measured(1.0),
            PACKETS.measured(850.0),
        ];
        assert_eq!(reading(stdout).unwrap().measurements, expected);
    }

    #[test]
    fn failures_have_a_reason() {
        let of = |rows: &str| format!("{CLIENT}{rows}");
        let two =
            CLIENT.replace("[ ID]", "[  4] local 192.0.2.2 port 6 connected with 192.0.2.1 port 5001\n[ ID]");
        let cases = [
            (String::new(), "no total of iperf: no output"),
            (of(""), "no total of iperf"),
            (of("[  3]  0.0-10.0 sec  1.10 GBytes   941 Mbits/sec"), "no total of iperf"),
            (
                of("[  3]  0.0- 1.0 sec  1 GBytes   9 Gbits/sec\n"),
                "the only row of iperf may be its first interval",
            ),
            (of("[  3] 0.0000-5.0000 sec  1 GBytes   9 Gbits/sec\n"), "the only row of iperf may be"),
            (
                of(
                    "[  3]  0.0- 1.0 sec  1 GBytes   9 Gbits/sec\n[  3]  1.0- 2.0 sec  1 GBytes   9 Gbits/sec\n",
                ),
                "no total of iperf",
            ),
            (of("[  3]  0.0-10.0 sec  0.00 Bytes  0.00 bits/sec\n"), "iperf moved no data"),
            (of("[  3]  0.0-10.0 sec  1.10 GBytes   941 Mbps/sec\n"), "no total of iperf"),
            (format!("{two}[  3] 0.0-10.0 sec  1 GBytes  9 Gbits/sec\n"), "no sum of iperf's streams"),
            (
                of("[  1] 0.0-9.9 sec  1 GBytes  9 Gbits/sec\n[ *1] 0.0-9.9 sec  1 GBytes  9 Gbits/sec\n"),
                "iperf tested",
            ),
            (of("write failed: Broken pipe\n"), "write failed: Broken pipe"),
        ];
        for (stdout, words) in cases {
            let reason = reading(&stdout).unwrap_err();
            assert!(reason.starts_with(words), "{stdout}: {reason}");
        }
    }
}
