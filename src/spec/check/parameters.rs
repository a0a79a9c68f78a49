//! Rules on the parameters of a workload: their names, what they may hold, and that something uses them.

use std::collections::BTreeSet;

use super::super::template::{names_in, names_in_expression, variables};
use super::super::{Environment, Spec, Text, Workload};
use super::is_identifier;
use crate::diagnostic::Problem;

/// The most bytes of all parameters in the name of a cell, which is a path.
const NAME_LIMIT: usize = 3000;
/// What one value takes there at most.
const VALUE_LIMIT: usize = 116;
/// Names that no parameter may take, since templates know them already.
const RESERVED: [&str; 22] = [
    "workload",
    "host",
    "environment",
    "trial",
    "services",
    "port",
    "exclude",
    "include",
    "zip",
    "repetitions",
    "warmup",
    "env",
    "true",
    "false",
    "none",
    "and",
    "or",
    "not",
    "in",
    "is",
    "if",
    "else",
];

pub(super) fn check(name: &Text, workload: &Workload, problems: &mut Vec<Problem>) {
    for name in workload.parameters.keys().chain(workload.services.keys()).filter(|name| !is_identifier(name))
    {
        problems.push(
            Problem::at(name.span, format!("`{}` can't be named in a template", name.value))
                .help("use letters, digits and `_`, and start with a letter"),
        );
    }
    let length: usize = workload.parameters.keys().map(|name| name.len() + VALUE_LIMIT).sum();
    if length > NAME_LIMIT {
        let message = format!("`{}` has too many parameters: they would not fit into a path", name.value);
        problems.push(
            Problem::at(name.span, message).help("split the workload, or give the parameters shorter names"),
        );
    }
    for (parameter, default) in &workload.parameters {
        if RESERVED.contains(&parameter.as_str()) {
            problems.push(
                Problem::at(parameter.span, format!("`{}` can't be a parameter", parameter.value))
                    .help("choose another name"),
            );
        }
        if let Some(variable) = variables(names_in(default)).next() {
            problems.push(
                Problem::at(default.span, format!("parameter `{}` would show a secret", parameter.value))
                    .label("the value of a parameter is part of names and tables")
                    .help(format!(
                        "write `{{{{ env.{variable} }}}}` where it is used, in a command or in `env`"
                    )),
            );
        }
    }
}

/// A parameter that no template of the workload or of an environment names changes nothing.
pub(super) fn check_use(spec: &Spec, name: &Text, workload: &Workload, problems: &mut Vec<Problem>) {
    let when = workload.expect.iter().filter_map(|expect| expect.when.as_deref());
    let defaults = workload.parameters.values().cloned();
    let places =
        workload.services.values().flat_map(|service| service.host.iter().chain(&service.environment));
    let texts = workload.texts().into_iter().chain(defaults).chain(places.cloned());
    let used: BTreeSet<String> = texts
        .flat_map(|text| names_in(&text))
        .chain(when.flat_map(|when| names_in_expression(when)))
        .chain(spec.environments.values().flat_map(Environment::texts).flat_map(|text| names_in(&text)))
        .collect();
    let is_unused = |name: &&Text| !used.contains(name.as_str()) && !RESERVED.contains(&name.as_str());
    for parameter in workload.parameters.keys().filter(is_unused) {
        problems.push(
            Problem::at(
                parameter.span,
                format!("parameter `{}` of workload `{}` is never used", parameter.value, name.value),
            )
            .help(format!("write `{{{{ {} }}}}` in a command, or remove it", parameter.value)),
        );
    }
}
