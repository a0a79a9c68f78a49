//! Trials that a report leaves out, because somebody has said so and why. Nothing on disk changes but the manifest: for
//! readers they are of a phase of their own, as warm-up is. Read [`read_reported`].

use std::path::Path;

use super::{RecordError, Run, read_run};
use crate::plan::Phase;

/// Reads the run in directory `path` as its report shows it: without the trials that are excluded.
pub fn read_reported(path: &Path) -> Result<Run, RecordError> {
    Ok(read_run(path)?.excluding())
}

impl Run {
    /// The run without the trials that its manifest excludes.
    pub fn excluding(mut self) -> Self {
        let excluded = &self.manifest.presentation.excluded;
        if excluded.is_empty() {
            return self;
        }
        let is_excluded = |record: &&mut super::Record| {
            record.phase == Phase::Measure && excluded.contains_key(&record.trial())
        };
        self.records.iter_mut().filter(is_excluded).for_each(|record| record.phase = Phase::Excluded);
        let last: Vec<(String, String)> = self
            .last_attempts()
            .filter(|record| record.phase == Phase::Excluded)
            .map(|record| (record.cell.clone(), super::word(&record.status)))
            .collect();
        for (cell, status) in last {
            let planned = self.manifest.cells.iter_mut().find(|planned| planned.cell == cell);
            planned.into_iter().for_each(|planned| planned.excluded += 1);
            self.manifest.counts.entry(status).and_modify(|count| *count = count.saturating_sub(1));
        }
        self
    }

    /// The same run with them.
    pub fn including(&self) -> Self {
        let mut run = self.clone();
        for record in run.records.iter_mut().filter(|record| record.phase == Phase::Excluded) {
            record.phase = Phase::Measure;
        }
        run.manifest.cells.iter_mut().for_each(|planned| planned.excluded = 0);
        run
    }
}
