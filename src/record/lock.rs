//! One writer a run: who writes `records.jsonl` holds a lock on it, which the kernel takes back when the
//! process ends, however it ends. Read [`lock`].

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a run on disk")]

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::time::Duration;

use super::{RecordError, RunDirectory};

/// [`is_being_written`] holds the lock for a moment; who wants to write tries again that often.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(20);

/// Locks the open `file` at `path` for this process.
///
/// # Errors
/// Somebody else has it.
pub(super) fn lock(file: &File, path: &Path) -> Result<(), RecordError> {
    for _ in 1..TRIES {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            other => return other.map_err(|error| refused(path, error)),
        }
    }
    file.try_lock().map_err(|error| refused(path, error))
}

/// Keeps every runner from going on with the run in `directory`, until the returned file is dropped.
///
/// # Errors
/// A runner does so at this moment, or there is no run.
pub fn hold(directory: &RunDirectory) -> Result<File, RecordError> {
    let path = directory.records();
    let file = OpenOptions::new().append(true).open(&path);
    let file = file.map_err(|error| RecordError::new("open", &path, error))?;
    lock(&file, &path).map(|()| file)
}

/// Whether a runner goes on with the run in `directory` at this moment.
pub fn is_being_written(directory: &RunDirectory) -> bool {
    let Ok(file) = File::open(directory.records()) else { return false };
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

fn refused(path: &Path, error: TryLockError) -> RecordError {
    match error {
        TryLockError::Error(error) => RecordError::new("lock", path, error),
        TryLockError::WouldBlock => RecordError::new("lock", path, "another runner is writing it")
            .with_hint("let it end, or stop it with Ctrl-C"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_writes_a_run() {
        let folder = tempfile::tempdir().unwrap();
        let directory = RunDirectory::new(folder.path());
        assert!(!is_being_written(&directory) && hold(&directory).is_err(), "there is nothing yet");
        std::fs::write(directory.records(), b"").unwrap();
        let held = hold(&directory).unwrap();
        assert!(is_being_written(&directory) && hold(&directory).is_err());
        drop(held);
        assert!(!is_being_written(&directory) && hold(&directory).is_ok());
    }
}
