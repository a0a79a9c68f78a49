//! The published figures that an experiment names, read from its files.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "the files of an experiment")]

use std::fs;

use crate::diagnostic::{Problem, Sources, suggest};
use crate::hosts::local_path;
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
        let help = "a line is `source,date,workload,host,environment,metric,value,unit`; the header names its columns";
        Problem::at(file.span, format!("`{}`: {error}", path.display())).help(help)
    })?;
    let is_unknown = |reference: &&Reference| !spec.workloads.contains_key(reference.workload.as_str());
    match found.iter().find(is_unknown) {
        None => Ok(found),
        Some(reference) => {
            let message =
                format!("`{}` speaks of an unknown workload `{}`", path.display(), reference.workload);
            let names = spec.workloads.keys().map(|name| name.as_str());
            Err(Problem::at(file.span, message).help(suggest(&reference.workload, names)))
        }
    }
}
