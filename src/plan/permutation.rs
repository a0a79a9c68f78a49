//! A seeded order of `0..length` that is asked by position and back. Short orders are shuffled (Fisher and
//! Yates) and kept: every order is equally likely. Long ones are computed and take no memory: a Feistel
//! network over a rectangle of about `length` points, whose points beyond `length` are walked over
//! ("generalized Feistel" and "cycle walking" of Black and Rogaway, Ciphers with Arbitrary Finite Domains,
//! CT-RSA 2002). It is no cipher here: the round function only has to mix.

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

/// The longest order that is kept, 4 bytes each way and number.
const KEPT: usize = 4096;
/// Rounds of the network; with 4 its orders already pass the tests below.
const ROUNDS: usize = 8;

/// An order.
#[derive(Debug, Clone)]
pub(super) enum Permutation {
    Kept { numbers: Vec<u32>, positions: Vec<u32> },
    Computed { length: u64, rows: u64, columns: u64, keys: [u64; ROUNDS] },
}

impl Permutation {
    /// The order number `stream` of `seed`; different streams are independent.
    pub fn new(seed: u64, stream: u64, length: usize) -> Self {
        let mut random = Pcg64::seed_from_u64(mix(seed).wrapping_add(stream));
        if length <= KEPT {
            let mut numbers: Vec<u32> = (0..length as u32).collect();
            numbers.shuffle(&mut random);
            let mut positions = vec![0; length];
            numbers.iter().zip(0..).for_each(|(number, position)| positions[*number as usize] = position);
            return Permutation::Kept { numbers, positions };
        }
        let length = length as u64;
        let rows = length.isqrt();
        let keys = std::array::from_fn(|_| random.next_u64());
        Permutation::Computed { length, rows, columns: length.div_ceil(rows), keys }
    }

    pub fn length(&self) -> usize {
        match self {
            Permutation::Kept { numbers, .. } => numbers.len(),
            Permutation::Computed { length, .. } => *length as usize,
        }
    }

    /// The number at `position`.
    pub fn at(&self, position: usize) -> usize {
        match self {
            Permutation::Kept { numbers, .. } => numbers[position] as usize,
            Permutation::Computed { length, rows, columns, keys } => {
                walk(position as u64, *length, |point| forward(point, *rows, *columns, keys))
            }
        }
    }

    /// The position of `number`.
    pub fn position(&self, number: usize) -> usize {
        match self {
            Permutation::Kept { positions, .. } => positions[number] as usize,
            Permutation::Computed { length, rows, columns, keys } => {
                walk(number as u64, *length, |point| backward(point, *rows, *columns, keys))
            }
        }
    }
}

/// Steps on until the point is one of the order. It comes back to where it began at the latest.
fn walk(start: u64, length: u64, step: impl Fn(u64) -> u64) -> usize {
    let mut point = step(start);
    while point >= length {
        point = step(point);
    }
    point as usize
}

/// Each round turns one coordinate by an amount that the other and a key decide; `backward` undoes it.
fn forward(point: u64, rows: u64, columns: u64, keys: &[u64; ROUNDS]) -> u64 {
    let (mut row, mut column) = (point / columns, point % columns);
    for pair in keys.chunks(2) {
        row += below(rows, mix(column ^ pair[0]));
        row -= if row >= rows { rows } else { 0 };
        column += below(columns, mix(row ^ pair[1]));
        column -= if column >= columns { columns } else { 0 };
    }
    row * columns + column
}

fn backward(point: u64, rows: u64, columns: u64, keys: &[u64; ROUNDS]) -> u64 {
    let (mut row, mut column) = (point / columns, point % columns);
    for pair in keys.chunks(2).rev() {
        column += columns - below(columns, mix(row ^ pair[1]));
        column -= if column >= columns { columns } else { 0 };
        row += rows - below(rows, mix(column ^ pair[0]));
        row -= if row >= rows { rows } else { 0 };
    }
    row * columns + column
}

