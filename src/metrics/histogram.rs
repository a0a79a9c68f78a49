//! The distribution of many values as counts: latencies of single messages, not of trials. Histograms merge
//! by their counts, and percentiles come from the merged counts; they are never averaged. It knows no file
//! and no tool; read [`Histogram`] first.
//!
//! `ranges`, `percentiles`, `hdr` and `values` read what programs write. Each of them takes the text as a
//! whole: whether an output came in full is for the caller to know where the format has no end mark.

pub mod hdr;
mod measured;
mod percentiles;
pub mod ranges;
mod rank;
mod scale;
mod stored;
mod sum;
pub mod values;

use serde::{Deserialize, Serialize};

pub use measured::{PERCENTILES, measurements, names, warnings};
pub use rank::{rank, smallest_count};

use stored::Stored;
use sum::{Sum, product};

/// More values than this are not counted: a larger number is no longer whole as a float.
const MOST: u64 = 1 << 53;

/// Values beyond these are no measurements; within them no sum overflows, and no part of it gets lost.
const SIZES: std::ops::RangeInclusive<f64> = 1e-250..=1e250;

/// Where a number lies: at least `low`, at most `high`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// A figure of a histogram in the unit of its values, and between which bounds it is known to lie.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The figure that is reported.
    pub value: f64,
    /// What the counts leave open; both ends are equal where they leave nothing open.
    pub bounds: Bounds,
}

/// So many values, each of them at least `low` and at most `high`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bucket {
    /// The smallest value that may be in it, at least 0.
    pub low: f64,
    /// The largest value that may be in it; `low` where all its values are equal.
    pub high: f64,
    /// The number of values.
    pub count: u64,
}

/// Counts over values that are not negative, in base units. It holds at least one value.
///
/// One representation for every source: buckets, which may overlap after a merge, and what else is known of
/// the values: between which bounds their minimum, maximum and sum lie. [`Histogram::merge`] is exact, so it
/// may be done in any order, before or after a histogram was written and read back, with the same bytes.
/// Its JSON is an object: `min` and `max` as `[low, high]`; `sum`, whose parts add up to the sum exactly, and
/// `sum_high` where only bounds of the sum are known; `logarithmic`, the counts of the buckets of [`values`]
/// from index 0 on, a negative number skipping as many empty ones; `ranges`, all other buckets as
/// `[low, high, count]`, or in `whole` where there are many whose ends are whole numbers divided by
/// `divisor`: for each, from the end of the one before to its begin, its width, and its count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Histogram {
    /// In the order of `low`, then of `high`; no two have both alike, and none is empty.
    buckets: Vec<Bucket>,
    min: Bounds,
    max: Bounds,
    sum: SumBounds,
}

/// The sum of all values lies between these; they are equal where every value was added up.
#[derive(Debug, Clone, PartialEq)]
struct SumBounds {
    low: Sum,
    high: Sum,
}

impl Bounds {
    /// Both ends at `value`.
    fn at(value: f64) -> Self {
        Self { low: value, high: value }
    }

    /// Whether the two have a number in common.
    fn meets(&self, other: &Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }
}

impl Estimate {
    /// Whether the figure is known without doubt, but for its last bit.
    pub fn is_exact(&self) -> bool {
        self.bounds.low == self.bounds.high
    }
}

impl Histogram {
    /// From buckets in any order; empty ones are left out, and equal ones become one. Minimum, maximum and
    /// sum are known as far as the buckets tell.
    ///
    /// Errors: no value at all or more than 2^53, a bound that is negative or not finite, `low` above `high`.
    pub fn new(buckets: Vec<Bucket>) -> Result<Self, String> {
        if let Some(bad) = buckets.iter().find(|bucket| !bucket.is_valid()) {
            return Err(format!("no range of values: {} to {}", bad.low, bad.high));
        }
        let buckets = combined(buckets);
        if total(&buckets) > MOST {
            return Err(format!("more than {MOST} values were counted"));
        }
        let [lows, highs]: [fn(&Bucket) -> f64; 2] = [|bucket| bucket.low, |bucket| bucket.high];
        let least = |end| buckets.iter().map(end).reduce(f64::min);
        let most = |end| buckets.iter().map(end).reduce(f64::max);
        let ends = [least(lows), least(highs), most(lows), most(highs)];
        let [Some(min_low), Some(min_high), Some(max_low), Some(max_high)] = ends else {
            return Err("no value was counted".to_owned());
        };
        let total = |end: fn(&Bucket) -> f64| {
            Sum::of(buckets.iter().flat_map(|bucket| product(end(bucket), bucket.count)))
        };
        let sum = SumBounds { low: total(lows), high: total(highs) };
        let (min, max) = (Bounds { low: min_low, high: min_high }, Bounds { low: max_low, high: max_high });
        Ok(Self { buckets, min, max, sum })
    }

