//! Sums without rounding: the order of the terms, and of merges, changes no bit. Read [`Sum`] first.

/// The exact sum of floating-point numbers as an expansion: its parts, largest first, add up to it exactly,
/// and each part is what remains after those before it, rounded once. So one sum has one form. It fits any
/// terms between 1e-250 and 1e250 in size, and 0.
///
/// After Shewchuk 1997, "Adaptive precision floating-point arithmetic".
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sum(Vec<f64>);

impl Sum {
    /// The sum of `terms`, which are finite.
    pub fn of(terms: impl IntoIterator<Item = f64>) -> Self {
        let mut partials = Vec::new();
        for term in terms {
            grow(&mut partials, term);
        }
        let mut parts = Vec::new();
        loop {
            let part = rounded(&partials);
            if part == 0.0 {
                return Self(parts);
            }
            parts.push(part);
            grow(&mut partials, -part);
        }
    }

    /// The sum of both.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self::of(self.0.iter().chain(&other.0).copied())
    }

    /// The sum, rounded once.
    pub fn value(&self) -> f64 {
        self.0.first().copied().unwrap_or(0.0)
    }

    /// Terms that add up to it.
    pub fn parts(&self) -> &[f64] {
        &self.0
    }
}

/// Terms whose exact sum is `value` times `count`.
pub fn product(value: f64, count: u64) -> [f64; 4] {
    // Half a count is exact as a float, and so is the remainder that `mul_add` gives.
    let halves = [(count >> 32) as f64 * 2f64.powi(32), (count & 0xffff_ffff) as f64];
    let [high, low] = halves.map(|half| {
        let product = value * half;
        [product, value.mul_add(half, -product)]
    });
    [high[0], high[1], low[0], low[1]]
}

/// Adds `term` to partial sums that do not overlap, smallest first.
fn grow(partials: &mut Vec<f64>, term: f64) {
    let mut carried = term;
    let mut kept = 0;
    for place in 0..partials.len() {
        let partial = partials[place];
        let (large, small) =
            if carried.abs() < partial.abs() { (partial, carried) } else { (carried, partial) };
        carried = large + small;
        let lost = small - (carried - large);
        if lost != 0.0 {
            partials[kept] = lost;
            kept += 1;
        }
    }
    partials.truncate(kept);
    if carried != 0.0 {
        partials.push(carried);
    }
}

/// The sum of `partials`, rounded once, to even.
fn rounded(partials: &[f64]) -> f64 {
    let mut rest = partials.iter().rev().copied();
    let Some(mut sum) = rest.next() else { return 0.0 };
    while let Some(next) = rest.next() {
        let before = sum;
        sum = before + next;
        let lost = next - (sum - before);
        if lost == 0.0 {
            continue;
        }
        // Half-way between two numbers, what is still below decides.
        if rest.next().is_some_and(|below| below.signum() == lost.signum()) {
            let twice = lost * 2.0;
            let up = sum + twice;
            if up - sum == twice {
                sum = up;
            }
        }
        break;
    }
    sum
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_is_lost() {
        let cases: &[(&[f64], f64)] = &[
            (&[], 0.0),
            (&[0.0, 0.0], 0.0),
            (&[1e100, 1.0, -1e100], 1.0),
            (&[0.1; 10], 1.0),
            (&[1e16, 1.0, 1.0], 10_000_000_000_000_002.0),
            // Half-way to even, and just above half-way.
            (&[9_007_199_254_740_992.0, 1.0], 9_007_199_254_740_992.0),
            (&[9_007_199_254_740_992.0, 1.0, 1e-30], 9_007_199_254_740_994.0),
        ];
        for (terms, sum) in cases {
            assert_eq!(Sum::of(terms.iter().copied()).value(), *sum, "{terms:?}");
        }
        assert_eq!(Sum::of([0.1; 10]).parts(), [1.0, 5.551_115_123_125_783e-17]);
    }

    #[test]
    fn products_are_exact() {
        for (value, count) in [(0.1, 3), (0.1, u64::MAX >> 1), (4.4e-5, 9_957_935), (1e250, 1 << 62)] {
            // Doubling is exact, so the sum of a power of two of terms is known.
            let bits = (0..64).filter(|bit| count >> bit & 1 == 1).map(|bit| value * 2f64.powi(bit));
            assert_eq!(Sum::of(product(value, count)), Sum::of(bits), "{value} {count}");
        }
    }

    proptest! {
        #[test]
        fn the_order_of_terms_and_of_sums_changes_no_bit(
            terms in proptest::collection::vec(prop_oneof![0.0..1.0, 1e-200..1e-190, 1e190..1e200f64], 1..40),
            cut in 0usize..40,
        ) {
            let whole = Sum::of(terms.iter().copied());
            prop_assert_eq!(&whole, &Sum::of(terms.iter().rev().copied()));
            let (left, right) = terms.split_at(cut.min(terms.len()));
            let (left, right) = (Sum::of(left.iter().copied()), Sum::of(right.iter().copied()));
            prop_assert_eq!(&whole, &left.plus(&right));
            prop_assert_eq!(&whole, &right.plus(&left));
        }
    }
}
