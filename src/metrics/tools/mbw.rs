//! Reads mbw's average of each method of copying. Single runs are not averaged here: mbw divides all data
//! by all time, and without its `AVG` lines nothing says how many runs there should be.

use std::collections::BTreeSet;

use crate::metrics::{Measurement, Metric, MetricParser, Reading, ToolOutput, Values, text};
use crate::units::{Better, Unit};

/// The mbw parser.
pub struct Mbw;

/// The rate at which memory is copied: the size of the array by the time of its copy, not twice that for
/// reading and writing.
const COPY_RATE: Metric = Metric::headline("copy_rate", Unit::BytePerSecond, Some(Better::Higher));

const MEBIBYTE: f64 = 1_048_576.0;

impl MetricParser for Mbw {
    fn tool(&self) -> &'static str {
        "mbw"
    }

    fn version_option(&self) -> Option<&'static str> {
        None
    }

    fn metrics(&self) -> Vec<Metric> {
        vec![COPY_RATE]
    }

    fn read(&self, output: ToolOutput<'_>) -> Reading {
        if output.exit_code.is_some_and(|code| code != 0) {
            return text::failed("mbw failed", output);
        }
        let stdout = text::clean(output.stdout);
        let averages = stdout.lines().filter(|line| line.starts_with("AVG"));
        let Some(measurements) = averages.map(average).collect::<Option<Vec<Measurement>>>() else {
            return text::failed("an average of mbw is not understood", output);
        };
        let methods: BTreeSet<_> = measurements.iter().map(|one| &one.labels).collect();
        if measurements.is_empty() {
            return text::failed("no average of mbw (is `-a` set?)", output);
        }
        if methods.len() < measurements.len() {
            return Reading::Failed { reason: "several averages of one method: run mbw once".to_owned() };
        }
        Reading::Ok(Values { measurements, ..Values::default() })
    }
}

/// Reads `AVG Method: MEMCPY Elapsed: 0.01079 MiB: 64.00000 Copy: 5933.251 MiB/s`, with tabs between fields.
fn average(line: &str) -> Option<Measurement> {
    let field =
        |name: &str| line.split('\t').find_map(|field| field.trim().strip_prefix(name)?.strip_prefix(": "));
    let rate = text::plain_decimal(field("Copy")?.strip_suffix(" MiB/s")?)?;
    (rate > 0.0)
        .then(|| COPY_RATE.measured(rate * MEBIBYTE).labelled("method", field("Method").unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(stdout: &str, exit_code: i32) -> Result<Vec<f64>, String> {
        let output = ToolOutput { stdout: stdout.as_bytes(), stderr: b"", exit_code: Some(exit_code) };
        match Mbw.read(output) {
            Reading::Ok(values) => Ok(values.measurements.iter().map(|one| one.value).collect()),
            Reading::Failed { reason } => Err(reason),
        }
    }

    #[test]
    fn only_whole_averages_count() {
        let run = "0\tMethod: MEMCPY\tElapsed: 0.5\tMiB: 1.0\tCopy: 2.0 MiB/s\n";
        let good = "AVG\tMethod: MEMCPY\tElapsed: 0.5\tMiB: 1.0\tCopy: 2.0 MiB/s\n";
        assert_eq!(read(&format!("{run}{good}"), 0), Ok(vec![2_097_152.0]));
        let not_understood = "an average of mbw is not understood: ";
        let cases = [
            (String::new(), "no average of mbw (is `-a` set?): no output".to_owned()),
            (run.to_owned(), format!("no average of mbw (is `-a` set?): {}", run.trim())),
            (good.replace("MiB/s\n", "MiB/"), format!("{not_understood}{}", good.replace("MiB/s\n", "MiB/"))),
            (good.replace("2.0", "2,0"), format!("{not_understood}{}", good.replace("2.0", "2,0").trim())),
            (good.replace("2.0", "0.0"), format!("{not_understood}{}", good.replace("2.0", "0.0").trim())),
            (good.repeat(2), "several averages of one method: run mbw once".to_owned()),
        ];
        for (stdout, reason) in cases {
            assert_eq!(read(&stdout, 0), Err(reason), "{stdout}");
        }
        assert_eq!(read(good, 1).map_err(|reason| reason.starts_with("mbw failed (exit code 1)")), Err(true));
    }
}