    /// The same, where more is known of the smallest and the largest value than the buckets tell.
    ///
    /// Errors: they don't lie in the first and the last buckets.
    fn with_extremes(self, min: Bounds, max: Bounds) -> Result<Self, String> {
        for (what, own, known) in [("smallest", self.min, min), ("largest", self.max, max)] {
            if !(own.low <= known.low && known.low <= known.high && known.high <= own.high) {
                return Err(format!("the {what} value, {}, is not where the counts are", known.low));
            }
        }
        Ok(Self { min, max, ..self })
    }

    /// The same, where more is known of the sum than the buckets tell.
    ///
    /// Errors: the counts rule it out.
    fn with_sum(self, low: Sum, high: Sum) -> Result<Self, String> {
        let bounds = |low: &Sum, high: &Sum| Bounds { low: low.value(), high: high.value() };
        let (own, known) = (bounds(&self.sum.low, &self.sum.high), bounds(&low, &high));
        if known.low <= known.high && own.meets(&known) {
            return Ok(Self { sum: SumBounds { low, high }, ..self });
        }
        let mean = self.mean().bounds;
        let said = known.low / self.count() as f64;
        Err(format!("the mean, {said}, is not between {} and {} as the counts say", mean.low, mean.high))
    }

    /// Replaces the one bucket from `low` to `high` by its parts, as a listing gives them that opens its
    /// fullest range a second time.
    ///
    /// Errors: there is no such bucket; the parts leave it, or their counts don't add up to its count.
    pub fn open(&mut self, low: f64, high: f64, parts: &[Bucket]) -> Result<(), String> {
        let Some(place) = self.buckets.iter().position(|bucket| bucket.low == low && bucket.high == high)
        else {
            return Err(format!("there is no range from {low} to {high} to open"));
        };
        if let Some(part) = parts.iter().find(|part| !part.is_valid() || part.low < low || part.high > high) {
            return Err(format!("{} to {} is not within {low} to {high}", part.low, part.high));
        }
        let (count, added) = (self.buckets[place].count, total(parts));
        if count != added {
            return Err(format!("the parts of {low} to {high} hold {added} values, and it holds {count}"));
        }
        let mut buckets = self.buckets.clone();
        buckets.splice(place..=place, parts.iter().copied());
        *self = Self::new(buckets)?;
        Ok(())
    }

    /// Adds the values of `other`.
    pub fn merge(&mut self, other: &Self) {
        let buckets = std::mem::take(&mut self.buckets);
        self.buckets = combined(buckets.into_iter().chain(other.buckets.iter().copied()).collect());
        let joined = |one: Bounds, other: Bounds, choice: fn(f64, f64) -> f64| Bounds {
            low: choice(one.low, other.low),
            high: choice(one.high, other.high),
        };
        self.min = joined(self.min, other.min, f64::min);
        self.max = joined(self.max, other.max, f64::max);
        self.sum =
            SumBounds { low: self.sum.low.plus(&other.sum.low), high: self.sum.high.plus(&other.sum.high) };
    }

    /// The buckets in the order of their lower ends; none is empty.
    pub fn buckets(&self) -> &[Bucket] {
        &self.buckets
    }

    /// The number of values, at least 1.
    pub fn count(&self) -> u64 {
        total(&self.buckets)
    }

    /// The smallest value; where only its range is known, the lower end: no value is below it.
    pub fn min(&self) -> Estimate {
        Estimate { value: self.min.low, bounds: self.min }
    }