/// A mixed number scaled to `0..limit` (Lemire 2019, without the correction that these limits do not need).
fn below(limit: u64, mixed: u64) -> u64 {
    ((u128::from(mixed) * u128::from(limit)) >> 64) as u64
}

/// The finalizer of SplitMix64 (Steele, Lea and Flood 2014): every bit of the input changes every bit.
fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{KEPT, Permutation};

    #[test]
    fn every_number_has_one_position() {
        for length in [0, 1, 2, 6, 100, KEPT, KEPT + 1, 4999, 5000, 4900, 10_007, 70_000] {
            for seed in 0..3 {
                let order = Permutation::new(seed, 1, length);
                assert_eq!(order.length(), length);
                let mut found: Vec<usize> = (0..length).map(|position| order.at(position)).collect();
                assert!(
                    found.iter().enumerate().all(|(position, number)| order.position(*number) == position)
                );
                found.sort_unstable();
                assert!(found.into_iter().eq(0..length), "{length} {seed}");
            }
        }
    }

    /// Pearson's statistic of counts that should be equal.
    fn chi_square(counts: impl ExactSizeIterator<Item = usize>, expected: f64) -> f64 {
        counts.map(|count| (count as f64 - expected).powi(2) / expected).sum()
    }

    #[test]
    fn each_order_of_a_few_is_about_equally_likely() {
        // 719 degrees of freedom: mean 719, standard deviation 38. Seeds are 0, 1, 2, …, as people write them.
        for stream in [1, 2, 7] {
            let mut counts = BTreeMap::new();
            for seed in 0..36_000 {
                let order = Permutation::new(seed, stream, 6);
                *counts.entry((0..6).map(|position| order.at(position)).collect::<Vec<_>>()).or_insert(0) +=
                    1;
            }
            assert_eq!(counts.len(), 720);
            let statistic = chi_square(counts.into_values(), 50.0);
            assert!((580.0..860.0).contains(&statistic), "{statistic}");
        }
    }

    #[test]
    fn streams_of_one_seed_are_independent() {
        // Orders of block 1 and 2 together: 3! x 3! pairs, 35 degrees of freedom.
        let mut counts = BTreeMap::new();
        for seed in 0..3_600 {
            let orders = [1, 2].map(|stream| Permutation::new(seed, stream, 3));
            let key: Vec<usize> = orders.iter().flat_map(|order| (0..3).map(|at| order.at(at))).collect();
            *counts.entry(key).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 36);
        let statistic = chi_square(counts.into_values(), 100.0);
        assert!((12.0..70.0).contains(&statistic), "{statistic}");
    }

    #[test]
    fn long_orders_look_shuffled() {
        const LENGTH: usize = 10_000;
        for seed in 0..5 {
            let order = Permutation::new(seed, 1, LENGTH);
            // Where the first, and where each neighbour of a number lands: 100 classes of 100 positions.
            let mut places = [0; 100];
            let mut distances = [0; 100];
            let mut rising = 0;
            for number in 0..LENGTH {
                let (here, next) = (order.position(number), order.position((number + 1) % LENGTH));
                distances[(next + LENGTH - here) % LENGTH / 100] += 1;
                rising += usize::from(next > here);
                // Every tenth of the numbers, over all positions.
                places[here / 100] += usize::from(number % 10 == 0);
            }
            let distances = chi_square(distances.into_iter(), 100.0);
            assert!((50.0..165.0).contains(&distances), "{distances}");
            let places = chi_square(places.into_iter(), 10.0);
            assert!((40.0..165.0).contains(&places), "{places}");
            assert!((4_850..5_150).contains(&rising), "{rising}");
        }
        // The first number of an order, over seeds: 50 classes.
        let mut firsts = [0; 50];
        for seed in 0..5_000 {
            firsts[Permutation::new(seed, 1, LENGTH).at(0) / 200] += 1;
        }
        let firsts = chi_square(firsts.into_iter(), 100.0);
        assert!((20.0..100.0).contains(&firsts), "{firsts}");
    }
}
