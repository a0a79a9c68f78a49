//! What lies in folders of results: the runs below a path, whatever level it is of, and which of a run's files
//! are made of its records. Read [`runs_below`].

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a run on disk")]

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::files::list_folder;
use super::newest::age;
use super::{RecordError, RunDirectory};

/// The runs at `path`: itself where it is a run, else those in it where it is the folder of an experiment, else
/// those of all experiments in it. By experiment, the oldest run first.
///
/// # Errors
/// There is none.
pub fn runs_below(path: &Path) -> Result<Vec<RunDirectory>, RecordError> {
    let own = RunDirectory::new(path);
    if own.manifest().is_file() {
        return Ok(vec![own]);
    }
    let mut runs = runs_in(path)?;
    if runs.is_empty() {
        for experiment in list_folder(path)?.into_iter().filter(|path| path.is_dir()) {
            runs.extend(runs_in(&experiment)?);
        }
    }
    if runs.is_empty() {
        let cause = match path.exists() {
            true => "there is no run in it",
            false => "there is no such folder",
        };
        let hint = "give the directory of a run, such as `results/NAME/START`, or a folder above it";
        return Err(RecordError::new("find a run in", path, cause).with_hint(hint));
    }
    Ok(runs)
}

/// The newest run of the experiment in folder `experiment`; `None` where there is none.
pub fn newest_in(experiment: &Path) -> Result<Option<RunDirectory>, RecordError> {
    Ok(runs_in(experiment)?.pop())
}

/// The runs in an experiment's folder, the oldest first.
fn runs_in(experiment: &Path) -> Result<Vec<RunDirectory>, RecordError> {
    if !experiment.is_dir() {
        return Ok(Vec::new());
    }
    let mut runs: Vec<_> = list_folder(experiment)?.into_iter().map(RunDirectory::new).collect();
    runs.retain(|directory| directory.manifest().is_file());
    runs.sort_by_cached_key(age);
    Ok(runs)
}

/// The files of a run that are there only where its records have something for them: `series.csv` and charts.
pub fn optional_files(directory: &RunDirectory) -> Result<Vec<PathBuf>, RecordError> {
    let charts = list_folder(&directory.path().join("charts"))?;
    let charts = charts.into_iter().filter(|path| path.extension().is_some_and(|kind| kind == "svg"));
    Ok(charts.chain(Some(directory.series()).filter(|path| path.is_file())).collect())
}

/// The bytes of a file; `None` where there is none.
pub fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, RecordError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(RecordError::new("read", path, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_an_experiment_and_all_of_them_are_told_apart() {
        let results = tempfile::tempdir().unwrap();
        for name in ["b/2026-12-01T09-00-00Z-10", "b/2026-12-01T09-00-00Z-9", "a/2026-11-30T11-45-12Z"] {
            let directory = RunDirectory::new(results.path().join(name));
            fs::create_dir_all(directory.path()).unwrap();
            fs::write(directory.manifest(), "{}").unwrap();
        }
        fs::write(results.path().join("README.md"), "").unwrap();
        fs::create_dir_all(results.path().join("empty/no-run")).unwrap();
        let below = |path: &str| -> Vec<String> {
            let runs = runs_below(&results.path().join(path)).unwrap();
            runs.iter().map(RunDirectory::name).collect()
        };
        let [nine, ten] = ["2026-12-01T09-00-00Z-9", "2026-12-01T09-00-00Z-10"];
        assert_eq!(below(""), ["2026-11-30T11-45-12Z", nine, ten]);
        assert_eq!(below("b"), [nine, ten]);
        assert_eq!(below("b/2026-12-01T09-00-00Z-9"), [nine]);
        assert_eq!(newest_in(&results.path().join("b")).unwrap().unwrap().name(), ten);
        for (path, cause) in
            [("empty", "there is no run in it"), ("none", "there is no such folder"), ("README.md", "no run")]
        {
            let error = runs_below(&results.path().join(path)).unwrap_err();
            assert!(error.source.to_string().contains(cause), "{path}: {}", error.source);
        }
    }

    #[test]
    fn what_may_be_left_over_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let directory = RunDirectory::new(folder.path());
        assert_eq!(optional_files(&directory).unwrap(), [""; 0].map(PathBuf::from));
        fs::create_dir(folder.path().join("charts")).unwrap();
        for file in ["charts/a.svg", "charts/notes.txt", "series.csv", "report.md"] {
            fs::write(folder.path().join(file), "").unwrap();
        }
        let right = ["charts/a.svg", "series.csv"].map(|name| folder.path().join(name));
        assert_eq!(optional_files(&directory).unwrap(), right);
    }
}
