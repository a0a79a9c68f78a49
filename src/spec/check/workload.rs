//! Rules on one workload: its services, its commands, and the names in their templates.

use super::super::expect::exit_code;
use super::super::service::{Ready, Service};
use super::super::template::{Names, is_template};
use super::super::workload::Command;
use super::super::{Spec, Text, Workload};
use super::{must_exist, parameters, steps, variable_names};
use crate::diagnostic::{Problem, Sources};

pub(super) fn check(
    spec: &Spec,
    name: &Text,
    workload: &Workload,
    sources: &Sources,
    problems: &mut Vec<Problem>,
) {
    let before = problems.len();
    parameters::check(name, workload, problems);
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
    // A template with a mistake may be what uses it.
    if problems.len() == before {
        parameters::check_use(spec, name, workload, problems);
    }
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
    if let Some(program) = command.words.first().filter(|word| command.is_list && !is_template(word))
        && program.contains(char::is_whitespace)
    {
        problems.push(
            Problem::at(program.span, format!("no program is called `{}`", program.value))
                .label("the first of a list is the program, the others are its arguments")
                .help("write one line, or `|` and a line for each command"),
        );
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
