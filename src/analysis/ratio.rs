//! How many times as large one sample is as another that is not paired with it. Ratios are asked of values above 0
//! alone. For pairs see `compare.rs`.

use super::compare::Ratio;
use super::descriptive::quantile;
use super::interval::Interval;
use super::refusal::{Refusal, check_positive, finite, sorted};
use super::student::{Estimate, critical};
use super::welch::{mean_and_error, welch};

/// The degrees of freedom of Fieller's interval, which no theory gives exactly for unlike variances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freedom {
    /// Those of the smaller sample: never too narrow an interval.
    Smallest,
    /// Those of Welch's test of the difference.
    Welch,
}

/// mean(values) / mean(baseline) with Fieller's interval (Fieller 1954): all ratios r for which mean(values) −
/// r · mean(baseline) can be 0. Refused with values that are not above 0, below 2 values a sample, where
/// nothing varies, and where the baseline's mean cannot be told from 0.
pub fn ratio_of_means(
    baseline: &[f64],
    values: &[f64],
    freedom: Freedom,
    level: f64,
) -> Result<Ratio, Refusal> {
    check_positive(baseline, 2)?;
    check_positive(values, 2)?;
    let ((below, error_below), (above, error_above)) = (mean_and_error(baseline)?, mean_and_error(values)?);
    let freedom = match freedom {
        Freedom::Smallest => (baseline.len().min(values.len()) - 1) as f64,
        Freedom::Welch => welch(baseline, values)?.freedom,
    };
    let t = critical(freedom, level)?;
    let estimate = finite(above / below)?;
    if error_below + error_above == 0.0 {
        return Err(Refusal::Constant);
    }
    let g = t * t * error_below / (below * below);
    if g >= 1.0 {
        return Err(Refusal::Unbounded);
    }
    let half = t / below * (error_above + estimate * estimate * error_below - g * error_above).sqrt();
    let interval = Interval {
        low: finite((estimate - half) / (1.0 - g))?,
        high: finite((estimate + half) / (1.0 - g))?,
    };
    Ok(Ratio { estimate, interval })
}

/// The standard error of mean(values) / mean(baseline) to the first order (the delta method). Its symmetric
/// interval is too narrow where the baseline varies much: [`ratio_of_means`] has the better one.
pub fn ratio_standard_error(baseline: &[f64], values: &[f64]) -> Result<f64, Refusal> {
    check_positive(baseline, 2)?;
    check_positive(values, 2)?;
    let ((below, error_below), (above, error_above)) = (mean_and_error(baseline)?, mean_and_error(values)?);
    finite((error_above + (above / below).powi(2) * error_below).sqrt() / below)
}

/// The logarithm of the ratio of geometric means, values to baseline: Welch's test on the logarithms.
/// [`Ratio::of_logarithm`] turns it into a ratio. Refused with values that are not above 0, and like `welch`.
pub fn logarithm_of_ratio(baseline: &[f64], values: &[f64]) -> Result<Estimate, Refusal> {
    check_positive(baseline, 2)?;
    check_positive(values, 2)?;
    let logarithms = |sample: &[f64]| -> Vec<f64> { sample.iter().map(|value| value.ln()).collect() };
    welch(&logarithms(values), &logarithms(baseline))
}

/// median(values) / median(baseline); for its interval see `bootstrap.rs`. Refused with values that are not above 0.
pub fn ratio_of_medians(baseline: &[f64], values: &[f64]) -> Result<f64, Refusal> {
    check_positive(baseline, 1)?;
    check_positive(values, 1)?;
    finite(quantile(&sorted(values), 0.5) / quantile(&sorted(baseline), 0.5))
}

