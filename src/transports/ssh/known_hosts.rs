//! Whether a machine's key is the one we know, by the same files as OpenSSH's. Lines are read here, so
//! that an error can name file and line and `@revoked` counts; only hashed names are left to libssh2.
//! Read [`judge`] first.

use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::base64;
use super::config::{Plan, Way};
use super::jump::hop_uri;
use crate::transports::TransportError;

/// A line of a file of host keys that is about the machine.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    file: PathBuf,
    line: usize,
    marker: Marker,
    key_type: String,
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

/// The key a machine showed.
pub(super) struct ShownKey {
    /// `ssh-ed25519` and the like.
    pub key_type: String,
    /// In base64.
    pub key: String,
    /// `SHA256:…`
    pub fingerprint: String,
}

#[derive(Debug, Clone, Copy)]
enum Verdict<'a> {
    Known,
    Unknown,
    Changed(&'a Entry),
    Revoked(&'a Entry),
    OnlyAuthority(&'a Entry),
}

/// Everything the files of `plan` say about its machine.
pub(super) fn entries(plan: &Plan, session: &ssh2::Session) -> Result<Vec<Entry>, TransportError> {
    let matches_hash = |hash: &str, name: &str| matches_hashed(session, hash, name);
    let mut found = Vec::new();
    for file in &plan.known_hosts {
        match fs::read(file) {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                found.extend(entries_of(file, &text, &plan.known_as(), &plan.host, &matches_hash));
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
fn judge<'a>(entries: &'a [Entry], shown: &ShownKey) -> Verdict<'a> {
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

/// Accepts or refuses the key that the machine of `plan` showed; writes it down when new ones are
/// accepted.
pub(super) fn check(plan: &Plan, entries: &[Entry], shown: &ShownKey) -> Result<(), TransportError> {
    let name = plan.known_as();
    let print = &shown.fingerprint;
    let at = |entry: &Entry| format!("line {} of `{}`", entry.line, entry.file.display());
    match judge(entries, shown) {
        Verdict::Known => Ok(()),
        Verdict::Unknown if plan.accept_new => add(plan, shown),
        Verdict::Unknown => Err(plan.fail(
            format!("the host key of {name} is not known: it shows {} {print}", shown.key_type),
            Some(hint_for_unknown(plan)),
        )),
        Verdict::Changed(entry) => Err(plan.fail(
            format!(
                "the host key of {name} is not the one in {}: it shows {} {print}, known is {}",
                at(entry),
                shown.key_type,
                if entry.key_type == shown.key_type { "another one".to_owned() } else { format!("one of type {}", entry.key_type) },
            ),
            Some(format!(
                "if the machine was set up anew, remove the line: `ssh-keygen -R '{name}' -f {}`; if not, someone may \
                 be in between",
                entry.file.display()
            )),
        )),
        Verdict::Revoked(entry) => Err(plan.fail(
            format!("the host key of {name}, {print}, is revoked in {}", at(entry)),
            Some("give the machine a new host key".to_owned()),
        )),
        Verdict::OnlyAuthority(entry) => Err(plan.fail(
            format!(
                "{name} is known by a certificate authority only ({}), which is not supported; it shows {} {print}",
                at(entry),
                shown.key_type
            ),
            Some(format!("add its own key to a file of known hosts; {}", show_command(plan))),
        )),
    }
}

fn hint_for_unknown(plan: &Plan) -> String {
    let file = match (&plan.target.known_hosts, plan.known_hosts.first()) {
        (super::KnownHosts::File(_), Some(file)) => format!(" -o UserKnownHostsFile={}", file.display()),
        _ => String::new(),
    };
    format!(
        "{}; if it is the same, log in once with `ssh{file} -p {} {}@{}`, or set `known_hosts: accept-new`",
        show_command(plan),
        plan.port,
        plan.user,
        plan.host
    )
}

/// How to see the key by another way.
fn show_command(plan: &Plan) -> String {
    let through = match &plan.way {
        Way::Jump(jump) => format!("ssh {} ", hop_uri(jump.rsplit(',').next().unwrap_or(jump).trim())),
        Way::Direct | Way::Command(_) => String::new(),
    };
    format!("see it with `{through}ssh-keyscan -p {} {} | ssh-keygen -lf -`", plan.port, plan.host)
}

/// Appends the key to the first file, which is made when missing.
fn add(plan: &Plan, shown: &ShownKey) -> Result<(), TransportError> {
    let fail =
        |what: &str| plan.fail(format!("the new host key {} can't be kept: {what}", shown.fingerprint), None);
    let file = plan.known_hosts.first().ok_or_else(|| fail("the SSH configuration names no file for it"))?;
    let written = || -> std::io::Result<()> {
        if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let ends_in_line =
            fs::read(file).map_or(true, |bytes| bytes.last().is_none_or(|last| *last == b'\n'));
        let mut open = fs::OpenOptions::new().create(true).append(true).mode(0o600).open(file)?;
        let start = if ends_in_line { "" } else { "\n" };
        // One write, so that two that add at once do not mix their lines.
        open.write_all(format!("{start}{} {} {}\n", plan.known_as(), shown.key_type, shown.key).as_bytes())
    };
    written().map_err(|error| fail(&format!("`{}`: {error}", file.display())))
}

/// The key that a session negotiated.
pub(super) fn shown_key(session: &ssh2::Session) -> Option<ShownKey> {
    let (blob, _) = session.host_key()?;
    let length = usize::try_from(u32::from_be_bytes(blob.get(..4)?.try_into().ok()?)).ok()?;
    Some(ShownKey {
        key_type: String::from_utf8_lossy(blob.get(4..4 + length)?).into_owned(),
        key: base64::encode(blob),
        fingerprint: base64::fingerprint(session.host_key_hash(ssh2::HashType::Sha256)?),
    })
}

#[cfg(test)]
mod tests {
    use super::super::config::tests::{planned, target};
    use super::super::{KnownHosts, SshTarget};
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

    #[test]
    fn a_new_key_goes_to_a_private_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new/known_hosts");
        let given = SshTarget { known_hosts: KnownHosts::AcceptNew, port: Some(2201), ..target("panda") };
        let plan = planned(&given, &format!("userknownhostsfile {}\n", file.display()));
        let shown =
            ShownKey { key_type: "ssh-ed25519".into(), key: "K".into(), fingerprint: "SHA256:x".into() };
        check(&plan, &[], &shown).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "[panda]:2201 ssh-ed25519 K\n");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(&file, "no newline").unwrap();
        check(&plan, &[], &shown).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "no newline\n[panda]:2201 ssh-ed25519 K\n");
    }

    #[test]
    fn the_hint_shows_the_command() {
        let given = SshTarget { port: Some(2201), user: Some("bench".into()), ..target("127.0.0.1") };
        let shown =
            ShownKey { key_type: "ssh-ed25519".into(), key: "K".into(), fingerprint: "SHA256:x".into() };
        let error = check(&planned(&given, ""), &[], &shown).unwrap_err();
        assert_eq!(
            error.message,
            "`panda`: the host key of [127.0.0.1]:2201 is not known: it shows ssh-ed25519 SHA256:x"
        );
        assert_eq!(
            error.hint.unwrap(),
            "see it with `ssh-keyscan -p 2201 127.0.0.1 | ssh-keygen -lf -`; if it is the same, log in once with \
             `ssh -p 2201 bench@127.0.0.1`, or set `known_hosts: accept-new`"
        );
        let jumped = SshTarget { jump: Some("u@gate:2204".into()), ..given };
        let hint = check(&planned(&jumped, ""), &[], &shown).unwrap_err().hint.unwrap();
        assert!(
            hint.contains("`ssh ssh://u@gate:2204 ssh-keyscan -p 2201 127.0.0.1 | ssh-keygen -lf -`"),
            "{hint}"
        );
    }
}
