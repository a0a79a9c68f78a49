//! A set of whole numbers below a limit, one bit each, which also tells its member of a given rank.

/// Words that are counted together for [`Bits::select`].
const GROUP: usize = 8;

/// The set.
#[derive(Debug, Clone)]
pub(super) struct Bits {
    words: Vec<u64>,
    /// How many members lie before each group of words; filled by [`Bits::count`].
    before: Vec<usize>,
}

impl Bits {
    /// No number below `limit`.
    pub fn none(limit: usize) -> Self {
        Bits { words: vec![0; limit.div_ceil(64)], before: Vec::new() }
    }

    pub fn insert(&mut self, number: usize) {
        self.words[number / 64] |= 1 << (number % 64);
    }

    pub fn has(&self, number: usize) -> bool {
        self.words[number / 64] >> (number % 64) & 1 == 1
    }

    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// How many members there are. Prepares [`Bits::select`].
    pub fn count(&mut self) -> usize {
        let mut count = 0;
        self.before.clear();
        for group in self.words.chunks(GROUP) {
            self.before.push(count);
            count += group.iter().map(|word| word.count_ones() as usize).sum::<usize>();
        }
        count
    }

    /// The member before which there are `rank` others.
    pub fn select(&self, rank: usize) -> usize {
        let group = self.before.partition_point(|before| *before <= rank).saturating_sub(1);
        let mut left = rank - self.before.get(group).copied().unwrap_or_default();
        for (index, word) in self.words.iter().enumerate().skip(group * GROUP) {
            let ones = word.count_ones() as usize;
            if left < ones {
                let word = (0..left).fold(*word, |word, _| word & (word - 1));
                return index * 64 + word.trailing_zeros() as usize;
            }
            left -= ones;
        }
        self.words.len() * 64
    }
}

#[cfg(test)]
mod tests {
    use super::Bits;

    #[test]
    fn members_are_found_by_rank() {
        for (limit, step) in [(1, 1), (64, 1), (65, 64), (5000, 3), (5000, 517), (5000, 4999)] {
            let members: Vec<usize> = (0..limit).step_by(step).collect();
            let mut bits = Bits::none(limit);
            assert!(bits.is_empty());
            members.iter().for_each(|member| bits.insert(*member));
            assert_eq!(bits.count(), members.len());
            assert_eq!((0..members.len()).map(|rank| bits.select(rank)).collect::<Vec<_>>(), members);
            assert!((0..limit).all(|number| bits.has(number) == (number % step == 0)));
        }
    }
}
