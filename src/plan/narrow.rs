//! The end of narrowing: what the command line has left without effect leaves the spec, so that the kept
//! experiment is planned again by itself.

use super::matrix;
use crate::diagnostic::{Problem, Problems, Sources};
use crate::spec::Spec;

/// Removes from a checked and narrowed `spec` the blocks without a cell, the excludes that take nothing out,
/// and a baseline that no cell has.
///
/// # Errors
/// No cell is left, or a mistake that [`super::Plan::new`] would tell.
pub fn settle(spec: &mut Spec, sources: &Sources) -> Result<(), Problems> {
    let problems = |problems| Problems::new(problems, sources.clone());
    let expansion = matrix::expand(spec).map_err(problems)?;
    if expansion.grids.is_empty() {
        let problem = Problem::of_file("no cell is left").help("relax what the command line asks for");
        return Err(problems(vec![problem]));
    }
    for (block, exclude) in expansion.idle.iter().rev() {
        spec.matrix[*block].value.exclude.remove(*exclude);
    }
    for block in expansion.empty.iter().rev().filter(|block| **block < spec.matrix.len()).collect::<Vec<_>>()
    {
        spec.matrix.remove(*block);
    }
    if !expansion.has_baseline {
        spec.report.baseline.clear();
    }
    Ok(())
}
