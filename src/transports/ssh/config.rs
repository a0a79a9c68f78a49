//! What the user's SSH configuration says about a machine. `ssh -G` resolves it (aliases, `Match`,
//! `Include`, tokens), so that `runner` reaches what `ssh` reaches; without an `ssh` program the given
//! values and OpenSSH's defaults are used. Read [`Plan`] first. Nothing here opens a connection.

use std::env;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempPath;

use super::{KnownHosts, SshTarget, failure};
use crate::transports::TransportError;

/// How long a connection may take to come about when nothing else is said.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// Seconds between two signs of life, and how many may go unanswered, when nothing else is said.
const KEEP_ALIVE: (u32, u32) = (30, 3);

/// Looks up an environment variable.
type Variable<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// Everything needed to log in to one machine.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// What was asked for.
    pub target: SshTarget,
    /// The host name or address to connect to.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The user there.
    pub user: String,
    /// Private keys of the configuration, in order; they need not exist.
    pub identities: Vec<PathBuf>,
    /// True when the agent may only offer these.
    pub identities_only: bool,
    /// The agent's socket.
    pub agent: Option<PathBuf>,
    /// Files with host keys. New ones go to the first.
    pub known_hosts: Vec<PathBuf>,
    /// Removes the file of host keys with the plan, where it is the plan's own.
    pub own_known_hosts: Option<Arc<TempPath>>,
    /// True when keys of unknown machines are to be accepted.
    pub accept_new: bool,
    /// The name to look up in these files in place of host and port.
    pub host_key_alias: Option<String>,
    /// The way to the machine.
    pub way: Way,
    /// How long connecting and logging in may take.
    pub timeout: Duration,
    /// Seconds between two signs of life on a connection where nothing else happens.
    pub keep_alive: u32,
    /// How long the other side may say nothing before the connection is given up.
    pub silence: Duration,
}

/// How the bytes get to a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Way {
    /// By TCP.
    Direct,
    /// Through other machines, in the syntax of `ssh -J`.
    Jump(String),
    /// Through the input and output of a shell command.
    Command(String),
}

impl Plan {
    /// `user@host:port` for messages.
    pub(super) fn place(&self) -> String {
        format!("{}@{}:{}", self.user, self.host, self.port)
    }

    /// The name of the machine in files of host keys.
    pub(super) fn known_as(&self) -> String {
        let name = match (&self.host_key_alias, self.port) {
            (Some(alias), _) => alias.clone(),
            (None, 22) => self.host.clone(),
            (None, port) => format!("[{}]:{port}", self.host),
        };
        name.to_lowercase()
    }

    /// An error that names the machine.
    pub(super) fn fail(&self, message: impl std::fmt::Display, hint: Option<String>) -> TransportError {
        failure(&self.target.name, message, hint)
    }

    /// The same where another try may help.
    pub(super) fn lost(&self, message: impl std::fmt::Display, hint: Option<String>) -> TransportError {
        TransportError { is_lost: true, ..self.fail(message, hint) }
    }
}

/// Asks `ssh -G` and lets the fields of `target` win.
pub(super) fn resolve(target: &SshTarget) -> Result<Plan, TransportError> {
    let mut command = Command::new("ssh");
    command.arg("-G").stdin(Stdio::null());
    if let Some(file) = &target.config {
        command.arg("-F").arg(file);
    }
    if let Some(port) = target.port {
        command.args(["-p", &port.to_string()]);
    }
    if let Some(user) = &target.user {
        command.args(["-l", user]);
    }
    let text = match command.arg("--").arg(&target.address).output() {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).into_owned(),
        Ok(output) => {
            let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(failure(
                &target.name,
                format!("the SSH configuration can't be used: {reason}"),
                Some(format!("`ssh -G {}` shows the same error", target.address)),
            ));
        }
        Err(error) if error.kind() == ErrorKind::NotFound && target.config.is_none() => String::new(),
        Err(error) => {
            let hint = "`config:` needs the `ssh` program to be read: install OpenSSH's client".to_owned();
            return Err(failure(&target.name, format!("`ssh` can't be started: {error}"), Some(hint)));
        }
    };
    let home = env::home_dir().unwrap_or_else(|| PathBuf::from("/"));
    let local_user = env::var("USER").or_else(|_| env::var("LOGNAME")).unwrap_or_else(|_| "root".to_owned());
    let mut plan = plan(target, &text, &home, &local_user, &|name| env::var(name).ok());
    if target.known_hosts == KnownHosts::First {
        let file = tempfile::Builder::new().prefix("runner-known_hosts-").tempfile();
        let failed =
            |error| failure(&target.name, format!("a file for its host key can't be made: {error}"), None);
        let path = file.map_err(failed)?.into_temp_path();
        (plan.known_hosts, plan.own_known_hosts) = (vec![path.to_path_buf()], Some(Arc::new(path)));
    }
    Ok(plan)
}

