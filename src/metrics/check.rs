//! Rules on the `metrics:` of every workload: tools, metrics and expressions that exist.

mod charts;

use crate::diagnostic::{Problem, Sources, suggest};
use crate::spec::metric::{Extract, Form, Metrics};
use crate::spec::{Spec, Text, Workload};
use crate::units::{Scale, Unit};

use super::{TOOLS, extract, histogram, parser};

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
    let tables = || spec.report.tables.iter();
    let units = spec.report.units.iter().chain(tables().flat_map(|table| &table.units));
    problems.extend(units.filter_map(|(metric, unit)| shown_unit(spec, metric, unit)));
    let metrics = tables().flat_map(|table| &table.metrics.values);
    problems.extend(metrics.filter_map(|metric| unknown_metric(spec, metric)));
    problems.extend(charts::check(spec));
    problems
}

/// A metric of the report that no workload has.
fn unknown_metric(spec: &Spec, metric: &Text) -> Option<Problem> {
    let known: Vec<String> = spec.workloads.values().flat_map(names).collect();
    let is_known = known.contains(&metric.value);
    let names = known.iter().map(String::as_str);
    (!is_known).then(|| {
        Problem::at(metric.span, format!("no workload has a metric `{}`", metric.value))
            .help(suggest(metric, names))
    })
}

/// What is wrong with the unit in which the report shows a metric.
fn shown_unit(spec: &Spec, metric: &Text, unit: &Text) -> Option<Problem> {
    if let Some(problem) = unknown_metric(spec, metric) {
        return Some(problem);
    }
    let base = spec.workloads.values().find_map(|workload| unit_of(workload, metric))?;
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
pub fn unit_of(workload: &Workload, name: &str) -> Option<Unit> {
    if name == ELAPSED {
        return Some(Unit::Second);
    }
    let of = |metrics: &Metrics, name: &str| {
        let known = metrics.tool.as_deref().and_then(|tool| parser(tool)).map(|tool| tool.metrics());
        let of_tool =
            known.into_iter().flatten().find(|metric| metric.name == name).map(|metric| metric.unit);
        let written =
            metrics.extract.iter().find(|(own, rule)| names_of_rule(own, rule).iter().any(|own| own == name));
        of_tool.or_else(|| written.map(|(_, extract)| unit_of_rule(extract, name)))
    };
    let of_services = workload.services.iter().find_map(|(service, declared)| {
        of(&declared.metrics, name.strip_prefix(service.as_str())?.strip_prefix('.')?)
    });
    of(&workload.metrics, name).or(of_services)
}

/// The base unit of what a rule reads.
fn unit_of_rule(rule: &Extract, name: &str) -> Unit {
    match rule.histogram.as_ref().map(|form| form.value) {
        Some(_) if name.ends_with("_count") => return Unit::Count,
        // Without a unit it is the table that tells it, and it is a time.
        Some(Form::Ranges) if rule.unit.is_none() => return Unit::Second,
        _ => {}
    }
    let written = rule.unit.as_ref().map(|unit| unit.value.clone()).unwrap_or_default();
    Scale::named(&written).map_or_else(|| Unit::from(written), |(unit, _)| unit)
}

/// The metrics that the entry `name` of `extract` gives.
fn names_of_rule(name: &str, rule: &Extract) -> Vec<String> {
    if rule.histogram.is_some() { histogram::names(name) } else { vec![name.to_owned()] }
}

/// Two metrics of one name would be one in the report.
fn twins(metrics: &Metrics, problems: &mut Vec<Problem>) {
    let Some(parser) = metrics.tool.as_deref().and_then(|tool| parser(tool)) else { return };
    let of_tool = parser.metrics();
    let is_twin = |(name, rule): &(&Text, &Extract)| {
        names_of_rule(name, rule).iter().any(|name| of_tool.iter().any(|metric| metric.name == name))
    };
    for (name, _) in metrics.extract.iter().filter(is_twin) {
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
        let extracted = metrics.extract.iter().flat_map(|(name, rule)| names_of_rule(name, rule));
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
    if metrics.series && !parser.has_series() {
        let of = TOOLS.iter().filter(|parser| parser.has_series()).map(|parser| parser.tool());
        let help = format!("leave out `series`; it is there for {}", of.collect::<Vec<_>>().join(", "));
        let problem = Problem::at(tool.span, format!("`{}` tells no series", tool.value));
        problems.push(problem.help(help));
    }
    let known = parser.metrics();
    let is_known = |name: &&Text| known.iter().any(|metric| metric.name == name.as_str());
    for name in metrics.keep.values.iter().filter(|name| !parser.names_more() && !is_known(name)) {
        problems.push(
            Problem::at(name.span, format!("`{}` has no metric `{}`", tool.value, name.value))
                .help(suggest(name, known.iter().map(|metric| metric.name))),
        );
    }
}
