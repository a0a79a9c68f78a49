//! Rules on one workload: its services, its commands, and the names in their templates.

use super::super::expect::exit_code;
use super::super::service::{Ready, Service};
use super::super::template::{Names, is_template, names_in, variables};
use super::super::workload::Command;
use super::super::{Spec, Text, Workload};
use super::{is_identifier, must_exist, steps, variable_names};
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
    for (parameter, default) in &workload.parameters {
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
    let cell = spec.cell_names(workload.parameters.keys());
    let beside = spec.trial_names(workload);
    variable_names(&workload.env, problems);
    problems.extend(workload.env.values().flat_map(|value| cell.check(value, sources)));
    for service in workload.services.values() {
        check_service(spec, service, &cell, sources, problems);
    }
    check_command(&workload.run, &beside, sources, problems);
    for upload in &workload.files {
        steps::check_upload(upload, &cell, sources, problems);
    }
    for path in &workload.fetch.values {
        problems.extend(beside.check(path, sources));
        problems.extend(steps::stays_inside(path));
    }
    for (steps, names) in workload.steps().into_iter().zip([&cell, &beside, &beside, &cell]) {
        steps::check(spec, steps, names, sources, problems);
    }
    if let Some(expect) = &workload.expect {
        if let Some(not) = &expect.not {
            problems.extend(beside.check(not, sources));
            check_pattern(not, problems);
        }
        let codes = expect.exit.values.iter();
        let refused = codes.filter_map(|code| Some(Problem::at(code.span, exit_code(code).err()?)));
        problems.extend(refused.map(|problem| problem.help("write it in digits, such as `1`")));
    }
    unused_parameters(spec, name, workload, problems);
}

impl Spec {
    /// The names that templates know while the services of `workload` run.
    pub fn trial_names(&self, workload: &Workload) -> Names {
        let services = workload
            .services
            .keys()
            .flat_map(|name| ["address", "port"].map(|field| format!("services.{}.{field}", name.value)));
        let trial = ["trial.repetition", "trial.name"].map(str::to_owned);
        self.cell_names(workload.parameters.keys()).with(trial.into_iter().chain(services))
    }
}

fn check_command(command: &Command, names: &Names, sources: &Sources, problems: &mut Vec<Problem>) {
    for word in &command.words {
        problems.extend(names.check(word, sources));
    }
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
    let own = cell.with(["port", "trial.repetition", "trial.name"]);
    check_command(&service.run, &own, sources, problems);
    let Ready { port, log, command, delay, .. } = &service.ready.value;
    let signs = [port, log, command];
    problems.extend(signs.iter().copied().flatten().flat_map(|sign| own.check(sign, sources)));
    match signs.iter().filter(|sign| sign.is_some()).count() {
        1 => {}
        0 if delay.is_some() => {}
        _ => problems.push(
            Problem::at(service.ready.span, "a service is ready by exactly one sign")
                .help("keep one of `port`, `log` and `command`, or a `delay` alone"),
        ),
    }
    if let Some(log) = log {
        check_pattern(log, problems);
    }
}

fn check_pattern(pattern: &Text, problems: &mut Vec<Problem>) {
    if is_template(pattern) {
        return;
    }
    if let Err(error) = regex::Regex::new(pattern) {
        let told = error.to_string();
        let last = told.lines().last().unwrap_or_default().trim_start_matches("error: ");
        problems.push(Problem::at(pattern.span, format!("bad regular expression: {last}")));
    }
}

/// A parameter that no template of the workload or of an environment names changes nothing.
fn unused_parameters(spec: &Spec, name: &Text, workload: &Workload, problems: &mut Vec<Problem>) {
    let used = serde_json::to_string(&(workload, &spec.environments)).unwrap_or_default();
    let when = workload.expect.as_ref().and_then(|expect| expect.when.as_deref());
    let used = used + &when.map(|when| format!("{{{{{when}}}}}")).unwrap_or_default();
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