/// Turns the output of `ssh -G` (or nothing) into a plan.
fn plan(target: &SshTarget, text: &str, home: &Path, local_user: &str, variable: &Variable<'_>) -> Plan {
    let first = |key: &str| values(text, key).next();
    let (given_user, given_host) = match target.address.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, target.address.as_str()),
    };
    let host = first("hostname").unwrap_or(given_host);
    let port = target.port.or_else(|| first("port")?.parse().ok()).unwrap_or(22);
    let user = target.user.as_deref().or_else(|| first("user")).or(given_user).unwrap_or(local_user);
    let tokens = Tokens { home, local_user, host, port, user };

    let configured =
        values(text, "identityfile").filter(|file| *file != "none").map(|file| tokens.path(file));
    let default = ["~/.ssh/id_ed25519", "~/.ssh/id_ecdsa", "~/.ssh/id_rsa"].map(|file| tokens.path(file));
    let identities = if text.is_empty() { default.to_vec() } else { configured.collect() };

    let lenient = matches!(first("stricthostkeychecking"), Some("accept-new" | "no" | "off" | "false"));
    let (known_hosts, accept_new) = match &target.known_hosts {
        KnownHosts::Default => (tokens.known_hosts(text), lenient),
        KnownHosts::AcceptNew => (tokens.known_hosts(text), true),
        KnownHosts::File(file) => (vec![file.clone()], false),
        KnownHosts::First => (Vec::new(), true),
    };
    let seconds =
        first("connecttimeout").and_then(|seconds| seconds.parse().ok()).filter(|seconds| *seconds > 0);
    let (keep_alive, unanswered) = keep_alive(text);
    Plan {
        target: target.clone(),
        host: host.to_owned(),
        port,
        user: user.to_owned(),
        identities,
        identities_only: first("identitiesonly") == Some("yes"),
        agent: agent(first("identityagent"), &tokens, variable),
        known_hosts,
        own_known_hosts: None,
        accept_new,
        host_key_alias: first("hostkeyalias").filter(|alias| *alias != "none").map(str::to_owned),
        way: way(target, text, &tokens),
        timeout: seconds.map_or(CONNECT_TIMEOUT, Duration::from_secs),
        keep_alive,
        // The last answer may take its time.
        silence: Duration::from_secs(
            u64::from(keep_alive) * u64::from(unanswered) + u64::from(keep_alive.min(5)),
        ),
    }
}

/// `ServerAliveInterval` and `ServerAliveCountMax` where the first is set: OpenSSH sends none by default,
/// and then its count means nothing either.
fn keep_alive(text: &str) -> (u32, u32) {
    let number = |key: &str| values(text, key).next()?.parse().ok().filter(|number| *number > 0);
    match (number("serveraliveinterval"), number("serveralivecountmax")) {
        (Some(interval), count) => (interval, count.unwrap_or(KEEP_ALIVE.1)),
        (None, _) => KEEP_ALIVE,
    }
}

