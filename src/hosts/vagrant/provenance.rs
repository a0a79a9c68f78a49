//! Where a machine of Vagrant came from, as far as Vagrant's own files in the folder tell it: the box and its version,
//! and how it sees folders of the machine below. Read [`read`].

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Facts of `machine`: `box` and `synced folders`; what the files do not tell is left out.
pub(super) fn read(folder: &Path, machine: &str, provider: &str) -> Vec<(String, String)> {
    let kept = kept(folder, machine).join(provider);
    let file = |name: &str| -> Option<Value> {
        serde_json::from_slice(&fs::read(kept.join(name)).ok()?).ok()
    };
    let synced_folders = file("synced_folders").map(|found| synced_folders(&found)).unwrap_or_default();
    let synced_folders = match synced_folders.is_empty() {
        true => "none".to_owned(),
        false => synced_folders.iter().map(|(guest, kind)| format!("{guest}: {kind}")).collect::<Vec<_>>().join(", "),
    };
    let base = file("box_meta").and_then(|meta| {
        let text = |key: &str| meta.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        Some([text("name")?, text("version").unwrap_or_default()].join(" ").trim().to_owned())
    });
    let base = base.map(|base| ("box".to_owned(), base));
    base.into_iter().chain([("synced folders".to_owned(), synced_folders)]).collect()
}

/// Where Vagrant keeps what it knows of a machine.
fn kept(folder: &Path, machine: &str) -> PathBuf {
    folder.join(".vagrant/machines").join(machine)
}

/// The provider of a machine that Vagrant knows of, be it running or not, and the id that it has there.
pub(super) fn made(folder: &Path, machine: &str) -> Option<(String, String)> {
    let providers = fs::read_dir(kept(folder, machine)).into_iter().flatten().flatten();
    let mut found = providers.filter_map(|provider| {
        let id = fs::read_to_string(provider.path().join("id")).ok()?;
        Some((provider.file_name().into_string().ok()?, id.trim().to_owned()))
    });
    found.next()
}

/// Kinds by the path in the machine.
fn synced_folders(found: &Value) -> BTreeMap<String, String> {
    let kinds = found.as_object().into_iter().flatten();
    let folders = kinds.flat_map(|(kind, folders)| {
        let folders = folders.as_object().into_iter().flatten();
        folders.filter_map(move |(name, folder)| {
            let is_used = folder.get("disabled").and_then(Value::as_bool) != Some(true);
            let guest = folder.get("guestpath").and_then(Value::as_str).unwrap_or(name);
            is_used.then(|| (guest.to_owned(), kind.clone()))
        })
    });
    folders.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn box_and_folders_of_a_machine() {
        let folder = tempfile::tempdir().unwrap();
        let kept = folder.path().join(".vagrant/machines/node1/libvirt");
        fs::create_dir_all(&kept).unwrap();
        assert_eq!(made(folder.path(), "node1"), None);
        let none = read(folder.path(), "node1", "libvirt");
        assert_eq!(none, [("synced folders".into(), "none".into())]);
        fs::write(kept.join("id"), "8f3a\n").unwrap();
        let meta = r#"{"name":"debian/bookworm64","version":"12.20250126.1","provider":"libvirt"}"#;
        fs::write(kept.join("box_meta"), meta).unwrap();
        let folders = r#"{"nfs":{"/mnt/nfs":{"type":"nfs","guestpath":"/mnt/nfs","hostpath":"/srv/a"}},
            "rsync":{"code":{"guestpath":"/code","disabled":false},"/off":{"guestpath":"/off","disabled":true}}}"#;
        fs::write(kept.join("synced_folders"), folders).unwrap();
        let expected = [("box", "debian/bookworm64 12.20250126.1"), ("synced folders", "/code: rsync, /mnt/nfs: nfs")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(read(folder.path(), "node1", "libvirt"), expected);
        assert_eq!(made(folder.path(), "node1"), Some(("libvirt".into(), "8f3a".into())));
        assert_eq!(made(folder.path(), "node2"), None);
    }
}
