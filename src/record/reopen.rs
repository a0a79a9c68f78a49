//! Opens a run again that was begun before: locked, its half-written last line cut off, and what a killed
//! writer left beside its files removed. Read [`reopen`]; `RunWriter::resume` goes on with it.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a run on disk")]

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

use super::files::UNFINISHED;
use super::lock::lock;
use super::tail::{Tail, tail};
use super::{Line, RecordError, RunDirectory};

/// A run that may be written to. Nobody else can as long as it is there.
#[derive(Debug)]
pub struct Reopened {
    pub(super) directory: RunDirectory,
    pub(super) records: File,
    /// The length of `records` in bytes.
    pub(super) length: u64,
    /// Whether a half-written record was cut off.
    pub was_torn: bool,
}

/// Opens the run in `directory`, whose manifest is there.
///
/// # Errors
/// Another runner writes it, or the disk refuses.
pub fn reopen(directory: &RunDirectory) -> Result<Reopened, RecordError> {
    let path = directory.records();
    let failed = |error| RecordError::new("open", &path, error);
    let mut records = OpenOptions::new().read(true).append(true).create(true).open(&path).map_err(failed)?;
    lock(&records, &path)?;
    let mut bytes = Vec::new();
    records.read_to_end(&mut bytes).map_err(failed)?;
    let end = tail(&bytes);
    let length =
        mend(&mut records, bytes.len(), end).map_err(|error| RecordError::new("mend", &path, error))?;
    remove_unfinished(directory.path())
        .map_err(|error| RecordError::new("clean up", directory.path(), error))?;
    let was_torn = matches!(end, Tail::Torn(_));
    Ok(Reopened { directory: directory.clone(), records, length, was_torn })
}

impl Reopened {
    /// Writes more records, all of them or none.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn append(&mut self, records: &[Line]) -> Result<(), RecordError> {
        let path = self.directory.records();
        let failed = |error| RecordError::new("append to", &path, error);
        let mut lines = Vec::new();
        for record in records {
            serde_json::to_writer(&mut lines, record).map_err(|error| failed(error.into()))?;
            lines.push(b'\n');
        }
        if let Err(error) = self.records.write_all(&lines).and_then(|()| self.records.sync_data()) {
            // Where what was written of it can't be taken back, a reader sees its torn end.
            let _ = self.records.set_len(self.length);
            return Err(failed(error));
        }
        self.length += lines.len() as u64;
        Ok(())
    }
}

/// Makes the file end with a whole line, and returns its length.
fn mend(records: &mut File, length: usize, end: Tail) -> io::Result<u64> {
    let length = match end {
        Tail::Whole => return Ok(length as u64),
        Tail::WithoutNewline => {
            records.write_all(b"\n")?;
            length + 1
        }
        Tail::Torn(start) => {
            records.set_len(start as u64)?;
            start
        }
    };
    records.sync_all()?;
    Ok(length as u64)
}

/// Removes the files that were to replace others when their writer was killed.
fn remove_unfinished(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_unfinished(&entry.path())?;
        } else if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
