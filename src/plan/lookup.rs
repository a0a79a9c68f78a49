//! From a value back to its number on an axis, fast also for long lists.

use std::collections::HashMap;

use crate::spec::matrix::Values;

/// The values of one axis.
pub(super) enum Lookup<'a> {
    /// The number of each value that is written out.
    List(HashMap<&'a str, usize>),
    /// A range computes it.
    Range(&'a Values),
}

impl<'a> Lookup<'a> {
    pub fn new(values: &'a Values) -> Self {
        match values {
            Values::List(list) => {
                Lookup::List(list.values.iter().map(|text| text.as_str()).zip(0..).collect())
            }
            Values::Range(_) => Lookup::Range(values),
        }
    }

    /// The number of `text`, if it is one of them; the last, where it is there more than once.
    pub fn position(&self, text: &str) -> Option<usize> {
        match self {
            Lookup::List(numbers) => numbers.get(text).copied(),
            Lookup::Range(values) => values.position(text),
        }
    }
}
