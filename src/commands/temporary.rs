//! The folder on this machine for the files of a run that are nobody's business and must not outlive it: sockets to
//! engines, keys of machines seen for the first time. Its name is that of the run, by which `runner clean` finds it.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a folder beside the results")]

use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::PathBuf;

use crate::record::RecordError;

/// The folder of a run; it goes when this goes.
pub(super) struct Temporary(PathBuf);

impl Temporary {
    /// Makes that of the run `id`; from now on it is where this process keeps temporary files. Those that `earlier`
    /// sittings have left go.
    pub(super) fn new(id: &str, earlier: &[String]) -> Result<Temporary, RecordError> {
        remove(earlier.iter().map(String::as_str))?;
        let path = path(id);
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && is_own(&path) => {}
            made => made.map_err(|error| RecordError::new("make", &path, error))?,
        }
        // A process does one run; should it do another, the first one's folder is as good.
        let _ = tempfile::env::override_temp_dir(&path);
        Ok(Temporary(path))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // What can't be removed is found again by `runner clean`.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Removes those of `runs` that are there.
pub(super) fn remove<'a>(runs: impl IntoIterator<Item = &'a str>) -> Result<(), RecordError> {
    // Ids come from files that somebody may have changed.
    let is_id = |id: &&str| id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let there = runs.into_iter().filter(is_id).map(path).filter(is_own);
    for path in there {
        fs::remove_dir_all(&path).map_err(|error| RecordError::new("remove", &path, error))?;
    }
    Ok(())
}

fn path(id: &str) -> PathBuf {
    std::env::temp_dir().join(format!("runner-{id}"))
}

/// Whether it is a folder of this user, and no link: anybody may make something of that name in `/tmp`.
fn is_own(path: &PathBuf) -> bool {
    let own = rustix::process::geteuid().as_raw();
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir() && found.uid() == own)
}
