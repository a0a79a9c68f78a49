//! What can't be on a cluster of ECS, where each command is a task of its own: found in the plan, before any task
//! costs money. Read [`mistakes`].

use std::collections::BTreeSet;

use super::substitute::Context;
use super::{Cell, Plan, PlannedService};
use crate::diagnostic::{Problem, Span};
use crate::spec::environment::{self, Container, Pull};
use crate::spec::host::{Ecs, Kind, LaunchType};
use crate::spec::step::{Step, Steps};
use crate::spec::{Environment, Host, List, Spec, TaskSize, Text};

/// Every such mistake once, in the order of the cells.
pub(super) fn mistakes(spec: &Spec, plan: &Plan) -> Vec<Problem> {
    if !spec.hosts.values().any(Host::is_cluster) {
        return Vec::new();
    }
    let (mut problems, mut seen) = (Vec::new(), BTreeSet::new());
    for (index, cell) in plan.cells().enumerate() {
        for problem in of_cell(spec, &cell, plan.origin_of_cell(index)) {
            let place = problem.span.map(|span| (span.file, span.offset));
            if seen.insert((place, problem.message.clone())) {
                problems.push(problem);
            }
        }
    }
    problems
}

fn of_cell(spec: &Spec, cell: &Cell, origin: Span) -> Vec<Problem> {
    let mut problems = Vec::new();
    let workload = &spec.workloads[cell.workload.as_str()];
    for service in &cell.services {
        let PlannedService { name, host, environment } = service;
        let Some(ecs) = cluster(spec, host) else { continue };
        problems.extend(of_place(spec, cell, ecs, (host, environment), origin));
        if let Some(log) = &workload.services[name.as_str()].ready.log {
            let message =
                format!("the output of service `{name}` is not seen while it runs as a task of `{host}`");
            let help = "wait for its `port`, or for a `command` that succeeds in it";
            problems.push(Problem::at(log.span, message).help(help));
        }
    }
    let host = cell.host.as_str();
    let on_cluster = cell.services.iter().find(|service| cluster(spec, &service.host).is_some());
    let Some(ecs) = cluster(spec, host) else {
        problems.extend(on_cluster.into_iter().flat_map(|service| {
            workload.files.iter().map(|file| {
                Problem::at(
                    file.from.span,
                    format!("no file can be copied to or from a task of `{}`", service.host),
                )
                .help("put it into the image, or print it")
            })
        }));
        return problems;
    };
    problems.extend(of_place(spec, cell, ecs, (host, &cell.environment), origin));
    problems.extend(workload.steps().into_iter().flat_map(|steps| steps_in_task(steps, host)));
    let files = workload.files.iter().map(|file| &file.from).chain(&workload.fetch.values);
    problems.extend(files.map(|file| {
        Problem::at(file.span, format!("no file can be copied to or from a task of `{host}`"))
            .help("put it into the image, or print it")
    }));
    problems
}

fn cluster<'a>(spec: &'a Spec, host: &str) -> Option<&'a Ecs> {
    match spec.hosts[host].kind() {
        Kind::Ecs(ecs) => Some(ecs),
        _ => None,
    }
}

/// A mistake for each step that would happen in the task, or on the machine below it.
fn steps_in_task(steps: &Steps, host: &str) -> impl Iterator<Item = Problem> {
    steps.0.iter().filter_map(move |step| {
        let what = not_in_task(&step.value, host)?;
        let message = format!("{what} can't be done on `{host}`: each command there is a task of its own");
        let help = match &step.value {
            Step::Run(_) | Step::Upload(_) => "put it into `run`, or into the image",
            Step::DropCaches(_) => "leave it out: what is below a task belongs to others; `{ drop_caches: { optional: true } }` says so in the report",
            Step::WaitIdle(_) | Step::CoolDown(_) | Step::Sleep(_) => "leave it out, or wait with `sleep`",
        };
        Some(Problem::at(step.span, message).help(help))
    })
}

