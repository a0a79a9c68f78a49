//! What stands above and below the table of verdicts: what has changed, what fails now, what only one run has.

use super::rows::metric;
use super::{Compared, List};
use crate::analysis::{CellSamples, MetricKey, Uneven};
use crate::record::{PlannedCell, Words, word};
use crate::terminal;

/// So many lines of one kind are told.
const MOST: usize = 30;
/// So many letters of a reason.
const REASON: usize = 160;

/// What has changed since the baseline, and cells that fail.
pub(super) fn before(others: &[Compared<'_>]) -> Vec<List> {
    let mut lists = Vec::new();
    for other in others {
        let mut changed = other.against.changed.clone();
        changed.extend(other.named.run.exclusions());
        if changed.is_empty() {
            changed.push("nothing that is known of experiment, machines and tools".to_owned());
        }
        lists.push(List { title: of(others, other, "What has changed"), lines: changed });
        lists.extend(list(
            of(others, other, "No trial is ok any more, which counts as worse"),
            other.against.broken.iter().map(failing),
        ));
        lists.extend(list(
            of(others, other, "Fewer trials are ok"),
            other.against.failing.iter().map(failing),
        ));
    }
    lists
}

/// What is not compared.
pub(super) fn after(others: &[Compared<'_>]) -> Vec<List> {
    let mut lists = Vec::new();
    let name = |cell: &&PlannedCell| cell.cell.clone();
    for other in others {
        let against = other.against;
        let mut add = |title: &str, lines: Vec<String>| {
            lists.extend(list(of(others, other, title), lines.into_iter()));
        };
        add("Not compared: never ok in the baseline", against.unmeasured.iter().map(failing).collect());
        add("Not compared: every ok trial is excluded", against.excluded.iter().map(failing).collect());
        add("Not compared: cells of the baseline alone", against.only_before.iter().map(name).collect());
        add("Not compared: cells that the baseline has not", against.only_now.iter().map(name).collect());
        add("Not compared: metrics of the baseline alone", metrics(&against.metrics_only_before));
        add("Not compared: metrics that the baseline has not", metrics(&against.metrics_only_now));
    }
    lists
}

/// The title of a list, with the run where there are several.
fn of(others: &[Compared<'_>], other: &Compared<'_>, title: &str) -> String {
    if others.len() > 1 { format!("{}: {title}", other.named.name) } else { title.to_owned() }
}

fn list(title: String, lines: impl ExactSizeIterator<Item = String>) -> Option<List> {
    let more = lines.len().saturating_sub(MOST);
    let mut lines: Vec<String> = lines.take(MOST).collect();
    if more > 0 {
        lines.push(format!("and {more} more, all of which `--format csv` has"));
    }
    (!lines.is_empty()).then_some(List { title, lines })
}

/// `CELL: 0 of 5 trials ok, was 5 of 5; run: exit code 1`.
fn failing(uneven: &Uneven<'_>) -> String {
    let Uneven { before, now } = uneven;
    let counts = |samples: &CellSamples<'_>| format!("{} of {}", samples.ok, samples.cell.planned());
    format!("{}: {} trials ok, was {}{}", before.cell.cell, counts(now), counts(before), reason(now))
}

/// Why the last trial of a cell that is not ok has failed.
pub(super) fn reason(samples: &CellSamples<'_>) -> String {
    let Some(record) = samples.failure else { return String::new() };
    let Words { stage, reason, .. } = record.words();
    let stage = stage.map(|stage| format!("{}: ", word(&stage))).unwrap_or_default();
    let text = terminal::plain(reason.as_deref().unwrap_or_default()).into_owned();
    let line = text.lines().next().unwrap_or_default();
    let cut = if line.chars().count() > REASON { "…" } else { "" };
    format!("; {stage}{}{cut}", line.chars().take(REASON).collect::<String>())
}

/// A line a metric, with how many cells have it.
fn metrics(all: &[(&PlannedCell, MetricKey)]) -> Vec<String> {
    let mut counts: indexmap::IndexMap<String, usize> = indexmap::IndexMap::new();
    for (cell, key) in all {
        *counts.entry(format!("{}: {}", cell.workload, metric(key))).or_default() += 1;
    }
    counts.into_iter().map(|(name, count)| format!("{name}, of {count} cells")).collect()
}
