//! Intervals of any statistic by drawing samples anew (Efron & Tibshirani 1993): for ratios, means of skewed values and
//! others that have no formula. For the median of few values take order statistics.

use statrs::distribution::{ContinuousCDF, Normal};

use super::descriptive::{mean, quantile};
use super::interval::Interval;
use super::refusal::{Refusal, check, check_part, finite, sorted};
use super::resample::{Resampling, replicates};

/// What drawing samples anew tells of a statistic.
#[derive(Debug, Clone, PartialEq)]
pub struct Bootstrap {
    /// The statistic of the samples as they are.
    pub estimate: f64,
    /// The bias correction z0, in standard deviations of the normal distribution.
    pub bias: f64,
    /// The acceleration a: how fast the standard error changes with the statistic.
    pub acceleration: f64,
    /// The statistics of the samples drawn, in ascending order.
    replicates: Vec<f64>,
}

/// Draws samples anew from one sample. Refused below 2 values, and where the statistic is the same whatever is drawn, or is
/// beyond all that is drawn.
pub fn bootstrap(
    sample: &[f64],
    statistic: impl Fn(&[f64]) -> f64,
    resampling: Resampling,
) -> Result<Bootstrap, Refusal> {
    bootstrap_all(&[sample], &|samples| statistic(samples[0]), resampling)
}

/// The same of a statistic of two samples that are not paired, each drawn from by itself.
pub fn bootstrap_two(
    x: &[f64],
    y: &[f64],
    statistic: impl Fn(&[f64], &[f64]) -> f64,
    resampling: Resampling,
) -> Result<Bootstrap, Refusal> {
    bootstrap_all(&[x, y], &|samples| statistic(samples[0], samples[1]), resampling)
}

fn bootstrap_all(
    samples: &[&[f64]],
    statistic: &dyn Fn(&[&[f64]]) -> f64,
    resampling: Resampling,
) -> Result<Bootstrap, Refusal> {
    samples.iter().try_for_each(|sample| check(sample, 2))?;
    let estimate = finite(statistic(samples))?;
    let replicates = sorted(&replicates(samples, statistic, resampling)?);
    let (low, high) = (replicates[0], replicates[replicates.len() - 1]);
    if low == high {
        return Err(Refusal::Constant);
    }
    // A replicate of the estimate's own value differs from it in the last bits, by the order of its sum.
    let tolerance = 1e-12 * low.abs().max(high.abs());
    let below = replicates.partition_point(|value| *value < estimate - tolerance);
    let up_to = replicates.partition_point(|value| *value <= estimate + tolerance);
    let part = (below + up_to) as f64 / (2 * replicates.len()) as f64;
    let bias = finite(Normal::standard().inverse_cdf(part))?;
    Ok(Bootstrap { estimate, bias, acceleration: acceleration(samples, statistic)?, replicates })
}

/// By leaving out one value after the other: Σ d³ / 6 (Σ d²)^1.5, each sample weighing by its size (Davison & Hinkley
/// 1997, §5.3); 0 where that changes nothing.
fn acceleration(samples: &[&[f64]], statistic: &dyn Fn(&[&[f64]]) -> f64) -> Result<f64, Refusal> {
    let mut influences: Vec<f64> = Vec::new();
    for (place, sample) in samples.iter().enumerate() {
        let without = (0..sample.len()).map(|out| {
            let rest = [&sample[..out], &sample[out + 1..]].concat();
            let mut left = samples.to_vec();
            left[place] = &rest;
            finite(statistic(&left))
        });
        let without: Vec<f64> = without.collect::<Result<_, _>>()?;
        let (middle, size) = (mean(&without), sample.len() as f64);
        influences.extend(without.iter().map(|value| (size - 1.0) * (middle - value) / size));
    }
    let largest = finite(influences.iter().fold(0.0, |largest: f64, d| largest.max(d.abs())))?;
    if largest == 0.0 {
        return Ok(0.0);
    }
    // The scale drops out; without it neither cubes nor squares leave the range of floats.
    let power = |power| influences.iter().map(|d| (d / largest).powi(power)).sum::<f64>();
    finite(power(3) / (6.0 * power(2).powf(1.5)))
}

impl Bootstrap {
    /// The standard deviation of the statistics of the samples drawn.
    pub fn standard_error(&self) -> f64 {
        let middle = mean(&self.replicates);
        let squares: Vec<f64> = self.replicates.iter().map(|value| (value - middle).powi(2)).collect();
        mean(&squares).sqrt()
    }

    /// The interval between two quantiles of the statistics drawn: biased, and too narrow for few values.
    pub fn percentile_interval(&self, level: f64) -> Result<Interval, Refusal> {
        check_part("level", level)?;
        let tail = (1.0 - level) / 2.0;
        let end = |q| finite(quantile(&self.replicates, q));
        Ok(Interval { low: end(tail)?, high: end(1.0 - tail)? })
    }

    /// The interval with both corrections, BCa (Efron 1987): the quantiles at Φ(z0 + (z0 + z) / (1 − a (z0 + z))).
    pub fn interval(&self, level: f64) -> Result<Interval, Refusal> {
        check_part("level", level)?;
        let normal = Normal::standard();
        let half = normal.inverse_cdf(0.5 + level / 2.0);
        let end = |z: f64| {
            let moved = self.bias + z;
            let room = 1.0 - self.acceleration * moved;
            // Beyond its pole the correction turns round.
            if room <= 0.0 {
                return Err(Refusal::Unbounded);
            }
            finite(quantile(&self.replicates, normal.cdf(self.bias + moved / room)))
        };
        Ok(Interval { low: end(-half)?, high: end(half)? })
    }
}

#[cfg(test)]
pub(super) mod tests;