    /// The largest value; where only its range is known, the upper end: no value is above it.
    pub fn max(&self) -> Estimate {
        Estimate { value: self.max.high, bounds: self.max }
    }

    /// The arithmetic mean: exact where every value was added up; else in the middle of its bounds, which is
    /// the mean of the middles of the buckets where nothing more is known.
    pub fn mean(&self) -> Estimate {
        let count = self.count() as f64;
        let SumBounds { low, high } = &self.sum;
        let value = match low == high {
            true => low.value() / count,
            false => low.plus(high).value() / 2.0 / count,
        };
        Estimate { value, bounds: Bounds { low: low.value() / count, high: high.value() / count } }
    }

    /// The smallest value that at least the part `q` (0 to 1) of all values do not exceed, without
    /// interpolation. Its bucket gives its bounds; the figure is the middle between them.
    pub fn quantile(&self, q: f64) -> Estimate {
        let bounds = self.at_rank(rank(self.count(), q));
        Estimate { value: bounds.low + (bounds.high - bounds.low) / 2.0, bounds }
    }

    /// The 95 % interval of the `q` quantile of what was sampled, between two order statistics by the
    /// binomial distribution, as wide as their buckets make it. None where there are too few values
    /// ([`smallest_count`]). It holds for independent values; values that follow each other, as latencies do
    /// under load, are less sure than it says.
    pub fn interval(&self, q: f64) -> Option<Bounds> {
        let (low, high) = rank::interval(self.count(), q)?;
        Some(Bounds { low: self.at_rank(low).low, high: self.at_rank(high).high })
    }

    /// Where the value of a rank, from 1 to the count, lies. As many values are at most there as have their
    /// lower ends there, and at least there as have their upper ends there; so overlapping buckets are right too.
    fn at_rank(&self, rank: u64) -> Bounds {
        let end = |ends: &mut dyn Iterator<Item = (f64, u64)>| {
            let mut passed = 0u64;
            let mut last = 0.0;
            for (end, count) in ends {
                passed = passed.saturating_add(count);
                last = end;
                if passed >= rank {
                    break;
                }
            }
            last
        };
        let low = end(&mut self.buckets.iter().map(|bucket| (bucket.low, bucket.count)));
        let mut highs: Vec<(f64, u64)> =
            self.buckets.iter().map(|bucket| (bucket.high, bucket.count)).collect();
        highs.sort_by(|one, other| one.0.total_cmp(&other.0));
        let high = end(&mut highs.into_iter());
        Bounds { low: low.max(self.min.low), high: high.min(self.max.high) }
    }
}

impl Bucket {
    /// A bucket may begin a little below its smallest value and end a little above its largest.
    fn is_valid(&self) -> bool {
        let is_end = |end: f64| end == 0.0 || is_size(end) || is_size(end * 2.0) || is_size(end / 2.0);
        is_end(self.low) && is_end(self.high) && self.low <= self.high
    }
}

/// Whether a value can be kept: 0, or a number that is not negative and of a size that is measured anywhere.
fn is_size(value: f64) -> bool {
    value == 0.0 || SIZES.contains(&value)
}

/// The number of values in `buckets`.
fn total(buckets: &[Bucket]) -> u64 {
    buckets.iter().fold(0u64, |sum, bucket| sum.saturating_add(bucket.count))
}

/// Sorted, without empty buckets, those with equal ends added up.
fn combined(mut buckets: Vec<Bucket>) -> Vec<Bucket> {
    buckets.retain(|bucket| bucket.count > 0);
    for bucket in &mut buckets {
        // One zero, not two.
        (bucket.low, bucket.high) = (bucket.low + 0.0, bucket.high + 0.0);
    }
    buckets.sort_by(|one, other| one.low.total_cmp(&other.low).then_with(|| one.high.total_cmp(&other.high)));
    buckets.dedup_by(|next, kept| {
        let is_same = next.low == kept.low && next.high == kept.high;
        if is_same {
            kept.count = kept.count.saturating_add(next.count);
        }
        is_same
    });
    buckets
}

#[cfg(test)]
mod tests;
