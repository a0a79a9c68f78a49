//! How a command reaches a place: this machine, an SSH connection, a container. A transport only runs
//! `/bin/sh` with a script and brings back what it printed; what the script does is the business of
//! [`job`]. Read [`Transport`] first.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "processes, sockets, files")]

mod base64;
pub mod docker;
pub mod fake;
pub mod files;
pub mod job;
pub mod local;
pub mod ssh;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

/// The most bytes kept of one stream of a script; what comes after is read and thrown away.
pub const CAPTURE_LIMIT: usize = 64 << 20;

/// How a shell ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// It ended by itself with this code.
    Code(i32),
    /// A signal ended it, named without `SIG`: `KILL`, `TERM`.
    Signal(String),
}

/// What a script printed and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Standard output, at most [`CAPTURE_LIMIT`] bytes.
    pub stdout: Vec<u8>,
    /// Standard error, at most [`CAPTURE_LIMIT`] bytes.
    pub stderr: Vec<u8>,
    /// How `/bin/sh` ended.
    pub exit: Exit,
}

/// The way to a place could not be made or was lost. The place itself may be fine.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct TransportError {
    /// What failed, with the machine and the action: "`lattepanda-a`: connection refused by 192.0.2.1:22".
    pub message: String,
    /// What the user can do about it.
    pub hint: Option<String>,
    /// Whether the way to the place is gone: another try may find it again.
    pub is_lost: bool,
}

impl TransportError {
    /// The message and the hint in one line.
    pub fn with_hint(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}; help: {hint}", self.message),
            None => self.message.clone(),
        }
    }
}

/// Runs shell scripts in one place.
#[async_trait]
pub trait Transport: Send + Sync {
    /// Runs `script` as the program of a `/bin/sh` of its own and returns when that shell has ended.
    ///
    /// The script arrives on the shell's standard input, so no quoting and no login shell touches it;
    /// it must be one compound command that redirects the input of what it starts. After the script
    /// the input stays open until the shell ends or `stop` is cancelled: end of input is the sign for
    /// a job to end (see [`job`]). Dropping the future closes the input too. After `stop` the future
    /// still waits for the shell to end, since only then nothing is left behind.
    ///
    /// # Errors
    /// When the shell can't be started or the connection is lost; never for a non-zero exit.
    async fn run(&self, script: &str, stop: &CancellationToken) -> Result<Output, TransportError>;
}
