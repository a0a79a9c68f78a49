//! What one sample looks like: location, spread and extremes. Plain functions of numbers; what may be
//! concluded from a sample is in `interval.rs`.

/// A sample in numbers, in the sample's unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Description {
    /// The arithmetic mean; of a [`Summary`](super::Summary) the mean that it says.
    pub mean: f64,
    /// The 0.5 quantile: the headline.
    pub median: f64,
    /// Standard deviation with n - 1 in the denominator; none for one value.
    pub sd: Option<f64>,
    /// Coefficient of variation, `sd` by the arithmetic mean, without unit; none where that is 0.
    pub cov: Option<f64>,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
}

/// Describes a sample in ascending order; none for no values.
pub fn describe(sorted: &[f64]) -> Option<Description> {
    let (&min, &max) = (sorted.first()?, sorted.last()?);
    let mean = mean(sorted);
    let sd = standard_deviation(sorted);
    let cov = sd.map(|sd| sd / mean).filter(|cov| cov.is_finite());
    Some(Description { mean, median: quantile(sorted, 0.5), sd, cov, min, max })
}

/// The arithmetic mean of at least one value. For rates over fixed work (dd) it is not the right one: see
/// `mean.rs`.
pub fn mean(sample: &[f64]) -> f64 {
    sample.iter().sum::<f64>() / sample.len() as f64
}

/// The standard deviation with n - 1; none below 2.
pub fn standard_deviation(sample: &[f64]) -> Option<f64> {
    variance(sample).map(f64::sqrt)
}

/// The variance with n - 1, in two passes (a sum of squares loses all digits far from 0); none below 2.
pub fn variance(sample: &[f64]) -> Option<f64> {
    let degrees = sample.len().checked_sub(1).filter(|degrees| *degrees > 0)?;
    Some(sum_of_squares(sample) / degrees as f64)
}

/// The sum of the squared distances from the mean. Values that are all one have none, though their mean may be rounded
/// away from them.
pub fn sum_of_squares(sample: &[f64]) -> f64 {
    if sample.iter().all(|value| *value == sample[0]) {
        return 0.0;
    }
    let mean = mean(sample);
    sample.iter().map(|value| (value - mean).powi(2)).sum()
}

/// The standard error of the mean, sd / √n; none below 2.
pub fn standard_error(sample: &[f64]) -> Option<f64> {
    Some((variance(sample)? / sample.len() as f64).sqrt())
}

/// The `q` quantile (0 to 1) of at least one value in ascending order, by linear interpolation: type 7 of
/// Hyndman & Fan 1996, the default of R and numpy.
pub fn quantile(sorted: &[f64], q: f64) -> f64 {
    let place = q * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::analysis::reference::{Checker, numacc, pairs, samples};
    use crate::analysis::refusal::sorted;

    pub fn reference(check: &mut Checker) {
        for (path, sample) in samples() {
            let sample = sorted(&sample);
            let got = describe(&sample).unwrap();
            check.same(&format!("{path}/n"), sample.len().into());
            check.close(&format!("{path}/mean"), got.mean);
            check.close(&format!("{path}/median"), got.median);
            check.close(&format!("{path}/sd_n_minus_1"), got.sd.unwrap());
            check.close(&format!("{path}/var"), variance(&sample).unwrap());
            check.close(&format!("{path}/sem"), standard_error(&sample).unwrap());
            check.close(&format!("{path}/cov_sd_over_mean"), got.cov.unwrap());
            check.close(&format!("{path}/min"), got.min);
            check.close(&format!("{path}/max"), got.max);
            let quantiles = |parts: &[f64]| parts.iter().map(|q| quantile(&sample, *q)).collect::<Vec<_>>();
            check.list(&format!("{path}/quartiles_type7"), &quantiles(&[0.25, 0.5, 0.75]));
            let percentiles = quantiles(&[0.05, 0.9, 0.95, 0.99]);
            check.list(&format!("{path}/percentiles_type7_p5_p90_p95_p99"), &percentiles);
        }
        for (path, x, y) in pairs() {
            let median = |sample: &[f64]| quantile(&sorted(sample), 0.5);
            check.close(&format!("{path}/diff_medians_x_minus_y"), median(&x) - median(&y));
        }
        for name in check.keys("/nist_numacc") {
            let (path, sample) = (format!("/nist_numacc/{name}"), numacc(&name));
            check.input(&format!("{path}/recipe"));
            check.close(&format!("{path}/certified_mean"), mean(&sample));
            let sd = standard_deviation(&sample).unwrap();
            // What is left is the rounding of the sample itself.
            check.within(&format!("{path}/certified_sd"), sd, 1e-8);
            check.within(&format!("{path}/two_pass_f64_sd"), sd, 1e-12);
            let certified = check.input(&format!("{path}/certified_sd")).as_f64().unwrap();
            let naive = check.input(&format!("{path}/naive_sum_of_squares_f64_sd")).as_f64().unwrap();
            assert!((sd - certified).abs() <= (naive - certified).abs().max(1e-15), "{name}");
        }
    }

    #[test]
    fn equal_values_do_not_vary() {
        // Ten times 0.1 is not 1, and the mean not 0.1.
        assert_ne!(mean(&[0.1; 10]), 0.1);
        assert_eq!(standard_deviation(&[0.1; 10]), Some(0.0));
        assert_eq!((standard_deviation(&[]), variance(&[1.0]), standard_error(&[1.0])), (None, None, None));
    }

    #[test]
    fn the_values_are_those_of_the_reference() {
        Checker::run(reference);
    }
}
