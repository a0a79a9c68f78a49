//! One writer a run: who writes `records.jsonl` holds a lock on it, which the kernel takes back when the
//! process ends, however it ends. Read [`lock`].

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a run on disk")]

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
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
            other => return other.map_err(|error| refused(file, path, error)),
        }
    }
    file.try_lock().map_err(|error| refused(file, path, error))
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

fn refused(file: &File, path: &Path, error: TryLockError) -> RecordError {
    match error {
        TryLockError::Error(error) => RecordError::new("lock", path, error),
        TryLockError::WouldBlock => match holder(file) {
            Ok(Some(process)) => RecordError::new("lock", path, format!("process {process} is writing it"))
                .with_hint(format!("let that runner end, or stop it with `kill -INT {process}`")),
            _ => RecordError::new("lock", path, "another runner is writing it")
                .with_hint("let it end, or stop it with Ctrl-C"),
        },
    }
}

/// The process that holds the lock, where the kernel tells.
fn holder(file: &File) -> io::Result<Option<u32>> {
    let inode = file.metadata()?.ino();
    Ok(holder_in(&fs::read_to_string("/proc/locks")?, inode))
}

/// A line reads `1: FLOCK  ADVISORY  WRITE 4321 08:01:1234567 0 EOF`: the process, then device and inode.
/// A process of another container is 0.
fn holder_in(locks: &str, inode: u64) -> Option<u32> {
    locks.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip_while(|word| *word != "FLOCK").skip(3);
        let process = words.next()?.parse().ok().filter(|process| *process > 0)?;
        (words.next()?.rsplit(':').next()? == inode.to_string()).then_some(process)
    })
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use super::*;

    #[test]
    fn the_second_is_refused_and_told_who_is_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let directory = RunDirectory::new(folder.path());
        assert!(!is_being_written(&directory), "there is nothing yet");
        let (first, second) =
            (File::create(directory.records()).unwrap(), File::create(directory.records()).unwrap());
        lock(&first, &directory.records()).unwrap();
        assert!(is_being_written(&directory));
        let error = lock(&second, &directory.records()).unwrap_err();
        let process = std::process::id();
        assert_eq!(error.source().unwrap().to_string(), format!("process {process} is writing it"));
        assert!(error.hint.unwrap().contains(&format!("kill -INT {process}")));
        drop(first);
        assert!(!is_being_written(&directory));
        lock(&second, &directory.records()).unwrap();
    }

    #[test]
    fn the_holder_is_found_among_all_locks_of_a_machine() {
        let locks = "1: POSIX  ADVISORY  READ 77 08:01:4711 128 128\n\
                     2: FLOCK  ADVISORY  WRITE 78 08:01:471 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 79 08:01:471 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 0 08:01:5 0 EOF\n";
        for (inode, holder) in [(471, Some(78)), (4711, None), (5, None), (6, None)] {
            assert_eq!(holder_in(locks, inode), holder, "{inode}");
        }
    }
}