/// The experiment's jump wins over the configuration's, a jump over a command, as in OpenSSH.
fn way(target: &SshTarget, text: &str, tokens: &Tokens<'_>) -> Way {
    let set = |key: &str| values(text, key).next().filter(|value| *value != "none");
    let jump = target.jump.as_deref().or_else(|| set("proxyjump"));
    match (jump, set("proxycommand")) {
        (Some(jump), _) => Way::Jump(jump.to_owned()),
        (None, Some(command)) => Way::Command(tokens.fill(command)),
        (None, None) => Way::Direct,
    }
}

/// The agent's socket: a path, the name of a variable, or `none`.
fn agent(configured: Option<&str>, tokens: &Tokens<'_>, variable: &Variable<'_>) -> Option<PathBuf> {
    let path = match configured.unwrap_or("SSH_AUTH_SOCK") {
        "none" => None,
        "SSH_AUTH_SOCK" => variable("SSH_AUTH_SOCK").map(PathBuf::from),
        path => match path.strip_prefix('$') {
            Some(name) => variable(name.trim_matches(['{', '}'])).map(PathBuf::from),
            None => Some(tokens.path(path)),
        },
    };
    path.filter(|path| !path.as_os_str().is_empty())
}

/// The values of `key`, one for each of its lines.
fn values<'a>(text: &'a str, key: &str) -> impl Iterator<Item = &'a str> {
    text.lines().filter_map(move |line| {
        let (name, value) = line.split_once(' ')?;
        (name == key).then_some(value.trim().trim_matches('"'))
    })
}

/// What the `%` tokens of `ssh_config(5)` stand for.
struct Tokens<'a> {
    home: &'a Path,
    local_user: &'a str,
    host: &'a str,
    port: u16,
    user: &'a str,
}

