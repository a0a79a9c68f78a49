//! What stands at the top of a report: the findings in plain sentences, made from the data alone. A sentence is there
//! only where a statistic bears it; what is not known is said too. Read [`findings`].

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;

use super::notes::names;
use super::number::{decimals, fixed, place, significant};
use super::view::MetricTable;
use super::{distributions, estimates, trials};
use crate::analysis::{Comparison, Ratio, Summary, UnlikeHost, Verdict, summarise_against, unlike_hosts};
use crate::record::{ELAPSED, Phase, PlannedCell, Run, Status, counted, word};
use crate::units::Better;

/// The most sentences on differences; the tables have the others.
const MOST: usize = 6;

/// The sentences in the order of their weight.
pub(super) fn findings(run: &Run, summaries: &[Summary<'_>], tables: &[MetricTable]) -> Vec<String> {
    let shown = shown(run, summaries);
    let mut found: Vec<String> = excluded(run).into_iter().chain(failures(run, &shown)).collect();
    let layouts = &run.manifest.presentation.tables;
    let mut told: Vec<&BTreeMap<String, String>> = Vec::new();
    if layouts.is_empty() || layouts.iter().any(|layout| layout.baseline.is_none()) {
        told.push(&run.manifest.baseline);
        found.extend(differences(&shown));
        found.extend(tally(&run.manifest.baseline, &shown));
    }
    for baseline in layouts.iter().filter_map(|layout| layout.baseline.as_ref()) {
        if told.contains(&baseline) {
            continue;
        }
        told.push(baseline);
        let own = summarise_against(run, baseline);
        let tables = layouts.iter().filter(|layout| layout.baseline.as_ref() == Some(baseline));
        let in_tables: Vec<_> = tables.flat_map(|layout| estimates::shown_in(run, &own, layout)).collect();
        let shown: Vec<&Summary<'_>> =
            own.iter().filter(|one| in_tables.iter().any(|shown| std::ptr::eq(*shown, *one))).collect();
        found.extend(differences(&shown));
        found.extend(tally(baseline, &shown));
    }
    found.extend(estimates::empty_tables(run, summaries));
    let unlike = unlike_hosts(summaries);
    let is_shown = |one: &&UnlikeHost<'_>| {
        shown.iter().any(|shown| shown.cell.workload == one.workload && shown.metric.name == one.metric)
    };
    found.extend(unlike.iter().filter(is_shown).take(MOST).map(odd_host));
    found.extend(over_time(&shown));
    let alike: BTreeSet<&String> = tables.iter().flat_map(|table| &table.unlike).collect();
    if !alike.is_empty() {
        let all: Vec<&str> = alike.into_iter().map(String::as_str).collect();
        found.push(format!("What is compared is not alike: {}.", all.join("; ")));
    }
    found
}

/// The summaries that sentences are made of: `elapsed` and single figures of a distribution only where a workload has
/// nothing else.
pub(super) fn shown<'a>(run: &Run, summaries: &'a [Summary<'a>]) -> Vec<&'a Summary<'a>> {
    let figures = distributions::other_figures(run);
    let is_main = |one: &Summary<'_>| one.metric.name != ELAPSED && !figures.contains(&one.metric.name);
    let has_main: BTreeSet<&str> =
        summaries.iter().filter(|one| is_main(one)).map(|one| one.cell.workload.as_str()).collect();
    summaries.iter().filter(|one| is_main(one) || !has_main.contains(one.cell.workload.as_str())).collect()
}

/// That somebody has taken trials out.
fn excluded(run: &Run) -> Option<String> {
    let trials = run.last_attempts().filter(|record| record.phase == Phase::Excluded);
    let trials: Vec<String> = trials.map(|record| record.trial()).collect();
    let verb = if trials.len() == 1 { "is" } else { "are" };
    let named = some(&trials);
    (!trials.is_empty()).then(|| {
        format!(
            "{named} {verb} excluded by the experiment: see Excluded trials, which has the figures with them."
        )
    })
}

