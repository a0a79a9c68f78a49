//! What OpenSSH's files of known hosts say about a machine's key. Lines are read here, so that an error
//! can name file and line and `@revoked` counts; only hashed names are left to libssh2. Read [`judge`]
//! first. What follows from a verdict is decided in [`host_key`](super::host_key).

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::config::Plan;
use super::host_key::ShownKey;
use crate::transports::TransportError;

/// A line of a file of host keys that is about the machine.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub file: PathBuf,
    pub line: usize,
    marker: Marker,
    pub key_type: String,
    /// The key in base64, as written.
    key: String,
    /// False when the name matched only without the port.
    exact: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Marker {
    None,
    Revoked,
    Authority,
}

/// What the files say about a key.
#[derive(Debug, Clone, Copy)]
pub(super) enum Verdict<'a> {
    /// It is the machine's.
    Known,
    /// Nothing.
    Unknown,
    /// The machine has another one.
    Changed(&'a Entry),
    /// It must not be used any more.
    Revoked(&'a Entry),
    /// There is only a certificate authority.
    OnlyAuthority(&'a Entry),
}

/// Everything the files of `plan` say about its machine.
pub(super) fn entries(plan: &Plan, session: &ssh2::Session) -> Result<Vec<Entry>, TransportError> {
    let matches_hash = |hash: &str, name: &str| matches_hashed(session, hash, name);
    let known_as = plan.known_as();
    // OpenSSH, too, takes a key that is known for the host on its usual port.
    let bare = if plan.host_key_alias.is_some() { known_as.clone() } else { plan.host.to_lowercase() };
    let mut found = Vec::new();
    for file in &plan.known_hosts {
        match fs::read(file) {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                found.extend(entries_of(file, &text, &known_as, &bare, &matches_hash));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => {
                return Err(plan
                    .fail(format!("the known hosts in `{}` can't be read: {error}", file.display()), None));
            }
        }
    }
    Ok(found)
}

fn entries_of(
    file: &Path,
    text: &str,
    known_as: &str,
    bare_host: &str,
    matches_hash: &dyn Fn(&str, &str) -> bool,
) -> Vec<Entry> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut words = line.split_whitespace().peekable();
        let marker = match words.peek() {
            Some(&"@revoked") => Marker::Revoked,
            Some(&"@cert-authority") => Marker::Authority,
            Some(word) if word.starts_with('#') || word.starts_with('@') => continue,
            _ => Marker::None,
        };
        if marker != Marker::None {
            words.next();
        }
        let (Some(names), Some(key_type), Some(key)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        let matches = |name: &str| {
            if names.starts_with("|1|") { matches_hash(names, name) } else { matches_list(names, name) }
        };
        let exact = matches(known_as);
        if exact || matches(bare_host) {
            let (key_type, key) = (key_type.to_owned(), key.to_owned());
            found.push(Entry { file: file.to_owned(), line: index + 1, marker, key_type, key, exact });
        }
    }
    found
}

/// Compares with a comma-separated list of patterns; one with `!` that matches rules the line out.
fn matches_list(list: &str, name: &str) -> bool {
    let name = name.to_lowercase();
    let mut matched = false;
    for pattern in list.to_lowercase().split(',') {
        match pattern.strip_prefix('!') {
            Some(negated) if glob(negated.as_bytes(), name.as_bytes()) => return false,
            Some(_) => {}
            None => matched |= glob(pattern.as_bytes(), name.as_bytes()),
        }
    }
    matched
}

fn glob(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern, text) {
        ([], []) => true,
        ([b'*', rest @ ..], _) => (0..=text.len()).any(|skipped| glob(rest, &text[skipped..])),
        ([b'?', pattern @ ..], [_, text @ ..]) => glob(pattern, text),
        ([wanted, pattern @ ..], [byte, text @ ..]) if wanted == byte => glob(pattern, text),
        _ => false,
    }
}

/// Asks libssh2 whether a hashed name is `name`: with any key in place of the real one, everything but
/// "not found" means yes.
fn matches_hashed(session: &ssh2::Session, hash: &str, name: &str) -> bool {
    let Ok(mut hosts) = session.known_hosts() else { return false };
    let line = format!("{hash} ssh-rsa AAAAB3NzaC1yc2E=");
    hosts.read_str(&line, ssh2::KnownHostFileKind::OpenSSH).is_ok()
        && !name.contains('\0')
        && !matches!(hosts.check(name, b"any"), ssh2::CheckResult::NotFound | ssh2::CheckResult::Failure)
}

