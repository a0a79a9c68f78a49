//! Writes a run while it goes on. What a trial left is on disk before the next one begins: its outputs
//! first, then its line in `records.jsonl`, synced. Read [`RunWriter`].

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a run on disk")]

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::files::{
    FREE_TEXT, create_unique_folder, read_file, remove_file, remove_folder, rename, write_file, write_json,
    write_json_for_now,
};
use super::lock::lock;
use super::{
    HostFacts, KeptOutput, Line, Manifest, RecordError, Reopened, Run, RunDirectory, Sitting, Snapshot,
    Status, directory_name, word,
};
use crate::event::{Captured, Facts, Outcome, output_directory};
use crate::plan::{Cell, Phase};
use crate::secrets::Secrets;

/// The open directory of a run that goes on.
#[derive(Debug)]
pub struct RunWriter {
    directory: RunDirectory,
    manifest: Manifest,
    /// Locked as long as the run goes on.
    records: File,
    /// Its length in bytes.
    length: u64,
    secrets: Secrets,
    /// How each trial ended, by its id; a later attempt replaces an earlier one.
    endings: BTreeMap<String, (Phase, Status)>,
    /// What was known of each machine before this sitting.
    earlier_facts: BTreeMap<String, Facts>,
    /// Whether a killed sitting may have left outputs of a trial that has no record.
    is_resumed: bool,
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
        let begun = begin(&directory, &manifest, experiment, &secrets);
        let records = begun.inspect_err(|_| {
            // A folder without a run would only be in the way; the error itself is told.
            let _ = remove_folder(directory.path());
        })?;
        Ok(Self {
            directory,
            manifest,
            records,
            length: 0,
            secrets,
            endings: BTreeMap::new(),
            earlier_facts: BTreeMap::new(),
            is_resumed: false,
        })
    }

    /// Goes on with the run `reopened`, whose files are those of `earlier`: `manifest` and `experiment` are
    /// what is planned now, and its sitting comes after the earlier ones. An experiment that was another
    /// one before is kept beside it, named after the last sitting that had it.
    pub fn resume(
        reopened: Reopened,
        earlier: &Run,
        manifest: Manifest,
        experiment: &str,
        secrets: Secrets,
    ) -> Result<Self, RecordError> {
        let Reopened { directory, records, length, .. } = reopened;
        let was = &earlier.manifest;
        let sittings = was.sittings.iter().chain(&manifest.sittings).cloned().collect();
        let manifest = Manifest { started: was.started.clone(), sittings, ..manifest };
        let path = directory.experiment();
        if read_file(&path).is_ok_and(|kept| kept != experiment.as_bytes()) {
            rename(&path, &directory.earlier_experiment(&was.id))?;
        }
        write_file(&path, experiment.as_bytes())?;
        write_json(&directory.manifest(), &manifest, &secrets)?;
        // It tells what the earlier sitting did last; the others are made of what it has measured, and would be
        // taken for the result of this one if it is killed.
        let made = [
            directory.report(),
            directory.html(),
            directory.summary(),
            directory.samples(),
            directory.series(),
        ];
        for path in [directory.status()].into_iter().chain(made) {
            remove_file(&path)?;
        }
        let endings = earlier.last_attempts().map(|record| (record.trial(), (record.phase, record.status)));
        Ok(Self {
            directory,
            manifest,
            records,
            length,
            secrets,
            endings: endings.collect(),
            earlier_facts: earlier.hosts.iter().map(|host| (host.host.clone(), host.facts.clone())).collect(),
            is_resumed: true,
        })
    }

    /// Where the run lies.
    pub fn directory(&self) -> &RunDirectory {
        &self.directory
    }

    /// Removes a run in which nothing was measured.
    pub fn discard(self) -> Result<(), RecordError> {
        remove_folder(self.directory.path())
    }

    /// Keeps what is known of a machine; what was other in an earlier sitting is kept in the manifest.
    pub fn write_host(&mut self, host: &str, facts: &Facts) -> Result<(), RecordError> {
        let changed = self.earlier_facts.get(host).into_iter().flatten().filter_map(|(fact, was)| {
            let is = facts.get(fact).map(|is| self.secrets.hide(is)).filter(|is| is != was)?;
            Some(format!("{host}: {fact} {is}, was {was}"))
        });
        let changed: Vec<String> = changed.collect();
        if let Some(Sitting { changed_facts, .. }) = self.manifest.sittings.last_mut()
            && !changed.iter().all(|line| changed_facts.contains(line))
        {
            changed_facts.retain(|line| !line.starts_with(&format!("{host}: ")));
            changed_facts.extend(changed);
            write_json(&self.directory.manifest(), &self.manifest, &self.secrets)?;
        }
        let facts = HostFacts { host: host.to_owned(), facts: facts.clone() };
        write_json(&self.directory.host(host), &facts, &self.secrets)
    }

    /// Replaces what can be read of the run while it goes on.
    pub fn write_status(&self, status: &Snapshot) -> Result<(), RecordError> {
        write_json_for_now(&self.directory.status(), status, &self.secrets)
    }

    /// Keeps what became of a trial: its outputs, then its record. When this returns, both are on disk.
    pub fn write_outcome(&mut self, outcome: &Outcome, cell: &Cell) -> Result<Line, RecordError> {
        let planned = self.manifest.cells.get(outcome.trial.index);
        let planned = planned.filter(|planned| planned.cell == cell.name.as_str());
        let settings = planned.map_or(&cell.id, |planned| &planned.settings);
        let record = Line::new(outcome, cell, settings, self.write_outputs(outcome)?);
        self.append(&record)?;
        self.endings.insert(record.trial.clone(), (record.phase, record.status));
        Ok(record)
    }

    /// How many trials of all sittings, warm-up among them, are not ok by their last attempt.
    pub fn failed(&self) -> usize {
        self.endings.values().filter(|(_, status)| *status != Status::Ok).count()
    }

    /// Ends the sitting: the manifest once more, with the end (RFC 3339, UTC), what `stopped` the run before
    /// its last trial, and the counts of measured trials.
    pub fn finish(
        mut self,
        ended: &str,
        interrupted: bool,
        stopped: Option<String>,
    ) -> Result<RunDirectory, RecordError> {
        self.manifest.ended = Some(ended.to_owned());
        self.manifest.interrupted = interrupted;
        self.manifest.stopped = stopped;
        if let Some(Sitting { ended, interrupted, .. }) = self.manifest.sittings.last_mut() {
            (*ended, *interrupted) = (self.manifest.ended.clone(), self.manifest.interrupted);
        }
        for (_, status) in self.endings.values().filter(|(phase, _)| *phase == Phase::Measure) {
            *self.manifest.counts.entry(word(status)).or_default() += 1;
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
        if self.is_resumed {
            // What lies there is of an attempt that was killed before its record was written.
            remove_folder(&self.directory.path().join(&folder))?;
        }
        let keep = |(name, captured): (&String, &Captured)| {
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
        // What printed nothing is as good as nothing, and would cost a file and a sync each.
        let says_something =
            |(name, captured): &(&String, &Captured)| captured.size > 0 || name.starts_with("files/");
        outcome.outputs.iter().filter(says_something).map(keep).collect()
    }

    fn append(&mut self, record: &Line) -> Result<(), RecordError> {
        let failed = |error: std::io::Error| RecordError::new("append to", &self.directory.records(), error);
        let record = serde_json::to_value(record).map(|record| self.secrets.hide_in(record, &FREE_TEXT));
        let line = record.and_then(|record| serde_json::to_vec(&record));
        let mut line = line.map_err(|error| failed(error.into()))?;
        line.push(b'\n');
        // One write: a kill between two would leave a line that looks whole.
        match self.records.write_all(&line).and_then(|()| self.records.sync_data()) {
            Ok(()) => self.length += line.len() as u64,
            Err(error) => {
                // A full disk takes a part of the line. Where that can't be taken back, a reader sees it.
                let _ = self.records.set_len(self.length);
                return Err(failed(error));
            }
        }
        Ok(())
    }
}

/// Makes the files of a new run; the records come first, so that nobody finds a run that is not locked.
fn begin(
    directory: &RunDirectory,
    manifest: &Manifest,
    experiment: &str,
    secrets: &Secrets,
) -> Result<File, RecordError> {
    let path = directory.records();
    let records = OpenOptions::new()
        .append(true)
        .create_new(true)
        .open(&path)
        .map_err(|error| RecordError::new("create", &path, error))?;
    lock(&records, &path)?;
    // Its templates are as they were written, and hold no value.
    write_file(&directory.experiment(), experiment.as_bytes())?;
    write_json(&directory.manifest(), manifest, secrets)?;
    Ok(records)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use super::*;
    use crate::event::{Captured, Stage, Verdicts};
    use crate::plan::{CellName, Trial};
    use crate::record::{FORMAT_VERSION, PlannedCell, is_being_written, read_lines, read_run, reopen};

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
            sittings: vec![sitting("0badcafe")],
            hosts: BTreeMap::new(),
            inputs: None,
            cells: vec![PlannedCell::from(&cell())],
            baseline: BTreeMap::new(),
            units: BTreeMap::new(),
            presentation: Default::default(),
            charts: Vec::new(),
            templates: None,
            counts: BTreeMap::new(),
        }
    }

    fn sitting(id: &str) -> Sitting {
        Sitting {
            id: id.into(),
            started: "2026-11-30T11:45:12Z".into(),
            ended: None,
            interrupted: false,
            runner: "0.1.0".into(),
            options: Vec::new(),
            changed_facts: Vec::new(),
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
            adaptive: None,
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
            details: Default::default(),
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
        assert_eq!(read_lines(&run.directory).unwrap(), [first, second]);
        assert_eq!(run.manifest.counts, [("ok".to_owned(), 1)].into(), "the last attempt counts");
        assert!(run.manifest.interrupted);
        assert_eq!(run.hosts[0].facts["kernel"], "6.1");
    }

    #[test]
    fn a_run_is_gone_on_with_where_it_was_killed() {
        let results = tempfile::tempdir().unwrap();
        let mut writer =
            RunWriter::create(results.path(), manifest(), "seed: 1\n", Secrets::default()).unwrap();
        writer.write_outcome(&outcome(1, Status::Failed), &cell()).unwrap();
        writer.write_host("here", &[("kernel".to_owned(), "6.1".to_owned())].into_iter().collect()).unwrap();
        let directory = writer.directory().clone();
        assert!(is_being_written(&directory) && reopen(&directory).is_err(), "one writer at a time");
        drop(writer);
        let lost = directory.path().join("output/nap/here/native/1/attempt-2/files/lost");
        let unfinished = directory.path().join("output/.runner-unfinished-x");
        for path in [&lost, &unfinished] {
            write_file(path, b"half").unwrap();
        }
        let whole = fs::read(directory.records()).unwrap();
        fs::write(directory.records(), [&whole[..], &whole[..50]].concat()).unwrap();

        let reopened = reopen(&directory).unwrap();
        assert!(reopened.was_torn && !unfinished.exists());
        assert_eq!(fs::read(directory.records()).unwrap(), whole);
        let earlier = read_run(directory.path()).unwrap();
        let next = Manifest {
            id: "second".into(),
            started: "2026-12-01T08:00:00Z".into(),
            sittings: vec![sitting("second")],
            ..manifest()
        };
        let mut writer =
            RunWriter::resume(reopened, &earlier, next, "seed: 2\n", Secrets::default()).unwrap();
        assert_eq!(writer.failed(), 1);
        writer.write_outcome(&outcome(2, Status::Ok), &cell()).unwrap();
        assert_eq!(writer.failed(), 0);
        for kernel in ["6.1", "6.6"] {
            let facts = [("kernel".to_owned(), kernel.to_owned())].into_iter().collect();
            writer.write_host("here", &facts).unwrap();
        }
        writer.finish("2026-12-01T08:01:00Z", false, None).unwrap();

        assert!(!lost.exists(), "what an attempt without a record left is not part of the next");
        let run = read_run(directory.path()).unwrap();
        assert_eq!(run.records.iter().map(|record| record.attempt).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(run.manifest.counts, [("ok".to_owned(), 1)].into());
        assert_eq!(run.manifest.started, "2026-11-30T11:45:12Z");
        assert_eq!(run.manifest.ids(), ["0badcafe", "second"].into());
        assert_eq!(run.manifest.sittings[1].changed_facts, ["here: kernel 6.6, was 6.1"]);
        assert_eq!(run.warnings, ["since the sitting of 2026-11-30T11:45:12Z: here: kernel 6.6, was 6.1"]);
        let ends: Vec<_> = run.manifest.sittings.iter().map(|sitting| sitting.ended.is_some()).collect();
        assert_eq!(ends, [false, true]);
        let kept = |path| fs::read_to_string(path).unwrap();
        assert_eq!(kept(directory.experiment()), "seed: 2\n");
        assert_eq!(kept(directory.earlier_experiment("0badcafe")), "seed: 1\n");
    }

    #[test]
    fn a_last_line_that_lacks_its_newline_gets_it() {
        let results = tempfile::tempdir().unwrap();
        let mut writer = RunWriter::create(results.path(), manifest(), "", Secrets::default()).unwrap();
        writer.write_outcome(&outcome(1, Status::Ok), &cell()).unwrap();
        let directory = writer.directory().clone();
        drop(writer);
        let whole = fs::read(directory.records()).unwrap();
        fs::write(directory.records(), &whole[..whole.len() - 1]).unwrap();
        assert!(!reopen(&directory).unwrap().was_torn);
        assert_eq!(fs::read(directory.records()).unwrap(), whole);
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
