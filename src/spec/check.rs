//! The rules that go beyond form: names that must exist, keys that exclude each other, templates. Each
//! rule is a function; all mistakes come at once. Tools and metric names are checked by `metrics`.

mod charts;
mod derived;
mod ec2;
mod environment;
mod limits;
mod matrix;
mod parameters;
mod report;
mod steps;
mod vagrant;
mod workload;

use indexmap::IndexMap;

pub(super) use matrix::AXES;

use super::cost::Cost;
use super::host::{KINDS, Kind};
use super::template::Names;
use super::{Environment, Host, Located, Spec, Text};
use crate::diagnostic::{Problem, Problems, Sources, Span, suggest};

/// The environment that needs no declaration.
pub const NATIVE: &str = "native";
/// The longest name in bytes.
const NAME_LIMIT: usize = 100;
/// The most hosts, environments, and labels of all hosts together.
const COUNT_LIMIT: usize = 1000;
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
                .help(
                    "add `workloads: { nap: { run: sleep 0.1 } }`; a file of hosts is given with `--hosts`",
                ),
        );
    }
    if let Some(problem) = too_many(&spec) {
        return Err(Problems::new(vec![problem], sources.clone()));
    }
    names(&spec.hosts, "a host", &mut problems);
    names(&spec.environments, "an environment", &mut problems);
    names(&spec.workloads, "a workload", &mut problems);
    for (name, host) in &spec.hosts {
        check_host(name, host, sources, &mut problems);
        problems.extend(ec2::check(name, host, spec.deadline.as_ref()));
    }
    problems.extend(spec.title.iter().flat_map(|title| Names::default().check(title, sources)));
    twins(&spec.hosts, &mut problems);
    vagrant::check(&spec.hosts, &mut problems);
    for (name, declared) in &spec.environments {
        environment::check(&spec, name, declared, sources, &mut problems);
    }
    for (name, declared) in &spec.workloads {
        workload::check(&spec, name, declared, sources, &mut problems);
    }
    limits::check(&spec, &mut problems);
    matrix::check(&spec, sources, &mut problems);
    report::check(&spec, sources, &mut problems);
    charts::check(&spec, sources, &mut problems);
    problems.sort_by_key(|problem| problem.span.map(|span| (span.file, span.offset)));
    match problems.is_empty() {
        true => Ok(spec),
        false => Err(Problems { hides_others: true, ..Problems::new(problems, sources.clone()) }),
    }
}

fn add_defaults(spec: &mut Spec) {
    if spec.hosts.is_empty() {
        let local = Host { local: Some(Default::default()), ..Host::default() };
        spec.hosts.insert(Text::unwritten(LOCALHOST.to_owned()), local);
    }
    for (name, host) in &mut spec.hosts {
        if let Some(Located { value, span }) = &mut host.vagrant {
            value.add_directory(name, *span);
        }
    }
    if !spec.environments.contains_key(NATIVE) {
        if spec.environments.keys().any(|name| !spec.offered.contains(&name.value)) {
            spec.offered.insert(NATIVE.to_owned());
        }
        spec.environments.shift_insert(0, Text::unwritten(NATIVE.to_owned()), Environment::default());
    }
}

/// Much is looked at for each with each: a file of a megabyte must not take minutes.
fn too_many(spec: &Spec) -> Option<Problem> {
    let labels = || spec.hosts.values().flat_map(|host| host.labels.keys());
    let counts = [
        (spec.hosts.len(), spec.hosts.keys().next(), "hosts"),
        (spec.environments.len(), spec.environments.keys().next(), "environments"),
        (labels().count(), labels().next(), "labels"),
    ];
    let (count, first, what) = counts.into_iter().find(|(count, ..)| *count > COUNT_LIMIT)?;
    let message = format!("there are {count} {what}, more than {COUNT_LIMIT}");
    Some(Problem::at(first?.span, message).label("the first of them").help("split the experiment"))
}

