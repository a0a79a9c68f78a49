//! Whether two are alike enough: a difference that is not seen is not a difference that is not there.

use super::compare::Ratio;
use super::refusal::{Refusal, check_part};
use super::student::{Estimate, upper_tail};

/// The outcome of two one-sided tests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Equivalence {
    /// The larger p-value of the two tests: how often a ratio at the margin seems so far within it.
    pub p: f64,
    /// The ratio, with the interval of the level 1 − 2 alpha.
    pub ratio: Ratio,
    /// Whether all of the interval lies within the margin; the same as p < alpha.
    pub is_equivalent: bool,
}

/// Whether a ratio, by the estimate of its logarithm, differs from 1 by less than `margin` (0.02 for 2 %; from
/// 1 / (1 + margin) to 1 + margin), with the probability `alpha`, at most 0.5, of saying so of one at the margin: the
/// two one-sided tests of Schuirmann 1987. The estimate may come from pairs or from [`logarithm_of_ratio`].
///
/// [`logarithm_of_ratio`]: super::logarithm_of_ratio
pub fn equivalence(logarithm: &Estimate, margin: f64, alpha: f64) -> Result<Equivalence, Refusal> {
    check_part("probability", 2.0 * alpha)?;
    if !(margin > 0.0 && margin.is_finite()) {
        return Err(Refusal::OutOfRange("margin"));
    }
    let room = margin.ln_1p() - logarithm.value.abs();
    let p = upper_tail(room / logarithm.standard_error, logarithm.freedom)?;
    Ok(Equivalence { p, ratio: Ratio::of_logarithm(logarithm, 1.0 - 2.0 * alpha)?, is_equivalent: p < alpha })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::analysis::ratio::logarithm_of_ratio;
    use crate::analysis::reference::{Checker, pairs};

    pub fn reference(check: &mut Checker) {
        for (path, x, y) in pairs().into_iter().filter(|(path, ..)| !path.contains("sleep")) {
            let logarithm = logarithm_of_ratio(&x, &y).unwrap();
            let found = equivalence(&logarithm, 0.02, 0.05).unwrap();
            let path = format!("{path}/geometric_mean_ratio_y_over_x/ci90_welch_on_logs_for_TOST");
            check.list(&path, &[found.ratio.interval.low, found.ratio.interval.high]);
            assert!(!found.is_equivalent && found.p > 0.05, "no interval is within 2 %");
        }
    }

    #[test]
    fn the_values_are_those_of_the_reference() {
        Checker::run(reference);
    }

    #[test]
    fn test_and_interval_agree() {
        let logarithm = Estimate::new(0.011, 0.003, 9.0).unwrap();
        for margin in [0.005, 0.011, 0.0160, 0.0165, 0.0166, 0.0167, 0.0168, 0.0169, 0.017, 0.02, 0.5] {
            let found = equivalence(&logarithm, margin, 0.05).unwrap();
            let Ratio { interval, .. } = found.ratio;
            let is_within = interval.low > 1.0 / (1.0 + margin) && interval.high < 1.0 + margin;
            assert_eq!((found.is_equivalent, found.p < 0.05), (is_within, is_within), "{margin}");
        }
        let other_way = Estimate::new(-0.011, 0.003, 9.0).unwrap();
        let p = |estimate| equivalence(estimate, 0.02, 0.05).unwrap().p;
        assert_eq!(p(&logarithm), p(&other_way), "no direction is favoured");
    }

    #[test]
    fn a_margin_of_nothing_is_refused() {
        let logarithm = Estimate::new(0.0, 0.01, 9.0).unwrap();
        for margin in [0.0, -0.1, f64::NAN, f64::INFINITY] {
            assert_eq!(equivalence(&logarithm, margin, 0.05), Err(Refusal::OutOfRange("margin")));
        }
        assert_eq!(equivalence(&logarithm, 0.1, 0.5), Err(Refusal::OutOfRange("probability")));
    }
}
