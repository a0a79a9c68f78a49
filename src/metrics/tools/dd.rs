//! Reads dd's closing lines of GNU coreutils, busybox and BSD, in any locale that keeps their order. The
//! rate is bytes by seconds; the printed one, which is rounded and has units that differ by version, only
//! confirms that both were read right.

use crate::metrics::{Measurement, Metric, MetricParser, Reading, ToolOutput, Values, text};
use crate::units::{Better, Fixed, Unit};

/// The dd parser.
pub struct Dd;

impl MetricParser for Dd {
    fn tool(&self) -> &'static str {
        "dd"
    }

    fn metrics(&self) -> Vec<Metric> {
        vec![
            Metric::headline("throughput", Unit::BytePerSecond, Some(Better::Higher)).over(Fixed::Work),
            Metric::new("bytes", Unit::Byte, None),
            Metric::new("seconds", Unit::Second, Some(Better::Lower)),
        ]
    }

    fn read(&self, output: ToolOutput<'_>) -> Reading {
        let stderr = text::clean(output.stderr);
        let stdout = text::clean(output.stdout);
        let said = stderr.lines().chain(stdout.lines()).filter(|line| is_own_message(line));
        let (warnings, errors): (Vec<_>, Vec<_>) =
            said.filter_map(text::shown).partition(|line| line.contains("dd: warning: "));
        if let Some(reason) = errors.into_iter().next() {
            return Reading::Failed { reason };
        }
        if output.exit_code.is_some_and(|code| code != 0) {
            return text::failed("dd failed", output);
        }
        let mut summaries = summaries(&stderr);
        if summaries.is_empty() {
            summaries = self::summaries(&stdout);
        }
        let Some(last) = summaries.last() else {
            return text::failed("no closing line of dd (is `status=none` set?)", output);
        };
        match Summary::read(last) {
            Some(Summary { bytes: 0.0, .. }) => Reading::Failed { reason: "dd copied 0 bytes".to_owned() },
            Some(summary) => {
                let earlier = summaries.len() - 1;
                let earlier = (earlier > 0).then(|| format!("{earlier} earlier dd results left out"));
                let warnings = warnings.into_iter().chain(earlier).collect();
                Reading::Ok(Values { measurements: self.measured(&summary), warnings, ..Values::default() })
            }
            None => Reading::Failed {
                reason: format!("dd's closing line is not understood, set `LC_ALL=C`: {}", last.trim()),
            },
        }
    }
}

impl Dd {
    fn measured(&self, summary: &Summary) -> Vec<Measurement> {
        let values = [summary.bytes / summary.seconds, summary.bytes, summary.seconds];
        self.metrics().into_iter().zip(values).map(|(metric, value)| metric.measured(value)).collect()
    }
}

/// Whether dd itself says something: `dd: …` or `/bin/dd: …`. All but its warnings are errors, also where
/// the exit code is that of a later command.
fn is_own_message(line: &str) -> bool {
    line.split_once(": ").is_some_and(|(program, _)| program.rsplit('/').next() == Some("dd"))
}

/// Every line that follows the two lines of records (`64+0 records in`). Progress lines look the same but
/// come before them.
fn summaries(text: &str) -> Vec<&str> {
    let mut records = 0;
    let mut summaries = Vec::new();
    for line in text.lines() {
        if counts_records(line) {
            records += 1;
        } else if records >= 2 && line.contains("/s") {
            summaries.push(line);
            records = 0;
        }
    }
    summaries
}

/// Whether a line has a word like `64+0`, in whatever language the rest is.
fn counts_records(line: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let mut words = line.split_whitespace();
    words.any(|word| word.split_once('+').is_some_and(|(full, partial)| digits(full) && digits(partial)))
}

/// dd's last line, as far as its figures confirm each other.
struct Summary {
    bytes: f64,
    /// More than 0.
    seconds: f64,
}

