//! A file or a folder of this machine as a tar, in the order of names. Links in a folder stay links.

use std::io::{self, Write};
use std::path::Path;

/// Adds the file `path`, or what is in the folder `path`, to `tar` under `name`. The folder itself is not
/// added, and an empty `name` is the top of the tar.
///
/// # Errors
/// What can't be read, with its path.
pub fn pack(tar: &mut tar::Builder<impl Write>, path: &Path, name: &Path) -> io::Result<()> {
    let failed = |error: io::Error| io::Error::new(error.kind(), format!("`{}`: {error}", path.display()));
    tar.follow_symlinks(false);
    // Not every tar knows GNU's entries for files with holes.
    tar.sparse(false);
    if !std::fs::metadata(path).map_err(failed)?.is_dir() {
        let path = std::fs::canonicalize(path).map_err(failed)?;
        return tar.append_path_with_name(path, name).map_err(failed);
    }
    let entries = std::fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut entries = entries.map_err(failed)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), name.join(entry.file_name()));
        let failed =
            |error: io::Error| io::Error::new(error.kind(), format!("`{}`: {error}", path.display()));
        tar.append_path_with_name(&path, &name).map_err(failed)?;
        if entry.file_type().map_err(failed)?.is_dir() {
            pack(tar, &path, &name)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_packed_in_order_with_its_links_and_empty_folders() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        std::fs::create_dir_all(path.join("real/b/empty")).unwrap();
        std::fs::write(path.join("real/b/it's"), "x").unwrap();
        std::fs::write(path.join("real/a"), "").unwrap();
        std::os::unix::fs::symlink("/nowhere", path.join("real/c")).unwrap();
        std::os::unix::fs::symlink("real", path.join("link")).unwrap();
        let mut tar = tar::Builder::new(Vec::new());
        pack(&mut tar, &path.join("link"), Path::new("new")).unwrap();
        pack(&mut tar, &path.join("link/a"), Path::new("file")).unwrap();
        let bytes = tar.into_inner().unwrap();
        let names: Vec<String> = tar::Archive::new(bytes.as_slice())
            .entries()
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| format!("{} {:?}", entry.path().unwrap().display(), entry.header().entry_type()))
            .collect();
        assert_eq!(
            names,
            [
                "new/a Regular",
                "new/b Directory",
                "new/b/empty Directory",
                "new/b/it's Regular",
                "new/c Symlink",
                "file Regular"
            ]
        );
        let error = pack(&mut tar::Builder::new(Vec::new()), &path.join("none"), Path::new("x")).unwrap_err();
        assert!(error.to_string().contains("none`: No such file"), "{error}");
    }
}
