//! The difference of two means, for samples that are not paired.

use super::descriptive::{mean, variance};
use super::refusal::{Refusal, check};
use super::student::Estimate;

/// mean(x) − mean(y), where the two vary differently: Welch 1947, the degrees of freedom by Satterthwaite 1946.
/// It is the one to use: with equal variances it loses next to nothing. Refused below 2 values a sample and
/// where neither varies.
pub fn welch(x: &[f64], y: &[f64]) -> Result<Estimate, Refusal> {
    let [(mean_x, error_x), (mean_y, error_y)] = [mean_and_error(x)?, mean_and_error(y)?];
    let error = error_x + error_y;
    let freedom = error * error / (error_x.powi(2) / degrees(x) + error_y.powi(2) / degrees(y));
    Estimate::new(mean_x - mean_y, error.sqrt(), freedom)
}

/// mean(x) − mean(y) where both vary alike: Student's test with the pooled variance. Refused like [`welch`].
pub fn pooled(x: &[f64], y: &[f64]) -> Result<Estimate, Refusal> {
    let variance = pooled_variance(x, y)?;
    let error = variance * (1.0 / x.len() as f64 + 1.0 / y.len() as f64);
    Estimate::new(mean(x) - mean(y), error.sqrt(), degrees(x) + degrees(y))
}

/// The difference of the means in pooled standard deviations (Cohen 1988, §2.2). Refused like [`welch`].
pub fn cohens_d(x: &[f64], y: &[f64]) -> Result<f64, Refusal> {
    let sd = pooled_variance(x, y)?.sqrt();
    // A scale of 0 is refused there.
    Ok(Estimate::new(mean(x) - mean(y), sd, degrees(x) + degrees(y))?.t())
}

/// The mean and the square of its standard error.
pub(super) fn mean_and_error(sample: &[f64]) -> Result<(f64, f64), Refusal> {
    check(sample, 2)?;
    Ok((mean(sample), variance(sample).unwrap_or_default() / sample.len() as f64))
}

fn pooled_variance(x: &[f64], y: &[f64]) -> Result<f64, Refusal> {
    let squares = |sample: &[f64]| Ok(mean_and_error(sample)?.1 * sample.len() as f64 * degrees(sample));
    Ok((squares(x)? + squares(y)?) / (degrees(x) + degrees(y)))
}

fn degrees(sample: &[f64]) -> f64 {
    sample.len() as f64 - 1.0
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::analysis::interval::LEVEL;
    use crate::analysis::reference::{Checker, pairs};

    pub fn reference(check: &mut Checker) {
        for (path, x, y) in pairs() {
            check.input(&format!("{path}/convention"));
            let difference = welch(&x, &y).unwrap();
            check.close(&format!("{path}/diff_means_x_minus_y"), difference.value);
            check.close(&format!("{path}/welch/t"), difference.t());
            check.close(&format!("{path}/welch/df"), difference.freedom);
            check.p(&format!("{path}/welch/p_two_sided"), difference.p().unwrap());
            let interval = difference.interval(LEVEL).unwrap();
            check.list(&format!("{path}/welch/ci95_diff"), &[interval.low, interval.high]);
            let difference = pooled(&x, &y).unwrap();
            check.close(&format!("{path}/student_pooled/t"), difference.t());
            check.close(&format!("{path}/student_pooled/df"), difference.freedom);
            check.p(&format!("{path}/student_pooled/p_two_sided"), difference.p().unwrap());
            check.close(&format!("{path}/cohens_d_pooled"), cohens_d(&x, &y).unwrap());
        }
        let (_, x, y) = pairs().into_iter().find(|(path, ..)| path.contains("sleep")).unwrap();
        let difference = welch(&x, &y).unwrap();
        let interval = difference.interval(LEVEL).unwrap();
        for kind in ["published", "computed"] {
            let path =
                |name: &str| format!("/cross_checks_against_published/R_sleep_documented/{kind}/{name}");
            check.digits(&path("welch_t"), difference.t());
            check.digits(&path("df"), difference.freedom);
            check.digits(&path("p"), difference.p().unwrap());
            check.digits(&path("ci/0"), interval.low);
            check.digits(&path("ci/1"), interval.high);
        }
    }

    #[test]
    fn the_values_are_those_of_the_reference() {
        Checker::run(reference);
    }

    #[test]
    fn samples_that_tell_nothing_are_refused() {
        let two = [1.0, 2.0];
        for test in [welch, pooled] {
            assert_eq!(test(&two, &[]), Err(Refusal::TooFew { have: 0, needed: 2 }));
            assert_eq!(test(&[1.0], &two), Err(Refusal::TooFew { have: 1, needed: 2 }));
            assert_eq!(test(&two, &[1.0, f64::NAN]), Err(Refusal::NotFinite));
            assert_eq!(test(&[1.0, 1.0], &[2.0, 2.0]), Err(Refusal::Constant));
            assert_eq!(test(&[0.1; 10], &[0.3; 10]), Err(Refusal::Constant));
            assert!(test(&two, &[2.0, 2.0]).is_ok());
        }
        assert_eq!(cohens_d(&[1.0, 1.0], &[2.0, 2.0]), Err(Refusal::Constant));
        assert_eq!(cohens_d(&[1.0], &two), Err(Refusal::TooFew { have: 1, needed: 2 }));
    }
}
