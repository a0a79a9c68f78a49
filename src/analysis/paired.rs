//! The difference of two samples whose values belong together in pairs, such as those of one block. What both
//! of a pair share drops out.

use statrs::distribution::{ContinuousCDF, Normal};

use super::rank::ranks;
use super::refusal::{Refusal, check};
use super::student::Estimate;
use super::welch::mean_and_error;

/// Up to so many pairs the exact distribution of signed ranks is computed: all its counts are whole floats.
const EXACT_PAIRS: usize = 50;
/// Up to so many pairs all signs are gone through: a million cases.
const FLIPPED_PAIRS: usize = 20;

/// The mean of x − y over the pairs, Student's paired test. Refused below 2 pairs and where the differences are
/// all one.
pub fn paired_difference(x: &[f64], y: &[f64]) -> Result<Estimate, Refusal> {
    let differences = differences(x, y)?;
    let (mean, error) = mean_and_error(&differences)?;
    let largest = differences.iter().copied().fold(f64::MIN, f64::max);
    let smallest = differences.iter().copied().fold(f64::MAX, f64::min);
    if largest - smallest <= rounding(x, y) {
        return Err(Refusal::Constant);
    }
    Estimate::new(mean, error.sqrt(), differences.len() as f64 - 1.0)
}

/// Wilcoxon's signed-rank test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignedRank {
    /// The smaller one of the sums of ranks of positive and of negative differences.
    pub smaller: f64,
    /// How many pairs do not differ; they are left out.
    pub zeros: usize,
    /// The two-sided p-value by the exact distribution; none with ties or pairs that do not differ, for which it
    /// does not hold, and above 50 pairs.
    pub exact: Option<f64>,
    /// The two-sided p-value by the normal distribution, corrected for ties.
    pub normal: f64,
}

/// The signed-rank test of x − y (Wilcoxon 1945). Differences that are one but for the last bits are ties.
/// Refused where no pair differs.
pub fn signed_rank(x: &[f64], y: &[f64]) -> Result<SignedRank, Refusal> {
    let all = differences(x, y)?;
    let tolerance = rounding(x, y);
    let differing: Vec<f64> = all.iter().copied().filter(|value| value.abs() > tolerance).collect();
    if differing.is_empty() {
        return Err(Refusal::Constant);
    }
    let sizes: Vec<f64> = differing.iter().map(|value| value.abs()).collect();
    let ranked = ranks(&sizes, tolerance);
    let n = differing.len() as f64;
    let total = n * (n + 1.0) / 2.0;
    let signed = differing.iter().zip(&ranked.ranks).filter(|(value, _)| **value > 0.0);
    let positive: f64 = signed.map(|(_, rank)| rank).sum();
    let (smaller, zeros) = (positive.min(total - positive), all.len() - differing.len());
    let variance = total * (2.0 * n + 1.0) / 12.0 - ranked.ties / 48.0;
    let z = (total / 2.0 - smaller) / variance.sqrt();
    let is_exact = zeros == 0 && ranked.ties == 0.0 && differing.len() <= EXACT_PAIRS;
    Ok(SignedRank {
        smaller,
        zeros,
        exact: is_exact.then(|| exact(differing.len(), smaller as usize)),
        normal: (2.0 * Normal::standard().sf(z)).min(1.0),
    })
}

/// Twice the probability that the ranks 1 to `n`, each taken with probability 1/2, add up to at most `sum`.
fn exact(n: usize, sum: usize) -> f64 {
    let mut parts = vec![0.0; n * (n + 1) / 2 + 1];
    parts[0] = 1.0;
    for rank in 1..=n {
        for place in (0..parts.len()).rev() {
            let taken = place.checked_sub(rank).map_or(0.0, |before| parts[before]);
            parts[place] = (parts[place] + taken) / 2.0;
        }
    }
    (2.0 * parts.iter().take(sum + 1).sum::<f64>()).min(1.0)
}

/// How often the mean of the differences is at least so far from 0 if each sign had been left to chance, over all
/// choices of signs (Fisher 1935, §21): exact without any assumption on the distribution. Refused above 20 pairs.
pub fn sign_flips(x: &[f64], y: &[f64]) -> Result<f64, Refusal> {
    let differences = differences(x, y)?;
    if differences.len() > FLIPPED_PAIRS {
        return Err(Refusal::TooMany { have: differences.len(), most: FLIPPED_PAIRS });
    }
    let size: f64 = differences.iter().map(|value| value.abs()).sum();
    if size <= rounding(x, y) {
        return Err(Refusal::Constant);
    }
    let limit = differences.iter().sum::<f64>().abs() - 1e-12 * size;
    let cases = 1u32 << differences.len();
    let is_far = |case: &u32| {
        let signed = differences.iter().enumerate();
        let sum: f64 = signed.map(|(bit, value)| if case >> bit & 1 == 1 { -value } else { *value }).sum();
        sum.abs() >= limit
    };
    Ok((0..cases).filter(is_far).count() as f64 / f64::from(cases))
}

