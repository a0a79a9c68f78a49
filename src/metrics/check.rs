//! Rules on the `metrics:` of every workload: tools, metrics and expressions that exist.

use crate::diagnostic::{Problem, Sources, suggest};
use crate::spec::metric::Metrics;
use crate::spec::{Spec, Text, Workload};

use super::{TOOLS, extract, parser};

/// The metric that every trial has.
pub const ELAPSED: &str = "elapsed";

/// Every mistake in the metrics of the workloads of `spec`, and in what they expect of them.
pub fn check(spec: &Spec, sources: &Sources) -> Vec<Problem> {
    let mut problems = Vec::new();
    for workload in spec.workloads.values() {
        let services = workload.services.values().map(|service| (&service.metrics, true));
        for (metrics, is_of_service) in std::iter::once((&workload.metrics, false)).chain(services) {
            tool(metrics, &mut problems);
            twins(metrics, &mut problems);
            for (name, rule) in &metrics.extract {
                extract::check(workload, name, rule, is_of_service, &mut problems);
            }
        }
        expectations(spec, workload, sources, &mut problems);
    }
    problems
}

/// Two metrics of one name would be one in the report.
fn twins(metrics: &Metrics, problems: &mut Vec<Problem>) {
    let Some(parser) = metrics.tool.as_deref().and_then(|tool| parser(tool)) else { return };
    let of_tool = parser.metrics();
    let is_twin = |name: &&Text| of_tool.iter().any(|metric| metric.name == name.as_str());
    for name in metrics.extract.keys().filter(is_twin) {
        problems.push(
            Problem::at(name.span, format!("`{}` is a metric of `{}` already", name.value, parser.tool()))
                .help("choose another name"),
        );
    }
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
