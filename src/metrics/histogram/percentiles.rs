//! HdrHistogram's table of percentiles, as its libraries and wrk2 print it, read as ranges. Read [`read`] first.
//!
//! Format: `outputPercentileDistribution` of HdrHistogram in Java, C and Python. Closing lines end the table:
//!
//! ```text
//!        Value   Percentile   TotalCount 1/(1-Percentile)
//!
//!       17.823     0.000000            1         1.00
//!       54.239     1.000000          976          inf
//! #[Mean    =       20.424, StdDeviation   =        3.502]
//! #[Max     =       54.208, Total count    =          976]
//! #[Buckets =           27, SubBuckets     =         2048]
//! ```

use super::scale::Scale;
use super::sum::{Sum, product};
use super::{Bounds, Bucket, Histogram};

const COLUMNS: [&str; 4] = ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"];

/// Reads the table in `text`; none where there is no such table.
///
/// The first row is the smallest value, to the precision of the histogram; the values that a later row adds
/// lie above the value of the row before and not above its own. The mean is known as printed, and to the precision that `SubBuckets` tells.
///
/// Errors: it is cut, its figures contradict each other, or there are several.
pub fn read(text: &str, scale: Scale) -> Option<Result<Histogram, String>> {
    let is_header = |line: &str| line.split_whitespace().eq(COLUMNS);
    let mut tables = text.lines().enumerate().filter(|(_, line)| is_header(line)).map(|(place, _)| place);
    let place = tables.next()?;
    if tables.next().is_some() {
        return Some(
            Err("there are several tables of percentiles: which one counts is not known".to_owned()),
        );
    }
    Some(table(text.lines().skip(place + 1), scale))
}

/// One row: so many values are at most `value`.
struct Row {
    value: f64,
    percentile: f64,
    count: u64,
}

fn table<'a>(lines: impl Iterator<Item = &'a str>, scale: Scale) -> Result<Histogram, String> {
    let mut lines = lines.map(str::trim).filter(|line| !line.is_empty()).peekable();
    let mut rows: Vec<Row> = Vec::new();
    while let Some(line) = lines.next_if(|line| !line.starts_with("#[")) {
        let row = Row::read(line).ok_or_else(|| format!("not a row of a table of percentiles: {line}"))?;
        if rows.last().is_some_and(|last| !last.is_before(&row)) {
            return Err(format!("the table of percentiles does not rise: {line}"));
        }
        rows.push(row);
    }
    let mut closing = |left, right| lines.next().and_then(|line| pair(line, left, right));
    let ends =
        (closing("Mean", "StdDeviation"), closing("Max", "Totalcount"), closing("Buckets", "SubBuckets"));
    let (Some((mean, _)), Some((max, total)), Some((_, divisions))) = ends else {
        return Err("the table of percentiles has no closing lines: it may be cut".to_owned());
    };
    let mut is_sound = max_fits(&rows, &max) && rows.last().is_some_and(|last| last.percentile == 1.0);
    is_sound &= rows.last().map(|last| last.count as f64) == Some(total.value) && divisions.value >= 2.0;
    // A row tells how many values there are up to its percentile at least.
    is_sound &= rows.iter().all(|row| row.count as f64 + 1.0 >= row.percentile * total.value * (1.0 - 1e-6));
    if !is_sound {
        return Err("the table of percentiles and its closing lines contradict each other".to_owned());
    }
    histogram(&rows, &mean, &max, 2.0 / divisions.value, scale)
}

/// Whether the largest value lies in the last row that adds some.
fn max_fits(rows: &[Row], max: &Printed) -> bool {
    let Some(last) = rows.last() else { return false };
    let below = rows.iter().rev().find(|row| row.count < last.count);
    max.value <= last.value && below.is_none_or(|below| below.value <= max.value)
}

fn histogram(
    rows: &[Row],
    mean: &Printed,
    max: &Printed,
    precision: f64,
    scale: Scale,
) -> Result<Histogram, String> {
    let mut before: Option<&Row> = None;
    let mut buckets = Vec::new();
    for row in rows {
        let [low, high] = [before.unwrap_or(row).value, row.value].map(|value| scale.apply(value));
        buckets.push(Bucket { low, high, count: row.count - before.map_or(0, |before| before.count) });
        before = Some(row);
    }
    let histogram = Histogram::new(buckets)?;
    let (count, min, top) = (histogram.count(), histogram.min().bounds, histogram.max().bounds);
    let within = mean.value * precision + mean.last_digit;
    let sums = [mean.value - within, mean.value + within]
        .map(|mean| Sum::of(product(scale.apply(mean.max(0.0)), count)));
    let [low, high] = sums;
    let max = Bounds { low: scale.apply(max.value).max(top.low).min(top.high), high: top.high };
    histogram.with_extremes(min, max)?.with_sum(low, high)
}

