//! The few ways in which a run touches the disk. A whole file is either the old or the new one, never
//! half of it.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a run on disk")]

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::RecordError;
use crate::secrets::Secrets;

/// How the name of a file begins that is to replace another and is not whole yet.
pub(super) const UNFINISHED: &str = ".runner-unfinished-";

/// Makes `path` hold exactly `bytes`, with the folders above it: written beside it, synced, renamed.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), RecordError> {
    write_file_with(path, |out| out.write_all(bytes))
}

/// Makes `path` hold exactly what `write` writes, in the same way.
pub fn write_file_with(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), RecordError> {
    replace_file(path, write, File::sync_all)
}

/// The same for what is of no use after a power cut: written beside it and renamed.
fn write_for_now(path: &Path, bytes: &[u8]) -> Result<(), RecordError> {
    replace_file(path, |out| out.write_all(bytes), |_| Ok(()))
}

fn replace_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    sync: fn(&File) -> io::Result<()>,
) -> Result<(), RecordError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let replace = || {
        fs::create_dir_all(folder)?;
        // Readable as the umask allows; a temporary file would be its owner's alone.
        let mut file = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder)?;
        write(&mut file)?;
        sync(file.as_file())?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    replace().map_err(|error: io::Error| RecordError::new("write", path, error))
}

/// The keys of records, manifests and facts under which free text stands.
pub(super) const FREE_TEXT: [&str; 10] = [
    "reason",
    "warnings",
    "rule",
    "found",
    "title",
    "options",
    "facts",
    "changed_facts",
    "detail",
    "excluded",
];

/// Writes `value` as indented JSON with a final newline, without `secrets`.
pub(super) fn write_json(path: &Path, value: &impl Serialize, secrets: &Secrets) -> Result<(), RecordError> {
    write_file(path, &json(path, value, secrets)?)
}

/// The same for what is of no use after a power cut.
pub(super) fn write_json_for_now(
    path: &Path,
    value: &impl Serialize,
    secrets: &Secrets,
) -> Result<(), RecordError> {
    write_for_now(path, &json(path, value, secrets)?)
}

fn json(path: &Path, value: &impl Serialize, secrets: &Secrets) -> Result<Vec<u8>, RecordError> {
    let value = serde_json::to_value(value).map(|value| secrets.hide_in(value, &FREE_TEXT));
    let text = value.and_then(|value| serde_json::to_vec_pretty(&value));
    let mut text = text.map_err(|error| RecordError::new("write", path, error))?;
    text.push(b'\n');
    Ok(text)
}

/// Removes a file, where there is one.
pub fn remove_file(path: &Path) -> Result<(), RecordError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(RecordError::new("remove", path, error)),
        _ => Ok(()),
    }
}

/// The bytes of a file.
pub fn read_file(path: &Path) -> Result<Vec<u8>, RecordError> {
    fs::read(path).map_err(|error| RecordError::new("read", path, error))
}

/// The paths in a folder, sorted; none where there is no such folder.
pub fn list_folder(path: &Path) -> Result<Vec<PathBuf>, RecordError> {
    let list = || match fs::read_dir(path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(Vec::new())
        }
        Err(error) => Err(error),
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect(),
    };
    let mut paths = list().map_err(|error| RecordError::new("list", path, error))?;
    paths.sort();
    Ok(paths)
}

/// Gives a file another name.
pub(super) fn rename(from: &Path, to: &Path) -> Result<(), RecordError> {
    fs::rename(from, to).map_err(|error| RecordError::new("rename", from, error))
}

/// Removes a folder with all that is in it, where there is one.
pub(super) fn remove_folder(path: &Path) -> Result<(), RecordError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(RecordError::new("remove", path, error)),
        _ => Ok(()),
    }
}

/// Makes a new folder `name` in `parent`; `name-2`, `name-3`, … where it exists.
pub(super) fn create_unique_folder(parent: &Path, name: &str) -> Result<PathBuf, RecordError> {
    fs::create_dir_all(parent).map_err(|error| RecordError::new("create", parent, error))?;
    let mut path = parent.join(name);
    let mut number = 1;
    loop {
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                number += 1;
                path = parent.join(format!("{name}-{number}"));
            }
            Err(error) => return Err(RecordError::new("create", &path, error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_file_is_replaced_and_readable_by_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/file");
        write_file(&path, b"a longer first text").unwrap();
        write_file(&path, b"second").unwrap();
        assert_eq!(read_file(&path).unwrap(), b"second");
        assert_ne!(fs::metadata(&path).unwrap().permissions().mode() & 0o044, 0);
        assert_eq!(list_folder(path.parent().unwrap()).unwrap(), [path], "no temporary file is left");
    }

    #[test]
    fn an_error_names_the_path_and_the_cause() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file/below");
        fs::write(folder.path().join("file"), b"").unwrap();
        let error = write_file(&path, b"").unwrap_err();
        assert_eq!(error.to_string(), format!("could not write `{}`", path.display()));
        assert!(std::error::Error::source(&error).is_some());
    }
}
