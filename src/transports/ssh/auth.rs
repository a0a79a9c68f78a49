//! Proving who we are: the key the experiment names, the agent's keys, the keys of the SSH
//! configuration, in this order. Only keys: whoever measures for hours does not want to be asked for a
//! password. Read [`authenticate`] first.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::config::Plan;
use super::wire::{Trouble, Wire};
use crate::transports::TransportError;

/// One login in the making.
struct Login<'a> {
    plan: &'a Plan,
    session: &'a ssh2::Session,
    wire: &'a mut Wire,
    deadline: Instant,
    /// What was tried, and what came of it: for the error message.
    tried: Vec<String>,
    hint: Option<String>,
}

/// Tries one key after the other until the machine takes one.
pub(super) fn authenticate(
    plan: &Plan,
    session: &ssh2::Session,
    wire: &mut Wire,
    deadline: Instant,
) -> Result<(), TransportError> {
    let allowed = wire.complete(deadline, || session.auth_methods(&plan.user).map(str::to_owned));
    if session.authenticated() {
        return Ok(());
    }
    let mut login = Login { plan, session, wire, deadline, tried: Vec::new(), hint: None };
    let allowed = match allowed {
        Ok(methods) => methods,
        Err(trouble) => return Err(login.broken(trouble)),
    };
    if allowed.split(',').any(|method| method == "publickey") && login.try_all()? {
        return Ok(());
    }
    Err(login.refused(&allowed))
}

