//! The matrix of a [`Spec`] as grids: which points there are, which of them are cells, and every mistake that
//! shows only in the product of the axes. Read [`expand`].

use super::environment::missing_parameters;
use super::grid::{Grid, Source, Subspace};
use super::mask;
use super::overlap::first_in_both;
use super::scope::Scope;
use super::service::services;
use super::shape::{self, Part};
use super::{CellName, below, name_of, rehearsal};
use crate::diagnostic::{Problem, Span};
use crate::spec::Spec;

/// The most points that a plan may have: one bit is kept for each where something is excluded.
const POINT_LIMIT: u128 = 10_000_000;
/// The most trials that a plan may have.
const TRIAL_LIMIT: u128 = 100_000_000;

/// What a matrix amounts to.
pub(super) struct Expansion {
    pub scope: Scope,
    /// Those that have a cell, in the order of the file.
    pub grids: Vec<Grid>,
    /// Excludes that take nothing out: the number of the block, and that of the exclude in it.
    pub idle: Vec<(usize, usize)>,
    /// The numbers of the blocks that have no cell.
    pub empty: Vec<usize>,
    /// Whether some cell is the baseline; also when there is none.
    pub has_baseline: bool,
}

/// Expands the matrix of a checked `spec`.
///
/// # Errors
/// Too many points or trials, a cell twice, or an expression that can't be evaluated.
pub(super) fn expand(spec: &Spec) -> Result<Expansion, Vec<Problem>> {
    let mut scope = Scope::new(spec);
    let mut blocks = shapes(spec, &mut scope).map_err(|problem| vec![problem])?;
    let (mut idle, mut empty, mut problems) = (Vec::new(), Vec::new(), Vec::<Problem>::new());
    for (number, grids) in blocks.iter_mut().enumerate() {
        match settle_block(spec, &scope, number, grids) {
            Ok(unused) => idle.extend(unused.into_iter().map(|exclude| (number, exclude))),
            Err(problem) if problems.iter().any(|other| other.span == problem.span) => {}
            Err(problem) => problems.push(problem),
        }
        if grids.iter().all(|grid| grid.cells == 0) {
            empty.push(number);
        }
    }
    let mut grids: Vec<Grid> = blocks.into_iter().flatten().collect();
    grids.retain(|grid| grid.cells > 0);
    problems.extend(twice(&grids, &scope).map_err(|problem| vec![problem])?);
    problems.extend(too_many_trials(spec, &grids));
    problems.extend(missing_parameters(spec, &grids));
    if problems.is_empty() {
        problems.extend(grids.iter().flat_map(|grid| rehearsal::mistakes(spec, &scope, grid)));
        problems.extend(grids.iter().flat_map(|grid| below::mistakes(spec, grid)));
        problems.sort_by_key(|problem| problem.span.map(|span| (span.file, span.offset)));
        problems.dedup_by(|one, other| one.span == other.span);
    }
    let has_baseline = has_baseline(spec, &scope, &grids).map_err(|problem| vec![problem])?;
    match problems.is_empty() {
        true => Ok(Expansion { scope, grids, idle, empty, has_baseline }),
        false => Err(problems),
    }
}

/// The grids of every block, before anything is excluded. No point is looked at.
fn shapes(spec: &Spec, scope: &mut Scope) -> Result<Vec<Vec<Grid>>, Problem> {
    let whole = [Default::default()];
    let blocks = if spec.matrix.is_empty() { &whole[..] } else { &spec.matrix[..] };
    let mut count = 0_u128;
    let mut all = Vec::new();
    for block in blocks {
        let mut grids = Vec::new();
        for entry in std::iter::once(None).chain(block.include.iter().map(Some)) {
            let part = Part { spec, block, entry };
            for (name, workload) in part.workloads() {
                let grid = shape::grid(part, name, workload, scope)?;
                let points = grid
                    .lengths
                    .iter()
                    .fold(1, |points: u128, length| points.saturating_mul(*length as u128));
                count = count.saturating_add(points);
                if count > POINT_LIMIT {
                    return Err(too_many_points(&grid, count));
                }
                grids.push(grid);
            }
        }
        all.push(grids);
    }
    Ok(all)
}

fn too_many_points(grid: &Grid, count: u128) -> Problem {
    let long = grid.lengths.iter().enumerate().filter(|(_, length)| **length > 1);
    let sizes: Vec<String> = long.map(|(axis, length)| format!("{} {length}", names(grid, axis))).collect();
    Problem::at(grid.span, format!("the matrix has {count} cells, more than {POINT_LIMIT}"))
        .label(sizes.join(" x "))
        .help("shorten an axis, or split the experiment")
}

/// The names of what an axis of a grid fills.
fn names(grid: &Grid, axis: usize) -> String {
    let of_axis = |source: &Source| matches!(source, Source::Axis(number, _) if *number == axis);
    let slots = grid.slots.iter().filter(|slot| of_axis(&slot.source));
    slots.map(|slot| slot.name.as_str()).collect::<Vec<_>>().join("+")
}

