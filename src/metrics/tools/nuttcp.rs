//! Reads nuttcp: its line of text, `-fparse`, and both with `-v`; the lines of `-i` never count. The rate
//! is that of the receiver (with `-v` its block `nuttcp-r`, which only then is told apart from that of the
//! sender) in Mbps of 10^6 bit/s. Formats are the `PERF_FMT` and `P_PERF_FMT` of its `nuttcp.c`.

use crate::metrics::{Measurement, Metric, MetricParser, Reading, ToolOutput, Values, quantity, text};
use crate::units::{Better, Unit};

const LOWER: Option<Better> = Some(Better::Lower);
const THROUGHPUT: Metric = Metric::headline("throughput", Unit::BitPerSecond, Some(Better::Higher));
const RETRANSMITS: Metric = Metric::new("retransmits", Unit::Count, LOWER);
const ROUND_TRIP: Metric = Metric::new("rtt", Unit::Second, LOWER);
const LOSS: Metric = Metric::new("loss", Unit::Percent, LOWER);
const LOST: Metric = Metric::new("lost_packets", Unit::Count, LOWER);
const PACKETS: Metric = Metric::new("packets", Unit::Count, None);

/// The nuttcp parser.
pub struct Nuttcp;

impl MetricParser for Nuttcp {
    fn tool(&self) -> &'static str {
        "nuttcp"
    }

    fn version_option(&self) -> Option<&'static str> {
        Some("-V")
    }

    fn metrics(&self) -> Vec<Metric> {
        vec![THROUGHPUT, RETRANSMITS, ROUND_TRIP, LOSS, LOST, PACKETS]
    }

    fn read(&self, output: ToolOutput<'_>) -> Reading {
        let stdout = text::clean(output.stdout);
        let stderr = text::clean(output.stderr);
        let mut said = stdout.lines().chain(stderr.lines());
        if let Some(reason) = said.find(|line| line.contains("Error: ")).and_then(text::shown) {
            return Reading::Failed { reason };
        }
        if output.exit_code.is_some_and(|code| code != 0) {
            return text::failed("nuttcp failed", output);
        }
        let lines: Vec<_> = quantity::whole_lines(&stdout).map(str::trim).collect();
        let (verbose, brief): (Vec<&str>, Vec<&str>) =
            lines.iter().partition(|line| line.starts_with("nuttcp-"));
        let verbose: Vec<_> = verbose.into_iter().filter(|line| !is_remark(line)).collect();
        let brief: Vec<_> = brief.into_iter().filter(|line| is_total(line)).collect();
        let result = match (brief.as_slice(), verbose.is_empty()) {
            ([total], true) => Some(vec![*total]),
            ([], false) if sides(&verbose) == [1, 1] => Some(verbose),
            _ => None,
        };
        let Some(result) = result else {
            return text::failed("not one whole result of nuttcp", output);
        };
        let Some(measurements) = measured(&result) else {
            return text::failed("nuttcp's result is not understood", output);
        };
        if measurements[0].value == 0.0 {
            return text::failed("nuttcp moved no data", output);
        }
        let remarks = lines.iter().copied().filter(|line| is_remark(line)).chain(stderr.lines());
        let warnings = remarks.filter_map(text::shown).take(5).collect();
        Reading::Ok(Values { measurements, warnings, version: version(&stdout), ..Values::default() })
    }
}

/// `nuttcp-t: Warning: …` and `nuttcp-t: Info: …`.
fn is_remark(line: &str) -> bool {
    line.starts_with("nuttcp") && [": Warning", ": Info: "].iter().any(|words| line.contains(words))
}

/// The line of the whole test: it alone has processor time.
fn is_total(line: &str) -> bool {
    let has = |words: [&str; 2]| words.iter().all(|word| line.contains(word));
    has([" Mbps ", "%TX"]) || has([" Mbps ", "%RX"]) || has(["real_seconds=", " tx_cpu="])
}

/// How many rates the transmitter and the receiver tell with `-v`.
fn sides(verbose: &[&str]) -> [usize; 2] {
    ["nuttcp-t", "nuttcp-r"].map(|side| verbose.iter().filter(|line| is_rate_of(side, line)).count())
}

fn is_rate_of(side: &str, line: &str) -> bool {
    line.starts_with(side) && (line.ends_with(" Mbps") || line.contains(" rate_Mbps="))
}

