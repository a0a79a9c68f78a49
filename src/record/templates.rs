//! The templates of a report as files: those that somebody has written, and the copy that a run keeps of them, so
//! that its report can be made again from the run's directory alone. Read [`read_templates`].

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a run on disk")]

use std::fs;
use std::path::{Path, PathBuf};

use super::files::{list_folder, read_file, remove_folder, write_file};
use super::{RecordError, RunDirectory};

/// What the name of every template ends in.
pub const TEMPLATE_ENDING: &str = ".j2";

/// So many bytes a template may have.
const BYTES: u64 = 1 << 20;
/// So many templates a folder may hold.
const FILES: usize = 200;
/// So deep folders are looked into.
const DEPTH: usize = 8;

/// A template as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateFile {
    /// By which name other templates know it: its path from the folder, with `/` between its parts.
    pub name: String,
    /// Where it lies, for messages.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

/// Every template in `folder` and the folders in it, by name. Files whose names do not end in `.j2`, and hidden
/// ones, are none.
///
/// # Errors
/// There is no such folder, it holds no template, or one of them can't be read, is no UTF-8 text or too large.
pub fn read_templates(folder: &Path) -> Result<Vec<TemplateFile>, RecordError> {
    let hint =
        "name a folder that holds `report.md.j2`, `report.html.j2` or other files whose names end in `.j2`";
    let fail = |cause: String| Err(RecordError::new("read", folder, cause).with_hint(hint));
    if !folder.is_dir() {
        return fail(if folder.exists() { "it is not a folder" } else { "there is no such folder" }.into());
    }
    let mut files = Vec::new();
    collect(folder, "", DEPTH, &mut files)?;
    if files.is_empty() {
        return fail("it holds no template".into());
    }
    files.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(files)
}

fn collect(
    folder: &Path,
    prefix: &str,
    depth: usize,
    files: &mut Vec<TemplateFile>,
) -> Result<(), RecordError> {
    for path in list_folder(folder)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_template = name.ends_with(TEMPLATE_ENDING) && path.is_file();
        if name.starts_with('.') || !(is_template || path.is_dir() && depth > 0) {
            continue;
        }
        let whole = format!("{prefix}{name}");
        if !is_template {
            collect(&path, &format!("{whole}/"), depth - 1, files)?;
            continue;
        }
        let fail = |cause: &str| Err(RecordError::new("read", &path, cause));
        if files.len() >= FILES {
            return fail(&format!("there are more than {FILES} templates"));
        }
        if fs::metadata(&path).is_ok_and(|metadata| metadata.len() > BYTES) {
            return fail(&format!("it is larger than {} MiB", BYTES >> 20));
        }
        match String::from_utf8(read_file(&path)?) {
            Ok(text) => files.push(TemplateFile { name: whole, path, text }),
            Err(_) => return fail("it is not UTF-8 text"),
        }
    }
    Ok(())
}

/// Makes `templates` the copy that the run keeps, in place of an earlier one.
pub fn keep_templates(directory: &RunDirectory, templates: &[TemplateFile]) -> Result<(), RecordError> {
    let folder = directory.templates();
    remove_folder(&folder)?;
    templates.iter().try_for_each(|one| write_file(&folder.join(&one.name), one.text.as_bytes()))
}

/// The copy that a run has kept; none where it was made without templates of its own.
///
/// # Errors
/// Its manifest says that it has kept `folder`, and the copy is gone or can't be read.
pub fn kept_templates(
    directory: &RunDirectory,
    folder: Option<&str>,
) -> Result<Vec<TemplateFile>, RecordError> {
    let Some(folder) = folder else { return Ok(Vec::new()) };
    read_templates(&directory.templates()).map_err(|error| {
        error.with_hint(format!(
            "restore the copy of `{folder}`, for example from version control, or name a folder with `--templates DIR`"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_read_with_its_parts_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["report.md.j2", "parts/_head.md.j2", "parts/.hidden.j2", "notes.txt", "a.txt.j2"] {
            write_file(&at(name), name.as_bytes()).unwrap();
        }
        let files = read_templates(folder.path()).unwrap();
        let names: Vec<_> = files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["a.txt.j2", "parts/_head.md.j2", "report.md.j2"]);
        let run = RunDirectory::new(at("run"));
        write_file(&run.templates().join("old.md.j2"), b"").unwrap();
        keep_templates(&run, &files).unwrap();
        let kept = kept_templates(&run, Some("templates")).unwrap();
        assert_eq!(kept.iter().map(|file| &file.name).collect::<Vec<_>>(), names);
        assert_eq!(kept[1].text, "parts/_head.md.j2");
        assert_eq!(kept_templates(&run, None).unwrap(), []);
    }

    #[test]
    fn what_is_no_folder_of_templates_is_refused_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        write_file(&at("file"), b"").unwrap();
        write_file(&at("empty/readme.md"), b"").unwrap();
        write_file(&at("latin/a.j2"), b"\xe9").unwrap();
        write_file(&at("large/a.j2"), &vec![b' '; BYTES as usize + 1]).unwrap();
        for (name, cause) in [
            ("none", "there is no such folder"),
            ("file", "it is not a folder"),
            ("empty", "it holds no template"),
            ("latin", "it is not UTF-8 text"),
            ("large", "it is larger than 1 MiB"),
        ] {
            assert_eq!(read_templates(&at(name)).unwrap_err().source.to_string(), cause);
        }
    }
}