/// How many trials are not ok, and of which cells nothing is known.
fn failures(run: &Run, shown: &[&Summary<'_>]) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for record in
        run.last_attempts().filter(|record| record.phase == Phase::Measure && record.status != Status::Ok)
    {
        *counts.entry(word(&record.status)).or_default() += 1;
    }
    let mut found = Vec::new();
    if !counts.is_empty() {
        let total: usize = counts.values().sum();
        let kinds: Vec<String> = counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        let verb = if total == 1 { "trial is" } else { "trials are" };
        found.push(format!("{total} {verb} not ok ({}). See Failures.", kinds.join(", ")));
    }
    let known = run.by_cell().into_iter().filter(|(_, records)| counted(records).next().is_some());
    let ok: BTreeSet<&str> = known.map(|(cell, _)| cell).collect();
    let unknown = run.manifest.cells.iter().filter(|cell| !ok.contains(cell.cell.as_str()));
    let (excluded, unknown): (Vec<_>, Vec<_>) = unknown.partition(|cell| cell.excluded > 0);
    for (cells, why) in [(unknown, "no trial is ok"), (excluded, "all trials that were ok are excluded")] {
        let names: Vec<String> = cells.iter().map(|cell| cell.cell.clone()).collect();
        if !names.is_empty() {
            found.push(format!("Nothing is known of {}: {why}.", some(&names)));
        }
    }
    let lacks = |one: &&&Summary<'_>| one.sample.is_none() && ok.contains(one.cell.cell.as_str());
    let mut lacking: IndexMap<String, Vec<String>> = IndexMap::new();
    for one in shown.iter().filter(lacks) {
        let metric = trials::metric_name(&one.metric.name, &one.metric.labels);
        lacking.entry(metric).or_default().push(one.cell.cell.clone());
    }
    for (metric, cells) in lacking {
        found.push(format!("{metric} was not found in {}, whose trials are ok.", some(&cells)));
    }
    found
}

/// Comparisons that only the host tells apart.
#[derive(PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Change<'a> {
    workload: &'a str,
    metric: String,
    /// The settings that are other than those of the baseline, and what they are there.
    with: String,
    than: String,
    /// Those that both have and that other cells have otherwise.
    at: String,
    is_of_host: bool,
}

type Members<'a> = Vec<(&'a Summary<'a>, Comparison)>;