/// The figures of a result: its one line, or with `-v` all lines of both blocks.
fn measured(lines: &[&str]) -> Option<Vec<Measurement>> {
    let rate_line = lines.iter().find(|line| is_rate_of("nuttcp-r", line)).or(lines.first())?;
    let rate = before(rate_line, "Mbps").or_else(|| of_key(rate_line, "rate_Mbps"))?;
    let mut measurements = vec![THROUGHPUT.measured(quantity::number(rate)? * 1e6)];
    let retransmits = lines.iter().find_map(|line| {
        let verbose = line.strip_prefix("nuttcp-t: retrans = ");
        first_number([before(line, "retrans"), of_key(line, "retrans"), verbose])
    });
    measurements.extend(retransmits.map(|count| RETRANSMITS.measured(count)));
    let round_trip = lines.iter().find_map(|line| {
        let verbose = line.split_once(" RTT=").and_then(|(_, time)| time.strip_suffix(" ms"));
        first_number([before(line, "msRTT"), of_key(line, "rtt_ms"), verbose])
    });
    let round_trip = round_trip.and_then(|time| quantity::seconds(time, "ms"));
    measurements.extend(round_trip.map(|time| ROUND_TRIP.measured(time)));
    if let Some((lost, packets)) = lines.iter().find_map(|line| lost_of(line)) {
        measurements.extend([
            LOSS.measured(100.0 * lost / packets),
            LOST.measured(lost),
            PACKETS.measured(packets),
        ]);
    }
    Some(measurements)
}

/// `0 / 1526 drop/pkt` or `drop=0 pkt=1526`, where there were packets.
fn lost_of(line: &str) -> Option<(f64, f64)> {
    let text = line.split_once(" drop/pkt").map(|(text, _)| text);
    let text = text.and_then(|text| {
        let (text, packets) = text.rsplit_once(" / ")?;
        Some((text.split_whitespace().next_back()?, packets.trim()))
    });
    let (lost, packets) = text.or_else(|| Some((of_key(line, "drop")?, of_key(line, "pkt")?)))?;
    let (lost, packets) = (quantity::number(lost)?, quantity::number(packets)?);
    (packets > 0.0).then_some((lost, packets))
}

/// A figure in the brief form, as a key's value or in the verbose form, whichever is there.
fn first_number(forms: [Option<&str>; 3]) -> Option<f64> {
    forms.into_iter().flatten().find_map(quantity::number)
}

/// The word before `unit`.
fn before<'a>(line: &'a str, unit: &str) -> Option<&'a str> {
    let mut words = line.split_whitespace();
    let at = words.clone().position(|word| word == unit)?;
    words.nth(at.checked_sub(1)?)
}

/// The value of `key=value`.
fn of_key<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

/// `6.1.2` of `nuttcp-t: v6.1.2: socket`.
fn version(stdout: &str) -> Option<String> {
    let line = stdout.lines().find(|line| line.starts_with("nuttcp-"))?;
    let (version, _) = line.split_once(": v")?.1.split_once(": ")?;
    Some(version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BRIEF: &str =
        "  12.0000 MB /   1.00 sec =  100.0000 Mbps 99 %TX 1 %RX 3 / 1500 drop/pkt 0.20 %loss\n";

    fn reading(stdout: &str, exit_code: i32) -> Result<Values, String> {
        let output = ToolOutput { stdout: stdout.as_bytes(), stderr: b"", exit_code: Some(exit_code) };
        match Nuttcp.read(output) {
            Reading::Ok(values) => Ok(values),
            Reading::Failed { reason } => Err(reason),
        }
    }

    #[test]
    fn loss_is_that_of_the_counts() {
        let values = reading(BRIEF, 0).unwrap().measurements;
        let expected =
            [THROUGHPUT.measured(1e8), LOSS.measured(0.2), LOST.measured(3.0), PACKETS.measured(1500.0)];
        assert_eq!(values, expected);
    }

    #[test]
    fn retransmits_of_the_whole_host_are_not_those_of_the_test() {
        let stdout = BRIEF.replace("3 / 1500 drop/pkt 0.20 %loss", "5 host-retrans 0.25 msRTT");
        let values = reading(&stdout, 0).unwrap().measurements;
        assert_eq!(values, [THROUGHPUT.measured(1e8), ROUND_TRIP.measured(0.25e-3)]);
    }

    #[test]
    fn failures_have_a_reason() {
        let interval = "    5.9688 MB /   0.50 sec =  100.1266 Mbps     0 retrans\n";
        let sender = "nuttcp-t: 12.0000 MB in 1.00 real seconds = 1682693.16 KB/sec = 13784.6224 Mbps\n";
        let zero = BRIEF.replace("100.0000", "0.0000");
        let odd = BRIEF.replace("100.0000", "inf");
        let twice = BRIEF.repeat(2);
        let cases = [
            ("", "not one whole result of nuttcp: no output"),
            (interval, "not one whole result of nuttcp"),
            (sender, "not one whole result of nuttcp"),
            (BRIEF.trim_end(), "not one whole result of nuttcp"),
            (&twice, "not one whole result of nuttcp"),
            (&odd, "nuttcp's result is not understood"),
            (&zero, "nuttcp moved no data"),
            ("nuttcp-t: v6.1.2: Error: connect: Connection refused\n", "nuttcp-t: v6.1.2: Error: connect"),
        ];
        for (stdout, words) in cases {
            let reason = reading(stdout, 0).unwrap_err();
            assert!(reason.starts_with(words), "{reason}");
        }
        assert!(reading(BRIEF, 1).unwrap_err().starts_with("nuttcp failed"));
    }
}
