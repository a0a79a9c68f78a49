//! Rules on the matrix: axes and values that must exist, zipped groups that must fit, excludes. What only the
//! product of the axes shows is found by `plan`.

use std::collections::HashSet;

use super::super::matrix::{Axes, Block, Exclude, Values};
use super::super::template::is_template;
use super::super::{Located, Spec, Text};
use super::{derived, limits, must_exist};
use crate::diagnostic::{Problem, Sources, suggest};

/// Axes that every block has.
pub(in crate::spec) const AXES: [&str; 3] = ["workload", "host", "environment"];
/// Keys of a block beside its axes.
const KEYS: [&str; 5] = ["repetitions", "warmup", "exclude", "include", "zip"];

/// The most blocks and entries of their `include`: each is compared with each.
const BLOCK_LIMIT: usize = 1000;

pub(super) fn check(spec: &Spec, sources: &Sources, problems: &mut Vec<Problem>) {
    let blocks = spec.matrix.iter().map(|block| 1 + block.include.len()).sum::<usize>();
    if blocks > BLOCK_LIMIT {
        let span = spec.matrix.first().map(|block| block.span).unwrap_or_default();
        problems.push(
            Problem::at(span, format!("the matrix has {blocks} blocks and entries, more than {BLOCK_LIMIT}"))
                .help("write lists of values, and leave combinations out by `exclude`"),
        );
        return;
    }
    for workload in spec.workloads.values() {
        derived::check(spec, workload, sources, problems);
    }
    for block in &spec.matrix {
        check_block(spec, block, sources, problems);
    }
    let of_workloads = spec.workloads.values().filter_map(|workload| workload.repetitions.as_ref());
    let of_blocks = spec.matrix.iter().filter_map(|block| block.repetitions.as_ref());
    for count in spec.repetitions.iter().chain(of_workloads).chain(of_blocks) {
        problems.extend(limits::repetitions(count));
    }
}

fn check_block(spec: &Spec, block: &Block, sources: &Sources, problems: &mut Vec<Problem>) {
    let of_block = parameters(spec, block.axes.get("workload"));
    check_axes(spec, &block.axes, &of_block, &KEYS, problems);
    for group in &block.zip {
        check_group(spec, block, group, &of_block, problems);
    }
    for entry in &block.include {
        let of_entry = parameters(spec, entry.get("workload").or(block.axes.get("workload")));
        check_axes(spec, entry, &of_entry, &[], problems);
        check_include(block, entry, problems);
    }
    for exclude in &block.exclude {
        match &exclude.value {
            Exclude::Values(axes) => {
                for (axis, values) in &axes.0 {
                    problems.extend(range_problem(values));
                    check_axis(spec, axis, values.written(), &of_block, &[], problems);
                }
            }
            Exclude::Expression(text) => {
                let names = spec.cell_names([]).with(of_block.iter().copied());
                problems.extend(names.check_expression(text, exclude.span, sources));
            }
        }
    }
}

/// The parameters of the workloads that a block names; of all, when it names none or one that is unknown.
fn parameters<'a>(spec: &'a Spec, named: Option<&Values>) -> Vec<&'a str> {
    let named = named.filter(|values| values.iter().all(|name| spec.workloads.contains_key(&*name)));
    spec.workloads
        .iter()
        .filter(|(name, _)| named.is_none_or(|values| values.iter().any(|value| value == name.as_str())))
        .flat_map(|(_, workload)| workload.parameters.keys().map(|name| name.as_str()))
        .collect()
}

/// Axes that stand beside each other: each once, with values that are there once.
fn check_axes(spec: &Spec, axes: &Axes, parameters: &[&str], keys: &[&str], problems: &mut Vec<Problem>) {
    let mut seen: Vec<&str> = Vec::new();
    for (axis, values) in &axes.0 {
        if seen.contains(&axis.as_str()) {
            problems.push(
                Problem::at(axis.span, format!("axis `{}` is written twice", axis.value))
                    .help("join the two lists"),
            );
        }
        seen.push(axis);
        check_values(axis, values, problems);
        check_axis(spec, axis, values.written(), parameters, keys, problems);
        let mut once = HashSet::new();
        if let Some(twice) = values.written().iter().find(|value| !once.insert(value.as_str())) {
            problems.push(
                Problem::at(twice.span, format!("`{}` is written twice", twice.value))
                    .help("remove one of them"),
            );
        }
    }
}

fn check_values(axis: &Text, values: &Values, problems: &mut Vec<Problem>) {
    if let Some(problem) = range_problem(values) {
        problems.push(problem);
    } else if let Values::Range(range) = values
        && AXES.contains(&axis.as_str())
    {
        problems.push(
            Problem::at(range.fields.from.span, format!("axis `{}` holds names", axis.value))
                .label("a range holds numbers")
                .help("write the names as a list"),
        );
    } else if values.is_empty() {
        problems.push(
            Problem::at(axis.span, format!("axis `{}` has no value", axis.value))
                .help("the block would be empty: give it a value"),
        );
    }
    for template in values.written().iter().filter(|value| is_template(value)) {
        problems.push(
            Problem::at(template.span, "a value of the matrix can't be a template")
                .label("only the default of a parameter can")
                .help("give the parameter a default that is a template, and leave it out of the matrix"),
        );
    }
}