/// The sure and large differences from the baseline: those that differ in the host alone in one sentence, the largest
/// first.
fn differences(shown: &[&Summary<'_>]) -> Vec<String> {
    // Up, down, or neither for sure.
    let mut groups: IndexMap<(Change<'_>, Option<bool>), Members<'_>> = IndexMap::new();
    let mut totals: BTreeMap<Change<'_>, usize> = BTreeMap::new();
    let varying = varying(shown);
    for one in shown {
        let (Some(Ok(comparison)), Some(baseline)) = (one.comparison, one.baseline) else { continue };
        let direction = is_large(&comparison).then_some(comparison.contrast.ratio.estimate > 1.0);
        groups.entry((change(one, baseline, &varying), direction)).or_default().push((one, comparison));
        *totals.entry(change(one, baseline, &varying)).or_default() += 1;
    }
    let size = |members: &[(&Summary<'_>, Comparison)]| {
        let sizes = members.iter().map(|(_, comparison)| comparison.contrast.ratio.estimate.ln().abs());
        sizes.fold(0.0, f64::max)
    };
    let mut sure: Vec<_> = groups.iter().filter(|((_, direction), _)| direction.is_some()).collect();
    sure.sort_by(|(_, one), (_, other)| size(other).total_cmp(&size(one)));
    let mut found: Vec<String> = sure
        .iter()
        .take(MOST)
        .map(|((change, _), members)| sentence(change, members, totals[change]))
        .collect();
    if sure.len() > MOST {
        found.push(format!(
            "{} more differences are sure and large; the tables have them.",
            sure.len() - MOST
        ));
    }
    found
}

fn sentence(change: &Change<'_>, members: &[(&Summary<'_>, Comparison)], total: usize) -> String {
    let Change { workload, metric, with, than, at, is_of_host } = change;
    let ratios: Vec<f64> = members.iter().map(|(_, one)| one.contrast.ratio.estimate).collect();
    let hosts: Vec<String> = members.iter().map(|(one, _)| one.cell.host.clone()).collect();
    let of = if total > 1 { format!(" ({} of {total} hosts)", hosts.len()) } else { String::new() };
    let on = if *is_of_host { String::new() } else { format!(" on {}{of}", names(&hosts)) };
    let at = if at.is_empty() { String::new() } else { format!(" at `{at}`") };
    let interval = match members {
        [(_, one)] => format!(", {}", interval(&one.contrast.ratio)),
        _ => String::new(),
    };
    let verdict = members[0].1.verdict.map_or("", Verdict::as_str);
    let much = by_how_much(&ratios, &format!("with `{with}`"));
    format!("`{workload}`: {metric} is {much} with `{than}`{at}{on}{interval}: {verdict}.")
}

/// The axes of which the cells have several values.
fn varying(shown: &[&Summary<'_>]) -> BTreeSet<String> {
    let mut values: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, value) in shown.iter().flat_map(|one| settings(one.cell)) {
        values.entry(name).or_default().insert(value);
    }
    values.into_iter().filter(|(_, values)| values.len() > 1).map(|(name, _)| name).collect()
}

fn settings(cell: &PlannedCell) -> Vec<(String, String)> {
    let fixed = [("workload", &cell.workload), ("host", &cell.host), ("environment", &cell.environment)];
    let fixed = fixed.map(|(name, value)| (name.to_owned(), value.clone()));
    fixed.into_iter().chain(cell.parameters.clone()).collect()
}

fn change<'a>(one: &'a Summary<'_>, baseline: &PlannedCell, varying: &BTreeSet<String>) -> Change<'a> {
    let (own, other) = (settings(one.cell), settings(baseline));
    let text = |settings: Vec<&(String, String)>| {
        settings.into_iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ")
    };
    let labels: Vec<String> =
        one.metric.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let is_common = |setting: &&(String, String)| {
        other.contains(setting)
            && varying.contains(&setting.0)
            && !["workload", "host"].contains(&&*setting.0)
    };
    Change {
        workload: &one.cell.workload,
        metric: [vec![one.metric.name.clone()], labels].concat().join(" "),
        with: text(own.iter().filter(|setting| !other.contains(setting)).collect()),
        than: text(other.iter().filter(|setting| !own.contains(setting)).collect()),
        at: text(own.iter().filter(is_common).collect()),
        is_of_host: one.cell.host != baseline.host,
    }
}

fn is_large(comparison: &Comparison) -> bool {
    matches!(comparison.verdict, Some(Verdict::Better | Verdict::Worse | Verdict::Different))
}

/// How many comparisons came out how.
fn tally(baseline: &BTreeMap<String, String>, shown: &[&Summary<'_>]) -> Option<String> {
    let compared: Vec<_> = shown.iter().filter_map(|one| one.comparison.as_ref()).collect();
    if compared.is_empty() {
        return None;
    }
    let count =
        |verdict| compared.iter().filter(|one| matches!(one, Ok(one) if one.verdict == verdict)).count();
    let of_verdicts = Verdict::ALL.into_iter().map(|verdict| (count(Some(verdict)), verdict.as_str()));
    let refused = compared.iter().filter(|one| one.is_err()).count();
    let others = [(count(None), "with too few pairs for a verdict"), (refused, "without a ratio")];
    let counts = of_verdicts.chain(others).filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, what)| format!("{count} {what}")).collect();
    let needed: Vec<usize> = compared.iter().filter_map(|one| one.as_ref().ok()?.needed).collect();
    let needed = match (needed.iter().min(), needed.iter().max()) {
        (Some(least), Some(most)) if least < most => {
            format!(
                "; to find them equivalent, if they are equal, takes some {least} to {most} trials a cell"
            )
        }
        (Some(least), _) => {
            format!("; to find it equivalent, if it is equal, takes some {least} trials a cell")
        }
        _ => String::new(),
    };
    let baseline: Vec<String> = baseline.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
    let noun = if compared.len() == 1 { "comparison" } else { "comparisons" };
    Some(format!("{} {noun} with `{}`: {}{needed}.", compared.len(), baseline.join(", "), counts.join(", ")))
}

