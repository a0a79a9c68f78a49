//! How many trials it takes for an interval that is narrow enough, as far as those that are there tell.

use statrs::distribution::{ContinuousCDF, Normal};

use super::refusal::{Refusal, check_part};
use super::student::critical;

/// More trials than this nobody runs, and the answer is that it takes too many.
const MOST: usize = 1_000_000_000;

/// The smallest number of trials, at least 2, for which the t interval of a mean is at most `half_width` wide to either
/// side: t(n − 1) · `sd` / √n, both in one unit, or `sd` as the coefficient of variation and `half_width` as part of
/// the mean. For pairs take the standard deviation of the differences. Refused with numbers that are not above 0, and
/// above a billion trials.
pub fn trials_needed(sd: f64, half_width: f64, level: f64) -> Result<usize, Refusal> {
    let start = trials_needed_of_normal(sd, half_width, level)?.max(2);
    // The interval gets narrower with each trial, so it is halved between too few and enough.
    let is_enough = |n: usize| Ok(critical(n as f64 - 1.0, level)? * sd / (n as f64).sqrt() <= half_width);
    let (mut few, mut enough) = (1, start);
    while !is_enough(enough)? {
        few = enough;
        enough = (2 * enough).min(MOST);
        if few == MOST {
            return Err(Refusal::TooMany { have: few, most: MOST });
        }
    }
    while enough - few > 1 {
        let middle = few + (enough - few) / 2;
        if is_enough(middle)? { enough = middle } else { few = middle }
    }
    Ok(enough)
}

/// The same by the normal distribution, ⌈(z · sd / half-width)²⌉ (Jain 1991, §13.9): too few where it is few.
pub fn trials_needed_of_normal(sd: f64, half_width: f64, level: f64) -> Result<usize, Refusal> {
    check_part("level", level)?;
    for (what, number) in [("standard deviation", sd), ("half-width", half_width)] {
        if !(number > 0.0 && number.is_finite()) {
            return Err(Refusal::OutOfRange(what));
        }
    }
    let trials = (Normal::standard().inverse_cdf(0.5 + level / 2.0) * sd / half_width).powi(2).ceil();
    match trials <= MOST as f64 {
        true => Ok((trials as usize).max(1)),
        false => Err(Refusal::TooMany { have: usize::MAX, most: MOST }),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;
    use crate::analysis::descriptive::{mean, standard_deviation};
    use crate::analysis::interval::LEVEL;
    use crate::analysis::reference::{Checker, reference as file, samples};

    pub fn reference(check: &mut Checker) {
        for (path, sample) in samples() {
            let path = format!("{path}/runs_needed_for_rel_half_width");
            // The file has none for samples about 0.
            if file().pointer(&path).is_none() {
                continue;
            }
            let variation = standard_deviation(&sample).unwrap() / mean(&sample);
            for width in check.keys(&path) {
                let half = width.parse().unwrap();
                let normal = trials_needed_of_normal(variation, half, LEVEL).unwrap();
                check.same(&format!("{path}/{width}/normal_ceil"), json!(normal));
                let needed = trials_needed(variation, half, LEVEL).unwrap();
                check.same(&format!("{path}/{width}/iterated_t"), json!(needed));
            }
        }
    }

    #[test]
    fn the_values_are_those_of_the_reference() {
        Checker::run(reference);
    }

    #[test]
    fn what_no_number_of_trials_gives_is_refused() {
        assert_eq!(trials_needed(0.0, 1.0, LEVEL), Err(Refusal::OutOfRange("standard deviation")));
        assert_eq!(trials_needed(1.0, 0.0, LEVEL), Err(Refusal::OutOfRange("half-width")));
        assert_eq!(trials_needed(f64::NAN, 1.0, LEVEL), Err(Refusal::OutOfRange("standard deviation")));
        assert_eq!(trials_needed(1.0, 1.0, 1.0), Err(Refusal::OutOfRange("level")));
        assert!(matches!(trials_needed(1.0, 1e-9, LEVEL), Err(Refusal::TooMany { .. })));
        assert_eq!(trials_needed(1.0, 1e9, LEVEL), Ok(2));
    }
}
