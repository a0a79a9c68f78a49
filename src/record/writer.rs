//! Writes a run while it goes on. What a trial left is on disk before the next one begins: its outputs
//! first, then its line in `records.jsonl`, synced. Read [`RunWriter`].

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a run on disk")]

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::files::{
    FREE_TEXT, create_unique_folder, remove_file, write_file, write_json, write_json_for_now,
};
use super::lock::lock;
use super::{
    HostFacts, KeptOutput, Manifest, Record, RecordError, RunDirectory, Snapshot, directory_name, word,
};
use crate::event::{Facts, Outcome, output_directory};
use crate::plan::{Cell, Phase};
use crate::secrets::Secrets;

/// The open directory of a run that goes on.
#[derive(Debug)]
pub struct RunWriter {
    directory: RunDirectory,
    manifest: Manifest,
    records: File,
    secrets: Secrets,
    /// How each measured trial ended, by its id; a later attempt replaces an earlier one.
    endings: BTreeMap<String, String>,
}

impl RunWriter {
    /// Makes `results/EXPERIMENT/START` with the manifest, the experiment as run and no records. Nothing of
    /// `secrets` will stand in any file.
    pub fn create(
        results: &Path,
        manifest: Manifest,
        experiment: &str,
        secrets: Secrets,
    ) -> Result<Self, RecordError> {
        let parent = results.join(&manifest.experiment);
        let directory =
            RunDirectory::new(create_unique_folder(&parent, &directory_name(&manifest.started)?)?);
        write_json(&directory.manifest(), &manifest, &secrets)?;
        // Its templates are as they were written, and hold no value.
        write_file(&directory.experiment(), experiment.as_bytes())?;
        let path = directory.records();
        let records = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(&path)
            .map_err(|error| RecordError::new("create", &path, error))?;
        lock(&records, &path)?;
        Ok(Self { directory, manifest, records, secrets, endings: BTreeMap::new() })
    }

    /// Where the run lies.
    pub fn directory(&self) -> &RunDirectory {
        &self.directory
    }

    /// Keeps what is known of a machine.
    pub fn write_host(&self, host: &str, facts: &Facts) -> Result<(), RecordError> {
        let facts = HostFacts { host: host.to_owned(), facts: facts.clone() };
        write_json(&self.directory.host(host), &facts, &self.secrets)
    }

    /// Replaces what can be read of the run while it goes on.
    pub fn write_status(&self, status: &Snapshot) -> Result<(), RecordError> {
        write_json_for_now(&self.directory.status(), status, &self.secrets)
    }

    /// Keeps what became of a trial: its outputs, then its record. When this returns, both are on disk.
    pub fn write_outcome(&mut self, outcome: &Outcome, cell: &Cell) -> Result<Record, RecordError> {
        let record = Record::new(outcome, cell, self.write_outputs(outcome)?);
        self.append(&record)?;
        if record.phase == Phase::Measure {
            self.endings.insert(record.trial.clone(), word(&record.status));
        }
        Ok(record)
    }

    /// Ends the run: the manifest once more, with the end (RFC 3339, UTC), what `stopped` it before its last
    /// trial, and the counts of measured trials.
    pub fn finish(
        mut self,
        ended: &str,
        interrupted: bool,
        stopped: Option<String>,
    ) -> Result<RunDirectory, RecordError> {
        self.manifest.ended = Some(ended.to_owned());
        self.manifest.interrupted = interrupted;
        self.manifest.stopped = stopped;
        for ending in self.endings.into_values() {
            *self.manifest.counts.entry(ending).or_default() += 1;
        }
        write_json(&self.directory.manifest(), &self.manifest, &self.secrets)?;
        remove_file(&self.directory.status())?;
        Ok(self.directory)
    }

    fn write_outputs(&self, outcome: &Outcome) -> Result<Vec<KeptOutput>, RecordError> {
        let mut folder = PathBuf::from("output").join(output_directory(&outcome.trial));
        if outcome.attempt > 1 {
            folder.push(format!("attempt-{}", outcome.attempt));
        }
        let keep = |(name, captured): (&String, &crate::event::Captured)| {
            let path = folder.join(&*self.secrets.hide(name));
            let bytes = match captured.is_cut() {
                true => self.secrets.hide_in_part(&captured.bytes).into(),
                false => self.secrets.hide_bytes(&captured.bytes),
            };
            write_file(&self.directory.path().join(&path), &bytes)?;
            Ok(KeptOutput {
                path: path.to_string_lossy().into_owned(),
                size: captured.size,
                truncated: captured.is_cut(),
            })
        };
        outcome.outputs.iter().map(keep).collect()
    }

