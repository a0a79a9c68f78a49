//! The matrix of a [`Spec`] as cells: the product of each block's axes, without what it excludes.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use super::substitute::Context;
use super::{Cell, CellName, PlannedService};
use crate::diagnostic::{Problem, suggest};
use crate::spec::matrix::{Block, Exclude};
use crate::spec::{Located, Spec, Text, Workload};

/// The most cells that a plan may have.
const CELL_LIMIT: usize = 100_000;
/// The most trials that a plan may have.
const TRIAL_LIMIT: u64 = 1_000_000;
const DEFAULT_REPETITIONS: u32 = 10;

/// Every cell in the order of the file, with the place that each came from.
///
/// # Errors
/// Every mistake that shows only in the product: too many cells, none at all, one twice.
pub(super) fn cells(spec: &Spec) -> Result<Vec<Cell>, Vec<Problem>> {
    let whole = [Default::default()];
    let blocks = if spec.matrix.is_empty() { &whole[..] } else { &spec.matrix[..] };
    let mut cells: IndexMap<CellName, Cell> = IndexMap::new();
    let mut problems = Vec::new();
    for block in blocks {
        match block_cells(spec, block, cells.len()) {
            Err(found) => problems.extend(found),
            Ok(found) => {
                if let Some(twice) = found.iter().find(|cell| cells.contains_key(&cell.name)) {
                    problems.push(
                        Problem::at(block.span, format!("cell `{}` is in the matrix twice", twice.name))
                            .label("this block has it again")
                            .help("take it out of one block, with `exclude` if need be"),
                    );
                }
                cells.extend(found.into_iter().map(|cell| (cell.name.clone(), cell)));
            }
        }
    }
    let trials: u64 = cells.values().map(|cell| u64::from(cell.repetitions) + u64::from(cell.warmup)).sum();
    if trials > TRIAL_LIMIT {
        let written = spec.repetitions.iter().chain(spec.matrix.iter().flat_map(|block| &block.repetitions));
        let most = written.max_by_key(|count| count.value).map(|count| count.span).unwrap_or_default();
        problems.push(
            Problem::at(most, format!("{trials} trials are more than {TRIAL_LIMIT}"))
                .help("repeat them less often"),
        );
    }
    if problems.is_empty() {
        problems.extend(missing_baseline(spec, &cells));
    }
    if problems.is_empty() { Ok(cells.into_values().collect()) } else { Err(problems) }
}

/// A baseline that no cell has would leave every ratio out without a word.
fn missing_baseline(spec: &Spec, cells: &IndexMap<CellName, Cell>) -> Option<Problem> {
    let is_baseline = |cell: &Cell| {
        spec.report.baseline.iter().all(|(axis, value)| match axis.as_str() {
            "workload" => cell.workload == value.value,
            "host" => cell.host == value.value,
            "environment" => cell.environment == value.value,
            parameter => cell.parameters.get(parameter) == Some(&value.value),
        })
    };
    let value = spec.report.baseline.values().next()?;
    let missing = !cells.values().any(is_baseline);
    missing.then(|| {
        Problem::at(value.span, "no cell of the matrix is this baseline")
            .help("add it to the matrix, or name one that is measured")
    })
}

/// The cells of one block; `before` is how many there are already.
fn block_cells(spec: &Spec, block: &Located<Block>, before: usize) -> Result<Vec<Cell>, Vec<Problem>> {
    let span = block.span;
    let mut points = Vec::new();
    let mut count = before;
    for workload in axis(block, "workload", spec.workloads.keys()) {
        let axes = axes(spec, block, &spec.workloads[workload.as_str()]);
        count =
            count.saturating_add(axes.iter().map(|(_, values)| values.len()).fold(1, usize::saturating_mul));
        if count > CELL_LIMIT {
            let sizes: Vec<String> =
                axes.iter().map(|(name, values)| format!("{name} {}", values.len())).collect();
            let message = format!("the matrix has more than {CELL_LIMIT} cells");
            return Err(vec![
                Problem::at(span, message)
                    .label(sizes.join(" x "))
                    .help("shorten an axis, or split the experiment"),
            ]);
        }
        points.extend(product(workload, &axes));
    }
    let mut used = vec![false; block.exclude.len()];
    let mut cells = Vec::new();
    for point in points {
        let mut excluded = false;
        for (exclude, used) in block.exclude.iter().zip(&mut used) {
            match excludes(spec, &exclude.value, &point) {
                Ok(hit) => {
                    *used |= hit;
                    excluded |= hit;
                }
                Err(reason) => return Err(vec![Problem::at(exclude.span, reason)]),
            }
        }
        if !excluded {
            cells.push(cell(spec, block, &point).map_err(|problem| vec![problem])?);
        }
    }
    let unused = block.exclude.iter().zip(used).filter(|(_, used)| !used).map(|(exclude, _)| {
        Problem::at(exclude.span, "this exclude takes nothing out").help("correct it or remove it")
    });
    let mut problems: Vec<Problem> = unused.collect();
    if cells.is_empty() && problems.is_empty() {
        problems.push(
            Problem::at(span, "this block has no cell")
                .label("everything is excluded")
                .help("relax an `exclude`"),
        );
    }
    if problems.is_empty() { Ok(cells) } else { Err(problems) }
}

