//! The rules that go beyond form: names that must exist, keys that exclude each other, templates. Each
//! rule is a function; all mistakes come at once. Tools and metric names are checked by `metrics`.

mod derived;
mod matrix;
mod workload;

use indexmap::IndexMap;

pub(super) use matrix::AXES;

use super::environment;
use super::template::{self, Names};
use super::{Environment, Host, Spec, Text};
use crate::diagnostic::{Problem, Problems, Sources, Span, suggest};

/// The environment that needs no declaration.
pub const NATIVE: &str = "native";
/// The host that needs no declaration.
pub const LOCALHOST: &str = "localhost";

/// Adds what every experiment has without saying so, then checks every rule. `found` are the mistakes that
/// other stages have found.
///
/// # Errors
/// Every mistake, in the order of the file.
pub fn check(mut spec: Spec, sources: &Sources, found: Vec<Problem>) -> Result<Spec, Problems> {
    add_defaults(&mut spec);
    let mut problems = found;
    if spec.workloads.is_empty() {
        problems.push(
            Problem::at(Span::default(), "the experiment has no workload")
                .label("`workloads:` is missing, or empty")
                .help("add `workloads: { nap: { run: sleep 0.1 } }`"),
        );
    }
    names(&spec.hosts, "a host", &mut problems);
    names(&spec.environments, "an environment", &mut problems);
    names(&spec.workloads, "a workload", &mut problems);
    for (name, host) in &spec.hosts {
        check_host(name, host, &mut problems);
    }
    twins(&spec.hosts, &mut problems);
    for (name, environment) in &spec.environments {
        check_environment(name, environment, &mut problems);
    }
    for (name, declared) in &spec.workloads {
        workload::check(&spec, name, declared, sources, &mut problems);
    }
    matrix::check(&spec, sources, &mut problems);
    problems.sort_by_key(|problem| problem.span.map(|span| (span.file, span.offset)));
    if problems.is_empty() { Ok(spec) } else { Err(Problems { problems, sources: sources.clone() }) }
}

fn add_defaults(spec: &mut Spec) {
    if spec.hosts.is_empty() {
        let local = Host {
            local: Some(Default::default()),
            ssh: None,
            peer_address: None,
            sudo: None,
            labels: IndexMap::new(),
        };
        spec.hosts.insert(Text::unwritten(LOCALHOST.to_owned()), local);
    }
    if !spec.environments.contains_key(NATIVE) {
        if spec.environments.keys().any(|name| !spec.offered.contains(&name.value)) {
            spec.offered.insert(NATIVE.to_owned());
        }
        spec.environments.shift_insert(0, Text::unwritten(NATIVE.to_owned()), Environment::default());
    }
}

/// Names become parts of paths and of cell names.
fn names<V>(section: &IndexMap<Text, V>, kind: &str, problems: &mut Vec<Problem>) {
    for name in section.keys().filter(|name| !is_name(name)) {
        problems.push(
            Problem::at(name.span, format!("`{}` can't be the name of {kind}", name.value))
                .help("use letters, digits, `-`, `_` and `.`, and start with a letter or digit"),
        );
    }
}

fn is_name(name: &str) -> bool {
    name.starts_with(char::is_alphanumeric) && name.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c))
}

fn check_host(name: &Text, host: &Host, problems: &mut Vec<Problem>) {
    match (&host.local, &host.ssh) {
        (None, None) => problems.push(
            Problem::at(name.span, format!("host `{}` has no kind", name.value))
                .help("add `local: {}` or `ssh: user@address`"),
        ),
        (Some(_), Some(ssh)) => problems.push(
            Problem::at(ssh.span, format!("host `{}` has two kinds", name.value))
                .help("keep one of `local` and `ssh`"),
        ),
        _ => {}
    }
}

/// Two names for one machine would measure side by side what must not overlap.
fn twins(hosts: &IndexMap<Text, Host>, problems: &mut Vec<Problem>) {
    let way = |host: &Host| {
        host.ssh.as_ref().map(|ssh| {
            let text = |text: &Option<Text>| text.as_ref().map(|text| text.value.clone());
            let port = ssh.0.port.as_ref().map_or(22, |port| port.value);
            (ssh.0.address.value.clone(), port, text(&ssh.0.jump), text(&ssh.0.config))
        })
    };
    let mut seen: Vec<(&Text, _)> = Vec::new();
    for (name, host) in hosts.iter().filter(|(_, host)| host.local.is_some() != host.ssh.is_some()) {
        let way = way(host);
        if let Some((twin, _)) = seen.iter().find(|(_, other)| *other == way) {
            problems.push(
                Problem::at(name.span, format!("`{}` and `{}` are one machine", twin.value, name.value))
                    .help("keep one of them: trials on one machine must not overlap"),
            );
        }
        seen.push((name, way));
    }
}

fn check_environment(name: &Text, environment: &Environment, problems: &mut Vec<Problem>) {
    let workdir = environment.workdir.as_ref().filter(|workdir| !template::is_template(workdir));
    if let Some(workdir) = workdir.filter(|workdir| !workdir.starts_with('/')) {
        problems.push(
            Problem::at(workdir.span, format!("`{}` is not a whole path", workdir.value))
                .help("start at `/`; `~` and variables are not replaced here"),
        );
    }
    let Some(container) = &environment.container else { return };
    match (&container.image, &container.build) {
        (None, None) => problems.push(
            Problem::at(name.span, format!("container `{}` has no image", name.value))
                .help("add `image: NAME` or `build: FOLDER`"),
        ),
        (Some(_), Some(build)) => problems.push(
            Problem::at(build.span, format!("container `{}` has both `image` and `build`", name.value))
                .help("keep one of them"),
        ),
        _ => {}
    }
    let literal = |text: &Option<Text>| text.clone().filter(|text| !template::is_template(text));
    let cpus = literal(&container.cpus)
        .and_then(|text| environment::cpus(&text).err().map(|reason| (text.span, reason)));
    let memory = literal(&container.memory)
        .and_then(|text| environment::memory(&text).err().map(|reason| (text.span, reason)));
    problems.extend([cpus, memory].into_iter().flatten().map(|(span, reason)| Problem::at(span, reason)));
}

/// The names of every template of a cell: those of its axes.
pub(super) fn point_names(spec: &Spec, parameters: impl Iterator<Item = String>) -> Names {
    let labels = spec
        .hosts
        .values()
        .flat_map(|host| host.labels.keys())
        .map(|label| format!("host.labels.{}", label.value));
    let fixed = ["workload", "environment", "host.name", "host.address"].map(str::to_owned);
    Names::new(fixed.into_iter().chain(labels).chain(parameters))
}

/// A name that must be a key of `section`.
fn must_exist<V>(name: &Text, section: &IndexMap<Text, V>, kind: &str, problems: &mut Vec<Problem>) {
    if !section.contains_key(name.as_str()) {
        problems.push(
            Problem::at(name.span, format!("unknown {kind} `{}`", name.value))
                .label(format!("not declared under `{kind}s:`"))
                .help(suggest(name, section.keys().map(|key| key.as_str()))),
        );
    }
}