/// Differences that are this near are one but for the last bits of the values.
fn rounding(x: &[f64], y: &[f64]) -> f64 {
    1e-12 * x.iter().chain(y).fold(0.0, |size: f64, value| size.max(value.abs()))
}

fn differences(x: &[f64], y: &[f64]) -> Result<Vec<f64>, Refusal> {
    if x.len() != y.len() {
        return Err(Refusal::NotPaired(x.len(), y.len()));
    }
    let differences: Vec<f64> = x.iter().zip(y).map(|(x, y)| x - y).collect();
    check(&differences, 1)?;
    Ok(differences)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::analysis::interval::LEVEL;
    use crate::analysis::reference::{Checker, pairs};

    pub fn reference(check: &mut Checker) {
        for (path, x, y) in
            pairs().into_iter().filter(|(path, ..)| path.contains("sleep") || path.contains("darwin"))
        {
            let path = format!("{path}/paired");
            let difference = paired_difference(&x, &y).unwrap();
            check.close(&format!("{path}/t"), difference.t());
            check.close(&format!("{path}/df"), difference.freedom);
            check.p(&format!("{path}/p_two_sided"), difference.p().unwrap());
            let interval = difference.interval(LEVEL).unwrap();
            check.list(&format!("{path}/ci95_mean_diff"), &[interval.low, interval.high]);
            check.p(&format!("{path}/sign_flip_permutation_p_exact"), sign_flips(&x, &y).unwrap());
            let (path, test) = (format!("{path}/wilcoxon_signed_rank"), signed_rank(&x, &y).unwrap());
            check.close(&format!("{path}/W"), test.smaller);
            match test.exact {
                Some(exact) => check.p(&format!("{path}/p_exact"), exact),
                None => {
                    check.p(&format!("{path}/p_asymptotic_nocorr"), test.normal);
                    check.same(&format!("{path}/zeros_dropped"), test.zeros.into());
                }
            }
            if path.contains("darwin") {
                let path = |kind, name: &str| {
                    format!("/cross_checks_against_published/Fisher_1935_darwin_paired/{kind}/{name}")
                };
                for kind in ["published", "computed"] {
                    check.digits(&path(kind, "t"), difference.t());
                    check.digits(&path(kind, "p"), difference.p().unwrap());
                }
                check.digits(&path("published", "df"), difference.freedom);
            }
        }
    }

    #[test]
    fn the_values_are_those_of_the_reference() {
        Checker::run(reference);
    }

    #[test]
    fn what_is_not_paired_or_does_not_differ_is_refused() {
        let (one, same) = ([1.0, 2.0, 3.0], [2.0, 3.0, 4.0]);
        assert_eq!(paired_difference(&one, &one[..2]), Err(Refusal::NotPaired(3, 2)));
        assert_eq!(paired_difference(&one, &same), Err(Refusal::Constant));
        let tenths = [0.2, 0.3, 0.4, 0.7];
        let less = tenths.map(|value| value - 0.1);
        assert_eq!(paired_difference(&tenths, &less), Err(Refusal::Constant), "0.1 but for the last bits");
        assert_eq!(paired_difference(&one[..1], &same[..1]), Err(Refusal::TooFew { have: 1, needed: 2 }));
        assert_eq!(signed_rank(&one, &one), Err(Refusal::Constant));
        assert_eq!(signed_rank(&[], &[]), Err(Refusal::TooFew { have: 0, needed: 1 }));
        assert_eq!(signed_rank(&[f64::NAN], &[1.0]), Err(Refusal::NotFinite));
        assert_eq!(sign_flips(&one, &one), Err(Refusal::Constant));
        assert_eq!(sign_flips(&[1.0; 21], &[0.0; 21]), Err(Refusal::TooMany { have: 21, most: 20 }));
        assert_eq!(sign_flips(&one, &same), Ok(0.25));
        assert_eq!(signed_rank(&one, &same).unwrap().exact, None, "three ties");
    }
}
