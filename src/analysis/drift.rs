//! Whether the trials of a cell are alike over time: a first one that is unlike the others, or a trend over all
//! of them. It is told, and nothing is left out because of it: `warmup` is for that.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::rank::ranks;

/// The smallest sample that is looked at.
const SMALLEST: usize = 10;
/// A trend is told where chance alone would show one in so many cells.
const BY_CHANCE: f64 = 0.001;

/// What is to be said of a sample in the order of its trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drift {
    /// The first value is further from the others than any two of these are from each other.
    FirstUnlike,
    /// The values rise from trial to trial.
    Rising,
    /// The values fall from trial to trial.
    Falling,
}

/// The drift of a sample in the order of its trials; none below 10 values.
pub fn drift(sample: &[f64]) -> Option<Drift> {
    let (first, others) = sample.split_first().filter(|_| sample.len() >= SMALLEST)?;
    let (low, high) = others.iter().fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(*x), high.max(*x)));
    // A spread of nearly nothing makes any value far.
    let far = (high - low).max(0.01 * high.abs());
    if *first < low - far || *first > high + far {
        return Some(Drift::FirstUnlike);
    }
    let correlation = rank_correlation(sample)?;
    match is_by_chance(correlation, sample.len()) {
        true => None,
        false if correlation > 0.0 => Some(Drift::Rising),
        false => Some(Drift::Falling),
    }
}

/// Whether `n` values without a trend have a rank correlation so far from 0 often enough: r·√((n−2)/(1−r²)) is
/// nearly Student's t with n−2 degrees of freedom (Kendall and Stuart, The Advanced Theory of Statistics, 31.19).
fn is_by_chance(correlation: f64, n: usize) -> bool {
    let freedom = n as f64 - 2.0;
    let t = correlation.abs() * (freedom / (1.0 - correlation * correlation)).sqrt();
    let limit = StudentsT::new(0.0, 1.0, freedom).map(|student| student.inverse_cdf(1.0 - BY_CHANCE / 2.0));
    // A perfect order makes t infinite.
    limit.is_ok_and(|limit| t < limit)
}

/// Spearman's rank correlation of a sample with its order, ties sharing their mean rank; none where all are one.
fn rank_correlation(sample: &[f64]) -> Option<f64> {
    let ranks = ranks(sample, 0.0).ranks;
    let middle = (sample.len() - 1) as f64 / 2.0;
    let (mut product, mut of_ranks, mut of_order) = (0.0, 0.0, 0.0);
    for (index, rank) in ranks.into_iter().enumerate() {
        let (time, rank) = (index as f64 - middle, rank - 1.0 - middle);
        product += time * rank;
        of_ranks += rank * rank;
        of_order += time * time;
    }
    (of_ranks > 0.0).then(|| product / (of_ranks * of_order).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rank_correlation_is_that_of_the_definition() {
        // Pearson's correlation of the ranks, worked out apart from this code.
        for (sample, right) in [
            (&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0][..], 1.0),
            (&[2.0, 1.0, 4.0, 3.0, 6.0, 5.0], 0.828_571_428_571_428_6),
            (&[1.0, 1.0, 2.0, 2.0, 3.0, 3.0], 0.956_182_887_467_514_9),
        ] {
            assert!((rank_correlation(sample).unwrap() - right).abs() < 1e-12, "{sample:?}");
        }
        assert_eq!(rank_correlation(&[3.0; 6]), None);
    }

    #[test]
    fn a_first_value_and_a_trend_are_told() {
        let alike = [5.0, 5.2, 4.9, 5.1, 5.3, 4.8, 5.0, 5.1, 4.9, 5.2, 5.0, 5.1];
        let mut cold = alike;
        cold[0] = 9.0;
        let rising: Vec<f64> = alike.iter().enumerate().map(|(index, value)| value + index as f64).collect();
        let falling: Vec<f64> = rising.iter().rev().copied().collect();
        for (sample, expected) in [
            (&alike[..], None),
            (&cold, Some(Drift::FirstUnlike)),
            (&rising, Some(Drift::Rising)),
            (&falling, Some(Drift::Falling)),
            (&cold[..9], None),
            (&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0], Some(Drift::Rising)),
            (&[4.0, 3.0, 2.0, 5.0, 1.0, 10.0, 6.0, 7.0, 9.0, 8.0], None),
            (&[7.0; 12], None),
        ] {
            assert_eq!(drift(sample), expected, "{sample:?}");
        }
    }
}
