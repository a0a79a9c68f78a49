//! Rules on the charts of the report: workloads and axes that exist, an expression that can be evaluated. Their metrics
//! and units are checked by `metrics`.

use super::super::report::Chart;
use super::super::{Spec, Text};
use super::{AXES, must_exist};
use crate::diagnostic::{Problem, Sources, suggest};

/// The most charts of a report.
const COUNT_LIMIT: usize = 200;
/// How the axis of a label begins.
const LABEL: &str = "label.";

pub(super) fn check(spec: &Spec, sources: &Sources, problems: &mut Vec<Problem>) {
    let charts = &spec.report.charts;
    if let Some(first) = charts.get(COUNT_LIMIT) {
        let message = format!("there are {} charts, more than {COUNT_LIMIT}", charts.len());
        problems
            .push(Problem::at(first.kind.span, message).help("leave some out: a facet shows several in one"));
        return;
    }
    for chart in charts {
        for workload in &chart.workload.values {
            must_exist(workload, &spec.workloads, "workload", problems);
        }
        let parameters = parameters(spec, chart);
        let axes = chart.x.iter().chain(&chart.series.values).chain(&chart.facet);
        problems.extend(axes.filter_map(|axis| unknown(axis, &parameters)));
        problems.extend(twice(chart));
        if let Some(condition) = &chart.condition {
            let names = spec.cell_names([]).with(parameters.iter().copied());
            problems.extend(names.check_expression(condition, condition.span, sources));
        }
    }
}

/// The parameters of the workloads that a chart shows; of all where one of them is unknown.
fn parameters<'a>(spec: &'a Spec, chart: &Chart) -> Vec<&'a str> {
    let named = &chart.workload.values;
    let is_known = named.iter().all(|name| spec.workloads.contains_key(name.as_str()));
    let is_shown = |name: &Text| named.is_empty() || !is_known || named.contains(name);
    let shown = spec.workloads.iter().filter(|(name, _)| is_shown(name));
    shown.flat_map(|(_, workload)| workload.parameters.keys().map(|name| name.as_str())).collect()
}

fn unknown(axis: &Text, parameters: &[&str]) -> Option<Problem> {
    let is_label = axis.strip_prefix(LABEL).is_some_and(|label| !label.is_empty());
    if is_label || AXES.contains(&axis.as_str()) || parameters.contains(&axis.as_str()) {
        return None;
    }
    let known = AXES.into_iter().chain(parameters.iter().copied());
    let near = suggest(axis, known);
    let help = format!("{near} (what tells apart the values of one metric is `{LABEL}NAME`)");
    Some(Problem::at(axis.span, format!("unknown axis `{}`", axis.value)).help(help))
}

/// One axis in two places would say one thing twice and another not at all.
fn twice(chart: &Chart) -> Option<Problem> {
    let axes: Vec<&Text> = chart.x.iter().chain(&chart.series.values).chain(&chart.facet).collect();
    let again = axes.iter().enumerate().find(|(number, axis)| axes[..*number].contains(axis));
    again.map(|(_, axis)| {
        Problem::at(axis.span, format!("axis `{}` is named twice", axis.value))
            .help("keep it in one of `x`, `series` and `facet`")
    })
}
