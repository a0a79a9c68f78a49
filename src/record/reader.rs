//! Reads a run back, years later or while it still goes on. A half-written last line, as a kill or a full
//! disk leaves it, is left out with a warning; anything else that is not a record is an error. Read [`Run`].

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a run on disk")]

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;

use super::files::{list_folder, read_file};
use super::lines::{read_records, refuse_newer};
use super::newest::age;
use super::{
    Common, HostFacts, Manifest, Phase, PlannedCell, Record, RecordError, RunDirectory, Snapshot, Status,
};

/// A run as it lies on disk.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Where it lies.
    pub directory: RunDirectory,
    /// What it is.
    pub manifest: Manifest,
    /// Its machines: those of the cells in their order, then the others by name.
    pub hosts: Vec<HostFacts>,
    /// By cell in the order of the manifest, warm-up first, then repetition, then attempt: the order of lines
    /// on disk never shows.
    pub records: Vec<Record>,
    /// Records that count nowhere, since the experiment was changed after they were made: of cells, settings
    /// or repetitions that are planned no longer.
    pub left_out: Vec<Record>,
    /// What a reader of the report should know of the files.
    pub warnings: Vec<String>,
}

impl Run {
    /// The attempts at each trial.
    pub fn trials(&self) -> impl Iterator<Item = &[Record]> {
        trials(&self.records)
    }

    /// The last attempt at each trial: the one that counts.
    pub fn last_attempts(&self) -> impl Iterator<Item = &Record> {
        self.trials().filter_map(<[Record]>::last)
    }

    /// The records of each cell that has some.
    pub fn by_cell(&self) -> HashMap<&str, &[Record]> {
        let cells = self.records.chunk_by(Record::is_of_cell);
        cells.map(|records| (records[0].cell.as_str(), records)).collect()
    }

    /// The same records under another plan.
    pub fn planned_as(mut self, cells: Vec<PlannedCell>) -> Self {
        self.records.append(&mut self.left_out);
        self.left_out = arrange(&mut self.records, &cells);
        self.manifest.cells = cells;
        self
    }
}

/// Those of `records` that are attempts at one trial, together: they stand side by side.
pub fn trials(records: &[Record]) -> impl Iterator<Item = &[Record]> {
    records.chunk_by(is_same_trial)
}

/// Those of `records` that count: the last attempts at measured trials, as far as they are ok.
pub fn counted(records: &[Record]) -> impl Iterator<Item = &Record> {
    let counts = |record: &&Record| record.phase == Phase::Measure && record.status == Status::Ok;
    trials(records).filter_map(<[Record]>::last).filter(counts)
}

fn is_same_trial(one: &Record, next: &Record) -> bool {
    one.repetition == next.repetition && one.phase == next.phase && one.is_of_cell(next)
}

/// Reads the run in directory `path`.
pub fn read_run(path: &Path) -> Result<Run, RecordError> {
    let directory = RunDirectory::new(path);
    let mut manifest = read_manifest(&directory)?;
    let mut warnings = Vec::new();
    let mut records = read_records(&directory.records(), &mut warnings)?;

    let left_out = arrange(&mut records, &manifest.cells);
    warnings.extend(Standing::warnings(&left_out, &manifest.cells));
    for cell in manifest.cells.iter_mut().filter(|cell| cell.adaptive.is_some()) {
        let measured =
            records.iter().filter(|record| record.cell == cell.cell && record.phase == Phase::Measure);
        cell.reached = measured.map(|record| record.repetition).max();
    }

    for sitting in &manifest.sittings {
        let lines = sitting.changed_facts.iter();
        warnings.extend(lines.map(|line| format!("since the sitting of {}: {line}", sitting.started)));
    }
    let mut hosts = read_hosts(&directory)?;
    hosts.sort_by_key(|facts| {
        manifest.cells.iter().position(|cell| cell.host == facts.host).unwrap_or(usize::MAX)
    });
    Ok(Run { directory, manifest, hosts, records, left_out, warnings })
}

