//! Rules on the matrix and the baseline: axes that exist, values that are declared.

use std::collections::HashSet;

use super::super::matrix::{Block, Exclude};
use super::super::{List, Spec, Text};
use super::must_exist;
use crate::diagnostic::{Problem, Sources, suggest};

/// Axes that every block has.
const AXES: [&str; 3] = ["workload", "host", "environment"];
/// Keys of a block beside its axes.
const KEYS: [&str; 3] = ["repetitions", "warmup", "exclude"];

pub(super) fn check(spec: &Spec, sources: &Sources, problems: &mut Vec<Problem>) {
    for block in &spec.matrix {
        check_block(spec, block, sources, problems);
    }
    let parameters: Vec<&str> = spec
        .workloads
        .values()
        .flat_map(|workload| workload.parameters.keys())
        .map(|name| name.as_str())
        .collect();
    for (axis, value) in &spec.report.baseline {
        check_axis(spec, axis, std::slice::from_ref(value), &parameters, &[], problems);
    }
    for count in
        spec.repetitions.iter().chain(spec.matrix.iter().filter_map(|block| block.repetitions.as_ref()))
    {
        if count.value == 0 {
            problems.push(
                Problem::at(count.span, "nothing is measured with 0 repetitions").help("write at least 1"),
            );
        }
    }
}

fn check_block(spec: &Spec, block: &Block, sources: &Sources, problems: &mut Vec<Problem>) {
    let parameters = parameters(spec, block);
    let mut seen: Vec<&str> = Vec::new();
    for (axis, List { values, .. }) in &block.axes {
        if seen.contains(&axis.as_str()) {
            problems.push(
                Problem::at(axis.span, format!("axis `{}` is written twice", axis.value))
                    .help("join the two lists"),
            );
        }
        seen.push(axis);
        if values.is_empty() {
            problems.push(
                Problem::at(axis.span, format!("axis `{}` has no value", axis.value))
                    .help("the block would be empty: give it a value"),
            );
        }
        check_axis(spec, axis, values, &parameters, &KEYS, problems);
        let mut once = HashSet::new();
        if let Some(twice) = values.iter().find(|value| !once.insert(value.as_str())) {
            problems.push(
                Problem::at(twice.span, format!("`{}` is written twice", twice.value))
                    .help("remove one of them"),
            );
        }
    }
    for exclude in &block.exclude {
        match &exclude.value {
            Exclude::Values(axes) => {
                for (axis, List { values, .. }) in axes {
                    check_axis(spec, axis, values, &parameters, &[], problems);
                }
            }
            Exclude::Expression(text) => {
                let names = spec.cell_names([]).with(parameters.iter().copied());
                problems.extend(names.check_expression(text, exclude.span, sources));
            }
        }
    }
}

/// The parameters of the workloads that a block names; of all, when it names none or one that is unknown.
fn parameters<'a>(spec: &'a Spec, block: &Block) -> Vec<&'a str> {
    let named = block.axes.iter().find(|(axis, _)| axis.as_str() == "workload");
    let named =
        named.filter(|(_, list)| list.values.iter().all(|name| spec.workloads.contains_key(name.as_str())));
    spec.workloads
        .iter()
        .filter(|(name, _)| named.is_none_or(|(_, list)| list.values.contains(name)))
        .flat_map(|(_, workload)| workload.parameters.keys().map(|name| name.as_str()))
        .collect()
}

/// `keys` are what else could have been meant at this place.
fn check_axis(
    spec: &Spec,
    axis: &Text,
    values: &[Text],
    parameters: &[&str],
    keys: &[&str],
    problems: &mut Vec<Problem>,
) {
    for value in values {
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