impl Login<'_> {
    fn try_all(&mut self) -> Result<bool, TransportError> {
        let named = self.plan.target.identity.clone();
        if let Some(file) = &named
            && self.try_file(file, true)?
        {
            return Ok(true);
        }
        if self.try_agent()? {
            return Ok(true);
        }
        for file in self.plan.identities.iter().filter(|file| Some(*file) != named.as_ref()) {
            if self.try_file(file, false)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Tries a key file. One that is only part of the configuration may be missing.
    fn try_file(&mut self, file: &Path, named: bool) -> Result<bool, TransportError> {
        let shown = format!("`{}`", file.display());
        let text = match fs::read(file) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == ErrorKind::NotFound && !named => return Ok(false),
            Err(error) => {
                let reason = if error.kind() == ErrorKind::NotFound {
                    "no such file".to_owned()
                } else {
                    error.to_string()
                };
                self.tried.push(format!("{shown} ({reason})"));
                return Ok(false);
            }
        };
        if is_encrypted(&text) {
            self.tried.push(format!("{shown} (the key file is encrypted)"));
            self.hint.get_or_insert_with(|| {
                format!("add the encrypted key to the agent: `ssh-add {}`", file.display())
            });
            return Ok(false);
        }
        let (session, user) = (self.session, &self.plan.user);
        let result =
            self.wire.complete(self.deadline, || session.userauth_pubkey_file(user, None, file, None));
        self.outcome(shown, result)
    }

    fn try_agent(&mut self) -> Result<bool, TransportError> {
        let Some(socket) = self.plan.agent.clone() else { return Ok(false) };
        let (agent, keys) = match self.agent_keys(&socket) {
            Ok(found) => found,
            Err(error) => {
                self.tried.push(format!("the agent at `{}` ({})", socket.display(), error.message()));
                return Ok(false);
            }
        };
        let wanted = self.plan.identities_only.then(|| self.public_keys());
        for key in keys {
            if wanted.as_ref().is_some_and(|wanted| !wanted.contains(&STANDARD.encode(key.blob()))) {
                continue;
            }
            let shown = format!("the agent's key `{}`", key.comment());
            let user = &self.plan.user;
            let result = self.wire.complete(self.deadline, || agent.userauth(user, &key));
            if self.outcome(shown, result)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn agent_keys(&self, socket: &Path) -> Result<(ssh2::Agent, Vec<ssh2::PublicKey>), ssh2::Error> {
        let mut agent = self.session.agent()?;
        agent.set_identity_path(socket)?;
        agent.connect()?;
        agent.list_identities()?;
        let keys = agent.identities()?;
        Ok((agent, keys))
    }

    /// The public halves of the configured keys, in base64, for `IdentitiesOnly`.
    fn public_keys(&self) -> Vec<String> {
        let files = self.plan.target.identity.iter().chain(&self.plan.identities);
        let text = |file: &PathBuf| {
            let mut name = file.clone().into_os_string();
            name.push(".pub");
            fs::read_to_string(name).ok()
        };
        files.filter_map(text).filter_map(|text| text.split_whitespace().nth(1).map(str::to_owned)).collect()
    }

    /// Notes what came of one key: true when it was taken, an error when the connection is over.
    fn outcome(&mut self, shown: String, result: Result<(), Trouble>) -> Result<bool, TransportError> {
        const REFUSED: [ssh2::ErrorCode; 2] = [ssh2::ErrorCode::Session(-18), ssh2::ErrorCode::Session(-19)];
        const OVER: [ssh2::ErrorCode; 3] =
            [ssh2::ErrorCode::Session(-7), ssh2::ErrorCode::Session(-13), ssh2::ErrorCode::Session(-43)];
        match result {
            Ok(()) => return Ok(true),
            Err(Trouble::Ssh(error)) if REFUSED.contains(&error.code()) => {
                self.tried.push(format!("{shown} (refused)"))
            }
            Err(Trouble::Ssh(error)) if !OVER.contains(&error.code()) => {
                self.tried.push(format!("{shown} (can't be used: {})", error.message()));
            }
            Err(trouble) => {
                self.tried.push(shown);
                return Err(self.broken(trouble));
            }
        }
        Ok(false)
    }

    /// The machine hung up in the middle, as sshd does after a few wrong keys.
    fn broken(&self, trouble: Trouble) -> TransportError {
        let reason = match trouble {
            Trouble::Ssh(error) => error.message().to_owned(),
            Trouble::Ended(reason) => reason,
            Trouble::TimedOut => format!("no answer within {} s", self.plan.timeout.as_secs()),
        };
        let tried =
            if self.tried.is_empty() { String::new() } else { format!(" after {}", self.tried.join(", ")) };
        let hint = (self.tried.len() > 2)
            .then(|| "too many keys were offered: name the right one with `identity:`".to_owned());
        self.plan.lost(format!("login to {} broke off{tried}: {reason}", self.plan.place()), hint)
    }

    fn refused(self, allowed: &str) -> TransportError {
        let plan = self.plan;
        let tried = if self.tried.is_empty() {
            "no key was found here".to_owned()
        } else {
            format!("tried {}", self.tried.join(", "))
        };
        let hint = self.hint.unwrap_or_else(|| {
            format!("let the machine know your key: `ssh-copy-id -p {} {}@{}`, or name the right one with `identity:`", plan.port, plan.user, plan.host)
        });
        plan.fail(
            format!("login to {} was refused: {tried}; the machine allows {allowed}", plan.place()),
            Some(hint),
        )
    }
}

/// True for a private key that needs a passphrase. libssh2 calls such a file "unsupported".
fn is_encrypted(text: &str) -> bool {
    // Base64 of "openssh-key-v1", the length 4 and the cipher "none".
    const PLAIN: &str = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmU";
    let mut lines = text.lines();
    match lines.next().unwrap_or_default() {
        "-----BEGIN OPENSSH PRIVATE KEY-----" => !lines.next().unwrap_or_default().starts_with(PLAIN),
        "-----BEGIN ENCRYPTED PRIVATE KEY-----" => true,
        _ => text.contains("Proc-Type: 4,ENCRYPTED"),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn tells_encrypted_keys() {
        let folder = tempfile::tempdir().unwrap();
        for (kind, format, passphrase) in [
            ("ed25519", "RFC4716", ""),
            ("ed25519", "RFC4716", "secret"),
            ("ecdsa", "PEM", ""),
            ("ecdsa", "PEM", "secret"),
            ("rsa", "PKCS8", ""),
            ("rsa", "PKCS8", "secret"),
        ] {
            let file = folder.path().join(format!("{kind}{}", passphrase.len()));
            let mut command = Command::new("ssh-keygen");
            command.args(["-q", "-t", kind, "-m", format, "-N", passphrase, "-f"]).arg(&file);
            assert!(command.status().unwrap().success());
            let text = fs::read_to_string(&file).unwrap();
            assert_eq!(is_encrypted(&text), !passphrase.is_empty(), "{kind} {format}");
        }
    }
}
