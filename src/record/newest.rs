//! Which run somebody means who names none: one that goes on, or else the newest. Read [`newest_run`].

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a run on disk")]

use std::path::Path;

use super::files::list_folder;
use super::{RecordError, RunDirectory, is_being_written};

/// The run below `results`, over all experiments, that was begun last among those that go on; among all where
/// none does. `None` where there is no run.
pub fn newest_run(results: &Path) -> Result<Option<RunDirectory>, RecordError> {
    let mut runs = Vec::new();
    for experiment in list_folder(results)?.into_iter().filter(|path| path.is_dir()) {
        let found = list_folder(&experiment)?.into_iter().map(RunDirectory::new);
        runs.extend(found.filter(|directory| directory.manifest().is_file()));
    }
    Ok(runs.into_iter().max_by_key(|directory| (is_being_written(directory), age(directory))))
}

/// What runs are sorted by, the oldest first: a name is the time of the start, and in one second `…Z-10` comes
/// after `…Z-9`.
pub fn age(directory: &RunDirectory) -> (String, usize, String) {
    let name = directory.name();
    (name.chars().take(20).collect(), name.len(), name)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;

    #[test]
    fn a_run_that_goes_on_comes_first_then_the_newest() {
        let results = tempfile::tempdir().unwrap();
        assert_eq!(newest_run(results.path()).unwrap(), None);
        assert_eq!(newest_run(&results.path().join("none")).unwrap(), None);
        let add = |name: &str| {
            let directory = RunDirectory::new(results.path().join(name));
            fs::create_dir_all(directory.path()).unwrap();
            fs::write(directory.manifest(), "{}").unwrap();
            directory
        };
        let old = add("a/2026-11-30T11-45-12Z");
        add("b/2026-12-01T09-00-00Z-9");
        let new = add("b/2026-12-01T09-00-00Z-10");
        fs::create_dir_all(results.path().join("b/2027-01-01T00-00-00Z")).unwrap();
        fs::write(results.path().join("README.md"), "").unwrap();
        assert_eq!(newest_run(results.path()).unwrap(), Some(new));
        let records = File::create(old.records()).unwrap();
        records.lock().unwrap();
        assert_eq!(newest_run(results.path()).unwrap(), Some(old));
    }
}
