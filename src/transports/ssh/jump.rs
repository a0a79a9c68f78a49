//! The way to a machine through others: a child process whose input and output are a socket. It is
//! `ssh -W` for a jump, the user's own command for a `ProxyCommand`. libssh2 speaks through it and
//! checks the host key and logs in as if the way were direct.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use super::config::{Plan, Way};

/// Host and port as the `ssh` that uses a `ProxyCommand` fills them in.
const NEXT_HOP: &str = "[%h]:%p";

/// The child process that carries a connection. It is ended and reaped when this is dropped.
pub(super) struct Carrier {
    child: Child,
    complaints: File,
}

/// Starts the child of `plan` and returns the socket to speak through; `None` when the way is direct.
pub(super) fn start(plan: &Plan) -> Option<io::Result<(OwnedFd, Carrier)>> {
    let mut command = match &plan.way {
        Way::Direct => return None,
        Way::Jump(jump) => {
            let hops: Vec<&str> = jump.split(',').map(str::trim).collect();
            let words = ssh_words(plan, &hops, &format!("{}:{}", bracketed(&plan.host), plan.port));
            let mut command = Command::new("ssh");
            command.args(words);
            command
        }
        Way::Command(line) => {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", &format!("exec {line}")]);
            command
        }
    };
    Some(spawn(&mut command))
}

fn spawn(command: &mut Command) -> io::Result<(OwnedFd, Carrier)> {
    let (ours, theirs) = UnixStream::pair()?;
    let complaints = tempfile::tempfile()?;
    let child = command
        .stdin(OwnedFd::from(theirs.try_clone()?))
        .stdout(OwnedFd::from(theirs))
        .stderr(Stdio::from(complaints.try_clone()?))
        // Ctrl-C at the terminal is for us: scripts are still to be ended through this connection.
        .process_group(0)
        .spawn()?;
    Ok((OwnedFd::from(ours), Carrier { child, complaints }))
}

impl Carrier {
    /// The first of what the child wrote to its standard error.
    pub(super) fn complaints(&self) -> String {
        let mut buffer = [0; 4096];
        // At a place of its own: the child writes through the same open file.
        let count = self.complaints.read_at(&mut buffer, 0).unwrap_or(0);
        String::from_utf8_lossy(&buffer[..count]).trim().replace("\r\n", "\n")
    }
}

impl Drop for Carrier {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to end, and waiting returns at once.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The arguments of an `ssh` that connects its standard input and output to `destination`, as seen from
/// the last of `hops`.
fn ssh_words(plan: &Plan, hops: &[&str], destination: &str) -> Vec<String> {
    let target = &plan.target;
    let mut words: Vec<String> = Vec::new();
    if let Some(file) = &target.config {
        words.extend(["-F".to_owned(), file.display().to_string()]);
    }
    let mut option = |text: String| words.extend(["-o".to_owned(), text]);
    option("BatchMode=yes".to_owned());
    option(format!("ConnectTimeout={}", plan.timeout.as_secs().max(1)));
    // That the key of the last machine can't be known says nothing about those before it.
    if plan.accept_new && target.known_hosts != super::KnownHosts::First {
        option("StrictHostKeyChecking=accept-new".to_owned());
    }
    if let super::KnownHosts::File(file) = &target.known_hosts {
        option(format!("UserKnownHostsFile=\"{}\"", file.display()));
    }
    if let Some(identity) = &target.identity {
        words.extend(["-i".to_owned(), identity.display().to_string()]);
    }
    let (last, before) = match hops {
        [before @ .., last] => (*last, before),
        [] => ("", hops),
    };
    if !before.is_empty() {
        // `-J` would not hand our options down to the machines before.
        let inner = ssh_words(plan, before, NEXT_HOP);
        let escaped =
            inner.iter().map(|word| if word == NEXT_HOP { word.clone() } else { word.replace('%', "%%") });
        words.extend(["-o".to_owned(), format!("ProxyCommand=ssh {}", shell_words::join(escaped))]);
    }
    words.extend(["-W".to_owned(), destination.to_owned(), "--".to_owned(), hop_uri(last)]);
    words
}

/// A hop as the `ssh` program takes it with a port.
pub(super) fn hop_uri(hop: &str) -> String {
    let name = hop.rsplit_once('@').map_or(hop, |(_, name)| name);
    let has_port = match name.rsplit_once(':') {
        Some((host, _)) => !host.contains(':') || host.ends_with(']'),
        None => false,
    };
    if has_port && !hop.starts_with("ssh://") { format!("ssh://{hop}") } else { hop.to_owned() }
}

/// IPv6 addresses need brackets before a port.
fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::config::tests::{planned, target};
    use super::super::{KnownHosts, SshTarget};
    use super::*;

    fn words(jump: &str) -> String {
        let target = SshTarget {
            jump: Some(jump.to_owned()),
            identity: Some(PathBuf::from("/keys/a b")),
            known_hosts: KnownHosts::File(PathBuf::from("/known")),
            config: Some(PathBuf::from("/conf")),
            ..target("lattepanda-a")
        };
        let hops: Vec<&str> = jump.split(',').collect();
        ssh_words(&planned(&target, ""), &hops, "lattepanda-a:22").join(" ")
    }

    #[test]
    fn one_hop_gets_our_options() {
        assert_eq!(
            words("bench@127.0.0.1:2204"),
            "-F /conf -o BatchMode=yes -o ConnectTimeout=15 -o UserKnownHostsFile=\"/known\" -i /keys/a b \
             -W lattepanda-a:22 -- ssh://bench@127.0.0.1:2204"
        );
    }

    #[test]
    fn the_hops_before_get_them_too() {
        let words = words("gate,inner");
        assert!(words.ends_with("-W lattepanda-a:22 -- inner"), "{words}");
        assert!(words.contains("[%h]:%p"), "{words}");
        assert!(words.matches("BatchMode=yes").count() == 2, "{words}");
    }

    #[test]
    fn a_port_makes_a_uri() {
        for (hop, uri) in [
            ("a", "a"),
            ("u@a", "u@a"),
            ("a:22", "ssh://a:22"),
            ("ssh://a:1", "ssh://a:1"),
            ("::1", "::1"),
            ("[::1]:22", "ssh://[::1]:22"),
        ] {
            assert_eq!(hop_uri(hop), uri);
        }
    }

    #[test]
    fn the_child_ends_with_its_carrier() {
        let (_socket, carrier) = spawn(Command::new("sh").args(["-c", "echo no way >&2; sleep 60"])).unwrap();
        while carrier.complaints().is_empty() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert_eq!(carrier.complaints(), "no way");
        let id = carrier.child.id();
        drop(carrier);
        assert!(!std::path::Path::new(&format!("/proc/{id}")).exists());
    }
}
