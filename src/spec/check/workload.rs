//! Rules on one workload: its services, its commands, and the names in their templates.

use super::super::template::{Names, is_template};
use super::super::workload::{Command, Service, Step, Steps};
use super::super::{Spec, Text, Workload};
use super::{must_exist, point_names};
use crate::diagnostic::{Problem, Sources};

/// Names that no parameter may take, since templates know them already.
const RESERVED: [&str; 12] = [
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
];

pub(super) fn check(
    spec: &Spec,
    name: &Text,
    workload: &Workload,
    sources: &Sources,
    problems: &mut Vec<Problem>,
) {
    for name in workload.parameters.keys().chain(workload.services.keys()).filter(|name| !is_identifier(name))
    {
        problems.push(
            Problem::at(name.span, format!("`{}` can't be named in a template", name.value))
                .help("use letters, digits and `_`, and start with a letter"),
        );
    }
    for parameter in workload.parameters.keys() {
        if RESERVED.contains(&parameter.as_str()) {
            problems.push(
                Problem::at(parameter.span, format!("`{}` can't be a parameter", parameter.value))
                    .help("choose another name"),
            );
        }
    }
    let cell = point_names(spec, workload.parameters.keys().map(|name| name.value.clone()));
    let trial = cell.with(["trial.repetition", "trial.name"]);
    let beside = trial.with(
        workload
            .services
            .keys()
            .flat_map(|name| ["address", "port"].map(|field| format!("services.{}.{field}", name.value))),
    );
    for service in workload.services.values() {
        check_service(spec, service, &cell, sources, problems);
    }
    check_command(&workload.run, &beside, sources, problems);
    for (steps, names) in [
        (&workload.setup, &cell),
        (&workload.prepare, &beside),
        (&workload.conclude, &beside),
        (&workload.cleanup, &cell),
    ] {
        check_steps(spec, steps, names, sources, problems);
    }
    unused_parameters(spec, name, workload, problems);
}

fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

fn check_command(command: &Command, names: &Names, sources: &Sources, problems: &mut Vec<Problem>) {
    for word in &command.words {
        problems.extend(names.check(word, sources));
    }
}

fn check_steps(spec: &Spec, steps: &Steps, names: &Names, sources: &Sources, problems: &mut Vec<Problem>) {
    for step in &steps.0 {
        let Step::Run(run) = &step.value else { continue };
        let mut command = run.command.clone();
        if command.span.length == 0 {
            command.span = step.span;
        }
        problems.extend(names.check(&command, sources));
        if is_nearly_drop_caches(&command) {
            problems.push(
                Problem::at(command.span, format!("`{}` is taken for a command", command.value))
                    .help("did you mean `drop_caches`?"),
            );
        }
        if let Some(on) = run.on.as_ref().filter(|on| !["host", "environment"].contains(&on.as_str())) {
            must_exist(on, &spec.hosts, "host", problems);
        }
    }
}

/// One word that is one or two letters away from the step `drop_caches`.
fn is_nearly_drop_caches(command: &str) -> bool {
    command.trim() == command && strsim::levenshtein(command, "drop_caches") <= 2
}

fn check_service(
    spec: &Spec,
    service: &Service,
    cell: &Names,
    sources: &Sources,
    problems: &mut Vec<Problem>,
) {
    for (name, is_host) in [(&service.host, true), (&service.environment, false)] {
        let Some(name) = name else { continue };
        problems.extend(cell.check(name, sources));
        if is_template(name) {
            continue;
        }
        match is_host {
            true => must_exist(name, &spec.hosts, "host", problems),
            false => must_exist(name, &spec.environments, "environment", problems),
        }
    }
    let own = cell.with(["port"]);
    check_command(&service.run, &own, sources, problems);
    let ready = &service.ready;
    let signs = [&ready.port, &ready.log, &ready.command];
    for sign in signs.iter().copied().flatten() {
        problems.extend(own.check(sign, sources));
    }
    if signs.iter().filter(|sign| sign.is_some()).count() != 1 {
        problems.push(
            Problem::at(ready.span, "a service is ready by exactly one sign")
                .help("keep one of `port`, `log` and `command`"),
        );
    }
    if let Some(log) = &ready.log
        && let Err(error) = regex::Regex::new(log)
    {
        let told = error.to_string();
        let last = told.lines().last().unwrap_or_default().trim_start_matches("error: ");
        problems.push(Problem::at(log.span, format!("bad regular expression: {last}")));
    }
}

/// A parameter that no template of the workload or of an environment names changes nothing.
fn unused_parameters(spec: &Spec, name: &Text, workload: &Workload, problems: &mut Vec<Problem>) {
    let used = serde_json::to_string(&(workload, &spec.environments)).unwrap_or_default();
    for parameter in workload.parameters.keys().filter(|name| !RESERVED.contains(&name.as_str())) {
        let word = regex::Regex::new(&format!(r"\{{[{{%][^}}]*\b{}\b", regex::escape(parameter)));
        if word.is_ok_and(|word| !word.is_match(&used)) {
            problems.push(
                Problem::at(
                    parameter.span,
                    format!("parameter `{}` of workload `{}` is never used", parameter.value, name.value),
                )
                .help(format!("write `{{{{ {} }}}}` in a command, or remove it", parameter.value)),
            );
        }
    }
}
