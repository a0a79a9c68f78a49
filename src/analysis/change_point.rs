//! Where a series of results, such as those of one version after the other, changes its level. By the distances of all
//! values, so that any change of the distribution counts and nothing is assumed of it (E-divisive: Matteson & James
//! 2014, with the exponent 1).

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;

use super::refusal::{Refusal, check, finite};

/// Up to so many permutations are tried.
const MOST: usize = 1_000_000;

/// The likeliest change of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// The place, from 0, of the first value of the new level.
    pub place: usize,
    /// The place after the last value that was looked at.
    pub end: usize,
    /// How far the values before and from there on are apart, nm / (n + m) · (2 E|X − Y| − E|X − X′| − E|Y − Y′|), in the
    /// unit of the values: the larger, the likelier.
    pub divergence: f64,
}

/// The likeliest change of a whole series, with at least `smallest` values (1 or more) on either side. Refused where there
/// are too few values.
pub fn change_point(series: &[f64], smallest: usize) -> Result<ChangePoint, Refusal> {
    check_series(series, smallest)?;
    let n = series.len();
    let (mut before, mut after) = (0.0, inner_sums(series));
    let all = after[0];
    after.push(0.0);
    let mut best: Option<ChangePoint> = None;
    for place in 1..n {
        let added: f64 = series[..place - 1].iter().map(|value| (value - series[place - 1]).abs()).sum();
        before += added;
        if place >= smallest && n - place >= smallest {
            let divergence = divergence(before, after[place], all, place, n);
            replace(&mut best, ChangePoint { place, end: n, divergence });
        }
    }
    result(best)
}

/// The likeliest change of all beginnings of a series, sides of one value included: it finds what was taken back later.
pub fn change_in_start(series: &[f64]) -> Result<ChangePoint, Refusal> {
    check_series(series, 1)?;
    // Sums of distances, of the values up to each place and of those from each place on.
    let mut up_to = vec![0.0; series.len() + 1];
    let mut from = vec![0.0; series.len() + 1];
    let mut best: Option<ChangePoint> = None;
    for end in 1..=series.len() {
        let mut added = 0.0;
        for place in (0..end).rev() {
            added += (series[place] - series[end - 1]).abs();
            from[place] += added;
        }
        up_to[end] = from[0];
        for place in 1..end {
            let divergence = divergence(up_to[place], from[place], from[0], place, end);
            replace(&mut best, ChangePoint { place, end, divergence });
        }
    }
    result(best)
}

/// How often the values in a random order seem to change as much as they do: (more or as much + 1) / (permutations + 1)
/// over `permutations` of the series from a seed (Phipson & Smyth 2010). Refused like [`change_point`].
pub fn chance_of_change(
    series: &[f64],
    smallest: usize,
    permutations: usize,
    seed: u64,
) -> Result<f64, Refusal> {
    if !(1..=MOST).contains(&permutations) {
        return Err(Refusal::OutOfRange("number of permutations"));
    }
    let found = change_point(series, smallest)?.divergence;
    let limit = found - 1e-12 * found.abs();
    let mut random = Pcg64::seed_from_u64(seed);
    let mut shuffled = series.to_vec();
    let mut as_far = 0;
    for _ in 0..permutations {
        shuffled.shuffle(&mut random);
        as_far += usize::from(change_point(&shuffled, smallest)?.divergence >= limit);
    }
    Ok((as_far + 1) as f64 / (permutations + 1) as f64)
}

/// The sum of the distances of all pairs from each place on.
fn inner_sums(series: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; series.len()];
    for place in (0..series.len().saturating_sub(1)).rev() {
        let added: f64 = series[place + 1..].iter().map(|value| (value - series[place]).abs()).sum();
        sums[place] = sums[place + 1] + added;
    }
    sums
}

