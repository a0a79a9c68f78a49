//! How far a run is, by its records: what is done of the plan, and what failed last. Read [`Standing`].

use std::cmp::Reverse;
use std::collections::HashMap;

use super::is_precise;
use crate::record::{Phase, Record, Run, Status};

/// How far a run is. Warm-up does not count.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing<'a> {
    /// Measured trials that were planned.
    pub planned: usize,
    /// Those that may be needed besides: at most, of cells with adaptive repetitions that are not known well
    /// enough, in a run that is not over.
    pub open: usize,
    /// Those that are ok.
    pub ok: usize,
    /// Those whose last attempt failed.
    pub failed: usize,
    /// Those that were stopped in the middle.
    pub interrupted: usize,
    /// Attempts that failed and were, or are to be, followed by another.
    pub retried: usize,
    /// The last failed attempts, the newest first; warm-up too.
    pub failures: Vec<&'a Record>,
}

impl Standing<'_> {
    /// Trials that are still to be measured; at most, where some are open.
    pub fn left(&self) -> usize {
        (self.planned + self.open).saturating_sub(self.ok + self.failed)
    }
}

/// How far `run` is, with at most `failures` of its failures.
pub fn standing(run: &Run, failures: usize) -> Standing<'_> {
    // Where another attempt was to follow, the trial is not over.
    let last =
        || run.last_attempts().filter(|record| record.phase == Phase::Measure && !record.words().repeated);
    let count = |status| last().filter(|record| record.status == status).count();
    let mut failed: Vec<&Record> =
        run.records.iter().filter(|record| record.status == Status::Failed).collect();
    failed.sort_by_key(|record| Reverse(record.started));
    failed.truncate(failures);
    Standing {
        planned: run.manifest.planned(),
        open: open(run),
        ok: count(Status::Ok),
        failed: count(Status::Failed),
        interrupted: count(Status::Interrupted),
        retried: run.records.iter().filter(|record| record.words().repeated).count(),
        failures: failed,
    }
}

/// See [`Standing::open`].
pub fn open(run: &Run) -> usize {
    let manifest = &run.manifest;
    if manifest.ended.is_some() && !manifest.interrupted && manifest.stopped.is_none() {
        return 0;
    }
    let mut values: HashMap<&str, Vec<f64>> = HashMap::new();
    let measured = run.last_attempts().filter(|record| record.phase == Phase::Measure);
    for record in measured.filter(|record| record.status == Status::Ok) {
        // The first metric decides.
        let first = record.values().first();
        values.entry(record.cell.as_str()).or_default().extend(first);
    }
    let of_cells = manifest.cells.iter().filter_map(|cell| {
        let rule = cell.adaptive?;
        let is_known = values.get(cell.cell.as_str()).is_some_and(|values| {
            values.len() >= rule.min as usize && is_precise(values, rule.until.fraction())
        });
        (!is_known).then(|| rule.max.saturating_sub(cell.planned() + cell.excluded) as usize)
    });
    of_cells.sum()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a run on disk")]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;
    use crate::record::read_run;

    /// A run of one adaptive cell with these values.
    fn left(values: &[f64], ended: Option<&str>, interrupted: bool) -> (usize, usize) {
        let folder = tempfile::tempdir().unwrap();
        let cell = json!({
            "cell": "w/h/n", "workload": "w", "host": "h", "environment": "n", "parameters": {}, "repetitions": 60,
            "settings": "1", "adaptive": { "min": 6, "max": 60, "until": "1%" },
        });
        let manifest = json!({
            "format": 1, "id": "0badcafe", "runner": "0.1.0", "title": "t", "experiment": "e", "file": "e.yaml",
            "digest": "", "commit": null, "seed": 1, "order": "blocks", "started": "2026-11-30T11:45:12Z",
            "ended": ended, "interrupted": interrupted, "cells": [cell], "baseline": {}, "counts": {},
        });
        let record = |(index, value): (usize, &f64)| {
            let number = index + 1;
            let record = json!({
                "v": 1, "trial": format!("w/h/n#{number}"), "cell": "w/h/n", "settings": "1", "workload": "w",
                "host": "h", "environment": "n", "parameters": {}, "repetition": number, "attempt": 1, "block": 1,
                "order": number, "phase": "measure", "status": "ok", "stage": null, "reason": null,
                "started": "2026-11-30T11:45:12Z", "elapsed_s": 1.5, "outputs": [],
                "measurements": [{ "name": "m", "value": value, "unit": "s" }],
            });
            format!("{record}\n")
        };
        let records: String = values.iter().enumerate().map(record).collect();
        fs::write(folder.path().join("manifest.json"), manifest.to_string()).unwrap();
        fs::write(folder.path().join("records.jsonl"), records).unwrap();
        let run = read_run(folder.path()).unwrap();
        let standing = standing(&run, 0);
        (standing.ok, standing.left())
    }

    #[test]
    fn an_adaptive_run_is_over_when_it_has_ended_or_its_rule_is_met() {
        let (end, noisy, steady) = (Some("2026-11-30T12:00:00Z"), [1.0, 2.0, 1.0, 2.0, 1.0, 2.0], [1.0; 6]);
        for (values, ended, interrupted, expected) in [
            (&noisy[..], None, false, (6, 54)),
            (&noisy[..], end, true, (6, 54)),
            (&noisy[..], end, false, (6, 0)),
            (&noisy[..2], None, false, (2, 58)),
            (&steady[..], None, false, (6, 0)),
            (&steady[..2], None, false, (2, 58)),
        ] {
            assert_eq!(left(values, ended, interrupted), expected, "{values:?} {ended:?} {interrupted}");
        }
    }
}
