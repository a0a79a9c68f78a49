//! Whether the trials of a cell depend on the ones before: then they hold less than their number says, and
//! every interval is too narrow. For a trend over all of them see `drift.rs`.

use statrs::distribution::{ContinuousCDF, Normal};

use super::descriptive::{mean, sum_of_squares};
use super::refusal::{Refusal, check, finite};

/// The smallest sample that is looked at.
const SMALLEST: usize = 10;
/// A dependence is told where chance alone would show one in so many cells.
const BY_CHANCE: f64 = 0.001;

/// The correlation of a sample, in the order of its trials, with itself `lag` trials later, from −1 to 1 (Box &
/// Jenkins 1976, §2.1.5). Refused where there are not at least 2 values more than `lag`, and where they do not vary.
pub fn autocorrelation(sample: &[f64], lag: usize) -> Result<f64, Refusal> {
    check(sample, lag.saturating_add(2))?;
    let mean = mean(sample);
    let squares = sum_of_squares(sample);
    if squares == 0.0 {
        return Err(Refusal::Constant);
    }
    let products = sample.iter().zip(&sample[lag..]);
    finite(products.map(|(value, later)| (value - mean) * (later - mean)).sum::<f64>() / squares)
}

/// Whether each value of a sample depends on the one before, more than chance would show in one of 1000 cells: r of
/// independent values is nearly normal with mean −1/n and variance 1/n (Bartlett 1946). Refused below 10 values.
pub fn is_dependent(sample: &[f64]) -> Result<bool, Refusal> {
    check(sample, SMALLEST)?;
    let n = sample.len() as f64;
    let z = (autocorrelation(sample, 1)? + 1.0 / n) * n.sqrt();
    Ok(2.0 * Normal::standard().sf(z.abs()) < BY_CHANCE)
}

/// As how many independent values a sample counts, where each depends on the one before alone and likewise:
/// n (1 − r) / (1 + r) (Kalibera & Jones 2013; Bayley & Hammersley 1946); never more than n.
pub fn independent_values(sample: &[f64]) -> Result<f64, Refusal> {
    let r = autocorrelation(sample, 1)?.max(0.0);
    Ok(sample.len() as f64 * (1.0 - r) / (1.0 + r))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::analysis::descriptive::standard_deviation;
    use crate::analysis::reference::{Checker, MORLEY, numacc, samples};

    pub fn reference(check: &mut Checker) {
        for (path, sample) in samples() {
            check.close(&format!("{path}/lag1_autocorrelation"), autocorrelation(&sample, 1).unwrap());
        }
        for name in check.keys("/nist_numacc") {
            let got = autocorrelation(&numacc(&name), 1).unwrap();
            check.within(&format!("/nist_numacc/{name}/certified_lag1"), got, 1e-8);
        }
        let sample: Vec<f64> = MORLEY.concat().iter().map(|value| (value + 299_000.0) / 1000.0).collect();
        let path = "/cross_checks_against_published/NIST_StRD_Michelso";
        for kind in ["certified", "computed"] {
            check.close(&format!("{path}/{kind}/mean"), mean(&sample));
            check.close(&format!("{path}/{kind}/sd"), standard_deviation(&sample).unwrap());
            check.close(&format!("{path}/{kind}/lag1"), autocorrelation(&sample, 1).unwrap());
        }
    }

    #[test]
    fn the_values_are_those_of_the_reference() {
        Checker::run(reference);
    }

    #[test]
    fn dependence_is_told_and_chance_is_not() {
        let all = MORLEY.concat();
        assert_eq!(is_dependent(&all), Ok(true));
        assert!(independent_values(&all).unwrap() < 35.0);
        let alternating: Vec<f64> = (0..40).map(|index| f64::from(index % 2)).collect();
        assert_eq!((is_dependent(&alternating), independent_values(&alternating)), (Ok(true), Ok(40.0)));
        for sample in MORLEY {
            assert_eq!(is_dependent(&sample), Ok(false));
        }
    }

    #[test]
    fn a_sample_that_tells_nothing_is_refused() {
        assert_eq!(autocorrelation(&[1.0, 2.0], 1), Err(Refusal::TooFew { have: 2, needed: 3 }));
        assert_eq!(autocorrelation(&[0.1; 10], 1), Err(Refusal::Constant));
        assert_eq!(autocorrelation(&[1.0, 2.0, f64::NAN], 1), Err(Refusal::NotFinite));
        assert!(matches!(autocorrelation(&[1.0], usize::MAX), Err(Refusal::TooFew { .. })));
        assert_eq!(is_dependent(&[1.0; 9]), Err(Refusal::TooFew { have: 9, needed: 10 }));
    }
}
