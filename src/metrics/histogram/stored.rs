//! The form of a histogram in a record: short, sorted, and the same bytes for the same counts.

use serde::{Deserialize, Serialize};

use super::sum::Sum;
use super::values::{index_of, range_of};
use super::{Bounds, Bucket, Histogram, SumBounds};

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
        Self { min, max, sum: parts(&sum.low), sum_high, logarithmic, ranges }
    }
}

impl TryFrom<Stored> for Histogram {
    type Error = String;

    fn try_from(stored: Stored) -> Result<Self, String> {
        let mut buckets: Vec<Bucket> =
            stored.ranges.into_iter().map(|(low, high, count)| Bucket { low, high, count }).collect();
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
        let SumBounds { low, high } = SumBounds { low, high };
        Histogram::new(buckets)?.with_extremes(bounds(stored.min), bounds(stored.max))?.with_sum(low, high)
    }
}
