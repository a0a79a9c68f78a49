//! Rules on the metrics of charts: they exist, and are shown in a unit of theirs.

use super::{names, shown_unit, unit_of};
use crate::diagnostic::{Problem, suggest};
use crate::metrics::parser;
use crate::spec::{Chart, ChartKind, Spec, Text, Workload};
use crate::units::Scale;

/// Every mistake in the metrics and units of the charts of `spec`.
pub(super) fn check(spec: &Spec) -> Vec<Problem> {
    spec.report.charts.iter().filter_map(|chart| mistake(spec, chart)).collect()
}

fn mistake(spec: &Spec, chart: &Chart) -> Option<Problem> {
    let shown: Vec<&Workload> = workloads(spec, chart);
    let Some(metric) = &chart.y else { return chart.unit.as_ref().and_then(unknown_unit) };
    let known: Vec<String> = shown.iter().flat_map(|workload| quantities(workload)).collect();
    let is_open = shown.iter().any(|workload| is_open(workload, chart.kind.value));
    if !known.contains(&metric.value) && !is_open {
        let names = known.iter().map(String::as_str);
        let problem =
            Problem::at(metric.span, format!("no workload of this chart has a metric `{}`", metric.value));
        return Some(problem.help(suggest(metric, names)));
    }
    let unit = chart.unit.as_ref()?;
    // A quantity has the unit of its percentiles.
    let of = [metric.value.clone(), format!("{}_p50", metric.value)];
    let name = of.into_iter().find(|name| shown.iter().any(|workload| unit_of(workload, name).is_some()));
    match name {
        Some(value) => shown_unit(spec, &Text { value, span: metric.span }, unit),
        None => unknown_unit(unit),
    }
}

/// The workloads of a chart that exist.
fn workloads<'a>(spec: &'a Spec, chart: &Chart) -> Vec<&'a Workload> {
    let is_shown = |name: &Text| chart.workload.is_empty() || chart.workload.values.contains(name);
    spec.workloads.iter().filter(|(name, _)| is_shown(name)).map(|(_, workload)| workload).collect()
}

/// The metrics of a workload, and the quantities whose percentiles are among them.
fn quantities(workload: &Workload) -> Vec<String> {
    let names = names(workload);
    let whole =
        names.iter().filter_map(|name| name.strip_suffix("_p50")).map(str::to_owned).collect::<Vec<_>>();
    names.into_iter().chain(whole).collect()
}

/// Whether what a workload has is known only when it was measured.
fn is_open(workload: &Workload, kind: ChartKind) -> bool {
    let services = workload.services.values().map(|service| &service.metrics);
    std::iter::once(&workload.metrics).chain(services).any(|metrics| {
        let tool = metrics.tool.as_deref().and_then(|tool| parser(tool));
        kind == ChartKind::Series && metrics.series || tool.is_some_and(|tool| tool.names_more())
    })
}

fn unknown_unit(unit: &Text) -> Option<Problem> {
    let problem = || {
        Problem::at(unit.span, format!("unknown unit `{}`", unit.value))
            .help("write one such as `Mbit/s`, `MB/s`, `MiB/s` or `ms`; other units are shown as they are")
    };
    Scale::named(unit).is_none().then(problem)
}