/// One combination of axis values.
pub(super) type Point = BTreeMap<String, String>;

fn axis<'a>(block: &'a Block, name: &str, all: impl Iterator<Item = &'a Text>) -> Vec<&'a Text> {
    match block.axes.iter().find(|(axis, _)| axis.as_str() == name) {
        Some((_, list)) => list.values.iter().collect(),
        None => all.collect(),
    }
}

/// The axes that a workload has in a block, outermost first.
fn axes<'a>(spec: &'a Spec, block: &'a Block, workload: &'a Workload) -> Vec<(&'a str, Vec<&'a Text>)> {
    let written = spec.environments.keys().filter(|name| !spec.offered.contains(&name.value));
    let mut axes = vec![
        ("host", axis(block, "host", spec.hosts.keys())),
        ("environment", axis(block, "environment", written)),
    ];
    for (name, default) in &workload.parameters {
        axes.push((name, axis(block, name, std::iter::once(default))));
    }
    axes
}

fn product(workload: &str, axes: &[(&str, Vec<&Text>)]) -> Vec<Point> {
    let start = Point::from([("workload".to_owned(), workload.to_owned())]);
    axes.iter().fold(vec![start], |points, (name, values)| {
        points
            .iter()
            .flat_map(|point| {
                values.iter().map(|value| {
                    let mut point = point.clone();
                    point.insert((*name).to_owned(), value.value.clone());
                    point
                })
            })
            .collect()
    })
}

/// Whether `exclude` takes `point` out.
pub(super) fn excludes(spec: &Spec, exclude: &Exclude, point: &Point) -> Result<bool, String> {
    match exclude {
        Exclude::Values(axes) => Ok(axes.iter().all(|(axis, list)| {
            point
                .get(axis.as_str())
                .is_some_and(|value| list.values.iter().any(|excluded| excluded.as_str() == value))
        })),
        Exclude::Expression(text) => Context::of_point(spec, point).is_true(text),
    }
}

fn cell(spec: &Spec, block: &Block, point: &Point) -> Result<Cell, Problem> {
    let mut parameters = point.clone();
    let mut take = |axis: &str| parameters.remove(axis).unwrap_or_default();
    let (workload, host, environment) = (take("workload"), take("host"), take("environment"));
    let context = Context::of_point(spec, point);
    let mut services = Vec::new();
    for (name, service) in &spec.workloads[workload.as_str()].services {
        services.push(PlannedService {
            name: name.value.clone(),
            host: service_name(&context, service.host.as_ref(), &host, &spec.hosts, "host")?,
            environment: service_name(
                &context,
                service.environment.as_ref(),
                &environment,
                &spec.environments,
                "environment",
            )?,
        });
    }
    let count =
        |own: &Option<crate::spec::Located<u32>>, all: &Option<crate::spec::Located<u32>>, default| {
            own.as_ref().or(all.as_ref()).map_or(default, |count| count.value)
        };
    Ok(Cell {
        name: CellName::new(&workload, &host, &environment, &parameters),
        repetitions: count(&block.repetitions, &spec.repetitions, DEFAULT_REPETITIONS),
        warmup: count(&block.warmup, &spec.warmup, 0),
        step_hosts: spec.workloads[workload.as_str()].step_hosts().map(str::to_owned).collect(),
        workload,
        host,
        environment,
        parameters,
        services,
    })
}

/// The host or environment of a service, which may hold a parameter.
fn service_name<V>(
    context: &Context,
    written: Option<&Text>,
    own: &str,
    section: &IndexMap<Text, V>,
    kind: &str,
) -> Result<String, Problem> {
    let Some(written) = written else { return Ok(own.to_owned()) };
    let name = context.render(written).map_err(|reason| Problem::at(written.span, reason))?;
    if section.contains_key(name.as_str()) {
        return Ok(name);
    }
    Err(Problem::at(written.span, format!("unknown {kind} `{name}`"))
        .label("becomes this name in a cell")
        .help(suggest(&name, section.keys().map(|key| key.as_str()))))
}
