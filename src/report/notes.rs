//! The sentences above and between the tables: which trials are suspicious, and in what compared machines
//! are not alike.

use std::collections::BTreeSet;

use crate::analysis::{Difference, Group, MARGIN, Summary, SuspiciousHost, Verdict};
use crate::record::{Suspicion, Throttling};

/// `3 of 20 on HOST (CPU slowed down in 2; …)`.
pub(super) fn suspicious(host: &SuspiciousHost<'_>) -> String {
    let reasons = host.reasons.iter().map(|(suspicion, (count, worst))| match suspicion {
        Suspicion::Throttled => format!("CPU slowed down{} in {count}", by(&host.throttled_by)),
        _ => reason(*suspicion, *count, *worst),
    });
    let reasons = reasons.collect::<Vec<_>>().join("; ");
    format!("{} of {} on `{}` ({reasons})", host.suspicious, host.trials, host.host)
}

/// ` by under-voltage, throttling`; nothing where it is not told.
fn by(throttled: &BTreeSet<Throttling>) -> String {
    let words = throttled.iter().map(|throttling| match throttling {
        Throttling::UnderVoltage => "under-voltage",
        Throttling::FrequencyCapped => "a capped frequency",
        Throttling::Throttled => "throttling",
        Throttling::SoftTemperatureLimit => "its soft temperature limit",
    });
    let words = words.collect::<Vec<_>>().join(", ");
    if words.is_empty() { words } else { format!(" by {words}") }
}

fn reason(suspicion: Suspicion, count: usize, worst: Option<f64>) -> String {
    let up_to = |unit: &str| worst.map(|worst| format!(", up to {worst:.1}{unit}")).unwrap_or_default();
    let (words, figure) = match suspicion {
        Suspicion::Load => ("load from elsewhere before it", up_to("")),
        Suspicion::OtherPrograms => ("other programs at work", up_to(" % of a CPU")),
        Suspicion::Steal => ("CPU time taken by the hypervisor", up_to(" %")),
        Suspicion::Throttled => ("CPU slowed down", String::new()),
        Suspicion::Hot => ("CPU at its temperature limit", up_to(" °C")),
        Suspicion::Governor => ("governor changed", String::new()),
        Suspicion::FrequencyLimit => ("frequency limit changed", String::new()),
        Suspicion::ClockSet => ("clock set", String::new()),
    };
    format!("{words} in {count}{figure}")
}

/// `b has kernel Linux 5.10, a and c kernel Linux 6.1`; a majority of at least two is `the others`.
pub(super) fn difference(difference: &Difference) -> String {
    let last = difference.groups.len() - 1;
    let most = |index: usize, group: &Group| {
        let before = difference.groups[..last].iter();
        index == last
            && group.members.len() > 1
            && before.clone().all(|other| other.members.len() < group.members.len())
    };
    let phrase = |(index, group): (usize, &Group)| {
        let names = if most(index, group) { "the others".to_owned() } else { names(&group.members) };
        let verb = match (index, group.members.len()) {
            (0, 1) => " has",
            (0, _) => " have",
            _ => "",
        };
        let facts = group.facts.iter().map(|(fact, value)| {
            // `iperf 3.12` says that it is iperf3.
            let is_named = value.split(' ').next().is_some_and(|word| fact.starts_with(word));
            if is_named { value.clone() } else { format!("{fact} {value}") }
        });
        format!("{names}{verb} {}", facts.collect::<Vec<_>>().join(" and "))
    };
    difference.groups.iter().enumerate().map(phrase).collect::<Vec<_>>().join(", ")
}

/// What the verdicts on `summaries` mean, without the last full stop.
pub(super) fn verdicts(summaries: &[&Summary<'_>]) -> String {
    let of = |one: &&Summary<'_>| one.comparison.and_then(Result::ok)?.verdict;
    let found: BTreeSet<Verdict> = summaries.iter().filter_map(of).collect();
    let comparison = |one: &&Summary<'_>| one.comparison.and_then(Result::ok);
    let margin = summaries.iter().find_map(comparison).map_or(MARGIN, |comparison| comparison.margin);
    let percent = percent(margin);
    let meaning = |verdict: &Verdict| {
        match verdict {
        Verdict::Worse | Verdict::Better | Verdict::Different => format!("surely different by more than {percent}"),
        Verdict::Small => format!("surely different, and perhaps by less than {percent}"),
        Verdict::Equivalent => format!("surely within {percent}"),
        Verdict::Inconclusive => {
            "none of these can be said; with so many trials two that are equal would be found equivalent nine times of ten".to_owned()
        }
    }
    };
    let mut meanings: Vec<(String, String)> = Vec::new();
    for verdict in &found {
        let meaning = meaning(verdict);
        match meanings.iter_mut().find(|(_, known)| *known == meaning) {
            Some((words, _)) => words.push_str(&format!(", `{}`", verdict.as_str())),
            None => meanings.push((format!("`{}`", verdict.as_str()), meaning)),
        }
    }
    let mut texts: Vec<String> =
        meanings.into_iter().map(|(words, meaning)| format!("{words}: {meaning}")).collect();
    if found.iter().any(|verdict| *verdict != Verdict::Inconclusive) {
        texts.push("Surely: at 5 % over all cells of a workload and metric together, by Holm".to_owned());
    }
    texts.join(". ")
}

/// `2 %` of 0.02.
pub(super) fn percent(part: f64) -> String {
    format!("{} %", (part * 1e6).round() / 1e4)
}

/// `a`, `b` and `c`, each as code.
pub(super) fn names(members: &[String]) -> String {
    let quoted: Vec<String> = members.iter().map(|member| format!("`{member}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_others_are_most_of_them() {
        let group = |members: &[&str], facts: &[(&str, &str)]| Group {
            members: members.iter().map(|&member| member.to_owned()).collect(),
            facts: facts.iter().map(|&(fact, value)| (fact.to_owned(), value.to_owned())).collect(),
        };
        for (groups, text) in [
            (
                vec![
                    group(&["b"], &[("kernel", "5.10"), ("dd", "dd 8")]),
                    group(&["a", "c"], &[("kernel", "6.1"), ("dd", "dd 9")]),
                ],
                "`b` has kernel 5.10 and dd 8, the others kernel 6.1 and dd 9",
            ),
            (
                vec![group(&["a", "b"], &[("cpus", "2")]), group(&["c", "d"], &[("cpus", "4")])],
                "`a` and `b` have cpus 2, `c` and `d` cpus 4",
            ),
            (
                vec![
                    group(&["native"], &[("file system", "ext4")]),
                    group(&["docker"], &[("file system", "overlay")]),
                ],
                "`native` has file system ext4, `docker` file system overlay",
            ),
        ] {
            assert_eq!(difference(&Difference { groups }), text);
        }
    }
}
