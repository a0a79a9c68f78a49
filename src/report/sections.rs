//! The tables beside the numbers: failures, warnings, cache drops, machines. Each is left out where there is
//! nothing to say.

use indexmap::{IndexMap, IndexSet};

use super::number::{NOTHING, significant};
use super::view::{Column, Table};
use super::{findings, trials};
use crate::analysis::{Drift, Summary};
use crate::record::{Adaptive, CacheDrop, HostFacts, Manifest, PlannedCell, Record, Run, Status, word};
use crate::units::Unit;

/// Every attempt that is not ok, those with the same stage and reason in one row.
pub(super) fn failures(run: &Run) -> Option<Table> {
    let with_last = run.trials().flat_map(|attempts| attempts.iter().map(|one| (one, attempts.last())));
    let failed = with_last.filter(|(record, _)| record.status != Status::Ok);
    let rows = by_text(failed.map(|(record, last)| {
        let (trial, words) = (record.trial(), record.words());
        let trial = match last.filter(|last| !last.says_the_same(record)) {
            Some(last) if last.attempt == record.attempt => format!("{trial} (read again)"),
            Some(_) => format!("{trial} (repeated)"),
            None => trial,
        };
        let stage = words.stage.map_or_else(|| NOTHING.to_owned(), |stage| word(&stage));
        let reason = words.reason.clone().unwrap_or_else(|| NOTHING.to_owned());
        (trial, vec![word(&record.status), stage, reason])
    }));
    table(["trials", "status", "stage", "reason"].map(Column::text).into(), rows)
}