/// Takes out of `records` those that count nowhere by the plan of `cells`, and puts the others into the order
/// of the report.
fn arrange(records: &mut Vec<Record>, cells: &[PlannedCell]) -> Vec<Record> {
    let places = places(cells);
    // The name of a cell is looked for once for all records that share it.
    let mut known: HashMap<*const Common, u32> = HashMap::new();
    let mut place = |record: &Record| {
        let place = known.entry(Arc::as_ptr(&record.common));
        *place.or_insert_with(|| places.get(record.cell.as_str()).map_or(u32::MAX, |place| *place as u32))
    };
    let left_out = records
        .extract_if(.., |record| Standing::of(record, cells.get(place(record) as usize)) != Standing::Counts)
        .collect();
    records.sort_by_cached_key(|record| (place(record), record.phase, record.repetition, record.attempt));
    let is_twin = |one: &Record, next: &Record| is_same_trial(one, next) && one.attempt == next.attempt;
    for twins in records.chunk_by_mut(is_twin).filter(|twins| twins.len() > 1) {
        twins.sort_by_key(|record| (record.started, record.words().read_again.is_some()));
    }
    left_out
}

/// The place of each cell by its name.
fn places(cells: &[PlannedCell]) -> HashMap<&str, usize> {
    cells.iter().enumerate().map(|(place, planned)| (planned.cell.as_str(), place)).collect()
}

/// Whether a record still belongs to what is planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Counts,
    /// Its cell is not planned.
    Unplanned,
    /// Its cell has other settings by now.
    Superseded,
    /// Its cell has fewer repetitions by now.
    Surplus,
}

impl Standing {
    fn of(record: &Record, planned: Option<&PlannedCell>) -> Self {
        let Some(planned) = planned else { return Standing::Unplanned };
        let is_surplus = record.phase == Phase::Measure && record.repetition > planned.repetitions;
        match (record.settings == planned.settings, is_surplus) {
            (false, _) => Standing::Superseded,
            (true, true) => Standing::Surplus,
            (true, false) => Standing::Counts,
        }
    }

    /// What is to be said of the records that count nowhere.
    fn warnings(left_out: &[Record], cells: &[PlannedCell]) -> Vec<String> {
        let places = places(cells);
        let standing = |record: &Record| {
            Standing::of(record, places.get(record.cell.as_str()).map(|place| &cells[*place]))
        };
        let all: Vec<_> = left_out.iter().map(standing).collect();
        let told = [
            (Standing::Unplanned, "no cell that is planned"),
            (Standing::Superseded, "other settings than their cells have now"),
            (Standing::Surplus, "repetitions that are planned no longer"),
        ];
        let line = |(which, of): (Standing, &str)| match all.iter().filter(|one| **one == which).count() {
            0 => None,
            1 => Some(format!("1 record is of {of} and is left out")),
            count => Some(format!("{count} records are of {of} and are left out")),
        };
        told.into_iter().filter_map(line).collect()
    }
}

/// What the run in `directory` does now, or did when it was killed; `None` where it has ended in order, or
/// does not tell.
pub fn read_status(directory: &RunDirectory) -> Option<Snapshot> {
    serde_json::from_slice(&read_file(&directory.status()).ok()?).ok()
}

/// One run among those of an experiment.
#[derive(Debug)]
pub struct ListedRun {
    /// Where it lies.
    pub directory: RunDirectory,
    /// What it is, or why that can't be read.
    pub manifest: Result<Manifest, RecordError>,
    /// Whether its report was made.
    pub has_report: bool,
}

/// The folder of all runs of the experiment, and the name of the run in it: the one above the run, where it has
/// the experiment's name; a run that was copied elsewhere has none.
pub fn experiment_folder(run: &Run) -> Option<(PathBuf, String)> {
    let own = fs::canonicalize(run.directory.path()).ok()?;
    let above = own.parent()?;
    let name = own.file_name()?.to_string_lossy().into_owned();
    // As it was given, where that tells it.
    let given = run.directory.path();
    let is_plain = given.file_name() == own.file_name();
    let folder = given.parent().filter(|parent| is_plain && !parent.as_os_str().is_empty()).unwrap_or(above);
    (above.file_name()? == run.manifest.experiment.as_str()).then(|| (folder.to_owned(), name))
}

