//! Why a statistic is not given. A number that has no meaning is refused with its reason, and never becomes
//! NaN, infinity or 0.

use thiserror::Error;

/// The reason for which a statistic is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Refusal {
    /// A sample is too small.
    #[error("there are {have} values, and {needed} are needed")]
    TooFew {
        /// How many values there are.
        have: usize,
        /// How many it takes.
        needed: usize,
    },
    /// A sample is too large for a method that goes through all cases.
    #[error("there are {have} values, and at most {most} can be gone through")]
    TooMany {
        /// How many values there are.
        have: usize,
        /// How many it can be.
        most: usize,
    },
    /// A value is infinite or no number, or the result would be.
    #[error("not every number is finite")]
    NotFinite,
    /// A ratio, logarithm or reciprocal is asked of a value that is 0 or below.
    #[error("a value is not above 0")]
    NotPositive,
    /// The values do not vary, so that there is no scale to measure with.
    #[error("the values do not vary")]
    Constant,
    /// Two samples of different sizes are no pairs.
    #[error("{0} and {1} values are no pairs")]
    NotPaired(usize, usize),
    /// The denominator cannot be told from 0, so that no number bounds the ratio.
    #[error("the mean below the line cannot be told from 0, and nothing bounds the ratio")]
    Unbounded,
    /// A level, a probability, a margin or a count that cannot be.
    #[error("the {0} is out of range")]
    OutOfRange(&'static str),
}

/// Refuses fewer than `needed` values, and any that is not finite.
pub(super) fn check(sample: &[f64], needed: usize) -> Result<(), Refusal> {
    match sample.len() {
        have if have < needed => Err(Refusal::TooFew { have, needed }),
        _ if sample.iter().any(|value| !value.is_finite()) => Err(Refusal::NotFinite),
        _ => Ok(()),
    }
}

/// Refuses what [`check`] does, and values that are not above 0.
pub(super) fn check_positive(sample: &[f64], needed: usize) -> Result<(), Refusal> {
    check(sample, needed)?;
    match sample.iter().all(|value| *value > 0.0) {
        true => Ok(()),
        false => Err(Refusal::NotPositive),
    }
}

/// Refuses what is not strictly between 0 and 1.
pub(super) fn check_part(what: &'static str, part: f64) -> Result<(), Refusal> {
    match part > 0.0 && part < 1.0 {
        true => Ok(()),
        false => Err(Refusal::OutOfRange(what)),
    }
}

/// The number, if it is finite.
pub(super) fn finite(number: f64) -> Result<f64, Refusal> {
    if number.is_finite() { Ok(number) } else { Err(Refusal::NotFinite) }
}

/// The sample in ascending order.
pub(super) fn sorted(sample: &[f64]) -> Vec<f64> {
    let mut sorted = sample.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_says_its_reason() {
        for (sample, refusal, words) in [
            (&[][..], Refusal::TooFew { have: 0, needed: 1 }, "there are 0 values, and 1 are needed"),
            (&[f64::NAN], Refusal::NotFinite, "not every number is finite"),
            (&[1.0, f64::INFINITY], Refusal::NotFinite, "not every number is finite"),
            (&[1.0, 0.0], Refusal::NotPositive, "a value is not above 0"),
        ] {
            assert_eq!(check_positive(sample, 1), Err(refusal));
            assert_eq!(refusal.to_string(), words);
        }
        assert_eq!(check_positive(&[1.0], 1), Ok(()));
        for part in [0.0, 1.0, -1.0, f64::NAN] {
            assert_eq!(check_part("level", part), Err(Refusal::OutOfRange("level")));
        }
    }
}