/// Names become parts of paths and of cell names.
fn names<V>(section: &IndexMap<Text, V>, kind: &str, problems: &mut Vec<Problem>) {
    for name in section.keys().filter(|name| name.len() > NAME_LIMIT) {
        problems.push(
            Problem::at(
                name.span,
                format!("the name of {kind} has {} bytes, more than {NAME_LIMIT}", name.len()),
            )
            .help("shorten it: it becomes the name of a folder"),
        );
    }
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

fn check_host(name: &Text, host: &Host, sources: &Sources, problems: &mut Vec<Problem>) {
    // A host is there before any cell: of all names it knows the variables of the environment alone.
    problems.extend(host.texts().flat_map(|text| Names::default().check(&text, sources)));
    match host.kind_spans().as_slice() {
        [] => problems.push(
            Problem::at(name.span, format!("host `{}` has no kind", name.value))
                .help("add `local: {}`, `ssh: user@address`, `vagrant`, `ec2` or `ecs`"),
        ),
        [_] => problems.extend(cost(name, host)),
        [_, second, ..] => problems.push(
            Problem::at(*second, format!("host `{}` has two kinds", name.value))
                .help(format!("keep one of `{}`", KINDS.join("`, `"))),
        ),
    }
}

/// A cost by size of what has none.
fn cost(name: &Text, host: &Host) -> Option<Problem> {
    let Located { value: Cost::BySize(_), span } = host.cost.as_ref()? else { return None };
    (!host.is_cluster()).then(|| {
        Problem::at(*span, format!("host `{}` is one machine, and has no sizes", name.value))
            .label("a cost by size is of tasks on a cluster")
            .help("write what an hour of it costs: `cost: 0.0416 USD`")
    })
}

/// Two names for one machine would measure side by side what must not overlap.
fn twins(hosts: &IndexMap<Text, Host>, problems: &mut Vec<Problem>) {
    let text = |text: &Option<Text>| text.as_ref().map(|text| text.value.clone());
    let way = |host: &Host| match host.kind() {
        Kind::Local => Some(Vec::new()),
        Kind::Ssh(ssh) => {
            let port = ssh.port.as_ref().map_or(22, |port| port.value).to_string();
            Some(vec![Some(ssh.address.value.clone()), Some(port), text(&ssh.jump), text(&ssh.config)])
        }
        Kind::Vagrant(vagrant) => Some(vec![
            Some("vagrant".to_owned()),
            text(&vagrant.directory),
            Some(vagrant.machine().to_owned()),
        ]),
        Kind::Ec2(ec2) => ec2.instance_id.as_ref().map(|id| vec![Some(id.value.clone())]),
        // A cluster is many machines.
        Kind::Ecs(_) => None,
    };
    let mut seen: Vec<(&Text, _)> = Vec::new();
    for (name, host) in hosts.iter().filter(|(_, host)| host.kind_spans().len() == 1) {
        let Some(way) = way(host) else { continue };
        if let Some((twin, _)) = seen.iter().find(|(_, other)| *other == way) {
            problems.push(
                Problem::at(name.span, format!("`{}` and `{}` are one machine", twin.value, name.value))
                    .help("keep one of them: trials on one machine must not overlap"),
            );
        }
        seen.push((name, way));
    }
}

impl Spec {
    /// The names that the templates of a cell know whose workload has these `parameters`.
    pub fn cell_names<'a>(&self, parameters: impl IntoIterator<Item = &'a Text>) -> Names {
        let labels = self
            .hosts
            .values()
            .flat_map(|host| host.labels.keys())
            .map(|label| format!("host.labels.{}", label.value));
        let fixed = ["workload", "environment", "host.name", "host.address"].map(str::to_owned);
        let parameters = parameters.into_iter().map(|name| name.value.clone());
        Names::new(fixed.into_iter().chain(labels).chain(parameters))
    }
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

/// A name that a template can use as it stands.
fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// The keys of `env` must be what every shell takes for the name of a variable.
fn variable_names(env: &IndexMap<Text, Text>, problems: &mut Vec<Problem>) {
    for name in env.keys().filter(|name| !is_identifier(name) || !name.is_ascii()) {
        problems.push(
            Problem::at(name.span, format!("`{}` can't be the name of a variable", name.value))
                .help("use letters, digits and `_`, and start with a letter"),
        );
    }
}
