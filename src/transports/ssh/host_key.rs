//! Whether to trust the key a machine shows: what [`known_hosts`](super::known_hosts) says about it decides, and the error
//! tells how to look and how to accept. New keys are written down here when the user wants that.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::config::{Plan, Way};
use super::jump::hop_uri;
use super::known_hosts::{Entry, Verdict, judge};
use crate::transports::TransportError;

/// The key a machine showed.
pub(super) struct ShownKey {
    /// `ssh-ed25519` and the like.
    pub key_type: String,
    /// In base64.
    pub key: String,
    /// `SHA256:…`
    pub fingerprint: String,
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
    let written = || -> io::Result<()> {
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
        key: STANDARD.encode(blob),
        fingerprint: fingerprint(session.host_key_hash(ssh2::HashType::Sha256)?),
    })
}

/// `SHA256:…` of a key's hash, as `ssh-keygen -l` prints it.
fn fingerprint(sha256: &[u8]) -> String {
    format!("SHA256:{}", STANDARD.encode(sha256).trim_end_matches('='))
}

#[cfg(test)]
mod tests {
    use super::super::config::tests::{planned, target};
    use super::super::{KnownHosts, SshTarget};
    use super::*;

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