fn range_problem(values: &Values) -> Option<Problem> {
    match values {
        Values::Range(range) => range.problem().cloned(),
        Values::List(_) => None,
    }
}

/// A zipped group: as many values on each axis, none of them written elsewhere, no combination twice.
fn check_group(
    spec: &Spec,
    block: &Block,
    group: &Located<Axes>,
    parameters: &[&str],
    problems: &mut Vec<Problem>,
) {
    let Some((first, values)) = group.0.first() else {
        problems
            .push(Problem::at(group.span, "this group has no axis").help("name the axes that move together"));
        return;
    };
    let length = values.len();
    let before = block.zip.iter().take_while(|other| other.span != group.span);
    for (axis, values) in &group.0 {
        check_values(axis, values, problems);
        check_axis(spec, axis, values.written(), parameters, &[], problems);
        if axis.as_str() == "workload" {
            problems.push(
                Problem::at(axis.span, "`workload` can't be zipped")
                    .help("write one block for each workload"),
            );
        }
        if values.len() != length {
            let message = format!(
                "`{}` has {} values and `{}` has {length}: they can't move in lock-step",
                axis.value,
                values.len(),
                first.value
            );
            problems.push(
                Problem::at(axis.span, message)
                    .label(format!("{} here, {length} on `{}`", values.len(), first.value))
                    .help("give every axis of a group as many values"),
            );
        }
        let beside = if block.axes.has(axis) {
            Some("beside it as well")
        } else {
            before.clone().any(|other| other.has(axis)).then_some("in another group as well")
        };
        if let Some(place) = beside {
            problems.push(
                Problem::at(axis.span, format!("axis `{}` is in this group and {place}", axis.value))
                    .label("a second time")
                    .help("keep one of the two places"),
            );
        }
    }
    rows_twice(group, length, problems);
    half_known(spec, block, group, problems);
}

fn rows_twice(group: &Located<Axes>, length: usize, problems: &mut Vec<Problem>) {
    let has_range = group.0.iter().any(|(_, values)| matches!(values, Values::Range(_)));
    let is_even = group.0.iter().all(|(_, values)| values.len() == length);
    if has_range || !is_even {
        return;
    }
    let row = |index: usize| group.0.iter().map(|(_, values)| values.get(index)).collect::<Vec<_>>();
    let mut once = HashSet::new();
    if let Some(twice) = (0..length).find(|index| !once.insert(row(*index))) {
        let place = group.0.first().and_then(|(_, values)| values.written().get(twice));
        let span = place.map_or(group.span, |text| text.span);
        problems.push(
            Problem::at(span, format!("`{}` is in this group twice", row(twice).join(", ")))
                .help("remove one of the two"),
        );
    }
}

/// A workload that has some parameters of a group and not the others would meet the same values twice.
fn half_known(spec: &Spec, block: &Block, group: &Located<Axes>, problems: &mut Vec<Problem>) {
    let named = block.axes.get("workload");
    let is_meant = |name: &str| named.is_none_or(|values| values.iter().any(|value| value == name));
    for (name, workload) in spec.workloads.iter().filter(|(name, _)| is_meant(name)) {
        let is_known =
            |axis: &&Text| AXES.contains(&axis.as_str()) || workload.parameters.contains_key(axis.as_str());
        let lacks = group.names().find(|axis| !is_known(axis));
        let has = group.names().find(is_known);
        if let (Some(lacks), Some(has)) = (lacks, has) {
            let message = format!("workload `{}` has `{}` and not `{}`", name.value, has.value, lacks.value);
            problems.push(
                Problem::at(lacks.span, message)
                    .label("not a parameter of this workload")
                    .help("write a block of its own for this workload"),
            );
        }
    }
}

/// An entry that names one axis of a zipped group would tear the group apart.
fn check_include(block: &Block, entry: &Located<Axes>, problems: &mut Vec<Problem>) {
    for group in &block.zip {
        let Some(named) = group.names().find(|axis| entry.has(axis)) else { continue };
        let Some(missing) = group.names().find(|axis| !entry.has(axis)) else { continue };
        let span = entry.names().find(|axis| *axis == named).map_or(entry.span, |axis| axis.span);
        let message = format!("`{}` moves with `{}`, which is not named here", named.value, missing.value);
        problems.push(
            Problem::at(span, message)
                .label("an axis of a zipped group")
                .help(format!("give `{}` a value here too", missing.value)),
        );
    }
}

/// `keys` are what else could have been meant at this place.
pub(super) fn check_axis(
    spec: &Spec,
    axis: &Text,
    values: &[Text],
    parameters: &[&str],
    keys: &[&str],
    problems: &mut Vec<Problem>,
) {
    for value in values.iter().filter(|value| !is_template(value)) {
        match axis.as_str() {
            "workload" => must_exist(value, &spec.workloads, "workload", problems),
            "host" => must_exist(value, &spec.hosts, "host", problems),
            "environment" => must_exist(value, &spec.environments, "environment", problems),
            _ => {}
        }
    }
    if !AXES.contains(&axis.as_str()) && !parameters.contains(&axis.as_str()) {
        let known = AXES.iter().chain(parameters).chain(keys).copied();
        problems.push(
            Problem::at(axis.span, format!("unknown axis `{}`", axis.value))
                .label("neither an axis nor a parameter of these workloads")
                .help(suggest(axis, known)),
        );
    }
}
