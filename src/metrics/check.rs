//! Rules on the `metrics:` of every workload: tools, metrics and expressions that exist.

use crate::diagnostic::{Problem, suggest};
use crate::spec::metric::{Extract, Metrics};
use crate::spec::{Spec, Text, Workload};

use super::{TOOLS, parser};

/// The metric that every trial has.
pub const ELAPSED: &str = "elapsed";

/// Every mistake in the metrics of the workloads of `spec`.
pub fn check(spec: &Spec) -> Vec<Problem> {
    let mut problems = Vec::new();
    for workload in spec.workloads.values() {
        tool(&workload.metrics, &mut problems);
        for (name, extract) in &workload.metrics.extract {
            check_extract(workload, name, extract, &mut problems);
        }
    }
    problems
}

fn tool(metrics: &Metrics, problems: &mut Vec<Problem>) {
    let Some(tool) = &metrics.tool else {
        if let Some(first) = metrics.keep.first() {
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
    for name in metrics.keep.iter().filter(|name| known.iter().all(|metric| metric.name != name.as_str())) {
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
