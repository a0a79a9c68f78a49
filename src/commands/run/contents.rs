//! The digest of a local file or folder: of its contents, or, where these are large, of names, sizes and
//! times. Read [`digest`].

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "the files of an experiment")]

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// So many bytes are read of what lies at one path; of more only names, sizes and times count.
const BYTES: u64 = 64 << 20;
/// As many files.
const FILES: usize = 4_000;
/// A folder of more files is looked at no further.
const LIMIT: usize = 100_000;

/// One file, folder or link.
struct Entry {
    path: PathBuf,
    metadata: Metadata,
}

/// The digest, in hexadecimal, of what lies at `path`: the same as long as its names, modes and contents are.
pub(super) fn digest(path: &Path) -> String {
    // What is given itself may be a link; what lies in a folder counts as what it is.
    let mut entries = Vec::new();
    if let Ok(metadata) = fs::metadata(path) {
        entries.push(Entry { path: path.to_owned(), metadata });
    }
    let mut next = 0;
    while next < entries.len() && entries.len() < LIMIT {
        if entries[next].metadata.is_dir() {
            entries.extend(below(&entries[next].path));
        }
        next += 1;
    }
    let bytes: u64 =
        entries.iter().filter(|entry| entry.metadata.is_file()).map(|entry| entry.metadata.len()).sum();
    let is_read = bytes <= BYTES && entries.len() <= FILES;
    let mut whole = Sha256::new();
    for entry in &entries {
        let name = entry.path.strip_prefix(path).unwrap_or(&entry.path).as_os_str().as_encoded_bytes();
        whole.update((name.len() as u64).to_le_bytes());
        whole.update(name);
        whole.update((entry.metadata.mode() & 0o170_111).to_le_bytes());
        // What can't be read now fails where it is used, and says so.
        let _ = add(&mut whole, entry, is_read);
    }
    whole.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What lies in a folder, by name.
fn below(folder: &Path) -> Vec<Entry> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    let known = paths.into_iter().filter_map(|path| {
        let metadata = fs::symlink_metadata(&path).ok()?;
        Some(Entry { path, metadata })
    });
    known.collect()
}

fn add(whole: &mut Sha256, Entry { path, metadata }: &Entry, is_read: bool) -> io::Result<()> {
    if metadata.is_symlink() {
        whole.update(fs::read_link(path)?.as_os_str().as_encoded_bytes());
    } else if metadata.is_file() {
        whole.update(metadata.len().to_le_bytes());
        match is_read {
            true => read(whole, path)?,
            false => {
                whole.update(metadata.mtime().to_le_bytes());
                whole.update(metadata.mtime_nsec().to_le_bytes());
            }
        }
    }
    Ok(())
}

fn read(whole: &mut Sha256, path: &Path) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut part = vec![0; 1 << 16];
    loop {
        match file.read(&mut part)? {
            0 => return Ok(()),
            length => whole.update(&part[..length]),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn what_is_measured_by_a_file_shows_in_its_digest() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("image");
        fs::create_dir_all(folder.join("deep")).unwrap();
        let (file, large) = (folder.join("deep/s.sh"), root.path().join("large"));
        let mut seen = vec![digest(&folder)];
        for change in 0..5 {
            match change {
                0 => fs::write(&file, "echo one").unwrap(),
                1 => fs::write(&file, "echo two").unwrap(),
                2 => fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap(),
                3 => fs::rename(&file, folder.join("deep/t.sh")).unwrap(),
                _ => symlink("t.sh", folder.join("deep/link")).unwrap(),
            }
            let now = digest(&folder);
            assert_eq!(digest(&folder), now, "it is the same as long as nothing changes");
            assert!(!seen.contains(&now), "change {change}");
            seen.push(now);
        }
        File::create(&large).unwrap().set_len(BYTES + 1).unwrap();
        let before = digest(&large);
        File::options().write(true).open(&large).unwrap().set_len(BYTES + 2).unwrap();
        assert_ne!(digest(&large), before, "its size counts where its contents do not");
        assert_ne!(digest(&root.path().join("none")), before);
    }
}
