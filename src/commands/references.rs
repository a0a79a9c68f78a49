//! The published figures that an experiment names, read from its files.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "the files of an experiment")]

use std::fs;

use crate::diagnostic::{Problem, Sources, suggest};
use crate::hosts::local_path;
use crate::metrics;
use crate::record::{Reference, parse_references};
use crate::spec::{Spec, Text};

/// All figures, and a mistake for each file that can't be read or speaks of no workload of `spec`.
pub(super) fn read(spec: &Spec, sources: &Sources) -> (Vec<Reference>, Vec<Problem>) {
    let (mut references, mut problems) = (Vec::new(), Vec::new());
    for file in &spec.report.references.values {
        match read_file(spec, file, sources) {
            Ok(found) => references.extend(found),
            Err(problem) => problems.push(problem),
        }
    }
    (references, problems)
}

fn read_file(spec: &Spec, file: &Text, sources: &Sources) -> Result<Vec<Reference>, Problem> {
    let path = local_path(file, sources);
    let text = fs::read_to_string(&path).map_err(|error| {
        Problem::at(file.span, format!("`{}` can't be read: {error}", path.display()))
            .help("name a CSV file by a path that starts at the folder of this file")
    })?;
    let found = parse_references(&text).map_err(|error| {
        let help = "its columns are `source`, `workload`, `metric`, `value`, `unit`, and where known `date`, `host`, `environment`, `low`, `high`, `note`, `param.NAME`, `label.NAME`";
        Problem::at(file.span, format!("`{}`: {error}", path.display())).help(help)
    })?;
    match found.iter().find_map(|reference| misfit(spec, reference)) {
        None => Ok(found),
        Some((what, help)) => Err(Problem::at(file.span, format!("`{}` {what}", path.display())).help(help)),
    }
}

/// Why a figure would stand nowhere, and what to do.
fn misfit(spec: &Spec, reference: &Reference) -> Option<(String, String)> {
    let Reference { workload, metric, unit, parameters, .. } = reference;
    let Some(declared) = spec.workloads.get(workload.as_str()) else {
        let names = spec.workloads.keys().map(|name| name.as_str());
        return Some((format!("speaks of an unknown workload `{workload}`"), suggest(workload, names)));
    };
    let known = metrics::names(declared);
    if !known.contains(metric) {
        let names = known.iter().map(String::as_str);
        return Some((
            format!("speaks of `{metric}`, which `{workload}` does not measure"),
            suggest(metric, names),
        ));
    }
    if let Some(own) = metrics::unit_of(declared, metric).filter(|own| own != unit) {
        let what = format!("has `{metric}` in `{unit}`, and `{workload}` measures it in `{own}`");
        return Some((what, "write the figure in a unit of the same kind".to_owned()));
    }
    let names = || declared.parameters.keys().map(|name| name.as_str());
    let unknown = parameters.keys().find(|name| !names().any(|known| known == name.as_str()))?;
    Some((
        format!("names a parameter `{unknown}` that `{workload}` does not have"),
        suggest(unknown, names()),
    ))
}
