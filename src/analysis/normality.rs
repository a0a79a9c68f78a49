//! Whether a sample looks normal. A hint beside its shape, and no condition: with few values it sees nothing, and
//! with many it objects to anything.

use statrs::distribution::{ContinuousCDF, Normal};

use super::descriptive::sum_of_squares;
use super::refusal::{Refusal, check, sorted};

/// The approximation of the p-value was made for at most so many values.
const MOST: usize = 5000;

/// The test of Shapiro & Wilk 1965.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShapiroWilk {
    /// The statistic W: 1 for a perfectly normal sample.
    pub w: f64,
    /// How often normal values have a W that is at most as large.
    pub p: f64,
}

/// Shapiro's and Wilk's test by the approximations of Royston 1995 (algorithm AS R94). Refused below 3 values and above
/// 5000, and where they do not vary.
pub fn shapiro_wilk(sample: &[f64]) -> Result<ShapiroWilk, Refusal> {
    check(sample, 3)?;
    if sample.len() > MOST {
        return Err(Refusal::TooMany { have: sample.len(), most: MOST });
    }
    let (sorted, squares) = (sorted(sample), sum_of_squares(sample));
    if squares == 0.0 {
        return Err(Refusal::Constant);
    }
    let outwards = weights(sorted.len());
    let ends = sorted.iter().zip(sorted.iter().rev());
    let contrast: f64 = outwards.iter().zip(ends).map(|(weight, (low, high))| weight * (high - low)).sum();
    let w = (contrast * contrast / squares).min(1.0);
    Ok(ShapiroWilk { w, p: p(w, sorted.len()) })
}

/// The weights of the differences between the ends of the sorted sample, from the outermost inwards.
fn weights(n: usize) -> Vec<f64> {
    if n == 3 {
        return vec![0.5_f64.sqrt()];
    }
    let size = n as f64;
    let normal = Normal::standard();
    let middles: Vec<f64> =
        (1..=n / 2).map(|rank| -normal.inverse_cdf((rank as f64 - 0.375) / (size + 0.25))).collect();
    let squares = 2.0 * middles.iter().map(|middle| middle * middle).sum::<f64>();
    let (length, root) = (squares.sqrt(), size.sqrt().recip());
    let outer = [
        middles[0] / length + polynomial(&[0.0, 0.221157, -0.147981, -2.07119, 4.434685, -2.706056], root),
        middles[1] / length + polynomial(&[0.0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633], root),
    ];
    // Royston replaces the outermost weights, and of more than 5 values the next too; the others keep the length at 1.
    let replaced = if n > 5 { 2 } else { 1 };
    let left = |values: &[f64]| 2.0 * values[..replaced].iter().map(|value| value * value).sum::<f64>();
    let scale = ((squares - left(&middles)) / (1.0 - left(&outer))).sqrt();
    let inner = middles[replaced..].iter().map(|middle| middle / scale);
    outer[..replaced].iter().copied().chain(inner).collect()
}

fn p(w: f64, n: usize) -> f64 {
    let size = n as f64;
    if n == 3 {
        let least = 0.75_f64.sqrt().asin();
        return (6.0 / std::f64::consts::PI * (w.sqrt().asin() - least)).clamp(0.0, 1.0);
    }
    let (y, logarithm) = ((1.0 - w).ln(), size.ln());
    let (y, mean, deviation) = if n <= 11 {
        let gamma = polynomial(&[-2.273, 0.459], size);
        if y >= gamma {
            return 0.0;
        }
        let mean = polynomial(&[0.544, -0.39978, 0.025054, -6.714e-4], size);
        let deviation = polynomial(&[1.3822, -0.77857, 0.062767, -0.0020322], size).exp();
        (-(gamma - y).ln(), mean, deviation)
    } else {
        let mean = polynomial(&[-1.5861, -0.31082, -0.083751, 0.0038915], logarithm);
        (y, mean, polynomial(&[-0.4803, -0.082676, 0.0030302], logarithm).exp())
    };
    Normal::standard().sf((y - mean) / deviation)
}

/// The polynomial with these coefficients, the constant first.
fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::analysis::reference::{Checker, samples};

    pub fn reference(check: &mut Checker) {
        for (path, sample) in samples() {
            let test = shapiro_wilk(&sample).unwrap();
            check.digits(&format!("{path}/shapiro_wilk_W_p/0"), test.w);
            check.p(&format!("{path}/shapiro_wilk_W_p/1"), test.p);
        }
    }

    #[test]
    fn the_values_are_those_of_the_reference() {
        Checker::run(reference);
    }

    #[test]
    fn what_cannot_be_judged_is_refused() {
        assert_eq!(shapiro_wilk(&[1.0, 2.0]), Err(Refusal::TooFew { have: 2, needed: 3 }));
        assert_eq!(shapiro_wilk(&[0.1; 8]), Err(Refusal::Constant));
        assert_eq!(shapiro_wilk(&[1.0, 2.0, f64::NAN]), Err(Refusal::NotFinite));
        assert_eq!(shapiro_wilk(&[0.0; 5001]), Err(Refusal::TooMany { have: 5001, most: 5000 }));
        for sample in [&[1.0, 2.0, 3.0][..], &[1.0, 2.0, 3.0, 4.0], &[0.0, 0.0, 0.0, 0.0, 0.0, 1e9]] {
            let test = shapiro_wilk(sample).unwrap();
            assert!((0.0..=1.0).contains(&test.p) && (0.0..=1.0).contains(&test.w), "{test:?}");
        }
    }
}