/// The runs in an experiment's folder, newest first; folders without a manifest are no runs.
pub fn list_runs(experiment: &Path) -> Result<Vec<ListedRun>, RecordError> {
    let directories = list_folder(experiment)?.into_iter().map(RunDirectory::new);
    let mut runs: Vec<_> = directories
        .filter(|directory| directory.manifest().is_file())
        .map(|directory| ListedRun {
            manifest: read_manifest(&directory),
            has_report: directory.report().is_file(),
            directory,
        })
        .collect();
    runs.sort_by_cached_key(|run| Reverse(age(&run.directory)));
    Ok(runs)
}

/// The runs of all experiments below `results` that have left something on machines, or may have.
pub fn list_ledgers(results: &Path) -> Result<Vec<RunDirectory>, RecordError> {
    let mut found = Vec::new();
    for experiment in list_folder(results)?.into_iter().filter(|path| path.is_dir()) {
        let runs = list_folder(&experiment)?.into_iter().map(RunDirectory::new);
        found.extend(runs.filter(|directory| directory.ledger().is_file() && directory.manifest().is_file()));
    }
    Ok(found)
}

/// What a run is, without what it has measured.
///
/// # Errors
/// When `manifest.json` can't be read, or was written by a newer runner.
pub fn read_manifest(directory: &RunDirectory) -> Result<Manifest, RecordError> {
    #[derive(Deserialize)]
    struct Version {
        format: u32,
    }
    let path = directory.manifest();
    let bytes = read_file(&path)
        .map_err(|error| error.with_hint("give the directory of one run, such as `results/NAME/START`"))?;
    let failed = |error| RecordError::new("read", &path, error);
    let version: Version = serde_json::from_slice(&bytes).map_err(failed)?;
    refuse_newer(version.format, &path)?;
    serde_json::from_slice(&bytes).map_err(failed)
}