/// What a step would do in the task, or on the machine below it.
fn not_in_task(step: &Step, host: &str) -> Option<&'static str> {
    match step {
        Step::Run(run) => {
            let on = run.on.as_ref().map(|on| on.as_str());
            let is_here = on.is_none_or(|on| ["environment", "host", host].contains(&on));
            is_here.then_some("a step that runs a command")
        }
        Step::Sleep(_) => None,
        Step::DropCaches(settings) if settings.optional => None,
        Step::DropCaches(_) => Some("`drop_caches`"),
        Step::WaitIdle(_) => Some("`wait_idle`"),
        Step::CoolDown(_) => Some("`cool_down`"),
        Step::Upload(_) => Some("`upload`"),
    }
}

fn of_place(spec: &Spec, cell: &Cell, ecs: &Ecs, (host, name): (&str, &str), origin: Span) -> Vec<Problem> {
    let environment = &spec.environments[name];
    let Some(container) = &environment.container else {
        let message = format!(
            "nothing can be native on `{host}`, a cluster of ECS: environment `{name}` has no container"
        );
        // Without a matrix nobody has named the two together.
        let host = spec.hosts.get_key_value(host).map(|(name, _)| name.span).unwrap_or_default();
        let span = if origin.length == 0 { host } else { origin };
        return vec![
            Problem::at(span, message)
                .help("name an environment with a `container`, or `exclude` this combination"),
        ];
    };
    let mut problems = meaningless(container, host);
    let Environment { setup, cleanup, .. } = environment;
    problems.extend([setup, cleanup].into_iter().flat_map(|steps| steps_in_task(steps, host)));
    problems.extend(match size(spec, cell, container) {
        Ok((cpus, memory)) if ecs.launch_type.unwrap_or_default() != LaunchType::Ec2 => {
            TaskSize::fargate(cpus, memory).err().map(|reason| {
                Problem::at(container.cpus.as_ref().map_or(container.span, |text| text.span), reason).help(
                    "`zip` sizes that go together: `zip: [{ cpus: [0.25, 0.5], memory: [512MiB, 1GiB] }]`",
                )
            })
        }
        Ok(_) => None,
        Err(None) => Some(
            Problem::at(container.span, format!("a task on `{host}` needs `cpus` and `memory`"))
                .help("such as `cpus: 0.25` and `memory: 512MiB`, the smallest that Fargate has"),
        ),
        Err(problem) => problem,
    });
    problems
}

/// Settings of a container of Docker that a task has not.
fn meaningless(container: &Container, host: &str) -> Vec<Problem> {
    let Container { build, network, volumes, ports, privileged, entrypoint, platform, pull, .. } = container;
    let first = |list: &List| list.values.first().map(|text| text.span);
    let place = |text: &Option<Text>| text.as_ref().map(|text| text.span);
    let found = [
        ("build", place(build), "push the image to a registry that ECS can reach, and name it with `image`"),
        ("network", place(network), "leave it out: a task has a network interface of its own"),
        ("volumes", first(volumes), "leave it out: put files into the image"),
        (
            "ports",
            first(ports),
            "leave it out: all ports of a task can be reached that its security group lets through",
        ),
        ("privileged", place(privileged), "leave it out"),
        ("entrypoint", first(entrypoint), "leave it out, and start it in `run`"),
        ("platform", place(platform), "write `architecture` at the host"),
    ];
    let mut problems: Vec<Problem> = found
        .into_iter()
        .filter_map(|(key, span, help)| {
            Some(Problem::at(span?, format!("a task on `{host}` has no `{key}`")).help(help))
        })
        .collect();
    if *pull != Pull::default() {
        let message =
            format!("ECS pulls the image for each task on `{host}`: `pull: {}` can't be had", pull.as_str());
        problems.push(Problem::of_file(message).help("leave it out"));
    }
    problems
}

/// The CPUs and the bytes of memory of a task of `cell` in `container`.
///
/// # Errors
/// With what is wrong with them; with `None` where they are not both there.
pub(super) fn size(spec: &Spec, cell: &Cell, container: &Container) -> Result<(f64, u64), Option<Problem>> {
    let (Some(cpus), Some(memory)) = (&container.cpus, &container.memory) else { return Err(None) };
    let context = Context::of_cell(spec, cell);
    let at = |text: &Text| {
        let span = text.span;
        move |reason: String| Problem::at(span, reason)
    };
    let cpus = context.render(cpus).and_then(|text| environment::cpus(&text)).map_err(at(cpus))?;
    let memory = context.render(memory).and_then(|text| environment::memory(&text)).map_err(at(memory))?;
    Ok((cpus, memory))
}
