//! How far a run is, by its records: what is done of the plan, and what failed last. Read [`Standing`].

use crate::record::{Phase, Record, Run, Status};

/// How far a run is. Warm-up does not count.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing<'a> {
    /// Measured trials that were planned.
    pub planned: usize,
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
    /// Trials that are still to be measured.
    pub fn left(&self) -> usize {
        self.planned.saturating_sub(self.ok + self.failed)
    }
}

/// How far `run` is, with at most `failures` of its failures.
pub fn standing(run: &Run, failures: usize) -> Standing<'_> {
    // Where another attempt was to follow, the trial is not over.
    let last = || run.last_attempts().filter(|record| record.phase == Phase::Measure && !record.repeated);
    let count = |status| last().filter(|record| record.status == status).count();
    let mut failed: Vec<&Record> =
        run.records.iter().filter(|record| record.status == Status::Failed).collect();
    // RFC 3339 in UTC sorts as text.
    failed.sort_by(|a, b| b.started.cmp(&a.started));
    failed.truncate(failures);
    Standing {
        planned: run.manifest.planned(),
        ok: count(Status::Ok),
        failed: count(Status::Failed),
        interrupted: count(Status::Interrupted),
        retried: run.records.iter().filter(|record| record.repeated).count(),
        failures: failed,
    }
}
