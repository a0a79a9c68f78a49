//! The lines of a sysbench report, found by their labels. A label that stands there twice gives nothing: which
//! of both is meant can't be known.

use crate::metrics::text;

/// How many of sysbench's own complaints are shown.
const COMPLAINTS: usize = 5;

/// The whole lines of an output, trimmed.
pub struct Report<'a> {
    lines: Vec<&'a str>,
}

impl<'a> Report<'a> {
    /// The lines of cleaned text.
    pub fn new(text: &'a str) -> Self {
        Self { lines: text::whole_lines(text).map(str::trim).collect() }
    }

    /// How many reports are complete: every figure stands before the sum of latencies (1.0 and later) or the
    /// fairness of threads (before).
    pub fn completions(&self) -> usize {
        let count = |label: &str| {
            let is_label =
                |line: &&&str| line.strip_prefix(label).is_some_and(|rest| !rest.trim().is_empty());
            self.lines.iter().filter(is_label).count()
        };
        count("sum:").max(count("execution time (avg/stddev):"))
    }

    /// Whether reports are, or were to be, of parts of the run.
    pub fn has_checkpoints(&self) -> bool {
        let is_one =
            |line: &&str| line.starts_with("Report checkpoint(s)") || line.ends_with("Checkpoint report:");
        self.lines.iter().any(is_one)
    }

    /// The only line that `is_wanted`.
    pub fn line(&self, is_wanted: impl Fn(&str) -> bool) -> Option<&'a str> {
        let mut wanted = self.lines.iter().copied().filter(|line| is_wanted(line));
        wanted.next().filter(|_| wanted.next().is_none())
    }

    /// What follows `label` on the only line that begins with it.
    pub fn after(&self, label: &str) -> Option<&'a str> {
        self.line(|line| line.starts_with(label))?.strip_prefix(label).map(str::trim)
    }

    /// The bare number behind `label`.
    pub fn number(&self, label: &str) -> Option<f64> {
        text::plain_decimal(self.after(label)?)
    }

    /// A count and its rate: `1294   (129.30 per sec.)`, `2048 (29159.11 per second)`, `10 (5.00 ops/sec)`.
    pub fn counted(&self, label: &str) -> Option<(f64, f64)> {
        let (count, rate) = self.after(label)?.strip_suffix(')')?.split_once('(')?;
        let rate = rate.split_whitespace().next()?;
        Some((text::plain_decimal(count.trim())?, text::plain_decimal(rate)?))
    }

    /// The time of the run in seconds; none where it is too short for the four decimals printed.
    pub fn seconds(&self) -> Option<f64> {
        let printed = self.after("total time:").or_else(|| self.after("time elapsed:"))?;
        text::plain_decimal(printed.strip_suffix('s')?).filter(|seconds| *seconds > 0.0)
    }

    /// A latency in seconds: before 1.0 its unit follows it, later it stands in the headline.
    pub fn latency(&self, printed: &str) -> Option<f64> {
        let milliseconds = |number| text::plain_decimal(number).map(|value| value / 1000.0);
        match (printed.strip_suffix("ms"), printed.strip_suffix('s')) {
            (Some(number), _) => milliseconds(number),
            (None, Some(number)) => text::plain_decimal(number),
            _ => self.after("Latency (ms):").and_then(|_| milliseconds(printed)),
        }
    }

    /// The percentile that was asked for and its latency in seconds: `95th percentile: 0.29` or
    /// `approx.  95 percentile: 0.29ms`.
    pub fn percentile(&self) -> Option<(&'a str, f64)> {
        let (name, latency) = self.line(|line| line.contains("percentile:"))?.split_once("percentile:")?;
        let name = name.trim().trim_start_matches("approx.").trim_end_matches("th").trim();
        let is_number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then_some(name).zip(self.latency(latency.trim()))
    }

    /// A size in bytes behind `label`: `16KiB`, `16Kb` and `16K` are 16384.
    pub fn size(&self, label: &str) -> Option<f64> {
        let printed = self.after(label)?;
        let (number, unit) =
            printed.split_at(printed.find(|c: char| c.is_alphabetic()).unwrap_or(printed.len()));
        let power = match unit {
            "" | "b" | "B" => 0,
            "K" | "Kb" | "KiB" => 1,
            "M" | "Mb" | "MiB" => 2,
            "G" | "Gb" | "GiB" => 3,
            _ => return None,
        };
        Some(text::plain_decimal(number)? * 1024_f64.powi(power)).filter(|size| *size > 0.0)
    }

    /// The version, as the first line gives it: `sysbench 1.0.20 (using …)`, `sysbench 0.4.12:  …`.
    pub fn version(&self) -> Option<String> {
        let after =
            |line: &&'a str| line.strip_prefix("sysbench ").and_then(|rest| rest.split_whitespace().next());
        let version = self.lines.iter().find_map(after)?.trim_end_matches(':');
        version.starts_with(|c: char| c.is_ascii_digit()).then(|| format!("sysbench {version}"))
    }

    /// What sysbench itself complained of without giving up.
    pub fn complaints(&self) -> Vec<String> {
        let is_complaint = |line: &&&str| {
            line.starts_with("WARNING:")
                || line.starts_with("ALERT:")
                || line.contains("unfinished transactions")
        };
        self.lines.iter().filter(is_complaint).filter_map(|line| text::shown(line)).take(COMPLAINTS).collect()
    }
}
