//! Rules on steps and on the files that they copy.

use super::super::step::{Step, Steps, Upload};
use super::super::template::{Names, is_template};
use super::super::{Spec, Text};
use super::must_exist;
use crate::diagnostic::{Problem, Sources};

pub(super) fn check(
    spec: &Spec,
    steps: &Steps,
    names: &Names,
    sources: &Sources,
    problems: &mut Vec<Problem>,
) {
    for step in &steps.0 {
        match &step.value {
            Step::Run(run) => {
                let command = &run.command;
                problems.extend(names.check(command, sources));
                if is_nearly_drop_caches(command) {
                    problems.push(
                        Problem::at(command.span, format!("`{}` is taken for a command", command.value))
                            .help("did you mean `drop_caches`?"),
                    );
                }
                if let Some(on) = run.on.as_ref().filter(|on| !["host", "environment"].contains(&on.as_str()))
                {
                    must_exist(on, &spec.hosts, "host", problems);
                }
            }
            Step::Upload(upload) => check_upload(upload, names, sources, problems),
            Step::DropCaches { .. } | Step::Sleep(_) => {}
        }
    }
}

pub(super) fn check_upload(upload: &Upload, names: &Names, sources: &Sources, problems: &mut Vec<Problem>) {
    let from = &upload.from;
    problems.extend(names.check(from, sources));
    if from.trim().is_empty() {
        problems.push(Problem::at(from.span, "the path is empty").help("write a path relative to this file"));
    }
    if let Some(to) = &upload.to {
        problems.extend(names.check(to, sources));
        problems.extend(stays_inside(to));
    }
}

/// A path that must stay in the directory of the cell.
pub(super) fn stays_inside(path: &Text) -> Option<Problem> {
    let leaves = path.starts_with('/') || path.split('/').any(|part| part == "..") || path.trim().is_empty();
    (leaves && !is_template(path)).then(|| {
        Problem::at(path.span, format!("`{}` is not a path in the directory of the cell", path.value))
            .help("write a path that starts there, without `..`; a command can copy from elsewhere")
    })
}

/// One word that is one or two letters away from the step `drop_caches`.
fn is_nearly_drop_caches(command: &str) -> bool {
    command.trim() == command && strsim::levenshtein(command, "drop_caches") <= 2
}