fn read_hosts(directory: &RunDirectory) -> Result<Vec<HostFacts>, RecordError> {
    let files = list_folder(&directory.hosts())?;
    let json = files.iter().filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    json.map(|path| {
        serde_json::from_slice(&read_file(path)?).map_err(|error| RecordError::new("read", path, error))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use super::*;

    const MANIFEST: &str = r#"{"format":1,"id":"0badcafe","runner":"0.1.0","title":"t","experiment":"e","file":"e.yaml",
        "digest":"",
        "commit":null,"seed":1,"order":"blocks","started":"2026-11-30T11:45:12Z","ended":null,
        "cells":[{"cell":"b","workload":"w","host":"z","environment":"n","parameters":{},"repetitions":2},
                 {"cell":"a","workload":"w","host":"h","environment":"n","parameters":{},"repetitions":2}],
        "baseline":{},"counts":{}}"#;

    fn line(cell: &str, repetition: u32, attempt: u32) -> String {
        let record = serde_json::json!({
            "v": 1, "trial": format!("{cell}#{repetition}"), "cell": cell, "workload": "w", "host": "h",
            "environment": "n", "parameters": {}, "repetition": repetition, "attempt": attempt, "block": 1,
            "order": 1, "phase": "measure", "status": "ok", "stage": null, "reason": null,
            "started": format!("2026-11-30T11:45:1{attempt}Z"), "elapsed_s": 1.5, "outputs": [],
            "measurements": [{"name": "m", "value": 0.1234567890123456, "unit": "s"}],
        });
        format!("{record}\n")
    }

    fn read(manifest: &str, records: &str) -> Result<Run, RecordError> {
        let folder = tempfile::tempdir().unwrap();
        let directory = RunDirectory::new(folder.path());
        fs::write(directory.manifest(), manifest).unwrap();
        fs::write(directory.records(), records).unwrap();
        read_run(folder.path())
    }

    fn named((trial, attempt): (&str, u32)) -> (String, u32) {
        (trial.to_owned(), attempt)
    }

    #[test]
    fn records_come_in_report_order_and_keep_every_digit() {
        let run =
            read(MANIFEST, &[line("a", 1, 1), line("b", 2, 2), line("b", 2, 1), line("b", 1, 1)].concat());
        let run = run.unwrap();
        let order: Vec<_> = run.records.iter().map(|record| (record.trial(), record.attempt)).collect();
        assert_eq!(order, [("b#1", 1), ("b#2", 1), ("b#2", 2), ("a#1", 1)].map(named));
        let last: Vec<_> = run.last_attempts().map(|record| (record.trial(), record.attempt)).collect();
        assert_eq!(last, [("b#1", 1), ("b#2", 2), ("a#1", 1)].map(named));
        assert_eq!(run.records[0].values()[0].to_string(), "0.1234567890123456");
    }

    #[test]
    fn a_torn_last_line_is_left_out_wherever_it_was_cut() {
        let whole = line("a", 1, 1);
        for cut in 1..whole.len() - 1 {
            let run = read(MANIFEST, &format!("{whole}{}", &whole[..cut])).unwrap();
            assert_eq!((run.records.len(), run.warnings.len()), (1, 1), "cut at {cut}");
        }
        let only_the_newline_is_missing = read(MANIFEST, whole.trim_end()).unwrap();
        assert_eq!(
            (only_the_newline_is_missing.records.len(), only_the_newline_is_missing.warnings.len()),
            (1, 0)
        );
    }

    #[test]
    fn what_is_no_run_is_refused_with_the_reason() {
        let good = line("a", 1, 1);
        let newer_manifest = MANIFEST.replace("\"format\":1", "\"format\":2,\"more\":[]");
        for (manifest, records, cause) in [
            (
                MANIFEST,
                format!("{good}{{\"v\":1,\n{good}"),
                "line 2: EOF while parsing a value at line 2 column 0",
            ),
            (
                MANIFEST,
                format!("{good}{}", good.replace("\"v\":1", "\"v\":7")),
                "its format is version 7, and this runner knows 1",
            ),
            (&newer_manifest, String::new(), "its format is version 2, and this runner knows 1"),
            ("{}", String::new(), "missing field `format` at line 1 column 2"),
        ] {
            let error = read(manifest, &records).unwrap_err();
            assert_eq!(error.source().unwrap().to_string(), cause);
        }
        let nowhere = read_run(Path::new("/nowhere")).unwrap_err();
        assert_eq!(nowhere.to_string(), "could not read `/nowhere/manifest.json`");
        assert!(nowhere.hint.is_some());
    }

    #[test]
    fn records_of_unknown_cells_are_pointed_out() {
        let run = read(MANIFEST, &line("c", 1, 1)).unwrap();
        assert_eq!((run.records.len(), run.left_out.len()), (0, 1));
        assert_eq!(run.warnings, ["1 record is of no cell that is planned and is left out"]);
    }

    #[test]
    fn what_the_experiment_no_longer_has_counts_nowhere() {
        let manifest = MANIFEST.replacen("\"repetitions\":2", "\"repetitions\":2,\"settings\":\"new\"", 1);
        let of = |settings: &str, repetition, attempt| {
            let line = line("b", repetition, attempt);
            line.replace("\"cell\":\"b\"", &format!("\"cell\":\"b\",\"settings\":\"{settings}\""))
        };
        let lines = [of("old", 1, 1), of("new", 1, 2), line("b", 2, 1), of("new", 3, 1), line("a", 2, 1)];
        let run = read(&manifest, &lines.concat()).unwrap();
        let counted: Vec<_> = run.records.iter().map(|record| (record.trial(), record.attempt)).collect();
        assert_eq!(counted, [("b#1", 2), ("a#2", 1)].map(named));
        assert_eq!(
            run.warnings,
            [
                "2 records are of other settings than their cells have now and are left out",
                "1 record is of repetitions that are planned no longer and is left out",
            ]
        );
        let tried = run.tried();
        let of = |repetition| tried[&("b", Phase::Measure, repetition)];
        assert_eq!((of(1).attempts, of(1).status), (2, Some(crate::record::Status::Ok)));
        assert_eq!((of(2).attempts, of(2).status), (1, None), "its number is taken, its result is not");
    }
}
