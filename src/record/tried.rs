//! What the records of a run say of each trial: how often it was tried, and how the last try that still
//! counts has ended. Read [`Run::tried`].

use std::collections::BTreeMap;

use super::{Phase, Run, Status};

/// What became of a trial so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tried {
    /// The number of its last attempt, be it that it counts no longer.
    pub attempts: u32,
    /// How its last attempt with the settings of the manifest has ended; none where there is no such.
    pub status: Option<Status>,
}

impl Run {
    /// Every trial that has a record, by cell, phase and repetition.
    pub fn tried(&self) -> BTreeMap<(&str, Phase, u32), Tried> {
        let mut all: BTreeMap<_, Tried> = BTreeMap::new();
        for record in self.left_out.iter().chain(&self.records) {
            let tried = all.entry((record.cell.as_str(), record.phase, record.repetition)).or_default();
            tried.attempts = tried.attempts.max(record.attempt);
        }
        for record in self.last_attempts() {
            if let Some(tried) = all.get_mut(&(record.cell.as_str(), record.phase, record.repetition)) {
                // One that was to be repeated, and was not any more, is as good as none.
                tried.status = (!record.words().repeated).then_some(record.status);
            }
        }
        all
    }
}