/// Decides which points of a block's grids are cells, and where their services run. The numbers of the
/// excludes that take nothing out.
fn settle_block(
    spec: &Spec,
    scope: &Scope,
    number: usize,
    grids: &mut [Grid],
) -> Result<Vec<usize>, Problem> {
    let excludes = spec.matrix.get(number).map_or(&[][..], |block| &block.exclude);
    let mut is_idle = vec![true; excludes.len()];
    for grid in grids {
        check_derived(grid, scope)?;
        let mut masks = Vec::new();
        if !grid.is_included {
            for (exclude, is_idle) in excludes.iter().zip(&mut is_idle) {
                let mask = mask::mask(grid, scope, exclude)?;
                *is_idle &= mask.is_none();
                masks.extend(mask);
            }
        }
        mask::apply(grid, &masks);
        let workload = &spec.workloads[grid.workload.as_str()];
        grid.services = services(spec, grid, scope, workload)?;
        grid.digests = shape::digests(spec, grid, workload);
    }
    Ok((0..excludes.len()).filter(|exclude| is_idle[*exclude]).collect())
}

/// Renders every derived parameter wherever it can have another value.
fn check_derived(grid: &Grid, scope: &Scope) -> Result<(), Problem> {
    for slot in &grid.slots {
        if let Source::Derived(_, axes) = &slot.source {
            scope.each(grid, &Subspace::new(grid, axes), |_, _, _| Ok(()))?;
        }
    }
    Ok(())
}

/// One problem for each grid that has a cell of an earlier one.
fn twice(grids: &[Grid], scope: &Scope) -> Result<Vec<Problem>, Problem> {
    let mut problems = Vec::new();
    for (number, grid) in grids.iter().enumerate() {
        for other in &grids[..number] {
            let Some(digits) = first_in_both(grid, other, scope)? else { continue };
            let name: CellName = name_of(grid, &digits, scope);
            let (label, help) = match grid.is_included {
                true => ("this entry has it again", "take it out of the entry"),
                false => ("this block has it again", "take it out of one block, with `exclude` if need be"),
            };
            problems.push(
                Problem::at(grid.span, format!("cell `{name}` is in the matrix twice"))
                    .label(label)
                    .help(help),
            );
            break;
        }
    }
    Ok(problems)
}

fn too_many_trials(spec: &Spec, grids: &[Grid]) -> Option<Problem> {
    let trials: u128 = grids.iter().map(|grid| grid.cells as u128 * grid.trials_of_a_cell() as u128).sum();
    let of_blocks = spec.matrix.iter().filter_map(|block| block.repetitions.as_ref());
    let of_workloads = spec.workloads.values().filter_map(|workload| workload.repetitions.as_ref());
    let written = spec.repetitions.iter().chain(of_blocks).chain(of_workloads);
    let most = written.max_by_key(|count| count.value.most()).map(|count| count.span).unwrap_or_default();
    (trials > TRIAL_LIMIT).then(|| {
        Problem::at(most, format!("{trials} trials are more than {TRIAL_LIMIT}"))
            .help("repeat them less often")
    })
}

/// Whether some cell has every value of the baseline. Only the axes that it names are looked at.
fn has_baseline(spec: &Spec, scope: &Scope, grids: &[Grid]) -> Result<bool, Problem> {
    let baseline = &spec.report.baseline;
    let is_of_workload =
        |grid: &&Grid| baseline.get("workload").is_none_or(|workload| workload.value == grid.workload);
    let wanted: Vec<_> = baseline.iter().filter(|(axis, _)| axis.as_str() != "workload").collect();
    for grid in grids.iter().filter(is_of_workload) {
        let slots: Option<Vec<usize>> = wanted.iter().map(|(axis, _)| grid.slot(axis)).collect();
        let Some(slots) = slots else { continue };
        let subspace = Subspace::new(grid, &grid.axes_of(wanted.iter().map(|(axis, _)| axis.as_str())));
        let used = grid.used(&subspace);
        let mut found = false;
        scope.each(grid, &subspace, |index, digits, context| {
            let has = |(slot, (_, value)): (&usize, &(_, &crate::spec::Text))| {
                Scope::text(grid, *slot, digits, context) == value.value
            };
            found |= used.as_ref().is_none_or(|used| used.has(index)) && slots.iter().zip(&wanted).all(has);
            Ok(())
        })?;
        if found {
            return Ok(true);
        }
    }
    Ok(baseline.is_empty())
}

/// What of an expansion is a mistake when nobody has narrowed the experiment.
pub(super) fn without_effect(spec: &Spec, expansion: &Expansion) -> Vec<Problem> {
    let mut problems: Vec<Problem> = expansion
        .idle
        .iter()
        .map(|(block, exclude)| {
            let span = spec.matrix[*block].exclude[*exclude].span;
            Problem::at(span, "this exclude takes nothing out").help("correct it or remove it")
        })
        .collect();
    for number in &expansion.empty {
        // An exclude that takes nothing out has been told, and may be the reason.
        if expansion.idle.iter().all(|(block, _)| block != number) {
            let span = spec.matrix.get(*number).map_or_else(Span::default, |block| block.span);
            problems.push(
                Problem::at(span, "this block has no cell")
                    .label("everything is excluded")
                    .help("relax an `exclude`"),
            );
        }
    }
    if let Some(value) = spec.report.baseline.values().next()
        && problems.is_empty()
        && !expansion.has_baseline
    {
        // A baseline that no cell has would leave every ratio out without a word.
        problems.push(
            Problem::at(value.span, "no cell of the matrix is this baseline")
                .help("add it to the matrix, or name one that is measured"),
        );
    }
    problems
}