impl Summary {
    /// Reads `N bytes (…) copied, T s, R MB/s` or BSD's `N bytes transferred in T secs (R bytes/sec)`.
    fn read(line: &str) -> Option<Self> {
        let line = line.trim();
        let (amount, duration, rate, unit) = match line.strip_suffix(" bytes/sec)") {
            Some(line) => {
                let (amount, line) = line.split_once(" transferred in ")?;
                let (duration, rate) = line.split_once(" secs (")?;
                (amount, duration, rate, "")
            }
            None => {
                let (line, rate) = split_last_field(line)?;
                let (amount, duration) = split_last_field(line)?;
                let (rate, unit) = split_number(rate.strip_suffix("B/s")?);
                let (duration, word) = split_number(duration);
                // `12 345 s`: digits were grouped with a blank.
                if word.is_empty() || word.contains(|c: char| c.is_ascii_digit()) {
                    return None;
                }
                (amount, duration, rate, unit)
            }
        };
        let amount = amount.split(|c: char| !c.is_ascii_digit()).find(|digits| !digits.is_empty())?;
        let summary = Self { bytes: amount.parse().ok()?, seconds: text::decimal(duration)? };
        (summary.seconds > 0.0 && summary.agrees_with(rate, unit)?).then_some(summary)
    }

    /// Whether the printed rate is that of bytes and seconds, to its last digit: prefixes are powers of
    /// 1000 in coreutils and of 1024 in busybox. `None` for a rate that can't be read.
    fn agrees_with(&self, rate: &str, prefix: &str) -> Option<bool> {
        let power = ["", "k", "M", "G", "T"].iter().position(|known| prefix.eq_ignore_ascii_case(known))?;
        let printed = text::decimal(rate)?;
        let decimals = rate.split_once(['.', ',']).map_or(0, |(_, decimals)| decimals.len());
        let tolerance = 1.01 * 0.1_f64.powi(i32::try_from(decimals).ok()?);
        let computed = self.bytes / self.seconds;
        let agrees = |base: f64| (computed / base.powi(power as i32) - printed).abs() <= tolerance;
        Some(agrees(1000.0) || agrees(1024.0))
    }
}

/// Splits at the last comma between fields: `, ` or a full-width one, never a decimal comma.
fn split_last_field(line: &str) -> Option<(&str, &str)> {
    let separators = [", ", "，", "、"];
    let at = separators.iter().filter_map(|separator| Some((line.rfind(separator)?, separator.len())));
    let (start, length) = at.max()?;
    Some((&line[..start], line[start + length..].trim()))
}

