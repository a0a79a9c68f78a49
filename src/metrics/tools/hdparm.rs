//! Reads hdparm's timings of one device (`-t`, `-T`, also with `--direct`). Its MB are of 1048576 bytes and
//! its kB of 1024, as in `hdparm.c`: amounts are counted in buffers of 2 * 1024 * 1024 bytes.

use crate::metrics::{Measurement, Metric, MetricParser, Reading, ToolOutput, Values, text};
use crate::units::{Better, Unit};

/// The hdparm parser.
pub struct Hdparm;

const fn rate(name: &'static str) -> Metric {
    Metric::headline(name, Unit::BytePerSecond, Some(Better::Higher))
}

/// What is timed, by the words at the start of its line. `cached` never leaves memory; `buffered` comes
/// from the device by way of the page cache, `direct` without it.
const TIMINGS: [(&str, Metric); 4] = [
    ("Timing cached reads:", rate("cached_read_rate")),
    ("Timing buffered disk reads:", rate("buffered_read_rate")),
    ("Timing O_DIRECT cached reads:", rate("direct_cached_read_rate")),
    ("Timing O_DIRECT disk reads:", rate("direct_read_rate")),
];

impl MetricParser for Hdparm {
    fn tool(&self) -> &'static str {
        "hdparm"
    }

    fn version_option(&self) -> Option<&'static str> {
        Some("-V")
    }

    fn metrics(&self) -> Vec<Metric> {
        TIMINGS.into_iter().map(|(_, metric)| metric).collect()
    }

    fn read(&self, output: ToolOutput<'_>) -> Reading {
        // Without its flush, what is timed is memory: such words count whatever the exit code is.
        let stderr = text::clean(output.stderr);
        if let Some(reason) = stderr.lines().find(|line| is_error(line)).and_then(text::shown) {
            return Reading::Failed { reason };
        }
        if output.exit_code.is_some_and(|code| code != 0) {
            return text::failed("hdparm failed", output);
        }
        let stdout = text::clean(output.stdout);
        let timings = stdout.lines().map(str::trim).filter(|line| line.starts_with("Timing "));
        let Some(measurements) = timings.map(timing).collect::<Option<Vec<Measurement>>>() else {
            return text::failed("a timing of hdparm is not understood", output);
        };
        let repeats =
            |one: &Measurement| measurements.iter().filter(|other| other.name == one.name).count() > 1;
        if measurements.is_empty() {
            return text::failed("no timing of hdparm", output);
        }
        if measurements.iter().any(repeats) {
            return Reading::Failed { reason: "several timings of one kind: time one device".to_owned() };
        }
        let warnings = stderr.lines().filter_map(text::shown).take(5).collect();
        Reading::Ok(Values { measurements, warnings, ..Values::default() })
    }
}

/// Whether hdparm says that something failed: `BLKFLSBUF failed: …`, `read() hit EOF - device too small`.
fn is_error(line: &str) -> bool {
    line.contains(" failed: ") || line.contains("() failed") || line.contains("hit EOF")
}

/// Reads `Timing cached reads:   32746 MB in  1.99 seconds = 16424.11 MB/sec`.
fn timing(line: &str) -> Option<Measurement> {
    let (metric, figures) =
        TIMINGS.into_iter().find_map(|(words, metric)| Some((metric, line.strip_prefix(words)?)))?;
    let words: Vec<&str> = figures.split_whitespace().collect();
    let [amount, "MB", "in", seconds, "seconds", "=", rate, unit] = words.as_slice() else { return None };
    let factor = match *unit {
        "MB/sec" => 1_048_576.0,
        "kB/sec" => 1024.0,
        _ => return None,
    };
    let [amount, seconds, rate] = [amount, seconds, rate].map(|figure| text::plain_decimal(figure));
    let is_measured = amount? > 0.0 && seconds? > 0.0 && rate? > 0.0;
    is_measured.then_some(metric.measured(rate? * factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(stdout: &str, stderr: &str, exit_code: i32) -> Result<Vec<(String, f64)>, String> {
        let (stdout, stderr) = (stdout.as_bytes(), stderr.as_bytes());
        let output = ToolOutput { stdout, stderr, exit_code: Some(exit_code) };
        match Hdparm.read(output) {
            Reading::Ok(values) => {
                Ok(values.measurements.into_iter().map(|one| (one.name, one.value)).collect())
            }
            Reading::Failed { reason } => Err(reason),
        }
    }

    #[test]
    fn timings_are_read_or_refused() {
        let slow = " Timing O_DIRECT disk reads:   4 MB in  4.10 seconds = 999.02 kB/sec\n";
        assert_eq!(read(slow, "", 0), Ok(vec![("direct_read_rate".to_owned(), 999.02 * 1024.0)]));
        let not_understood = |line: &str| format!("a timing of hdparm is not understood: {}", line.trim());
        let cases = [
            slow.replace("kB/sec", "kB/se"),
            slow.replace("kB/sec", "GB/sec"),
            slow.replace("999.02", "999,02"),
            slow.replace("999.02", "0.00"),
            slow.replace("disk reads", "other reads"),
            " Timing buffered disk reads: ".to_owned(),
        ];
        for line in cases {
            assert_eq!(read(&line, "", 0), Err(not_understood(&line)), "{line}");
        }
        assert_eq!(read("\n/dev/sda:\n", "", 0), Err("no timing of hdparm: /dev/sda:".to_owned()));
        assert_eq!(
            read(&slow.repeat(2), "", 0),
            Err("several timings of one kind: time one device".to_owned())
        );
        assert_eq!(
            read(slow, "", 5).map_err(|reason| reason.starts_with("hdparm failed (exit code 5)")),
            Err(true)
        );
        let unflushed = "BLKFLSBUF failed: Permission denied";
        assert_eq!(read(slow, unflushed, 0), Err(unflushed.to_owned()));
    }
}