impl Row {
    /// `VALUE PERCENTILE TOTALCOUNT [1/(1-PERCENTILE)]`; the last is `inf` or missing at the end.
    fn read(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [value, percentile, count, rest @ ..] = fields.as_slice() else { return None };
        let (value, percentile) = (Printed::read(value)?.value, Printed::read(percentile)?.value);
        let is_end = match rest {
            [] => percentile == 1.0,
            [inverse] => matches!(*inverse, "inf" | "Infinity") || Printed::read(inverse).is_some(),
            _ => false,
        };
        (is_end && percentile <= 1.0).then_some(Self { value, percentile, count: count.parse().ok()? })
    }

    /// Whether `next` can follow: nothing falls, and more values need a larger one.
    fn is_before(&self, next: &Self) -> bool {
        let rises =
            self.percentile <= next.percentile && self.count <= next.count && self.value <= next.value;
        // Two values may be rounded to one.
        rises && (self.count < next.count || self.value == next.value)
    }
}

/// A figure as printed.
struct Printed {
    value: f64,
    /// The size of its last digit.
    last_digit: f64,
}

impl Printed {
    /// Digits with at most one decimal point.
    fn read(text: &str) -> Option<Self> {
        let is_figure = text.starts_with(|c: char| c.is_ascii_digit())
            && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let value: f64 = text.parse().ok().filter(|_| is_figure)?;
        let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        Some(Self { value, last_digit: 0.1f64.powi(decimals as i32) })
    }
}

/// The two figures of `#[LEFT = FIGURE, RIGHT = FIGURE]`, blanks in the names not counted.
fn pair(line: &str, left: &str, right: &str) -> Option<(Printed, Printed)> {
    let (one, other) = line.strip_prefix("#[")?.strip_suffix(']')?.split_once(',')?;
    let figure = |text: &str, name: &str| {
        let (key, figure) = text.split_once('=')?;
        let key: String = key.split_whitespace().collect();
        key.eq_ignore_ascii_case(name).then(|| Printed::read(figure.trim()))?
    };
    Some((figure(one, left)?, figure(other, right)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const C: &str = "Running 30s test\n  Detailed Percentile spectrum:\n       Value   Percentile   TotalCount 1/(1-Percentile)\n\n      17.823     0.000000            1         1.00\n      19.583     0.500000          494         2.00\n      20.639     0.800000          781         5.00\n      22.175     0.900000          879        10.00\n      36.223     0.990625          967       106.67\n      54.239     0.999023          976      1024.00\n      54.239     1.000000          976          inf\n#[Mean    =       20.424, StdDeviation   =        3.502]\n#[Max     =       54.208, Total count    =          976]\n#[Buckets =           27, SubBuckets     =         2048]\n----------------------------------------------------------\n  1463 requests in 30.01s, 505.35KB read\n";

    fn milliseconds(text: &str) -> Option<Result<Histogram, String>> {
        read(text, Scale::new(1e-3).unwrap())
    }

    #[test]
    fn the_table_of_wrk2_is_read_as_ranges() {
        let histogram = milliseconds(C).unwrap().unwrap();
        assert_eq!(histogram.count(), 976);
        assert_eq!((histogram.min().value, histogram.max().value), (17.823 / 1e3, 54.239 / 1e3));
        assert_eq!(histogram.max().bounds.low, 54.208 / 1e3);
        // The 488th of 976, and the 967th, which is the last of its row.
        assert_eq!(histogram.quantile(0.5).bounds, Bounds { low: 17.823 / 1e3, high: 19.583 / 1e3 });
        assert_eq!(histogram.quantile(0.99).bounds, Bounds { low: 22.175 / 1e3, high: 36.223 / 1e3 });
        let mean = histogram.mean();
        assert!((mean.value - 0.020424).abs() < 1e-9 && !mean.is_exact());
        assert!((mean.bounds.high - mean.bounds.low - 2.0 * 0.000021).abs() < 2e-6, "{mean:?}");
    }

    #[test]
    fn a_table_that_contradicts_itself_is_refused() {
        for (from, to) in [
            ("          976]", "          977]"),
            ("54.208,", "55.208,"),
            ("54.208,", "36.208,"),
            ("781", "493"),
            ("781", "1781"),
            ("20.639 ", "18.639 "),
            ("         781", "         494"),
            ("19.583     0.500000          494", "19.583     0.500000          394"),
            ("20.424", "200.424"),
            ("20.424", "nan"),
            ("20.639", "20,639"),
            ("2048]", "0]"),
            ("2048]", "2048"),
        ] {
            let text = C.replacen(from, to, 1);
            assert_ne!(text, C, "{from}");
            assert!(milliseconds(&text).unwrap().is_err(), "{from} -> {to}");
        }
        assert!(milliseconds(&format!("{C}{C}")).unwrap().unwrap_err().contains("several"));
        assert!(milliseconds("Value Percentile\n").is_none());
    }

    #[test]
    fn a_cut_table_gives_the_same_or_nothing() {
        let whole = milliseconds(C).unwrap().unwrap();
        for end in 0..C.len() {
            if let Some(Ok(cut)) = milliseconds(&C[..end]) {
                assert_eq!(cut, whole, "cut at {end}");
                assert!(C[..end].contains("2048]"));
            }
        }
    }
}