impl Ratio {
    /// The ratio whose natural logarithm was estimated, with its interval.
    pub fn of_logarithm(logarithm: &Estimate, level: f64) -> Result<Self, Refusal> {
        let Interval { low, high } = logarithm.interval(level)?;
        let interval = Interval { low: low.exp(), high: finite(high.exp())? };
        Ok(Self { estimate: finite(logarithm.value.exp())?, interval })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::Value;
    use statrs::distribution::{ContinuousCDF, Normal};

    use super::*;
    use crate::analysis::descriptive::{mean, standard_deviation};
    use crate::analysis::interval::LEVEL;
    use crate::analysis::reference::{Checker, pairs};

    pub fn reference(check: &mut Checker) {
        for (path, x, y) in pairs() {
            if x.iter().chain(&y).any(|value| *value <= 0.0) {
                check.input(&format!("{path}/ratio_note"));
                check.same(&format!("{path}/ratio_of_means_y_over_x"), Value::Null);
                check.same(&format!("{path}/geometric_mean_ratio_y_over_x"), Value::Null);
                assert_eq!(ratio_of_means(&x, &y, Freedom::Welch, LEVEL), Err(Refusal::NotPositive));
                assert_eq!(ratio_standard_error(&x, &y), Err(Refusal::NotPositive));
                assert_eq!(logarithm_of_ratio(&x, &y), Err(Refusal::NotPositive));
                assert_eq!(ratio_of_medians(&x, &y), Err(Refusal::NotPositive));
                continue;
            }
            check.close(&format!("{path}/ratio_of_medians_y_over_x"), ratio_of_medians(&x, &y).unwrap());
            let logarithm = logarithm_of_ratio(&x, &y).unwrap();
            let ratio = Ratio::of_logarithm(&logarithm, LEVEL).unwrap();
            let of_means = format!("{path}/geometric_mean_ratio_y_over_x");
            check.close(&format!("{of_means}/estimate"), ratio.estimate);
            check.list(&format!("{of_means}/ci95_welch_on_logs"), &[ratio.interval.low, ratio.interval.high]);
            check.p(&format!("{of_means}/p_welch_on_logs"), logarithm.p().unwrap());
            means(check, &format!("{path}/ratio_of_means_y_over_x"), &x, &y);
        }
    }

    fn means(check: &mut Checker, path: &str, x: &[f64], y: &[f64]) {
        for (key, freedom) in
            [("fieller_ci95_df_min_n_minus_1", Freedom::Smallest), ("fieller_ci95_df_welch", Freedom::Welch)]
        {
            let ratio = ratio_of_means(x, y, freedom, LEVEL).unwrap();
            check.close(&format!("{path}/estimate"), ratio.estimate);
            check.list(&format!("{path}/{key}"), &[ratio.interval.low, ratio.interval.high]);
        }
        let (ratio, error) = (mean(y) / mean(x), ratio_standard_error(x, y).unwrap());
        check.close(&format!("{path}/delta_method_se"), error);
        let half = Normal::standard().inverse_cdf(0.975) * error;
        check.list(&format!("{path}/delta_method_ci95_z"), &[ratio - half, ratio + half]);
        // Spreads of single values make no interval of a ratio of means; it is several times too wide.
        let variation = |sample: &[f64]| standard_deviation(sample).unwrap() / mean(sample);
        let spread = ratio * variation(x).hypot(variation(y));
        check.close(&format!("{path}/hyperfine_style_sd_ratio_NOT_a_ci"), spread);
        assert!(spread > 2.0 * error);
    }

    #[test]
    fn the_values_are_those_of_the_reference() {
        Checker::run(reference);
    }

    #[test]
    fn a_ratio_without_meaning_is_refused() {
        let means = |x: &[f64], y: &[f64]| ratio_of_means(x, y, Freedom::Smallest, LEVEL);
        // The interval of the mean of the baseline reaches below 0.
        assert_eq!(means(&[1.0, 100.0], &[1.0, 2.0]), Err(Refusal::Unbounded));
        assert_eq!(means(&[1.0], &[1.0, 2.0]), Err(Refusal::TooFew { have: 1, needed: 2 }));
        assert_eq!(means(&[1.0, f64::NAN], &[1.0, 2.0]), Err(Refusal::NotFinite));
        assert_eq!(ratio_of_medians(&[], &[1.0]), Err(Refusal::TooFew { have: 0, needed: 1 }));
        assert_eq!(logarithm_of_ratio(&[2.0, 2.0], &[3.0, 3.0]), Err(Refusal::Constant));
        let one_way = means(&[5.0, 6.0, 5.5], &[9.0, 9.5, 9.25]).unwrap();
        assert!(one_way.interval.low < one_way.estimate && one_way.estimate < one_way.interval.high);
    }
}