/// The host-key algorithms to ask for: those of known keys first. Otherwise a machine known by its
/// ECDSA key only would show its Ed25519 key, which nobody knows.
pub(super) fn preferred_algorithms(entries: &[Entry], supported: &[&str]) -> String {
    let known = |algorithm: &&str| {
        entries.iter().filter(|entry| entry.marker == Marker::None).any(|entry| {
            entry.key_type == **algorithm
                || (entry.key_type == "ssh-rsa" && algorithm.starts_with("rsa-sha2-"))
        })
    };
    let (first, rest): (Vec<&str>, Vec<&str>) = supported.iter().copied().partition(known);
    [first, rest].concat().join(",")
}

/// What `entries` say of `shown`. A key of another type than all known ones counts as changed: whoever
/// stands in between could choose the type.
pub(super) fn judge<'a>(entries: &'a [Entry], shown: &ShownKey) -> Verdict<'a> {
    let same = |entry: &&Entry| entry.key == shown.key;
    let of = |marker: Marker| entries.iter().filter(move |entry| entry.marker == marker);
    if let Some(entry) = of(Marker::Revoked).find(same) {
        return Verdict::Revoked(entry);
    }
    if of(Marker::None).any(|entry| same(&entry)) {
        return Verdict::Known;
    }
    let exact = || of(Marker::None).filter(|entry| entry.exact);
    if let Some(entry) = exact().find(|entry| entry.key_type == shown.key_type).or_else(|| exact().next()) {
        return Verdict::Changed(entry);
    }
    match of(Marker::Authority).find(|entry| entry.exact) {
        Some(entry) => Verdict::OnlyAuthority(entry),
        None => Verdict::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(text: &str, key_type: &str, key: &str) -> String {
        let session = ssh2::Session::new().unwrap();
        let matches_hash = |hash: &str, name: &str| matches_hashed(&session, hash, name);
        let entries = entries_of(Path::new("f"), text, "[panda]:2201", "panda", &matches_hash);
        let shown = ShownKey {
            key_type: key_type.to_owned(),
            key: key.to_owned(),
            fingerprint: "SHA256:x".to_owned(),
        };
        match judge(&entries, &shown) {
            Verdict::Known => "known".to_owned(),
            Verdict::Unknown => "unknown".to_owned(),
            Verdict::Changed(entry) => format!("changed {}", entry.line),
            Verdict::Revoked(entry) => format!("revoked {}", entry.line),
            Verdict::OnlyAuthority(entry) => format!("authority {}", entry.line),
        }
    }

    #[test]
    fn judges_like_openssh() {
        // What `ssh-keygen -H` made of `[panda]:2201`.
        let hashed = |key: &str| {
            format!("|1|jDW1czHCu7eaJhhaU98Bk3+eu1Q=|5wYYBNwCOMBlJ4b6zxLlYfkc/WU= ssh-ed25519 {key}")
        };
        let (hashed_same, hashed_other) = (hashed("K"), hashed("L"));
        let cases = [
            ("", "unknown"),
            ("[panda]:2201 ssh-ed25519 K", "known"),
            ("other,[PANDA]:2201 ssh-ed25519 K comment", "known"),
            ("# [panda]:2201 ssh-ed25519 K", "unknown"),
            ("\n[panda]:2201 ssh-ed25519 L", "changed 2"),
            ("[panda]:2201 ssh-rsa R\n[panda]:2201 ssh-ed25519 L", "changed 2"),
            ("[panda]:2201 ecdsa-sha2-nistp256 E", "changed 1"),
            ("panda ssh-ed25519 K", "known"),
            ("panda ssh-ed25519 L", "unknown"),
            ("[panda]:2202 ssh-ed25519 L", "unknown"),
            ("[pan*]:220? ssh-ed25519 K", "known"),
            ("[pan*]:220?,![panda]:* ssh-ed25519 L", "unknown"),
            ("[panda]:2201 ssh-ed25519 K\n@revoked * ssh-ed25519 K", "revoked 2"),
            ("@cert-authority [panda]:* ssh-ed25519 CA", "authority 1"),
            ("@cert-authority * ssh-ed25519 CA\n[panda]:2201 ssh-ed25519 K", "known"),
            (&hashed_same, "known"),
            (&hashed_other, "changed 1"),
        ];
        for (text, expected) in cases {
            assert_eq!(verdict(text, "ssh-ed25519", "K"), expected, "{text}");
        }
    }

    #[test]
    fn known_types_come_first() {
        let entries = |text: &str| entries_of(Path::new("f"), text, "panda", "panda", &|_, _| false);
        let supported = ["ssh-ed25519", "ecdsa-sha2-nistp256", "rsa-sha2-512", "ssh-rsa"];
        for (text, first) in [
            ("panda ecdsa-sha2-nistp256 E", "ecdsa-sha2-nistp256,"),
            ("panda ssh-rsa R", "rsa-sha2-512,ssh-rsa,"),
            ("", "ssh-ed25519,"),
        ] {
            let order = preferred_algorithms(&entries(text), &supported);
            assert!(order.starts_with(first), "{text}: {order}");
            assert_eq!(order.split(',').count(), 4);
        }
    }
}