fn odd_host(one: &UnlikeHost<'_>) -> String {
    let peers: Vec<String> = one.peers.iter().map(|&peer| peer.to_owned()).collect();
    let is_bad = one.better.map(|better| (better == Better::Higher) == (one.ratios[0] < 1.0));
    let judged = match is_bad {
        Some(true) => ", to its disadvantage",
        Some(false) => ", to its advantage",
        None => "",
    };
    let places = match (one.ratios.len(), one.surroundings) {
        (_, 1) => String::new(),
        (found, all) if found == all => format!(" in all {all} settings"),
        (found, all) => format!(" in {found} of {all} settings"),
    };
    format!(
        "`{}` is unlike its peers: `{}` {} is {} on {}{places}{judged}.",
        one.host,
        one.workload,
        one.metric,
        by_how_much(&one.ratios, "there"),
        names(&peers)
    )
}

/// What of the trials over time makes figures doubtful.
fn over_time(shown: &[&Summary<'_>]) -> Option<String> {
    let unlike = shown.iter().filter(|one| one.drift.is_some()).count();
    let dependent = shown.iter().filter(|one| one.is_dependent).count();
    let far: usize = shown.iter().map(|one| one.outliers.len()).sum();
    let counts = [
        (unlike, "with a first trial unlike the others or with a trend"),
        (dependent, "with neighbouring trials alike"),
    ];
    let cells = counts.iter().filter(|(count, _)| *count > 0);
    let mut parts: Vec<String> =
        cells.map(|(count, what)| format!("{count} of {} samples {what}", shown.len())).collect();
    if far > 0 {
        parts.push(format!(
            "{far} {} far from all others of their cell",
            if far == 1 { "value" } else { "values" }
        ));
    }
    (!parts.is_empty()).then(|| format!("To be read with care: {}. See Warnings.", parts.join("; ")))
}

/// `12 % lower WHERE than`, `12–18 % lower WHERE than`, `2.1–3.0 times as high WHERE as`.
fn by_how_much(ratios: &[f64], place: &str) -> String {
    let is_lower = ratios[0] < 1.0;
    let is_twice = ratios.iter().any(|ratio| *ratio >= 2.0);
    let size = |ratio: &f64| match (is_lower, is_twice) {
        (true, _) => (1.0 - ratio) * 100.0,
        (false, true) => *ratio,
        (false, false) => (ratio - 1.0) * 100.0,
    };
    let mut sizes: Vec<f64> = ratios.iter().map(size).collect();
    sizes.sort_by(f64::total_cmp);
    // 99.99 % lower is not 100 % lower: what is left has two digits.
    let write = |size: f64| match is_lower && size >= 99.0 {
        true => fixed(size, decimals(100.0 - size, 2)),
        false => significant(size, 2),
    };
    let (low, high) = (write(sizes[0]), write(sizes[sizes.len() - 1]));
    let range = if low == high { low } else { format!("{low}–{high}") };
    match (is_lower, is_twice) {
        (true, _) => format!("{range} % lower {place} than"),
        (false, true) => format!("{range} times as high {place} as"),
        (false, false) => format!("{range} % higher {place} than"),
    }
}

/// `95 % interval ×0.82 to ×0.88`.
fn interval(ratio: &Ratio) -> String {
    let place = place(ratio.estimate, Some((ratio.interval.low, ratio.interval.high)));
    format!("95 % interval ×{} to ×{}", fixed(ratio.interval.low, place), fixed(ratio.interval.high, place))
}

/// The first few as code, and how many there are besides.
fn some(all: &[String]) -> String {
    match all.len() {
        0..=4 => names(all),
        more => format!("{} and {} more", names(&all[..3]), more - 3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_said_as_a_reader_would_say_them() {
        for (ratios, text) in [
            (&[0.88][..], "12 % lower there than"),
            (&[0.82, 0.88], "12–18 % lower there than"),
            (&[1.051, 1.049], "4.9–5.1 % higher there than"),
            (&[2.13, 1.5], "1.5–2.1 times as high there as"),
            (&[0.001], "99.90 % lower there than"),
            (&[1e-4], "99.990 % lower there than"),
        ] {
            assert_eq!(by_how_much(ratios, "there"), text, "{ratios:?}");
        }
    }
}
