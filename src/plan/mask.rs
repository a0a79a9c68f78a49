//! What `exclude` takes out of a grid. An exclude depends on the axes it names alone: it is evaluated once
//! for each combination of their values, and a point is out when the bit of its combination is set.

use super::bits::Bits;
use super::conditions;
use super::grid::{Grid, Odometer, Subspace};
use super::lookup::Lookup;
use super::scope::{Scope, failed};
use super::substitute::{VARIABLES, told};
use crate::diagnostic::{Problem, Span};
use crate::spec::Located;
use crate::spec::matrix::{Axes, Exclude};

/// The combinations that one exclude takes out.
#[derive(Debug)]
pub(super) struct Mask {
    subspace: Subspace,
    hits: Bits,
}

impl Mask {
    /// Whether it covers the point of these digits.
    pub fn has(&self, digits: &[usize]) -> bool {
        self.hits.has(self.subspace.index(digits))
    }
}

/// The mask of an exclude, or `None` when it takes nothing out of this grid: one that names a parameter
/// which the workload does not have never does.
///
/// # Errors
/// An expression that can't be evaluated.
pub(super) fn mask(grid: &Grid, scope: &Scope, exclude: &Located<Exclude>) -> Result<Option<Mask>, Problem> {
    let mask = match &exclude.value {
        Exclude::Values(axes) => of_values(grid, scope, axes)?,
        Exclude::Expression(text) => of_expression(grid, scope, text, exclude.span)?,
    };
    Ok(mask.filter(|mask| !mask.hits.is_empty()))
}

fn of_values(grid: &Grid, scope: &Scope, axes: &Axes) -> Result<Option<Mask>, Problem> {
    let mut wanted = Vec::new();
    for (axis, values) in &axes.0 {
        let values = Lookup::new(values);
        let is_wanted = move |text: &str| values.position(text).is_some();
        if axis.as_str() == "workload" {
            if !is_wanted(&grid.workload) {
                return Ok(None);
            }
            continue;
        }
        let Some(slot) = grid.slot(axis) else { return Ok(None) };
        wanted.push((slot, is_wanted));
    }
    let subspace = Subspace::new(grid, &grid.axes_of(axes.names().map(|name| name.as_str())));
    let mut hits = Bits::none(subspace.length);
    scope.each(grid, &subspace, |index, digits, context| {
        if wanted.iter().all(|(slot, is_wanted)| is_wanted(&Scope::text(grid, *slot, digits, context))) {
            hits.insert(index);
        }
        Ok(())
    })?;
    Ok(Some(Mask { subspace, hits }))
}

fn of_expression(grid: &Grid, scope: &Scope, text: &str, span: Span) -> Result<Option<Mask>, Problem> {
    let expression = scope
        .templates
        .compile_expression_owned(text.to_owned())
        .map_err(|error| Problem::at(span, told(error)))?;
    let names = expression.undeclared_variables(false);
    if names.iter().any(|name| !["workload", VARIABLES].contains(&&**name) && grid.slot(name).is_none()) {
        return Ok(None);
    }
    let subspace = Subspace::new(grid, &grid.axes_of(&names));
    if let Some(parts) = of_parts(grid, scope, text, span) {
        return Ok(Some(joined(subspace, &parts)));
    }
    let mut hits = Bits::none(subspace.length);
    let is_compared = conditions::has_comparison(text);
    scope.each(grid, &subspace, |index, digits, context| {
        let problem = |reason| failed(grid, &names, digits, span, reason);
        // What an axis holds is seen at its first values; a look at each point would cost more than the point.
        if is_compared && digits.iter().filter(|digit| **digit > 0).count() < 2 {
            let value =
                |part: &str| scope.templates.compile_expression(part).ok()?.eval(context.as_value()).ok();
            if let Some(reason) = conditions::incomparable(text, &value) {
                return Err(problem(reason));
            }
        }
        let value = expression.eval(context.as_value()).map_err(|error| problem(told(error)))?;
        if value.is_undefined() {
            return Err(problem(format!("`{text}` is undefined")));
        }
        if value.is_true() {
            hits.insert(index);
        }
        Ok(())
    })?;
    Ok(Some(Mask { subspace, hits }))
}

/// The masks of an expression's parts: of one inner list all must hit, and of the outer list one. Each part
/// is evaluated over its own few axes. `None` when there is one part, or when one can't be evaluated by itself:
/// it may be guarded by another.
fn of_parts(grid: &Grid, scope: &Scope, text: &str, span: Span) -> Option<Vec<Vec<Mask>>> {
    let parts = conditions::parts(text);
    if parts.iter().map(Vec::len).sum::<usize>() < 2 {
        return None;
    }
    let mask = |part: &str| of_expression(grid, scope, part, span).ok().flatten();
    parts.into_iter().map(|all| all.into_iter().map(mask).collect()).collect()
}

fn joined(subspace: Subspace, parts: &[Vec<Mask>]) -> Mask {
    let mut hits = Bits::none(subspace.length);
    let mut odometer = Odometer::new(subspace.lengths.clone());
    for index in 0..subspace.length {
        let has = |mask: &Mask| mask.hits.has(mask.subspace.index(&odometer.digits));
        if parts.iter().any(|all| all.iter().all(has)) {
            hits.insert(index);
        }
        odometer.advance();
    }
    Mask { subspace, hits }
}

/// Takes out of a grid what the masks cover.
pub(super) fn apply(grid: &mut Grid, masks: &[Mask]) {
    grid.cells = grid.points();
    if masks.is_empty() {
        return;
    }
    let mut kept = Bits::none(grid.points());
    let mut odometer = Odometer::new(grid.lengths.clone());
    for point in 0..grid.points() {
        if !masks.iter().any(|mask| mask.hits.has(mask.subspace.index(&odometer.digits))) {
            kept.insert(point);
        }
        odometer.advance();
    }
    grid.cells = kept.count();
    grid.kept = Some(kept);
}
