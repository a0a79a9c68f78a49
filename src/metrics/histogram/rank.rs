//! Which order statistics hold a quantile with 95 % confidence. The values need be independent, and nothing
//! else is assumed of them (Hoefler & Belli 2015, rule 8; Le Boudec 2010, §2.2).

/// What may lie outside on each side: the interval is two-sided with 95 %.
const TAIL: f64 = 0.025;

/// Above this many values the binomial distribution is a normal one to within a rank or two.
const EXACT_LIMIT: u64 = 1_000_000_000;

/// The smallest number of values for which the `q` quantile, 0 < q < 1, has an interval: 6 for the median, 36
/// for 0.9, 72 for 0.95, 368 for 0.99, 3,688 for 0.999.
pub fn smallest_count(q: f64) -> u64 {
    (TAIL.ln() / q.max(1.0 - q).ln()).ceil() as u64
}

/// The rank, from 1, of the `q` quantile of `n` values: the smallest value that at least `q · n` of the values
/// do not exceed.
pub fn rank(n: u64, q: f64) -> u64 {
    let place = q * n as f64;
    // 0.999 · 1000 is 999 and may not become 1000 for a last bit.
    let whole = place.round();
    let rank = if (place - whole).abs() <= place * f64::EPSILON { whole } else { place.ceil() };
    (rank as u64).clamp(1, n.max(1))
}

/// The ranks, from 1, of the order statistics round the `q` quantile of `n` values: the largest and the
/// smallest which the quantile passes with a probability of at most 2.5 %. None below [`smallest_count`].
pub fn interval(n: u64, q: f64) -> Option<(u64, u64)> {
    if !(q > 0.0 && q < 1.0) || n < smallest_count(q) {
        return None;
    }
    let (low, high) = if n > EXACT_LIMIT { normal(n, q) } else { binomial(n, q) };
    (low >= 1 && high <= n).then_some((low, high))
}

fn normal(n: u64, q: f64) -> (u64, u64) {
    let n = n as f64;
    let half = 1.959_963_984_540_054 * (n * q * (1.0 - q)).sqrt();
    ((n * q - half).floor() as u64, (n * q + half).ceil() as u64 + 1)
}

/// The number of values below the quantile is Binomial(n, q). Its probabilities are taken relative to that of
/// the mode, one from the next, until they no longer count: no factorial, and no loss for large `n`.
fn binomial(n: u64, q: f64) -> (u64, u64) {
    let mode = (((n + 1) as f64 * q) as u64).min(n);
    let odds = q / (1.0 - q);
    let outwards = |step: &dyn Fn(u64) -> Option<f64>| {
        let mut weight = 1.0;
        let mut weights = vec![];
        while let Some(ratio) = step(weights.len() as u64) {
            weight *= ratio;
            if weight < 1e-22 {
                break;
            }
            weights.push(weight);
        }
        weights
    };
    let below = outwards(&|steps| {
        let from = mode.checked_sub(steps).filter(|from| *from > 0)?;
        Some(from as f64 / ((n - from + 1) as f64 * odds))
    });
    let above = outwards(&|steps| {
        let from = (mode + steps < n).then_some(mode + steps)?;
        Some((n - from) as f64 * odds / (from + 1) as f64)
    });
    let tail = TAIL * (1.0 + below.iter().rev().sum::<f64>() + above.iter().rev().sum::<f64>());
    // How many of the weights, from the outermost on, make up the tail.
    let within = |weights: &[f64]| {
        let mut sum = 0.0;
        let mut inwards = weights.iter().rev().chain(&[1.0]);
        let passed = inwards.position(|weight| {
            sum += weight;
            sum > tail
        });
        passed.unwrap_or(weights.len() + 1) as u64
    };
    let low = (mode - below.len() as u64) + within(&below);
    let high = mode + above.len() as u64 + 1 - within(&above);
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_needs_so_many_values() {
        for (q, smallest) in
            [(0.5, 6), (0.9, 36), (0.95, 72), (0.99, 368), (0.999, 3_688), (0.9999, 36_887), (0.1, 36)]
        {
            assert_eq!(smallest_count(q), smallest, "{q}");
            // The tail of the binomial distribution says the same as its closed form.
            let (low, high) = binomial(smallest, q);
            assert!(low >= 1 && high <= smallest, "{q}: {low} {high}");
            let (low, high) = binomial(smallest - 1, q);
            assert!(low < 1 || high > smallest - 1, "{q}: {low} {high}");
            assert_eq!(interval(smallest - 1, q), None);
        }
        assert_eq!((interval(10, 0.0), interval(10, 1.0), interval(10, f64::NAN)), (None, None, None));
    }

    #[test]
    fn the_ranks_are_those_of_scipy() {
        RANKS.iter().for_each(|(n, q, low, high)| {
            assert_eq!(interval(*n, *q), Some((*low, *high)), "n = {n}, q = {q}");
        });
    }

    #[test]
    fn many_values_have_nearly_the_same_ranks_either_way() {
        for q in [0.5, 0.9, 0.999, 0.9999] {
            let ((low, high), (other_low, other_high)) = (binomial(EXACT_LIMIT, q), normal(EXACT_LIMIT, q));
            assert!(low.abs_diff(other_low) <= 2 && high.abs_diff(other_high) <= 2, "{q}");
        }
    }

    #[test]
    fn the_rank_is_the_smallest_that_reaches_the_quantile() {
        let cases = [
            (1000, 0.999, 999),
            (10_000_000, 0.999, 9_990_000),
            (1001, 0.999, 1000),
            (10, 0.5, 5),
            (11, 0.5, 6),
            (1, 0.99, 1),
            (5, 0.0, 1),
            (5, 1.0, 5),
        ];
        for (n, q, right) in cases {
            assert_eq!(rank(n, q), right, "n = {n}, q = {q}");
        }
    }

    /// n, q, and the ranks by `scipy.stats.binom` 1.17: largest j with cdf(j - 1) <= 0.025, smallest k with
    /// sf(k - 1) <= 0.025.
    const RANKS: &[(u64, f64, u64, u64)] = &[
        (6, 0.5, 1, 6),
        (7, 0.5, 1, 7),
        (10, 0.5, 2, 9),
        (100, 0.5, 40, 61),
        (1_001, 0.5, 470, 532),
        (36, 0.9, 29, 36),
        (100, 0.9, 84, 96),
        (72, 0.95, 64, 72),
        (500, 0.95, 465, 485),
        (368, 0.99, 360, 368),
        (10_000, 0.99, 9_880, 9_920),
        (3_688, 0.999, 3_680, 3_688),
        (1_000_000, 0.999, 998_938, 999_062),
        (10_000_000, 0.5, 4_996_901, 5_003_100),
        (10_000_000, 0.99, 9_899_383, 9_900_617),
        (10_000_000, 0.9999, 9_998_938, 9_999_062),
        (1_000_000_000, 0.5, 499_969_010, 500_030_991),
    ];
}
