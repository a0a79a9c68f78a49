//! Finds a run by what the command line says: a directory, the folder of an experiment, or either of them in a git
//! revision, whose records are laid out in a temporary directory. Read [`find`].

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "git, and the files of runs")]

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::error::Error;
use crate::record::{self, RecordError, RunDirectory};

/// A run that was found.
pub(super) struct Found {
    /// Where it lies now.
    pub directory: RunDirectory,
    /// Keeps what was laid out of a revision.
    _kept: Option<TempDir>,
}

/// The run that `text` names: a path that is there; `REVISION:PATH`; `PATH@REVISION`.
///
/// # Errors
/// Nothing there, no repository, no such revision, no git.
pub(super) fn find(text: &str) -> Result<Found, Error> {
    let path = Path::new(text);
    if path.exists() {
        let run = match RunDirectory::new(path).manifest().is_file() {
            true => Some(RunDirectory::new(path)),
            false => record::newest_in(path)?,
        };
        let directory = run.ok_or_else(|| {
            RecordError::new("find a run in", path, "there is none").with_hint(
                "give the directory of a run, such as `results/NAME/START`, or the folder of an experiment",
            )
        })?;
        return Ok(Found { directory, _kept: None });
    }
    if let Some((revision, path)) = text.split_once(':') {
        let git = Git { folder: PathBuf::from(".") };
        return git.find(text, revision, &format!("{revision}:{}", path.trim_end_matches('/')));
    }
    if let Some((path, revision)) = text.rsplit_once('@') {
        // The run need not be there any more, but the folders above it are in the repository.
        let path = Path::new(path);
        let folder = path.ancestors().skip(1).find(|folder| folder.is_dir()).unwrap_or(Path::new("."));
        let rest = path.strip_prefix(folder).unwrap_or(path).to_string_lossy().into_owned();
        let folder = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder.to_owned() };
        return Git { folder }.find(text, revision, &format!("{revision}:./{}", rest.trim_end_matches('/')));
    }
    Err(RecordError::new("find a run in", path, "there is no such folder")
        .with_hint("give the directory of a run, the folder of an experiment, or `REVISION:PATH` to read it from git")
        .into())
}

/// A repository, by a folder in it.
struct Git {
    folder: PathBuf,
}

impl Git {
    fn find(&self, text: &str, revision: &str, object: &str) -> Result<Found, Error> {
        let usage = |message: String, help: &str| Error::Usage { message, help: help.to_owned() };
        let asked = self.output(&["rev-parse", "--git-dir"])?;
        if !asked.status.success() {
            let said = String::from_utf8_lossy(&asked.stderr);
            return Err(usage(
                format!(
                    "`{text}` is no folder that is there, and git says: {}",
                    said.lines().next().unwrap_or_default()
                ),
                "give a directory, or go to the repository that has the revision",
            ));
        }
        let is_known = !revision.is_empty()
            && !revision.starts_with('-')
            && self.ask(&["rev-parse", "--verify", "--quiet", &format!("{revision}^{{commit}}")])?.is_some();
        if !is_known {
            return Err(usage(
                format!("git knows no revision `{revision}`"),
                "give a branch, tag or commit; what a forge's machine has not fetched is not there (`git fetch origin BRANCH`)",
            ));
        }
        let missing = || {
            let place = object.split_once(':').map_or(object, |(_, path)| path);
            usage(
                format!("revision `{revision}` has no folder `{place}`"),
                "after `REVISION:` a path begins at the top of the repository; write `./` before it to begin here",
            )
        };
        let tree = self.object(object)?.ok_or_else(missing)?;
        if self.ask(&["cat-file", "-t", &tree])?.as_deref() != Some("tree\n") {
            return Err(missing());
        }
        let (name, tree) = self.run_in(&tree, object)?.ok_or_else(|| {
            usage(
                format!("there is no run in `{text}`"),
                "give the directory of a run, or the folder of an experiment",
            )
        })?;
        let kept = self.lay_out(&tree, &name)?;
        Ok(Found { directory: RunDirectory::new(kept.path().join(&name)), _kept: Some(kept) })
    }

    /// Name and tree of the run in `tree`: itself, or the newest below it.
    fn run_in(&self, tree: &str, object: &str) -> Result<Option<(String, String)>, Error> {
        if self.object(&format!("{tree}:manifest.json"))?.is_some() {
            let name = object.rsplit(['/', ':']).next().filter(|name| !name.is_empty()).unwrap_or("run");
            return Ok(Some((name.to_owned(), tree.to_owned())));
        }
        let names =
            self.ask(&["ls-tree", "-d", "-z", "--full-tree", "--name-only", tree])?.unwrap_or_default();
        let mut runs: Vec<RunDirectory> =
            names.split('\0').filter(|name| !name.is_empty()).map(RunDirectory::new).collect();
        runs.sort_by_cached_key(record::age);
        for run in runs.iter().rev().map(RunDirectory::name) {
            if self.object(&format!("{tree}:{run}/manifest.json"))?.is_some()
                && let Some(tree) = self.object(&format!("{tree}:{run}"))?
            {
                return Ok(Some((run, tree)));
            }
        }
        Ok(None)
    }

    /// Writes what a run is read from into a new directory `NAME`: no outputs, no report.
    fn lay_out(&self, tree: &str, name: &str) -> Result<TempDir, Error> {
        let kept =
            tempfile::tempdir().map_err(|source| Error::World { action: "make a directory", source })?;
        let arguments =
            ["ls-tree", "-r", "-z", "--full-tree", tree, "--", "manifest.json", "records.jsonl", "hosts"];
        let listed = self.ask(&arguments)?.unwrap_or_default();
        for entry in listed.split('\0') {
            let Some((properties, path)) = entry.split_once('\t') else { continue };
            let &[mode, "blob", hash] = properties.split(' ').collect::<Vec<_>>().as_slice() else {
                continue;
            };
            let is_plain = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
            // A link would be followed out of the directory.
            if !mode.starts_with("100") || !is_plain {
                continue;
            }
            let target = kept.path().join(name).join(path);
            let bytes = self.bytes(&["cat-file", "blob", hash])?.unwrap_or_default();
            let write = || {
                fs::create_dir_all(target.parent().unwrap_or(kept.path()))?;
                fs::write(&target, &bytes)
            };
            write().map_err(|error| RecordError::new("write", &target, error))?;
        }
        Ok(kept)
    }

    /// The id of an object; none where there is none.
    fn object(&self, name: &str) -> Result<Option<String>, Error> {
        let id = self.ask(&["rev-parse", "--verify", "--quiet", name])?;
        Ok(id.map(|id| id.trim().to_owned()))
    }

    fn ask(&self, arguments: &[&str]) -> Result<Option<String>, Error> {
        Ok(self.bytes(arguments)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// What git prints; none where it fails.
    fn bytes(&self, arguments: &[&str]) -> Result<Option<Vec<u8>>, Error> {
        let output = self.output(arguments)?;
        Ok(output.status.success().then_some(output.stdout))
    }

    fn output(&self, arguments: &[&str]) -> Result<Output, Error> {
        let output = Command::new("git").arg("-C").arg(&self.folder).args(arguments).output();
        output.map_err(|source| Error::World { action: "start git", source })
    }
}