impl Tokens<'_> {
    /// Replaces `%d %h %n %p %r %u %%`; other tokens stay.
    fn fill(&self, text: &str) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text.chars();
        while let Some(character) = rest.next() {
            if character != '%' {
                filled.push(character);
                continue;
            }
            match rest.next() {
                Some('d') => filled.push_str(&self.home.to_string_lossy()),
                Some('h' | 'n') => filled.push_str(self.host),
                Some('p') => filled.push_str(&self.port.to_string()),
                Some('r') => filled.push_str(self.user),
                Some('u') => filled.push_str(self.local_user),
                Some('%') => filled.push('%'),
                Some(other) => filled.extend(['%', other]),
                None => filled.push('%'),
            }
        }
        filled
    }

    /// Replaces a leading `~/` too.
    fn path(&self, path: &str) -> PathBuf {
        let path = self.fill(path);
        match path.strip_prefix("~/") {
            Some(rest) => self.home.join(rest),
            None => PathBuf::from(path),
        }
    }

    /// The user's files of host keys, then the machine's.
    fn known_hosts(&self, text: &str) -> Vec<PathBuf> {
        let user = values(text, "userknownhostsfile").next().unwrap_or("~/.ssh/known_hosts");
        let global = values(text, "globalknownhostsfile").next().unwrap_or("/etc/ssh/ssh_known_hosts");
        let files = user.split_whitespace().chain(global.split_whitespace());
        files.filter(|file| *file != "none").map(|file| self.path(file)).collect()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn target(address: &str) -> SshTarget {
        SshTarget {
            name: "panda".to_owned(),
            address: address.to_owned(),
            port: None,
            user: None,
            identity: None,
            jump: None,
            known_hosts: KnownHosts::Default,
            config: None,
            reconnect: Duration::from_secs(1),
        }
    }

    pub(in super::super) fn planned(target: &SshTarget, text: &str) -> Plan {
        plan(target, text, Path::new("/home/me"), "me", &|name| {
            (name == "SSH_AUTH_SOCK").then(|| "/run/agent".to_owned())
        })
    }

    const RESOLVED: &str = "host panda\nuser bench\nhostname 192.0.2.7\nport 2222\nidentitiesonly yes\n\
        identityfile ~/.ssh/%r_key\nidentityfile /keys/b\nidentityagent none\nconnecttimeout 4\n\
        userknownhostsfile /home/me/.ssh/known_hosts /home/me/.ssh/known_hosts2\n\
        globalknownhostsfile none\nproxyjump none\nproxycommand nc %h %p\nhostkeyalias board\n\
        stricthostkeychecking accept-new\n";

    #[test]
    fn takes_the_resolved_values() {
        let plan = planned(&target("panda"), RESOLVED);
        assert_eq!(plan.place(), "bench@192.0.2.7:2222");
        assert_eq!(plan.identities, [Path::new("/home/me/.ssh/bench_key"), Path::new("/keys/b")]);
        assert!(plan.identities_only && plan.accept_new);
        assert_eq!(plan.agent, None);
        assert_eq!(
            plan.known_hosts,
            ["/home/me/.ssh/known_hosts", "/home/me/.ssh/known_hosts2"].map(PathBuf::from)
        );
        assert_eq!(plan.known_as(), "board");
        assert_eq!(plan.way, Way::Command("nc 192.0.2.7 2222".to_owned()));
        assert_eq!(plan.timeout, Duration::from_secs(4));
    }

    /// What `vagrant ssh-config` prints, as a file for `config:`, and what must be read out of it.
    #[test]
    fn reads_the_configuration_of_virtual_machines() {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
        let case = fixtures.join("cases/073-vagrant-ssh-config");
        let sample = fixtures.join("samples/vagrant");
        for folder in [case, sample] {
            let expected = std::fs::read_to_string(folder.join("expected.json")).unwrap();
            let expected: serde_json::Value = serde_json::from_str(&expected).unwrap();
            let expected = expected.get(0).unwrap_or(&expected);
            let config = Some(folder.join(expected["input"]["stdout"].as_str().unwrap()));
            let hosts = expected["expect"]["hosts"].as_array().unwrap();
            assert_eq!(hosts.len(), 2);
            for host in hosts {
                let name = host["name"].as_str().unwrap();
                let plan = resolve(&SshTarget { config: config.clone(), ..target(name) }).unwrap();
                let read = serde_json::json!({
                    "name": name,
                    "hostname": plan.host,
                    "port": plan.port,
                    "user": plan.user,
                    "identity_files": plan.identities,
                    "identities_only": plan.identities_only,
                });
                assert_eq!(read, *host);
            }
        }
    }

    #[test]
    fn what_is_given_wins() {
        let given = SshTarget {
            port: Some(2201),
            user: Some("root".to_owned()),
            jump: Some("gate".to_owned()),
            known_hosts: KnownHosts::File(PathBuf::from("/known")),
            ..target("panda")
        };
        let plan = planned(&given, RESOLVED);
        assert_eq!(plan.place(), "root@192.0.2.7:2201");
        assert_eq!(plan.way, Way::Jump("gate".to_owned()));
        assert_eq!(plan.known_hosts, [Path::new("/known")]);
        assert!(!plan.accept_new, "a file of known hosts is a wish for strictness");
    }

    #[test]
    fn has_defaults_without_an_ssh_program() {
        let plan = planned(&target("bench@192.0.2.7"), "");
        assert_eq!(plan.place(), "bench@192.0.2.7:22");
        assert_eq!(plan.known_as(), "192.0.2.7");
        assert_eq!(plan.identities.len(), 3);
        assert_eq!(plan.identities[0], Path::new("/home/me/.ssh/id_ed25519"));
        assert_eq!(plan.known_hosts[0], Path::new("/home/me/.ssh/known_hosts"));
        assert_eq!(plan.agent.as_deref(), Some(Path::new("/run/agent")));
        assert_eq!(
            (plan.timeout, plan.keep_alive, plan.silence),
            (CONNECT_TIMEOUT, 30, Duration::from_secs(95))
        );
        let plan = planned(&target("panda"), "serveraliveinterval 0\nserveralivecountmax 1\n");
        assert_eq!(plan.keep_alive, 30, "OpenSSH's default is no wish");
        let plan = planned(&target("panda"), "serveraliveinterval 1\nserveralivecountmax 3\n");
        assert_eq!((plan.keep_alive, plan.silence), (1, Duration::from_secs(4)));
        assert_eq!(planned(&target("panda"), "port 2201\n").known_as(), "[panda]:2201");
    }
}
