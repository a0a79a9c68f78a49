//! Rules on what limits a run: times that are long enough, retries that come to an end.

use super::super::time::TimeSpan;
use super::super::{Located, Repetitions, Spec};
use crate::diagnostic::Problem;

/// The most retries of a trial.
const RETRIES_LIMIT: u32 = 100;

/// The smallest sample whose median has a 95 % interval.
const SMALLEST_SAMPLE: u32 = 6;

/// What is wrong with a number of repetitions.
pub(super) fn repetitions(count: &Located<Repetitions>) -> Option<Problem> {
    let problem = |message: String, help: &str| Some(Problem::at(count.span, message).help(help));
    match count.value {
        Repetitions::Fixed(0) => problem("nothing is measured with 0 repetitions".into(), "write at least 1"),
        Repetitions::Fixed(_) => None,
        Repetitions::Adaptive(rule) if rule.min < SMALLEST_SAMPLE => problem(
            format!("{} values have no 95 % interval of their median", rule.min),
            "write a `min` of 6 or more; 10 is the default",
        ),
        Repetitions::Adaptive(rule) if rule.max <= rule.min => problem(
            format!("a `max` of {} leaves nothing to decide after a `min` of {}", rule.max, rule.min),
            "write a larger `max`, or one number of repetitions",
        ),
        Repetitions::Adaptive(rule)
            if !(0.0..1.0).contains(&rule.until.fraction()) || rule.until.fraction() == 0.0 =>
        {
            problem(
                format!("an interval of {} of the median is no limit that can be met", rule.until),
                "write between 0% and 100%, such as `until: 2%`",
            )
        }
        Repetitions::Adaptive(_) => None,
    }
}

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
