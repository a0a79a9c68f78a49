//! How values lie about their middle: robust widths, and the shape of the distribution.

use super::descriptive::{mean, quantile};
use super::refusal::{Refusal, check, finite, sorted};

/// By this a median absolute deviation is a standard deviation where the values are normal: 1 / Φ⁻¹(3/4).
pub const NORMAL_SCALE: f64 = 1.482_602_218_505_602;

/// The median of the distances from the median (Hampel 1974); times [`NORMAL_SCALE`] a robust standard deviation.
/// Refused without values.
pub fn median_absolute_deviation(sample: &[f64]) -> Result<f64, Refusal> {
    check(sample, 1)?;
    let median = quantile(&sorted(sample), 0.5);
    let distances: Vec<f64> = sample.iter().map(|value| (value - median).abs()).collect();
    finite(quantile(&sorted(&distances), 0.5))
}

/// The distance between the quartiles, by interpolation (type 7). Refused without values.
pub fn interquartile_range(sample: &[f64]) -> Result<f64, Refusal> {
    check(sample, 1)?;
    let sorted = sorted(sample);
    finite(quantile(&sorted, 0.75) - quantile(&sorted, 0.25))
}

/// The skewness g1 (Fisher 1930), without unit: above 0 where the upper tail is the longer. Refused below 3 values and where they
/// do not vary.
pub fn skewness(sample: &[f64]) -> Result<f64, Refusal> {
    let scale = moment(sample, 2)?;
    finite(moment(sample, 3)? / scale.powf(1.5))
}

/// The excess kurtosis g2 (Fisher 1930), without unit: 0 for normal values, above where the tails are heavier. Refused like
/// [`skewness`].
pub fn excess_kurtosis(sample: &[f64]) -> Result<f64, Refusal> {
    let scale = moment(sample, 2)?;
    finite(moment(sample, 4)? / (scale * scale) - 3.0)
}

/// The central moment with n in the denominator.
fn moment(sample: &[f64], power: i32) -> Result<f64, Refusal> {
    check(sample, 3)?;
    if sample.iter().all(|value| *value == sample[0]) {
        return Err(Refusal::Constant);
    }
    let mean = mean(sample);
    finite(sample.iter().map(|value| (value - mean).powi(power)).sum::<f64>() / sample.len() as f64)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::analysis::reference::{Checker, samples};

    pub fn reference(check: &mut Checker) {
        for (path, sample) in samples() {
            let deviation = median_absolute_deviation(&sample).unwrap();
            check.close(&format!("{path}/mad_raw"), deviation);
            check.close(&format!("{path}/mad_normal_x1.4826022185"), NORMAL_SCALE * deviation);
            check.close(&format!("{path}/iqr_type7"), interquartile_range(&sample).unwrap());
            check.close(&format!("{path}/skewness_biased_g1"), skewness(&sample).unwrap());
            check.close(&format!("{path}/excess_kurtosis_g2"), excess_kurtosis(&sample).unwrap());
        }
    }

    #[test]
    fn the_values_are_those_of_the_reference() {
        Checker::run(reference);
    }

    #[test]
    fn a_sample_without_shape_is_refused() {
        for shape in [skewness, excess_kurtosis] {
            assert_eq!(shape(&[1.0, 2.0]), Err(Refusal::TooFew { have: 2, needed: 3 }));
            assert_eq!(shape(&[0.1; 7]), Err(Refusal::Constant));
            assert_eq!(shape(&[1.0, 2.0, f64::NAN]), Err(Refusal::NotFinite));
        }
        for width in [median_absolute_deviation, interquartile_range] {
            assert_eq!(width(&[]), Err(Refusal::TooFew { have: 0, needed: 1 }));
            assert_eq!(width(&[0.1; 7]), Ok(0.0));
        }
    }
}
