//! A change of what a manifest says, of a run that nobody writes. Read [`change_manifest`].

use super::files::write_json;
use super::{Manifest, RecordError, RunDirectory, hold, read_manifest};
use crate::secrets::Secrets;

/// Changes the manifest of the run in `directory`; nothing of `secrets` will stand in it.
///
/// # Errors
/// It can't be read or written, or a runner writes the run.
pub fn change_manifest(
    directory: &RunDirectory,
    secrets: &Secrets,
    change: impl FnOnce(&mut Manifest),
) -> Result<(), RecordError> {
    let _held = hold(directory)?;
    let mut manifest = read_manifest(directory)?;
    change(&mut manifest);
    write_json(&directory.manifest(), &manifest, secrets)
}
