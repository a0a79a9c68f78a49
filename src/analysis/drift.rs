//! Whether the trials of a cell are alike over time: a first one that is unlike the others, or a trend over all
//! of them. It is told, and nothing is left out because of it: `warmup` is for that.

use super::descriptive::quantile;

/// The smallest sample that is looked at.
const SMALLEST: usize = 10;
/// How many interquartile ranges beyond the quartiles of the others a first value is unlike them (Tukey 1977).
const FENCE: f64 = 3.0;
/// The rank correlation with time is told beyond this many standard errors: by chance in 1 of 1000 cells.
const TREND: f64 = 3.29;

/// What is to be said of a sample in the order of its trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drift {
    /// The first value is far from all others.
    FirstUnlike,
    /// The values rise from trial to trial.
    Rising,
    /// The values fall from trial to trial.
    Falling,
}

/// The drift of a sample in the order of its trials; none below 10 values.
pub fn drift(sample: &[f64]) -> Option<Drift> {
    let (first, others) = sample.split_first().filter(|_| sample.len() >= SMALLEST)?;
    let mut sorted = others.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (quantile(&sorted, 0.25), quantile(&sorted, 0.75));
    // A spread of nearly nothing makes any value far.
    let fence = (FENCE * (high - low)).max(0.01 * quantile(&sorted, 0.5).abs());
    if *first < low - fence || *first > high + fence {
        return Some(Drift::FirstUnlike);
    }
    let errors = rank_correlation(sample)? * ((sample.len() - 1) as f64).sqrt();
    match errors {
        errors if errors > TREND => Some(Drift::Rising),
        errors if errors < -TREND => Some(Drift::Falling),
        _ => None,
    }
}

/// Spearman's rank correlation of a sample with its order, ties sharing their mean rank; none where all are one.
fn rank_correlation(sample: &[f64]) -> Option<f64> {
    let n = sample.len();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|one, other| sample[*one].total_cmp(&sample[*other]));
    let mut ranks = vec![0.0; n];
    let mut from = 0;
    for group in order.chunk_by(|one, other| sample[*one] == sample[*other]) {
        let rank = from as f64 + (group.len() - 1) as f64 / 2.0;
        group.iter().for_each(|index| ranks[*index] = rank);
        from += group.len();
    }
    let middle = (n - 1) as f64 / 2.0;
    let (mut product, mut of_ranks, mut of_order) = (0.0, 0.0, 0.0);
    for (index, rank) in ranks.into_iter().enumerate() {
        let (time, rank) = (index as f64 - middle, rank - middle);
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
            (&[7.0; 12], None),
        ] {
            assert_eq!(drift(sample), expected, "{sample:?}");
        }
    }
}
