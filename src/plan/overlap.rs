//! Whether two grids of one workload have a cell in common, without listing either: only the points whose
//! every value is on the axes of both are looked at.

use std::collections::HashMap;

use super::grid::{Grid, Odometer, Source};
use super::lookup::Lookup;
use super::scope::Scope;
use crate::diagnostic::Problem;
use crate::spec::matrix::Values;

/// The digits of the first cell of `grid` that is a cell of `other` too.
///
/// # Errors
/// A derived parameter that can't be rendered.
pub(super) fn first_in_both(grid: &Grid, other: &Grid, scope: &Scope) -> Result<Option<Vec<usize>>, Problem> {
    if grid.workload != other.workload {
        return Ok(None);
    }
    let common = common(grid, other);
    if common.iter().any(Vec::is_empty) {
        return Ok(None);
    }
    let finder = Finder::new(other);
    let mut odometer = Odometer::new(common.iter().map(Vec::len).collect());
    loop {
        let digits: Vec<usize> =
            odometer.digits.iter().zip(&common).map(|(digit, common)| common[*digit]).collect();
        let point = digits.iter().zip(&grid.lengths).fold(0, |point, (digit, length)| point * length + digit);
        if grid.has(point) && finder.has(grid, &digits, scope)? {
            return Ok(Some(digits));
        }
        if odometer.advance().is_none() {
            return Ok(None);
        }
    }
}

/// For each axis of `grid` the digits whose values `other` has too.
fn common(grid: &Grid, other: &Grid) -> Vec<Vec<usize>> {
    let mut common: Vec<Vec<usize>> = Vec::new();
    for (axis, length) in grid.lengths.iter().enumerate() {
        let mut digits: Vec<usize> = (0..*length).collect();
        for (slot, theirs) in grid.slots.iter().zip(&other.slots) {
            let (Source::Axis(number, values), Source::Axis(_, theirs)) = (&slot.source, &theirs.source)
            else {
                continue;
            };
            if *number == axis {
                keep_common(&mut digits, values, theirs);
            }
        }
        let is_empty = digits.is_empty();
        common.push(digits);
        if is_empty {
            break;
        }
    }
    common
}

/// Keeps the digits whose value is one of `theirs` too; single values are compared without a table.
fn keep_common(digits: &mut Vec<usize>, values: &Values, theirs: &Values) {
    if theirs.len() == 1 {
        let theirs = theirs.get(0);
        digits.retain(|digit| values.get(*digit) == theirs);
    } else {
        let theirs = Lookup::new(theirs);
        digits.retain(|digit| theirs.position(&values.get(*digit)).is_some());
    }
}

/// Finds points of a grid by their values.
struct Finder<'a> {
    grid: &'a Grid,
    /// For each axis the slots it fills, and how to find its digit by their values.
    axes: Vec<(Vec<usize>, Rows<'a>)>,
}

enum Rows<'a> {
    One(Lookup<'a>),
    /// Values that move in lock-step.
    Several(HashMap<Vec<String>, usize>),
}

impl<'a> Finder<'a> {
    fn new(grid: &'a Grid) -> Self {
        let axes = (0..grid.lengths.len()).map(|axis| {
            let of_axis = |slot: &&usize| matches!(grid.slots[**slot].source, Source::Axis(number, _) if number == axis);
            let all: Vec<usize> = (0..grid.slots.len()).collect();
            let slots: Vec<usize> = all.iter().filter(of_axis).copied().collect();
            let rows = match (slots.as_slice(), slots.first().map(|slot| &grid.slots[*slot].source)) {
                ([_], Some(Source::Axis(_, values))) => Rows::One(Lookup::new(values)),
                _ => Rows::Several((0..grid.lengths[axis]).map(|digit| (row(grid, &slots, axis, digit), digit)).collect()),
            };
            (slots, rows)
        });
        Finder { grid, axes: axes.collect() }
    }

    /// Whether the point of `other` with these digits is a cell of this grid.
    fn has(&self, other: &Grid, digits: &[usize], scope: &Scope) -> Result<bool, Problem> {
        let texts = texts(other, digits, scope)?;
        let mut point = 0;
        let mut own = Vec::new();
        for ((slots, rows), length) in self.axes.iter().zip(&self.grid.lengths) {
            let digit = match rows {
                Rows::One(lookup) => lookup.position(&texts[slots[0]]),
                Rows::Several(rows) => {
                    rows.get(&slots.iter().map(|slot| texts[*slot].clone()).collect::<Vec<_>>()).copied()
                }
            };
            let Some(digit) = digit else { return Ok(false) };
            own.push(digit);
            point = point * length + digit;
        }
        Ok(self.grid.has(point) && self::texts(self.grid, &own, scope)? == texts)
    }
}

/// The values of an axis at one of its digits.
fn row(grid: &Grid, slots: &[usize], axis: usize, digit: usize) -> Vec<String> {
    let mut digits = vec![0; grid.lengths.len()];
    digits[axis] = digit;
    slots.iter().map(|slot| grid.text(*slot, &digits).into_owned()).collect()
}

/// The value of every slot at a point.
fn texts(grid: &Grid, digits: &[usize], scope: &Scope) -> Result<Vec<String>, Problem> {
    if !grid.has_derived() {
        return Ok((0..grid.slots.len()).map(|slot| grid.text(slot, digits).into_owned()).collect());
    }
    let context = scope.at(grid, digits)?;
    Ok((0..grid.slots.len()).map(|slot| Scope::text(grid, slot, digits, &context)).collect())
}