    fn append(&mut self, record: &Record) -> Result<(), RecordError> {
        let failed = |error: std::io::Error| RecordError::new("append to", &self.directory.records(), error);
        let record = serde_json::to_value(record).map(|record| self.secrets.hide_in(record, &FREE_TEXT));
        let line = record.and_then(|record| serde_json::to_vec(&record));
        let mut line = line.map_err(|error| failed(error.into()))?;
        line.push(b'\n');
        // One write: a kill between two would leave a line that looks whole.
        self.records.write_all(&line).and_then(|()| self.records.sync_data()).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use super::*;
    use crate::event::{Captured, Stage, Status, Verdicts};
    use crate::plan::{CellName, Trial};
    use crate::record::{FORMAT_VERSION, read_run};

    fn manifest() -> Manifest {
        Manifest {
            format: FORMAT_VERSION,
            id: "0badcafe".into(),
            runner: "0.1.0".into(),
            title: "Nap".into(),
            experiment: "nap".into(),
            file: "nap.yaml".into(),
            options: BTreeMap::new(),
            digest: "00".into(),
            commit: None,
            seed: 1,
            order: "blocks".into(),
            started: "2026-11-30T11:45:12Z".into(),
            ended: None,
            interrupted: false,
            stopped: None,
            cells: Vec::new(),
            baseline: BTreeMap::new(),
            counts: BTreeMap::new(),
        }
    }

    fn cell() -> Cell {
        let name: CellName = serde_json::from_str("\"nap/here/native\"").unwrap();
        Cell {
            name,
            id: String::new(),
            workload: "nap".into(),
            host: "here".into(),
            environment: "native".into(),
            parameters: BTreeMap::new(),
            services: Vec::new(),
            step_hosts: BTreeSet::new(),
            repetitions: 1,
            warmup: 0,
        }
    }

    fn outcome(attempt: u32, status: Status) -> Outcome {
        Outcome {
            trial: Trial {
                cell: cell().name,
                index: 0,
                phase: Phase::Measure,
                repetition: 1,
                order: 1,
                block: 1,
            },
            attempt,
            status,
            stage: (status != Status::Ok).then_some(Stage::Run),
            reason: None,
            is_repeated: false,
            verdicts: Verdicts::default(),
            started: format!("2026-11-30T11:45:{}Z", 20 + attempt),
            elapsed_s: 0.1,
            measurements: Vec::new(),
            warnings: Vec::new(),
            caches: Vec::new(),
            waits: Vec::new(),
            noise: None,
            noise_of_services: BTreeMap::new(),
            expectations: Vec::new(),
            outputs: [("services/server/stdout".to_owned(), Captured { bytes: b"abc".to_vec(), size: 9 })]
                .into(),
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let results = tempfile::tempdir().unwrap();
        let mut writer =
            RunWriter::create(results.path(), manifest(), "workloads: {}\n", Secrets::default()).unwrap();
        writer.write_host("here", &[("kernel".to_owned(), "6.1".to_owned())].into_iter().collect()).unwrap();
        let first = writer.write_outcome(&outcome(1, Status::Failed), &cell()).unwrap();
        let second = writer.write_outcome(&outcome(2, Status::Ok), &cell()).unwrap();
        assert_eq!(read_run(writer.directory().path()).unwrap().manifest.ended, None);
        let directory = writer.finish("2026-11-30T11:46:00Z", true, None).unwrap();

        assert_eq!(directory.path(), results.path().join("nap/2026-11-30T11-45-12Z"));
        let output = "output/nap/here/native/1/attempt-2/services/server/stdout";
        assert_eq!(second.outputs[0], KeptOutput { path: output.into(), size: 9, truncated: true });
        assert_eq!(fs::read(directory.path().join(output)).unwrap(), b"abc");
        assert_eq!(fs::read_to_string(directory.experiment()).unwrap(), "workloads: {}\n");

        let run = read_run(directory.path()).unwrap();
        assert_eq!(run.records, [first, second]);
        assert_eq!(run.manifest.counts, [("ok".to_owned(), 1)].into(), "the last attempt counts");
        assert!(run.manifest.interrupted);
        assert_eq!(run.hosts[0].facts["kernel"], "6.1");
    }

    #[test]
    fn two_runs_in_one_second_have_two_directories() {
        let results = tempfile::tempdir().unwrap();
        let names: Vec<_> = (0..3)
            .map(|_| {
                RunWriter::create(results.path(), manifest(), "", Secrets::default())
                    .unwrap()
                    .directory()
                    .name()
            })
            .collect();
        assert_eq!(names, ["2026-11-30T11-45-12Z", "2026-11-30T11-45-12Z-2", "2026-11-30T11-45-12Z-3"]);
    }
}
