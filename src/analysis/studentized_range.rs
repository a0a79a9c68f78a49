//! Which two of several samples differ, where all pairs are compared at once.

use statrs::distribution::{Continuous, ContinuousCDF, Normal};
use statrs::function::gamma::ln_gamma;

use super::descriptive::mean;
use super::groups::analysis_of_variance;
use super::refusal::{Refusal, finite};

/// Steps of each of the two integrals. Their functions are smooth and vanish at both ends, so that the sum over equal
/// steps converges faster than by any power of the step.
const STEPS: usize = 400;

/// The p-value for the means of the samples `one` and `other` (places from 0) among all pairs of `samples`: Tukey's
/// honest significant difference in the form of Kramer 1956, for samples of different sizes. Refused like
/// [`analysis_of_variance`].
pub fn honest_difference(samples: &[&[f64]], one: usize, other: usize) -> Result<f64, Refusal> {
    let variance = analysis_of_variance(samples)?;
    let (Some(x), Some(y)) = (samples.get(one), samples.get(other)) else {
        return Err(Refusal::OutOfRange("place of a sample"));
    };
    let error = variance.within / 2.0 * (1.0 / x.len() as f64 + 1.0 / y.len() as f64);
    let range = finite((mean(x) - mean(y)).abs() / error.sqrt())?;
    finite(upper_tail(range, samples.len() as f64, variance.freedom.1))
}

/// How often the range of `count` standard normal values, divided by an independent standard deviation of `freedom`
/// degrees, is above `range`: the studentized range distribution (Copenhaver & Holland 1988), integrated over the
/// logarithm of the standard deviation.
fn upper_tail(range: f64, count: f64, freedom: f64) -> f64 {
    // The density of u, the logarithm of √(χ²/ν), is 2 h^h / Γ(h) · exp(2 h u − h e^2u) with h = ν/2. Beyond these ends
    // it is below e^-45 of its peak, since u − (e^2u − 1)/2 is at most −u² above 0, and below 0 at most −u²/3 down to
    // −1 and u + 1/2 from there on.
    let half = freedom / 2.0;
    let constant = std::f64::consts::LN_2 + half * half.ln() - ln_gamma(half);
    let (low, high) = (-(135.0 / freedom).sqrt() - 45.0 / freedom, (45.0 / freedom).sqrt());
    let parts = steps(low, high).map(|(u, step)| {
        let density = (constant + freedom * u - half * (2.0 * u).exp()).exp();
        if density < 1e-18 { 0.0 } else { density * step * upper_tail_of_range(range * u.exp(), count) }
    });
    parts.sum::<f64>().clamp(0.0, 1.0)
}

/// How often the range of `count` standard normal values is above `range`: over the smallest value z, all others are
/// within the range above it unless one is beyond.
fn upper_tail_of_range(range: f64, count: f64) -> f64 {
    let normal = Normal::standard();
    let parts = steps(-9.0, 9.0).map(|(z, step)| {
        let above = normal.sf(z);
        let within = above - normal.sf(z + range);
        let others = count - 1.0;
        count * normal.pdf(z) * step * (above.powf(others) - within.max(0.0).powf(others))
    });
    parts.sum()
}

fn steps(low: f64, high: f64) -> impl Iterator<Item = (f64, f64)> {
    let step = (high - low) / STEPS as f64;
    (0..=STEPS).map(move |place| (low + step * place as f64, step))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::analysis::reference::{Checker, MORLEY};

    pub fn reference(check: &mut Checker) {
        let samples = MORLEY.each_ref().map(|sample| &sample[..]);
        let p = honest_difference(&samples, 0, 4).unwrap();
        check.p("/two_level_morley_5x20/tukey_hsd_exp1_vs_exp5_p", p);
    }

    #[test]
    fn the_values_are_those_of_the_reference() {
        Checker::run(reference);
    }

    #[test]
    fn the_limits_of_5_percent_are_those_of_the_tables() {
        // Pearson & Hartley 1966, table 29.
        for (limit, count, freedom) in [
            (17.97, 2.0, 1.0),
            (6.085, 2.0, 2.0),
            (8.331, 3.0, 2.0),
            (3.877, 3.0, 10.0),
            (4.232, 5.0, 20.0),
            (3.858, 5.0, 1e6),
        ] {
            let p = upper_tail(limit, count, freedom);
            assert!((p - 0.05).abs() < 1e-4, "{limit} {count} {freedom}: {p}");
        }
    }

    #[test]
    fn two_samples_have_the_p_of_the_pooled_test() {
        let (x, y) = ([1.0, 2.0, 4.0, 3.5], [3.0, 5.0, 4.5, 6.0, 5.5]);
        let right = crate::analysis::welch::pooled(&x, &y).unwrap().p().unwrap();
        let got = honest_difference(&[&x, &y], 0, 1).unwrap();
        assert!((got - right).abs() < 1e-8 * right, "{got} is not {right}");
        assert_eq!(honest_difference(&[&x, &y], 0, 2), Err(Refusal::OutOfRange("place of a sample")));
        assert_eq!(honest_difference(&[&x], 0, 0), Err(Refusal::TooFew { have: 1, needed: 2 }));
    }
}
