//! Trials that a report leaves out, because somebody has said so and why. Nothing on disk changes but the manifest: for
//! readers they are of a phase of their own, as warm-up is. Read [`read_reported`].

use std::path::Path;

use super::{Record, RecordError, Run, Status, read_run, word};
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
        let is_wanted =
            |record: &&Record| record.phase == Phase::Measure && excluded.contains_key(&record.trial());
        let wanted = self.last_attempts().filter(is_wanted);
        let (ok, others): (Vec<_>, Vec<_>) = wanted
            .map(|record| (record.trial(), record.cell.clone(), record.status))
            .partition(|found| found.2 == Status::Ok);
        let failed = |(trial, _, status): &(String, String, Status)| {
            format!("`{trial}` is to be excluded, and is {}: it stays in the report", word(status))
        };
        self.warnings.extend(others.iter().map(failed));
        for (trial, cell, _) in &ok {
            let attempts =
                self.records.iter_mut().filter(|record| record.cell == *cell && record.trial() == *trial);
            attempts.for_each(|record| record.phase = Phase::Excluded);
            let planned = self.manifest.cells.iter_mut().find(|planned| planned.cell == *cell);
            planned.into_iter().for_each(|planned| planned.excluded += 1);
        }
        let counts = self.manifest.counts.entry("ok".to_owned());
        counts.and_modify(|count| *count = count.saturating_sub(ok.len()));
        self
    }

    /// A line for each trial that is excluded, for those who show no report.
    pub fn exclusions(&self) -> Vec<String> {
        let excluded = self.last_attempts().filter(|record| record.phase == Phase::Excluded);
        let reasons = &self.manifest.presentation.excluded;
        let reason = |trial: &String| reasons.get(trial).cloned().unwrap_or_default();
        let line = |trial: String| format!("{trial} is excluded: {}", reason(&trial));
        excluded.map(|record| line(record.trial())).collect()
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
