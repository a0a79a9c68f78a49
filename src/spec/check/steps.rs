//! Rules on steps and on the files that they copy.

use super::super::Host;
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
                if let Some(word) = nearly_a_word(command) {
                    problems.push(
                        Problem::at(command.span, format!("`{}` is taken for a command", command.value))
                            .help(format!("did you mean `{word}`?")),
                    );
                }
                if let Some(on) = run.on.as_ref().filter(|on| !["host", "environment"].contains(&on.as_str()))
                {
                    must_exist(on, &spec.hosts, "host", problems);
                    if spec.hosts.get(on.as_str()).is_some_and(Host::is_cluster) {
                        let message = format!("no step can run on `{}`, a cluster of ECS", on.value);
                        problems.push(
                            Problem::at(on.span, message)
                                .help("name a machine; on a cluster each command is a task of its own"),
                        );
                    }
                }
            }
            Step::Upload(upload) => check_upload(upload, names, sources, problems),
            Step::DropCaches(_) | Step::Sleep(_) | Step::WaitIdle(_) | Step::CoolDown(_) => {}
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

/// The step that a command is one or two letters away from.
fn nearly_a_word(command: &str) -> Option<&'static str> {
    let is_near = |word: &&str| strsim::levenshtein(command, word) <= 2;
    ["drop_caches", "wait_idle", "cool_down"].into_iter().find(is_near)
}
