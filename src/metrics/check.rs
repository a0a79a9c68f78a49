//! Rules on the `metrics:` of every workload: tools, metrics and expressions that exist.

use crate::diagnostic::{Problem, Sources, suggest};
use crate::spec::metric::{Extract, Metrics};
use crate::spec::template::is_template;
use crate::spec::{Spec, Text, Workload};
use crate::units::{Scale, Unit};

use super::{TOOLS, parser};

/// The metric that every trial has.
pub const ELAPSED: &str = "elapsed";

/// Every mistake in the metrics of the workloads of `spec`, and in what they expect of them.
pub fn check(spec: &Spec, sources: &Sources) -> Vec<Problem> {
    let mut problems = Vec::new();
    for workload in spec.workloads.values() {
        let services = workload.services.values().map(|service| &service.metrics);
        for metrics in std::iter::once(&workload.metrics).chain(services) {
            tool(metrics, &mut problems);
            for (name, extract) in &metrics.extract {
                check_extract(workload, name, extract, &mut problems);
            }
        }
        expectations(spec, workload, sources, &mut problems);
    }
    problems.extend(spec.report.units.iter().filter_map(|(metric, unit)| shown_unit(spec, metric, unit)));
    problems
}

/// What is wrong with the unit in which the report shows a metric.
fn shown_unit(spec: &Spec, metric: &Text, unit: &Text) -> Option<Problem> {
    let workloads = || spec.workloads.values();
    let known: Vec<String> = workloads().flat_map(names).collect();
    if !known.contains(&metric.value) {
        let names = known.iter().map(String::as_str);
        return Some(
            Problem::at(metric.span, format!("no workload has a metric `{}`", metric.value))
                .help(suggest(metric, names)),
        );
    }
    let base = workloads().find_map(|workload| unit_of(workload, metric))?;
    let shown: Vec<&str> = Scale::all_of(&base).collect();
    if shown.contains(&unit.as_str()) {
        return None;
    }
    let names = shown.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let problem = Problem::at(unit.span, format!("`{}` is not shown in `{}`", metric.value, unit.value));
    Some(match shown.is_empty() {
        true => problem.help(format!("its unit is `{base}`, which has no other")),
        false => problem.help(format!("its unit is `{base}`: choose one of {names}")),
    })
}

/// The base unit of a metric of `workload`, where it is known before anything is read.
fn unit_of(workload: &Workload, name: &str) -> Option<Unit> {
    if name == ELAPSED {
        return Some(Unit::Second);
    }
    let of = |metrics: &Metrics, name: &str| {
        let known = metrics.tool.as_deref().and_then(|tool| parser(tool)).map(|tool| tool.metrics());
        let of_tool =
            known.into_iter().flatten().find(|metric| metric.name == name).map(|metric| metric.unit);
        let written = metrics.extract.iter().find(|(own, _)| own.as_str() == name);
        of_tool.or_else(|| written.map(|(_, extract)| unit_of_rule(extract)))
    };
    let of_services = workload.services.iter().find_map(|(service, declared)| {
        of(&declared.metrics, name.strip_prefix(service.as_str())?.strip_prefix('.')?)
    });
    of(&workload.metrics, name).or(of_services)
}

/// The base unit of what a rule reads.
fn unit_of_rule(rule: &Extract) -> Unit {
    let written = rule.unit.as_ref().map(|unit| unit.value.clone()).unwrap_or_default();
    Scale::named(&written).map_or_else(|| Unit::from(written), |(unit, _)| unit)
}

/// The names of all metrics that trials of `workload` can have.
pub fn names(workload: &Workload) -> Vec<String> {
    let of = |metrics: &Metrics, prefix: &str| {
        let known = metrics.tool.as_deref().and_then(|tool| parser(tool)).map(|tool| tool.metrics());
        let headline = known.into_iter().flatten().filter(|metric| metric.headline);
        let of_tool: Vec<String> = match metrics.keep.is_empty() {
            true => headline.map(|metric| metric.name.to_owned()).collect(),
            false => metrics.keep.values.iter().map(|name| name.value.clone()).collect(),
        };
        let extracted = metrics.extract.keys().map(|name| name.value.clone());
        of_tool.into_iter().chain(extracted).map(|name| format!("{prefix}{name}")).collect::<Vec<_>>()
    };
    let services = workload
        .services
        .iter()
        .flat_map(|(name, service)| of(&service.metrics, &format!("{}.", name.value)));
    of(&workload.metrics, "").into_iter().chain(services).chain([ELAPSED.to_owned()]).collect()
}

fn expectations(spec: &Spec, workload: &Workload, sources: &Sources, problems: &mut Vec<Problem>) {
    let Some(expect) = &workload.expect else { return };
    let known = names(workload);
    for name in expect.metrics.values.iter().filter(|name| !known.contains(&name.value)) {
        problems.push(
            Problem::at(name.span, format!("this workload has no metric `{}`", name.value))
                .help(suggest(name, known.iter().map(String::as_str))),
        );
    }
    if let Some(when) = &expect.when {
        let names = spec.trial_names(workload).with(known);
        problems.extend(names.check_expression(when, when.span, sources));
    }
}

fn tool(metrics: &Metrics, problems: &mut Vec<Problem>) {
    let Some(tool) = &metrics.tool else {
        if let Some(first) = metrics.keep.values.first() {
            problems.push(
                Problem::at(first.span, "`keep` chooses among the metrics of a `tool`")
                    .help("add `tool: NAME`"),
            );
        }
        return;
    };
    let Some(parser) = parser(tool) else {
        let known = TOOLS.iter().map(|parser| parser.tool());
        problems.push(
            Problem::at(tool.span, format!("unknown tool `{}`", tool.value)).help(suggest(tool, known)),
        );
        return;
    };
    let known = parser.metrics();
    let is_known = |name: &&Text| known.iter().any(|metric| metric.name == name.as_str());
    for name in metrics.keep.values.iter().filter(|name| !parser.names_more() && !is_known(name)) {
        problems.push(
            Problem::at(name.span, format!("`{}` has no metric `{}`", tool.value, name.value))
                .help(suggest(name, known.iter().map(|metric| metric.name))),
        );
    }
}

fn check_extract(workload: &Workload, name: &Text, extract: &Extract, problems: &mut Vec<Problem>) {
    if name.as_str() == ELAPSED {
        problems.push(Problem::at(name.span, "`elapsed` is always measured").help("choose another name"));
    }
    let mut texts = std::iter::once(&extract.regex).chain(&extract.unit).chain(&extract.from);
    if let Some(text) = texts.find(|text| is_template(text)) {
        problems.push(
            Problem::at(text.span, "a rule of `extract` is the same in every cell")
                .label("braces are not replaced here")
                .help("write two workloads, or match what the braces stand for"),
        );
        return;
    }
    if let Err(error) = regex::Regex::new(&extract.regex) {
        let told = error.to_string();
        let last = told.lines().last().unwrap_or_default().trim_start_matches("error: ");
        problems.push(Problem::at(extract.regex.span, format!("bad regular expression: {last}")));
    }
    let mut known = vec!["stdout".to_owned(), "stderr".to_owned()];
    let services = workload.services.keys().map(|name| name.as_str());
    known.extend(
        services.flat_map(|name| ["stdout", "stderr"].map(|stream| format!("services.{name}.{stream}"))),
    );
    if let Some(from) = extract.from.as_ref().filter(|from| !known.contains(&from.value)) {
        problems.push(
            Problem::at(from.span, format!("no output is named `{}`", from.value))
                .help(suggest(from, known.iter().map(String::as_str))),
        );
    }
}
