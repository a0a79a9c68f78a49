//! The form of a histogram in a record: short, sorted, and the same bytes for the same counts.

use serde::{Deserialize, Serialize};

use super::sum::Sum;
use super::values::{index_of, range_of};
use super::{Bounds, Bucket, Histogram};

/// See [`Histogram`], whose JSON this is.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stored {
    min: [f64; 2],
    max: [f64; 2],
    sum: Vec<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sum_high: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    logarithmic: Vec<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ranges: Vec<(f64, f64, u64)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    whole: Option<Whole>,
}

/// Ranges whose ends are whole numbers of a unit, as those of HdrHistogram are.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Whole {
    /// How many of that unit a base unit has.
    divisor: u64,
    /// For each range how far it begins behind the end of the one before, its width, and its count.
    ranges: Vec<i64>,
}

/// From so many ranges on they are written as [`Whole`] where they can be; fewer are for people to read.
const MANY: usize = 64;

/// In how many parts base units are divided.
const DIVISORS: [u64; 5] = [1, 1_000, 1_000_000, 1_000_000_000, 1_000_000_000_000];

impl Whole {
    /// None where an end is no whole number, to its last bit, by any of [`DIVISORS`].
    fn of(ranges: &[(f64, f64, u64)]) -> Option<Self> {
        let is_whole = |end: f64, divisor: f64| {
            let number = (end * divisor).round();
            number < 2f64.powi(53) && number / divisor == end
        };
        let divisor = DIVISORS.into_iter().find(|divisor| {
            let divisor = *divisor as f64;
            ranges.iter().all(|(low, high, _)| is_whole(*low, divisor) && is_whole(*high, divisor))
        })?;
        let mut last = 0;
        let steps = ranges.iter().flat_map(|(low, high, count)| {
            let [low, high] = [low, high].map(|end| (end * divisor as f64).round() as i64);
            let begin = low - std::mem::replace(&mut last, high);
            [begin, high - low, *count as i64]
        });
        Some(Self { divisor, ranges: steps.collect() })
    }

    /// Errors: it was not written by [`Whole::of`].
    fn buckets(&self) -> Result<Vec<Bucket>, String> {
        let mut last = 0i64;
        let bucket = |steps: &[i64]| {
            let [begin, width, count] = *steps else { return None };
            let low = last.checked_add(begin)?;
            last = low.checked_add(width)?;
            let [low, high] = [low, last].map(|end| end as f64 / self.divisor as f64);
            Some(Bucket { low, high, count: u64::try_from(count).ok()? })
        };
        let buckets: Option<Vec<Bucket>> = self.ranges.chunks(3).map(bucket).collect();
        buckets.ok_or_else(|| "`whole` holds no ranges".to_owned())
    }
}

impl From<Histogram> for Stored {
    fn from(histogram: Histogram) -> Self {
        let Histogram { buckets, min, max, sum } = histogram;
        let mut logarithmic = Vec::new();
        let mut ranges = Vec::new();
        let mut next = 0;
        for bucket in buckets {
            let Some(index) = index_of(&bucket) else {
                ranges.push((bucket.low, bucket.high, bucket.count));
                continue;
            };
            if index > next {
                logarithmic.push(-((index - next) as i64));
            }
            logarithmic.push(bucket.count as i64);
            next = index + 1;
        }
        let parts = |sum: &Sum| sum.parts().to_vec();
        let sum_high = (sum.low != sum.high).then(|| parts(&sum.high));
        let (min, max) = ([min.low, min.high], [max.low, max.high]);
        let whole = (ranges.len() >= MANY).then(|| Whole::of(&ranges)).flatten();
        if whole.is_some() {
            ranges.clear();
        }
        Self { min, max, sum: parts(&sum.low), sum_high, logarithmic, ranges, whole }
    }
}

impl TryFrom<Stored> for Histogram {
    type Error = String;

    fn try_from(stored: Stored) -> Result<Self, String> {
        let mut buckets: Vec<Bucket> =
            stored.ranges.into_iter().map(|(low, high, count)| Bucket { low, high, count }).collect();
        if let Some(whole) = stored.whole {
            buckets.extend(whole.buckets()?);
        }
        let mut next = 0usize;
        for count in stored.logarithmic {
            let step = usize::try_from(count.unsigned_abs()).map_err(|error| error.to_string())?;
            if count < 0 {
                next = next.saturating_add(step);
                continue;
            }
            let range = range_of(next).ok_or("`logarithmic` goes on behind the last bucket")?;
            buckets.push(Bucket { count: count.unsigned_abs(), ..range });
            next += 1;
        }
        let bounds = |[low, high]: [f64; 2]| Bounds { low, high };
        let sums = [Some(&stored.sum), stored.sum_high.as_ref()];
        if sums.iter().flatten().any(|parts| parts.iter().any(|part| !part.is_finite())) {
            return Err("`sum` is not finite".to_owned());
        }
        let low = Sum::of(stored.sum);
        let high = stored.sum_high.map_or_else(|| low.clone(), Sum::of);
        Histogram::new(buckets)?.with_extremes(bounds(stored.min), bounds(stored.max))?.with_sum(low, high)
    }
}
