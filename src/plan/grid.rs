//! The points of one workload in one block, by number: a point is a digit on each axis, and nothing is
//! stored of it but, where something is excluded, one bit. Read [`Grid`], then [`Subspace`].

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use sha2::Sha256;

use super::bits::Bits;
use super::service::Service;
use crate::diagnostic::Span;
use crate::spec::Adaptive;
use crate::spec::matrix::Values;

/// The number of the slot of the host in every grid.
pub(super) const HOST: usize = 0;
/// The number of the slot of the environment in every grid.
pub(super) const ENVIRONMENT: usize = 1;
/// Where the slots of the parameters begin.
pub(super) const PARAMETERS: usize = 2;

/// The product of some axes. Axes that move in lock-step are one: it then fills several slots.
#[derive(Debug, Clone)]
pub(super) struct Grid {
    pub workload: String,
    /// The block, or the entry of its `include`, that it comes from.
    pub span: Span,
    /// Whether it comes from an `include`: no exclude applies to it then.
    pub is_included: bool,
    /// What a point has a value for: host, environment, then the parameters in the workload's order.
    pub slots: Vec<Slot>,
    /// The slots of the parameters by the parameter's name, as names and records list them.
    pub by_name: Vec<usize>,
    /// How many values each axis has, the outermost first.
    pub lengths: Vec<usize>,
    /// The points that are cells; all, when nothing is excluded.
    pub kept: Option<Bits>,
    /// How many points are cells.
    pub cells: usize,
    /// Measured trials of each cell, at most.
    pub repetitions: u32,
    /// What ends them earlier.
    pub adaptive: Option<Adaptive>,
    pub warmup: u32,
    pub services: Vec<Service>,
    pub step_hosts: BTreeSet<String>,
    /// The beginning of the digest of a cell in each environment.
    pub digests: BTreeMap<String, Sha256>,
}

/// Something that a point has a value for.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    pub name: String,
    pub source: Source,
    /// Where its values are written.
    pub span: Span,
}

/// Where the value of a slot comes from.
#[derive(Debug, Clone)]
pub(super) enum Source {
    /// The axis of this number, which has these values for the slot.
    Axis(usize, Values),
    /// A template, kept by `Scope` under this name, and the axes that decide its value.
    Derived(String, Vec<usize>),
}

impl Grid {
    /// How many trials each cell has.
    pub fn trials_of_a_cell(&self) -> usize {
        self.repetitions as usize + self.warmup as usize
    }

    /// How many points there are.
    pub fn points(&self) -> usize {
        self.lengths.iter().product()
    }

    /// The number of a slot by its name.
    pub fn slot(&self, name: &str) -> Option<usize> {
        self.slots.iter().position(|slot| slot.name == name)
    }

    /// Whether the value of some slot is derived.
    pub fn has_derived(&self) -> bool {
        self.slots.iter().any(|slot| matches!(slot.source, Source::Derived(..)))
    }

    /// The axes that decide what `names` stand for; a name that is no slot depends on none.
    pub fn axes_of<S: AsRef<str>>(&self, names: impl IntoIterator<Item = S>) -> Vec<usize> {
        let mut axes = BTreeSet::new();
        for slot in names.into_iter().filter_map(|name| self.slot(name.as_ref())) {
            match &self.slots[slot].source {
                Source::Axis(axis, _) => axes.extend([*axis]),
                Source::Derived(_, others) => axes.extend(others.iter().copied()),
            }
        }
        axes.into_iter().collect()
    }

    /// The digits of the cell of this rank.
    pub fn cell_digits(&self, rank: usize) -> Vec<usize> {
        self.digits(self.kept.as_ref().map_or(rank, |kept| kept.select(rank)))
    }

    /// The digits of a point.
    pub fn digits(&self, mut point: usize) -> Vec<usize> {
        let mut digits = vec![0; self.lengths.len()];
        for (digit, length) in digits.iter_mut().zip(&self.lengths).rev() {
            *digit = point % length;
            point /= length;
        }
        digits
    }

    /// The value of a slot that is not derived; empty for one that is.
    pub fn text(&self, slot: usize, digits: &[usize]) -> Cow<'_, str> {
        match &self.slots[slot].source {
            Source::Axis(axis, values) => values.get(digits[*axis]),
            Source::Derived(..) => Cow::Borrowed(""),
        }
    }

    /// Whether a point is a cell.
    pub fn has(&self, point: usize) -> bool {
        self.kept.as_ref().is_none_or(|kept| kept.has(point))
    }

    /// The values that some cell has in a slot that is not derived.
    pub fn used_values(&self, slot: usize) -> BTreeSet<String> {
        let subspace = Subspace::new(self, &self.axes_of([&self.slots[slot].name]));
        let used = self.used(&subspace);
        let mut odometer = Odometer::new(subspace.lengths.clone());
        let mut values = BTreeSet::new();
        for index in 0..subspace.length {
            if used.as_ref().is_none_or(|used| used.has(index)) {
                values.insert(self.text(slot, &odometer.digits).into_owned());
            }
            odometer.advance();
        }
        values
    }

    /// Which combinations of a subspace are those of a cell.
    pub fn used(&self, subspace: &Subspace) -> Option<Bits> {
        let kept = self.kept.as_ref()?;
        let mut used = Bits::none(subspace.length);
        let mut odometer = Odometer::new(self.lengths.clone());
        for point in 0..self.points() {
            if kept.has(point) {
                used.insert(subspace.index(&odometer.digits));
            }
            odometer.advance();
        }
        Some(used)
    }
}

/// Some of the axes of a grid: what depends on these alone is found out once for each of its combinations.
#[derive(Debug, Clone)]
pub(super) struct Subspace {
    /// How much a step on each axis of the grid counts; 0 on those that are not part of it.
    strides: Vec<usize>,
    /// The lengths of its axes, and 1 for the others.
    pub lengths: Vec<usize>,
    /// How many combinations it has.
    pub length: usize,
}

impl Subspace {
    pub fn new(grid: &Grid, axes: &[usize]) -> Self {
        let has = |axis: usize| axes.contains(&axis);
        let lengths: Vec<usize> = grid
            .lengths
            .iter()
            .enumerate()
            .map(|(axis, length)| if has(axis) { *length } else { 1 })
            .collect();
        let mut strides = vec![0; lengths.len()];
        let mut length = 1;
        for (axis, stride) in strides.iter_mut().enumerate().rev() {
            if has(axis) {
                *stride = length;
            }
            length *= lengths[axis];
        }
        Subspace { strides, lengths, length }
    }

    /// The number of the combination that a point with these digits has here.
    pub fn index(&self, digits: &[usize]) -> usize {
        self.strides.iter().zip(digits).map(|(stride, digit)| stride * digit).sum()
    }
}

/// Counts through the points of some axes; the last axis is the fastest.
#[derive(Debug, Clone)]
pub(super) struct Odometer {
    lengths: Vec<usize>,
    pub digits: Vec<usize>,
}

impl Odometer {
    pub fn new(lengths: Vec<usize>) -> Self {
        Odometer { digits: vec![0; lengths.len()], lengths }
    }

    /// Goes on to the next point; the outermost axis whose digit is another, or `None` at the end.
    pub fn advance(&mut self) -> Option<usize> {
        for axis in (0..self.digits.len()).rev() {
            self.digits[axis] += 1;
            if self.digits[axis] < self.lengths[axis] {
                return Some(axis);
            }
            self.digits[axis] = 0;
        }
        None
    }
}