/// Splits a figure from the word that follows it, with or without a blank.
fn split_number(field: &str) -> (&str, &str) {
    let end = field.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ',' | 'e' | '-' | '+'));
    let (number, word) = field.split_at(end.unwrap_or(field.len()));
    (number, word.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_are_read_or_refused() {
        let cases = [
            ("512 bytes copied, 7.8767e-05 s, 6.5 MB/s", Some((512.0, 7.8767e-5))),
            ("1 byte copied, 0.0001 s, 10.0 kB/s", Some((1.0, 1e-4))),
            ("268435456 Bytes (268 MB, 256 MiB) kopiert, 12,6394 s, 21,2 MB/s", Some((268435456.0, 12.6394))),
            (
                "268435456 バイト (268 MB, 256 MiB) コピーされました、 12.6394 秒、 21.2 MB/s",
                Some((268435456.0, 12.6394)),
            ),
            (
                "skopiowano 268435456 bajtów (268 MB, 256 MiB), 12,6394 s, 21,2 MB/s",
                Some((268435456.0, 12.6394)),
            ),
            ("33554432 bytes (32.0MB) copied, 14.205133 seconds, 2.3MB/s", Some((33554432.0, 14.205133))),
            (
                "1073741824 bytes transferred in 2.500000 secs (429496729 bytes/sec)",
                Some((1073741824.0, 2.5)),
            ),
            // German for 1.234 s, not 1234 s: the rate confirms it.
            ("1234000000 Bytes (1,2 GB) kopiert, 1,234 s, 1,0 GB/s", Some((1.234e9, 1.234))),
            // Grouped digits, by a comma, a point or a blank.
            ("1234000000 bytes (1.2 GB) copied, 1,234 s, 1000 kB/s", None),
            ("1234000000 Bytes (1,2 GB) kopiert, 1.234,5 s, 1,0 MB/s", None),
            ("1234000000 octets (1,2 GB) copiés, 1 234,5 s, 1,0 MB/s", None),
            // A digit lost at the front, a rate cut off, a unit that is not known.
            ("68435456 bytes (268 MB, 256 MiB) copied, 12.6394 s, 21.2 MB/s", None),
            ("268435456 bytes (268 MB, 256 MiB) copied, 12.6394 s, 21.2 M", None),
            ("268435456 octets (268 Mo, 256 Mio) copiés, 12,6394 s, 21,2 Mo/s", None),
            ("512 bytes copied, 0 s, Infinity B/s", None),
            ("268435456 bytes copied", None),
            ("MB/s", None),
        ];
        for (line, expected) in cases {
            let summary = Summary::read(line).map(|summary| (summary.bytes, summary.seconds));
            assert_eq!(summary, expected, "{line}");
        }
    }

    fn read(stdout: &str, stderr: &str, exit_code: Option<i32>) -> Result<(f64, Vec<String>), String> {
        let output = ToolOutput { stdout: stdout.as_bytes(), stderr: stderr.as_bytes(), exit_code };
        match Dd.read(output) {
            Reading::Ok(values) => Ok((values.measurements[0].value, values.warnings)),
            Reading::Failed { reason } => Err(reason),
        }
    }

    const GOOD: &str = "1+0 records in\n1+0 records out\n1000 bytes (1.0 kB) copied, 2 s, 0.5 kB/s\n";

    #[test]
    fn the_last_result_counts() {
        let second = "3+1 records in\n3+1 records out\n1 truncated record\n900 bytes copied, 3 s, 0.3 kB/s\n";
        let warning = "dd: warning: partial read (5 bytes); suggest iflag=fullblock\n";
        let cases = [
            ("", GOOD.to_owned(), 500.0, vec![]),
            (GOOD, "real 2.0\n".to_owned(), 500.0, vec![]),
            ("", format!("{warning}{GOOD}"), 500.0, vec![warning.trim().to_owned()]),
            ("", format!("{GOOD}{second}"), 300.0, vec!["1 earlier dd results left out".to_owned()]),
        ];
        for (stdout, stderr, value, warnings) in cases {
            assert_eq!(read(stdout, &stderr, None), Ok((value, warnings)), "{stderr}");
        }
    }

    #[test]
    fn failures_have_a_reason() {
        let nothing =
            GOOD.replace("1000 bytes (1.0 kB) copied, 2 s, 0.5 kB/s", "0 bytes copied, 2 s, 0.0 kB/s");
        let error = format!("dd: error writing 'x': No space left on device\n{GOOD}");
        let odd = GOOD.replace("copied, 2 s", "copied");
        let cases = [
            ("", Some(0), "no closing line of dd (is `status=none` set?): no output"),
            (
                "1+0 records in\n1+0 records out\n",
                Some(0),
                "no closing line of dd (is `status=none` set?): 1+0 records in; 1+0 records out",
            ),
            (
                "1000 bytes (1.0 kB) copied, 2 s, 0.5 kB/s",
                Some(0),
                "no closing line of dd (is `status=none` set?): 1000 bytes (1.0 kB) copied, 2 s, 0.5 kB/s",
            ),
            ("sh: dd: not found\n", Some(127), "dd failed (exit code 127): sh: dd: not found"),
            ("/bin/dd: x: read error\n", None, "/bin/dd: x: read error"),
            (&error, Some(0), "dd: error writing 'x': No space left on device"),
            (&nothing, Some(0), "dd copied 0 bytes"),
            (
                &odd,
                None,
                "dd's closing line is not understood, set `LC_ALL=C`: 1000 bytes (1.0 kB) copied, 0.5 kB/s",
            ),
        ];
        for (stderr, exit_code, reason) in cases {
            assert_eq!(read("", stderr, exit_code), Err(reason.to_owned()), "{stderr}");
        }
    }
}
