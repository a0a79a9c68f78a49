//! Samples drawn anew from a sample, with replacement: what the statistic might have been. Read
//! [`Resampling`]; the intervals are in `bootstrap.rs`.

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

use super::refusal::{Refusal, check, finite};

/// Up to so many samples are drawn.
const MOST: usize = 10_000_000;

/// Which samples are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resampling {
    /// So many, at random; the same seed gives the same on every machine.
    Random {
        /// How many samples.
        count: usize,
        /// The seed.
        seed: u64,
    },
    /// Each that can be drawn once, n^n of n values: exact, for a few values.
    Every,
}

/// The statistic of each sample drawn from `samples`, each of them by itself. Refused with no count or more than 10
/// million, without values, and where a statistic is not finite.
pub(super) fn replicates(
    samples: &[&[f64]],
    statistic: &dyn Fn(&[&[f64]]) -> f64,
    resampling: Resampling,
) -> Result<Vec<f64>, Refusal> {
    samples.iter().try_for_each(|sample| check(sample, 1))?;
    match resampling {
        Resampling::Random { count, .. } if !(1..=MOST).contains(&count) => {
            Err(Refusal::OutOfRange("number of samples drawn"))
        }
        Resampling::Random { count, seed } => {
            let mut random = Pcg64::seed_from_u64(seed);
            let place = |_, size| below(&mut random, size);
            draw(samples, statistic, count, place)
        }
        Resampling::Every => {
            let sizes: Vec<usize> = samples.iter().map(|sample| sample.len()).collect();
            let factors = sizes.iter().flat_map(|size| std::iter::repeat_n(*size, *size));
            let count = factors.into_iter().try_fold(1usize, |count, size| count.checked_mul(size));
            let Some(count) = count.filter(|count| *count <= MOST) else {
                return Err(Refusal::TooMany { have: sizes.iter().sum(), most: 8 });
            };
            // The number of a sample is read digit by digit, each the place of a value.
            let mut rest = (0, 0);
            draw(samples, statistic, count, |number, size| {
                if rest.0 != number {
                    rest = (number, number);
                }
                let digit = rest.1 % size;
                rest.1 /= size;
                digit
            })
        }
    }
}

/// The statistic of `count` samples; `place` says from which place the next value of sample number so and so comes.
fn draw(
    samples: &[&[f64]],
    statistic: &dyn Fn(&[&[f64]]) -> f64,
    count: usize,
    mut place: impl FnMut(usize, usize) -> usize,
) -> Result<Vec<f64>, Refusal> {
    let mut drawn: Vec<Vec<f64>> = samples.iter().map(|sample| sample.to_vec()).collect();
    let mut statistics = Vec::with_capacity(count);
    for number in 0..count {
        for (drawn, sample) in drawn.iter_mut().zip(samples) {
            drawn.iter_mut().for_each(|value| *value = sample[place(number, sample.len())]);
        }
        let drawn: Vec<&[f64]> = drawn.iter().map(Vec::as_slice).collect();
        statistics.push(finite(statistic(&drawn))?);
    }
    Ok(statistics)
}

/// A random place below `size`, each as likely as any other to within 2^-64 (Lemire 2019, without the second step).
fn below(random: &mut Pcg64, size: usize) -> usize {
    ((u128::from(random.next_u64()) * size as u128) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::descriptive::mean;

    fn means(sample: &[f64], resampling: Resampling) -> Result<Vec<f64>, Refusal> {
        replicates(&[sample], &|samples| mean(samples[0]), resampling)
    }

    #[test]
    fn a_seed_gives_the_same_samples_for_ever() {
        let sample: Vec<f64> = (0..10).map(f64::from).collect();
        let drawn = means(&sample, Resampling::Random { count: 4, seed: 1 }).unwrap();
        assert_eq!(drawn, [4.4, 3.8, 5.6, 2.7]);
        assert_ne!(means(&sample, Resampling::Random { count: 4, seed: 2 }).unwrap(), drawn);
    }

    #[test]
    fn every_sample_is_drawn_once() {
        assert_eq!(means(&[0.0, 1.0], Resampling::Every).unwrap(), [0.0, 0.5, 0.5, 1.0]);
        let sums = |samples: &[&[f64]]| samples[0][0] + samples[0][1] + 10.0 * samples[1][0];
        let all = replicates(&[&[0.0, 1.0], &[3.0]], &sums, Resampling::Every).unwrap();
        assert_eq!(all, [30.0, 31.0, 31.0, 32.0]);
        assert_eq!(means(&[0.0; 9], Resampling::Every), Err(Refusal::TooMany { have: 9, most: 8 }));
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        let random = |count| Resampling::Random { count, seed: 1 };
        assert_eq!(means(&[], random(5)), Err(Refusal::TooFew { have: 0, needed: 1 }));
        assert_eq!(means(&[1.0], random(0)), Err(Refusal::OutOfRange("number of samples drawn")));
        assert_eq!(means(&[f64::NAN], random(5)), Err(Refusal::NotFinite));
        let divided = |samples: &[&[f64]]| 1.0 / samples[0][0];
        assert_eq!(replicates(&[&[0.0]], &divided, random(5)), Err(Refusal::NotFinite));
    }
}
