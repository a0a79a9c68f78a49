//! From a block and a workload to the axes of their grid: what each name of a point ranges over. Which points
//! are cells is decided in `matrix.rs`.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::grid::{ENVIRONMENT, Grid, PARAMETERS, Slot, Source};
use super::scope::Scope;
use super::substitute::told;
use crate::diagnostic::Problem;
use crate::spec::matrix::{Axes, Block, Values};
use crate::spec::{Located, Repetitions, Spec, Text, Workload, settings, template};

const DEFAULT_REPETITIONS: u32 = 10;

/// A block, or one entry of its `include`, which then stands for the block where it says something.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub spec: &'a Spec,
    pub block: &'a Located<Block>,
    pub entry: Option<&'a Located<Axes>>,
}

impl<'a> Part<'a> {
    /// The workloads it measures.
    pub fn workloads(self) -> Vec<(&'a Text, &'a Workload)> {
        let named = self.entry.and_then(|entry| entry.get("workload")).or(self.block.axes.get("workload"));
        match named {
            Some(values) => {
                values.iter().filter_map(|name| self.spec.workloads.get_key_value(&*name)).collect()
            }
            None => self.spec.workloads.iter().collect(),
        }
    }

    /// The values of an axis where they are written, and the group of axes that they move with.
    fn written(self, axis: &str) -> Option<(&'a Values, Option<usize>)> {
        let entry = self.entry.and_then(|entry| entry.get(axis));
        let zipped = || {
            let mut groups = self.block.zip.iter().zip(0..);
            groups.find_map(|(group, number)| group.get(axis).map(|values| (values, Some(number))))
        };
        entry.map(|values| (values, None)).or_else(zipped).or(self
            .block
            .axes
            .get(axis)
            .map(|values| (values, None)))
    }

    /// The values of an axis where none are written.
    fn default(self, axis: &str) -> Values {
        let spec = self.spec;
        let named = |name: &&Text| axis == "host" || !spec.offered.contains(&name.value);
        let names: Box<dyn Iterator<Item = &Text>> = match axis {
            "host" => Box::new(spec.hosts.keys()),
            _ => Box::new(spec.environments.keys()),
        };
        Values::list(names.filter(named).cloned().collect())
    }
}

/// The grid of one workload: its axes, and all that does not depend on which points are cells.
///
/// # Errors
/// A template of a derived parameter that is none.
pub(super) fn grid(
    part: Part<'_>,
    name: &Text,
    workload: &Workload,
    scope: &mut Scope,
) -> Result<Grid, Problem> {
    let Part { spec, block, entry } = part;
    let repetitions = [&block.repetitions, &workload.repetitions, &spec.repetitions];
    let repetitions = repetitions.into_iter().flatten().next().map(|count| count.value);
    let warmup = [&block.warmup, &workload.warmup, &spec.warmup].into_iter().flatten().next();
    let mut grid = Grid {
        workload: name.value.clone(),
        span: entry.map_or(block.span, |entry| entry.span),
        is_included: entry.is_some(),
        slots: Vec::new(),
        by_name: Vec::new(),
        lengths: Vec::new(),
        kept: None,
        cells: 0,
        repetitions: repetitions.map_or(DEFAULT_REPETITIONS, Repetitions::most),
        adaptive: repetitions.and_then(Repetitions::adaptive),
        warmup: warmup.map_or(0, |count| count.value),
        services: Vec::new(),
        step_hosts: workload.step_hosts().map(str::to_owned).collect(),
        digests: BTreeMap::new(),
    };
    let mut groups = BTreeMap::new();
    for axis in ["host", "environment"] {
        let (values, group) = match part.written(axis) {
            Some((values, group)) => (values.clone(), group),
            None => (part.default(axis), None),
        };
        add_slot(&mut grid, axis, values, group, &mut groups);
    }
    for (parameter, default) in &workload.parameters {
        match part.written(parameter) {
            Some((values, group)) => add_slot(&mut grid, parameter, values.clone(), group, &mut groups),
            None if template::is_template(default) => {
                add_derived(&mut grid, parameter, default, scope)?;
            }
            None => add_slot(&mut grid, parameter, Values::list(vec![default.clone()]), None, &mut groups),
        }
    }
    derived_axes(&mut grid, scope)?;
    grid.by_name = (PARAMETERS..grid.slots.len()).collect();
    grid.by_name.sort_by(|one, other| grid.slots[*one].name.cmp(&grid.slots[*other].name));
    Ok(grid)
}

/// Adds what `axis` ranges over; the axes of one `group` of a block share one axis of the grid.
fn add_slot(
    grid: &mut Grid,
    axis: &str,
    values: Values,
    group: Option<usize>,
    groups: &mut BTreeMap<usize, usize>,
) {
    let number = match group.and_then(|group| groups.get(&group)) {
        Some(number) => *number,
        None => {
            grid.lengths.push(values.len());
            grid.lengths.len() - 1
        }
    };
    if let Some(group) = group {
        groups.insert(group, number);
    }
    let span = values.written().first().map(|text| text.span).unwrap_or_default();
    grid.slots.push(Slot { name: axis.to_owned(), source: Source::Axis(number, values), span });
}

fn add_derived(grid: &mut Grid, parameter: &str, default: &Text, scope: &mut Scope) -> Result<(), Problem> {
    // No part of the name ends like a file, which would switch escaping on.
    let name = format!("{}/{parameter}", grid.workload);
    scope
        .templates
        .add_template_owned(name.clone(), default.value.clone())
        .map_err(|error| Problem::at(default.span, told(error)))?;
    let source = Source::Derived(name, Vec::new());
    grid.slots.push(Slot { name: parameter.to_owned(), source, span: default.span });
    Ok(())
}

/// Finds the axes that decide each derived parameter, once all slots are there.
fn derived_axes(grid: &mut Grid, scope: &Scope) -> Result<(), Problem> {
    for number in 0..grid.slots.len() {
        let Slot { source: Source::Derived(name, _), span, .. } = &grid.slots[number] else { continue };
        let template = scope.templates.get_template(name).map_err(|error| Problem::at(*span, told(error)))?;
        let axes = grid.axes_of(template.undeclared_variables(false));
        grid.slots[number].source = Source::Derived(name.clone(), axes);
    }
    Ok(())
}

/// What the digest of every cell begins with, by environment: the workload, the environment and those of its
/// services as they are written. How often something is repeated, what limits it, and which values a parameter
/// has elsewhere, is not part of it. The services of `grid` must be known.
pub(super) fn digests(spec: &Spec, grid: &Grid, workload: &Workload) -> BTreeMap<String, Sha256> {
    let bare = Workload {
        parameters: Default::default(),
        repetitions: None,
        warmup: None,
        trial_timeout: None,
        retries: None,
        on_failure: None,
        ..workload.clone()
    };
    let declared = |name: &str| spec.environments.get(name).map(settings).unwrap_or_default();
    let of_services = grid.services.iter().flat_map(|service| service.environment.names()).map(declared);
    let bare = std::iter::once(settings(&bare)).chain(of_services).collect::<Vec<_>>().join("\n");
    let Source::Axis(_, environments) = &grid.slots[ENVIRONMENT].source else { return BTreeMap::new() };
    let mut digests = BTreeMap::new();
    for name in environments.iter() {
        if digests.contains_key(&*name) {
            continue;
        }
        let environment = declared(&name);
        digests.insert(name.into_owned(), Sha256::new().chain_update(format!("{bare}\n{environment}\n")));
    }
    digests
}
