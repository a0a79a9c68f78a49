//! Rules on parameters whose default is a template: they are derived from the other parameters of a cell,
//! and not from each other.

use super::super::template::is_template;
use super::super::{Spec, Workload};
use crate::diagnostic::{Problem, Sources};

pub(super) fn check(spec: &Spec, workload: &Workload, sources: &Sources, problems: &mut Vec<Problem>) {
    let plain = workload.parameters.iter().filter(|(_, default)| !is_template(default));
    let known = spec.cell_names(plain.map(|(name, _)| name));
    let derived = || workload.parameters.iter().filter(|(_, default)| is_template(default));
    let all = known.with(derived().map(|(name, _)| name.value.clone()));
    for (_, default) in derived() {
        let mistakes = all.check(default, sources);
        if mistakes.is_empty() {
            problems.extend(known.check(default, sources).into_iter().map(|problem| {
                Problem {
                    message: problem
                        .message
                        .replace("unknown name", "a derived parameter can't name the derived"),
                    ..problem
                }
                .label("derived itself")
                .help("name only parameters whose default is plain")
            }));
        }
        problems.extend(mistakes);
    }
}