/// The divergence by the sums of the distances of pairs before `place`, from there on, and of all up to `end`.
fn divergence(before: f64, after: f64, all: f64, place: usize, end: usize) -> f64 {
    let (n, m) = (place as f64, (end - place) as f64);
    // One value has no pair, and no distance.
    let mean_of_pairs = |sum: f64, n: f64| if n > 1.0 { sum / (n * (n - 1.0) / 2.0) } else { 0.0 };
    let across = (all - before - after) / (n * m);
    n * m / (n + m) * (2.0 * across - mean_of_pairs(before, n) - mean_of_pairs(after, m))
}

/// Of equal ones the first counts, but for the last bits.
fn replace(best: &mut Option<ChangePoint>, next: ChangePoint) {
    if best.is_none_or(|best| next.divergence > best.divergence + 1e-12 * best.divergence.abs()) {
        *best = Some(next);
    }
}

fn result(best: Option<ChangePoint>) -> Result<ChangePoint, Refusal> {
    let best = best.ok_or(Refusal::TooFew { have: 0, needed: 2 })?;
    Ok(ChangePoint { divergence: finite(best.divergence)?, ..best })
}

fn check_series(series: &[f64], smallest: usize) -> Result<(), Refusal> {
    match smallest {
        0 => Err(Refusal::OutOfRange("number of values on a side")),
        _ => check(series, smallest.saturating_mul(2)),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;
    use crate::analysis::descriptive::mean;
    use crate::analysis::reference::{Checker, numbers};
    use crate::analysis::welch::pooled;

    pub fn reference(check: &mut Checker) {
        let cases = "/change_point_e_divisive_alpha1";
        check.input(&format!("{cases}/definition"));
        for name in check.keys(&format!("{cases}/cases")) {
            let path = |key: &str| format!("{cases}/cases/{name}/{key}");
            let series = numbers(check.input(&path("z")));
            let any = change_in_start(&series).unwrap();
            check.same(&path("best_tau_kappa_any_segment"), json!([any.place, any.end]));
            check.close(&path("best_Q_any_segment"), any.divergence);
            let full = change_point(&series, 2).unwrap();
            check.same(&path("best_tau_full_series_min_segment_2"), json!(full.place));
            check.close(&path("Q_full"), full.divergence);
            let (before, after) = series.split_at(full.place);
            check.digits(&path("rel_change_pct"), (mean(after) / mean(before) - 1.0) * 100.0);
            check.digits(&path("student_p_at_tau"), pooled(before, after).unwrap().p().unwrap());
            let chance = path("permutation_p_R1999_seed20261130");
            let right = check.input(&chance).as_f64().unwrap();
            // Five standard deviations of two counts of 1999, and one count.
            let room = 5.0 * (2.0 * right * (1.0 - right) / 2000.0).sqrt() + 1.0 / 2000.0;
            check.within(&chance, chance_of_change(&series, 2, 1999, 20261130).unwrap(), room);
        }
    }

    #[test]
    fn the_values_are_those_of_the_reference() {
        Checker::run(reference);
    }

    #[test]
    fn what_has_no_two_sides_is_refused() {
        assert_eq!(change_point(&[1.0, 2.0, 3.0], 2), Err(Refusal::TooFew { have: 3, needed: 4 }));
        assert_eq!(change_point(&[1.0, 2.0], 0), Err(Refusal::OutOfRange("number of values on a side")));
        assert_eq!(change_point(&[1.0, f64::NAN], 1), Err(Refusal::NotFinite));
        assert_eq!(change_in_start(&[1.0]), Err(Refusal::TooFew { have: 1, needed: 2 }));
        let no_permutation = chance_of_change(&[1.0, 2.0], 1, 0, 1);
        assert_eq!(no_permutation, Err(Refusal::OutOfRange("number of permutations")));
        assert_eq!(chance_of_change(&[2.0; 6], 2, 99, 1), Ok(1.0), "no change is as large as none");
    }

    #[test]
    fn a_seed_gives_the_same_chance() {
        let series = [1.0, 2.0, 1.5, 1.0, 3.0, 2.5, 3.5, 2.0];
        assert_eq!(chance_of_change(&series, 2, 99, 5), chance_of_change(&series, 2, 99, 5));
    }
}