/// What is to be said of the files, then what the trials said, the same words in one row.
pub(super) fn warnings(run: &Run, summaries: &[Summary<'_>]) -> Option<Table> {
    let files = run.warnings.iter().map(|warning| vec![NOTHING.to_owned(), warning.clone()]);
    let trials = by_text(run.records.iter().flat_map(|record| {
        let words = record.words();
        let again = words.read_again.iter().map(|what| format!("read again by {what}"));
        let all = again.chain(words.warnings.iter().cloned());
        all.map(|warning| (record.trial(), vec![warning])).collect::<Vec<_>>()
    }));
    table(
        ["trials", "warning"].map(Column::text).into(),
        files.chain(trials).chain(drifts(&findings::shown(run, summaries))).collect(),
    )
}

/// The cells whose trials are unlike over time and the trials that are far from their like, those of the same metric
/// and kind in one row.
fn drifts(summaries: &[&Summary<'_>]) -> Vec<Vec<String>> {
    let mut rows: IndexMap<String, Vec<String>> = IndexMap::new();
    for summary in summaries {
        let name = trials::metric_name(&summary.metric.name, &summary.metric.labels);
        let cell = &summary.cell.cell;
        let drift = summary.drift.map(|drift| match drift {
            Drift::FirstUnlike => format!("the first {name} is far from the others: is a `warmup` missing?"),
            Drift::Rising => format!("{name} rises from trial to trial: the trials are not independent"),
            Drift::Falling => format!("{name} falls from trial to trial: the trials are not independent"),
        });
        let dependent = summary.is_dependent && drift.is_none();
        let dependent = dependent
            .then(|| format!("neighbouring trials are alike in {name}: its intervals are too narrow"));
        for what in drift.into_iter().chain(dependent) {
            rows.entry(what).or_default().push(cell.clone());
        }
        for repetition in &summary.outliers {
            let what = format!("{name} is far from all others of the cell; it counts like them");
            rows.entry(what).or_default().push(format!("{cell}#{repetition}"));
        }
    }
    rows.into_iter().map(|(what, cells)| vec![trial_list(&cells), what]).collect()
}

/// For each rule of adaptive repetitions: what it is, how many trials it took, and how many cells did not become
/// precise enough.
pub(super) fn adaptive(manifest: &Manifest, summaries: &[Summary<'_>]) -> Vec<String> {
    let mut rules: IndexMap<String, (f64, Vec<&PlannedCell>)> = IndexMap::new();
    for cell in &manifest.cells {
        if let Some(rule) = cell.adaptive {
            let Adaptive { min, max, until } = rule;
            let text = format!(
                "from {min} to {max} trials a cell, until the 95 % interval of the median is at most {until} of it wide"
            );
            rules.entry(text).or_insert((until.fraction(), Vec::new())).1.push(cell);
        }
    }
    let is_wide = |cell: &PlannedCell, until: f64| {
        // The first metric of a cell is the one that decides.
        let first = summaries.iter().find(|summary| summary.cell.cell == cell.cell);
        let sample = first.and_then(|summary| summary.sample.zip(summary.median_interval));
        sample.is_none_or(|(sample, ends)| (ends.high - ends.low) > until * sample.median.abs())
    };
    let told = rules.into_iter().map(|(rule, (until, cells))| {
        let reached = cells.iter().map(|cell| cell.reached.unwrap_or_default());
        let (least, most) = (reached.clone().min().unwrap_or_default(), reached.max().unwrap_or_default());
        let wide = cells.iter().filter(|cell| is_wide(cell, until)).count();
        let missed =
            if wide > 0 { format!("; {wide} of {} cells are wider", cells.len()) } else { String::new() };
        format!("{rule}: reached {least} to {most}{missed}")
    });
    told.collect()
}

/// Rows of trials and what is said of them: one row for all trials with the same texts.
fn by_text(trials: impl Iterator<Item = (String, Vec<String>)>) -> Vec<Vec<String>> {
    let mut groups: IndexMap<Vec<String>, Vec<String>> = IndexMap::new();
    for (trial, texts) in trials {
        groups.entry(texts).or_default().push(trial);
    }
    groups
        .into_iter()
        .map(|(texts, trials)| std::iter::once(trial_list(&trials)).chain(texts).collect())
        .collect()
}

/// For each machine: how many cache drops were seen to free memory, of all, and by how much
/// at least those did.
pub(super) fn caches(records: &[Record]) -> Option<Table> {
    let mut hosts: IndexMap<&str, Vec<&CacheDrop>> = IndexMap::new();
    for drop in records.iter().flat_map(|record| &record.words().caches) {
        hosts.entry(&drop.host).or_default().push(drop);
    }
    let rows = hosts.into_iter().map(|(host, drops)| {
        let freed = drops.iter().map(|drop| drop.cached_before_kb.saturating_sub(drop.cached_after_kb));
        let verified = freed.filter(|freed| *freed > 0);
        let smallest = verified.clone().min().map_or_else(|| NOTHING.to_owned(), kernel_kilobytes);
        vec![host.to_owned(), format!("{}/{}", verified.count(), drops.len()), smallest]
    });
    let columns = vec![Column::text("host"), Column::number("verified"), Column::number("smallest drop")];
    table(columns, rows.collect())
}

/// An amount of `/proc/meminfo`, whose kB are 1024 bytes.
fn kernel_kilobytes(amount: u64) -> String {
    let bytes = amount as f64 * 1024.0;
    let scale = Unit::Byte.scale(&[bytes]);
    format!("{} {}", significant(scale.apply(bytes), 3), scale.name)
}

/// What is known of each machine.
pub(super) fn machines(hosts: &[HostFacts]) -> Option<Table> {
    let facts: IndexSet<_> = hosts.iter().flat_map(|host| host.facts.keys()).collect();
    let rows = facts.into_iter().map(|fact| {
        let values = hosts.iter().map(|host| host.facts.get(fact).map_or(NOTHING, String::as_str).to_owned());
        std::iter::once(fact.clone()).chain(values).collect()
    });
    let columns =
        std::iter::once(Column::text("fact")).chain(hosts.iter().map(|host| Column::text(&host.host)));
    table(columns.collect(), rows.collect())
}

fn table(columns: Vec<Column>, rows: Vec<Vec<String>>) -> Option<Table> {
    (!rows.is_empty()).then_some(Table::new(columns, rows))
}

/// Trials by their names, the cell's part said once: `disk/a/native#1, #2; disk/b/native#1`.
fn trial_list(trials: &[String]) -> String {
    let mut list = String::new();
    let mut last_cell = None;
    for trial in trials {
        let (cell, label) = trial.rsplit_once('#').unwrap_or((trial, ""));
        match last_cell.replace(cell) {
            Some(last) if last == cell => list.push_str(&format!(", #{label}")),
            Some(_) => list.push_str(&format!("; {trial}")),
            None => list.push_str(trial),
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_trials_says_each_cell_once() {
        let trials = ["d/a/native#1", "d/a/native#2 (repeated)", "d/b/native#1"].map(str::to_owned);
        assert_eq!(trial_list(&trials), "d/a/native#1, #2 (repeated); d/b/native#1");
        assert_eq!(trial_list(&[]), "");
    }
}
