//! Rules on what limits a run: times that are long enough, retries that come to an end.

use super::super::time::TimeSpan;
use super::super::{Located, Spec};
use crate::diagnostic::Problem;

/// The most retries of a trial.
const RETRIES_LIMIT: u32 = 100;

pub(super) fn check(spec: &Spec, problems: &mut Vec<Problem>) {
    let no_time = |name: &str, limit: &Option<Located<TimeSpan>>| {
        let limit = limit.as_ref().filter(|limit| limit.value.0.is_zero())?;
        Some(Problem::at(limit.span, "nothing ends in no time").help(format!("write a longer `{name}`")))
    };
    problems.extend(no_time("timeout", &spec.timeout));
    problems.extend(no_time("trial_timeout", &spec.trial_timeout));
    problems.extend(no_time("deadline", &spec.deadline));
    for workload in spec.workloads.values() {
        problems.extend(no_time("timeout", &workload.timeout));
        problems.extend(no_time("trial_timeout", &workload.trial_timeout));
    }
    let of_workloads = spec.workloads.values().filter_map(|workload| workload.retries.as_ref());
    for retries in spec.retries.iter().chain(of_workloads).filter(|count| count.value > RETRIES_LIMIT) {
        problems.push(
            Problem::at(retries.span, format!("{} retries are more than {RETRIES_LIMIT}", retries.value))
                .help("what still fails then will not pass by itself: write a smaller number"),
        );
    }
}
