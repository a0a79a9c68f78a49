//! How large a difference is, by the order of values alone: no p-value says that.

use super::mann_whitney::mann_whitney;
use super::refusal::{Refusal, check, finite, sorted};

/// Cliff's delta (Cliff 1993): how much more often x is above y than below, from −1 to 1, over all pairs. Refused
/// without values, and 0 where all are one.
pub fn cliffs_delta(x: &[f64], y: &[f64]) -> Result<f64, Refusal> {
    Ok(2.0 * superiority(x, y)? - 1.0)
}

/// How often x is above y, a tie counting half, from 0 to 1: the A of Vargha & Delaney 2000.
pub fn superiority(x: &[f64], y: &[f64]) -> Result<f64, Refusal> {
    match mann_whitney(x, y) {
        Ok(test) => Ok(test.above / (test.above + test.below)),
        Err(Refusal::Constant) => Ok(0.5),
        Err(refusal) => Err(refusal),
    }
}

/// How far x lies above y: the median of the differences of all pairs (Hodges & Lehmann 1963). The pairs are not
/// listed: a difference is found between the least and the largest float by counting the pairs below it, in
/// O(n log n).
pub fn hodges_lehmann(x: &[f64], y: &[f64]) -> Result<f64, Refusal> {
    check(x, 1)?;
    check(y, 1)?;
    let (x, y) = (sorted(x), sorted(y));
    let pairs = x.len() * y.len();
    let (low, high) = (nth_difference(&x, &y, (pairs - 1) / 2), nth_difference(&x, &y, pairs / 2));
    finite(low + (high - low) / 2.0)
}

/// The `n`th (from 0) of all differences, by bisection over the floats in their order.
fn nth_difference(x: &[f64], y: &[f64], n: usize) -> f64 {
    let (mut low, mut high) = (place(f64::NEG_INFINITY), place(f64::INFINITY));
    while low < high {
        let middle = low + (high - low) / 2;
        match count_up_to(x, y, value(middle)) > n {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    value(low)
}

/// How many differences are at most `limit`; subtraction keeps the order of its results when it rounds.
fn count_up_to(x: &[f64], y: &[f64], limit: f64) -> usize {
    let (mut above, mut count) = (0, 0);
    for x in x {
        above += y[above..].iter().take_while(|y| x - **y > limit).count();
        count += y.len() - above;
    }
    count
}

/// Where a float stands among all of them.
fn place(value: f64) -> u64 {
    let bits = value.to_bits();
    if value.is_sign_negative() { !bits } else { bits | 1 << 63 }
}

fn value(place: u64) -> f64 {
    f64::from_bits(if place >> 63 == 1 { place & !(1 << 63) } else { !place })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::analysis::reference::{Checker, pairs};

    pub fn reference(check: &mut Checker) {
        for (path, x, y) in pairs() {
            check.close(&format!("{path}/cliffs_delta_x_over_y"), cliffs_delta(&x, &y).unwrap());
            check.close(&format!("{path}/vargha_delaney_A_x_over_y"), superiority(&x, &y).unwrap());
            check.close(&format!("{path}/hodges_lehmann_shift_x_minus_y"), hodges_lehmann(&x, &y).unwrap());
        }
    }

    #[test]
    fn the_values_are_those_of_the_reference() {
        Checker::run(reference);
    }

    #[test]
    fn every_difference_is_found_without_listing_them() {
        let (x, y) = ([-3.5, 0.0, 0.0, 1e-300, 7.25, 1e9], [-1e9, -0.0, 2.0, 2.0]);
        let all: Vec<f64> = x.iter().flat_map(|x| y.iter().map(move |y| x - y)).collect();
        for (n, right) in sorted(&all).into_iter().enumerate() {
            assert_eq!(nth_difference(&x, &y, n), right, "{n}");
        }
    }

    #[test]
    fn samples_without_numbers_are_refused() {
        for effect in [cliffs_delta, superiority, hodges_lehmann] {
            assert_eq!(effect(&[], &[1.0]), Err(Refusal::TooFew { have: 0, needed: 1 }));
            assert_eq!(effect(&[1.0], &[f64::NAN]), Err(Refusal::NotFinite));
        }
        assert_eq!(hodges_lehmann(&[f64::MAX], &[f64::MIN]), Err(Refusal::NotFinite));
        assert_eq!((cliffs_delta(&[2.0], &[2.0]), hodges_lehmann(&[2.0], &[2.0])), (Ok(0.0), Ok(0.0)));
    }
}
