//! The rank test of two samples that are not paired (Mann & Whitney 1947): it assumes no distribution, and an
//! outlier counts as one value.

use statrs::distribution::{ContinuousCDF, Normal};

use super::rank::ranks;
use super::refusal::{Refusal, check};

/// Up to so many pairs the exact distribution is computed; beyond, the normal one is close.
const EXACT_PAIRS: usize = 2500;

/// The test's statistic, and how often chance alone gives one that is at least so far from the middle, on either
/// side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MannWhitney {
    /// In how many pairs x is above y, a tie counting half.
    pub above: f64,
    /// In how many pairs x is below y, a tie counting half.
    pub below: f64,
    /// By the exact distribution; none with ties, for which it does not hold, and for large samples.
    pub exact: Option<f64>,
    /// By the normal distribution, corrected for ties and for continuity (Hollander & Wolfe 1999, §4.1).
    pub corrected: f64,
    /// The same without the correction for continuity.
    pub uncorrected: f64,
}

impl MannWhitney {
    /// The p-value to use: the exact one where it holds.
    pub fn p(&self) -> f64 {
        self.exact.unwrap_or(self.corrected)
    }
}

/// Compares two samples of at least one value each; refused where all values of both are one.
pub fn mann_whitney(x: &[f64], y: &[f64]) -> Result<MannWhitney, Refusal> {
    check(x, 1)?;
    check(y, 1)?;
    let (m, n) = (x.len() as f64, y.len() as f64);
    let all = ranks(&[x, y].concat(), 0.0);
    let above = all.ranks[..x.len()].iter().sum::<f64>() - m * (m + 1.0) / 2.0;
    let below = m * n - above;
    let total = m + n;
    let variance = m * n / 12.0 * (total + 1.0 - all.ties / (total * (total - 1.0)));
    if variance <= 0.0 {
        return Err(Refusal::Constant);
    }
    let far = above.max(below) - m * n / 2.0;
    let by_normal = |far: f64| (2.0 * Normal::standard().sf(far / variance.sqrt())).min(1.0);
    let is_exact = all.ties == 0.0 && x.len().saturating_mul(y.len()) <= EXACT_PAIRS;
    Ok(MannWhitney {
        above,
        below,
        exact: is_exact.then(|| exact(x.len(), y.len(), above.min(below) as usize)),
        corrected: by_normal((far - 0.5).max(0.0)),
        uncorrected: by_normal(far),
    })
}

/// Twice the probability that a statistic of `m` and `n` values without ties is at most `u`. The largest value is
/// one of x with probability m / (m + n), and is then above all of y: so the distribution follows from those of
/// one value less, all terms being positive.
fn exact(m: usize, n: usize, u: usize) -> f64 {
    // For each number of values of y, with as many of x as the loop has reached.
    let mut distributions: Vec<Vec<f64>> = vec![vec![1.0]; n + 1];
    for of_x in 1..=m {
        for of_y in 1..=n {
            let (from_x, from_y) = (&distributions[of_y], &distributions[of_y - 1]);
            let share = of_x as f64 / (of_x + of_y) as f64;
            let mut next = vec![0.0; of_x * of_y + 1];
            from_x.iter().enumerate().for_each(|(place, part)| next[place + of_y] += share * part);
            from_y.iter().enumerate().for_each(|(place, part)| next[place] += (1.0 - share) * part);
            distributions[of_y] = next;
        }
    }
    (2.0 * distributions[n].iter().take(u + 1).sum::<f64>()).min(1.0)
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::Value;

    use super::*;
    use crate::analysis::reference::{Checker, numbers, pairs, reference as file};

    pub fn reference(check: &mut Checker) {
        for (path, x, y) in pairs() {
            let (path, test) = (format!("{path}/mann_whitney"), mann_whitney(&x, &y).unwrap());
            check.close(&format!("{path}/U1_x"), test.above);
            check.close(&format!("{path}/U2_y"), test.below);
            let tied = x.iter().map(|x| y.iter().filter(|y| x == *y).count()).sum::<usize>();
            check.same(&format!("{path}/ties_between_groups"), tied.into());
            check.p(&format!("{path}/p_asymptotic_continuity_tiecorrected"), test.corrected);
            check.p(&format!("{path}/p_asymptotic_no_continuity"), test.uncorrected);
            match test.exact {
                Some(exact) => check.p(&format!("{path}/p_exact"), exact),
                None => {
                    check.same(&format!("{path}/p_exact"), Value::Null);
                    check.input(&format!("{path}/note"));
                    assert_eq!(test.p(), test.corrected);
                }
            }
        }
        let small = file()["mann_whitney_exact_small"].as_array().unwrap();
        for (index, case) in small.iter().enumerate() {
            let path = format!("/mann_whitney_exact_small/{index}");
            check.input(&format!("{path}/x"));
            check.input(&format!("{path}/y"));
            let test = mann_whitney(&numbers(&case["x"]), &numbers(&case["y"])).unwrap();
            check.close(&format!("{path}/U1"), test.above);
            check.p(&format!("{path}/p_exact_two_sided"), test.p());
        }
        let smallest = "/mann_whitney_smallest_possible_two_sided_p";
        for key in check.keys(smallest) {
            let size: i32 = key.split_once('v').unwrap().0.parse().unwrap();
            let [low, high] = [1, -1].map(|sign| (1..=size).map(|x| f64::from(sign * x)).collect::<Vec<_>>());
            check.p(&format!("{smallest}/{key}"), mann_whitney(&low, &high).unwrap().p());
        }
        let (_, x, y) = pairs().into_iter().find(|(path, ..)| path.contains("sleep")).unwrap();
        let test = mann_whitney(&x, &y).unwrap();
        for kind in ["published", "computed"] {
            let path = format!("/cross_checks_against_published/R_sleep_documented/{kind}");
            check.digits(&format!("{path}/wilcox_W"), test.above);
            check.digits(&format!("{path}/wilcox_p"), test.p());
        }
    }

    #[test]
    fn the_values_are_those_of_the_reference() {
        Checker::run(reference);
    }

    #[test]
    fn exact_and_normal_are_close_at_the_limit() {
        let x: Vec<f64> = (0..50).map(|index| f64::from(index) * 2.0).collect();
        let y: Vec<f64> = (0..50).map(|index| f64::from(index) * 2.0 + 15.0).collect();
        let test = mann_whitney(&x, &y).unwrap();
        let exact = test.exact.unwrap();
        assert!((exact / test.corrected - 1.0).abs() < 0.05, "{exact} {}", test.corrected);
        let larger: Vec<f64> = x.iter().copied().chain([1000.0]).collect();
        assert_eq!(mann_whitney(&larger, &y).unwrap().exact, None);
    }

    #[test]
    fn samples_that_tell_nothing_are_refused() {
        assert_eq!(mann_whitney(&[], &[1.0]), Err(Refusal::TooFew { have: 0, needed: 1 }));
        assert_eq!(mann_whitney(&[1.0], &[f64::NAN]), Err(Refusal::NotFinite));
        assert_eq!(mann_whitney(&[1.0, 1.0], &[1.0]), Err(Refusal::Constant));
        assert_eq!(mann_whitney(&[1.0], &[2.0]).unwrap().p(), 1.0);
        assert_eq!(mann_whitney(&[1.0, 2.0], &[1.0, 2.0]).unwrap().p(), 1.0);
    }
}
