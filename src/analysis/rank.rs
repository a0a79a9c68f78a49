//! Ranks of values, ties sharing their mean rank.

/// The ranks of a sample.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ranks {
    /// The rank of each value, from 1.
    pub ranks: Vec<f64>,
    /// The sum of t³ − t over the groups of t tied values: 0 where all differ.
    pub ties: f64,
}

/// The ranks of `sample`, without NaN; values whose distance is at most `tolerance` from the next are one.
pub(super) fn ranks(sample: &[f64], tolerance: f64) -> Ranks {
    let mut order: Vec<usize> = (0..sample.len()).collect();
    order.sort_by(|one, other| sample[*one].total_cmp(&sample[*other]));
    let (mut ranks, mut ties, mut before) = (vec![0.0; sample.len()], 0.0, 0);
    for group in order.chunk_by(|one, other| sample[*other] - sample[*one] <= tolerance) {
        let size = group.len() as f64;
        let rank = before as f64 + (size + 1.0) / 2.0;
        group.iter().for_each(|index| ranks[*index] = rank);
        ties += size.powi(3) - size;
        before += group.len();
    }
    Ranks { ranks, ties }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_share_their_mean_rank() {
        let got = ranks(&[5.0, -1.0, 5.0, 0.0, -0.0, 5.0], 0.0);
        assert_eq!(got, Ranks { ranks: vec![5.0, 1.0, 5.0, 2.5, 2.5, 5.0], ties: 24.0 + 6.0 });
        assert_eq!(ranks(&[], 0.0), Ranks { ranks: vec![], ties: 0.0 });
        // 0.3 − 0.2 and 0.2 − 0.1 are one difference but for the last bits.
        assert_eq!(ranks(&[0.3 - 0.2, 0.2 - 0.1], 0.0).ties, 0.0);
        assert_eq!(ranks(&[0.3 - 0.2, 0.2 - 0.1], 1e-12).ties, 6.0);
    }
}
