//! How a command reaches a place: this machine, an SSH connection, a container. A transport only starts
//! `/bin/sh` and carries what goes in and comes out; what the scripts do is the business of [`job`]. Read
//! [`Transport`] first.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "processes, sockets, files")]

pub mod docker;
pub mod fake;
pub mod files;
pub mod job;
pub mod local;
mod mark;
mod pipe;
mod shells;
pub mod ssh;

use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use self::job::{Ended, Job};

pub use pipe::{Chunk, Input, Pipe};
pub use shells::{DEFAULT_RECONNECT, Shells, hurry};

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
    /// An error of a place that can be reached.
    pub fn new(message: impl Into<String>) -> Self {
        TransportError { message: message.into(), hint: None, is_lost: false }
    }

    /// The message and the hint in one line.
    pub fn with_hint(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}; help: {hint}", self.message),
            None => self.message.clone(),
        }
    }
}

/// The shell that is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// `/bin/sh`.
    Sh,
    /// bash, which has a clock and process groups of its own; `/bin/sh` where it is not there.
    Kept,
}

impl Program {
    /// The program and its arguments.
    pub fn words(self) -> &'static [&'static str] {
        match self {
            Program::Sh => &["/bin/sh"],
            Program::Kept => {
                &["/bin/sh", "-c", "command -v bash >/dev/null 2>&1 && exec bash --norc; exec /bin/sh"]
            }
        }
    }
}

/// Runs shells in one place.
#[async_trait]
pub trait Transport: Send + Sync {
    /// Starts a shell that reads its program from what is sent to it: no quoting and no login shell
    /// stands in between.
    ///
    /// # Errors
    /// When it can't be started.
    async fn open(&self, program: Program) -> Result<Pipe, TransportError>;

    /// How long the way is looked for when it is lost.
    fn reconnect(&self) -> Duration {
        shells::DEFAULT_RECONNECT
    }

    /// The shells of this place that are kept for the next script.
    fn shells(&self) -> &Shells;

    /// Whoever executes a job here without a shell of ours.
    fn direct(&self) -> Option<&dyn Direct> {
        None
    }

    /// Runs `script` as the program of a `/bin/sh` of its own and returns when that shell has ended.
    ///
    /// The script must be one compound command that redirects the input of what it starts. After it the
    /// input stays open until the shell ends or `stop` is cancelled; dropping the future closes it too.
    /// After `stop` the future still waits for the shell to end, since only then nothing is left behind.
    ///
    /// # Errors
    /// When the shell can't be started or the connection is lost; never for a non-zero exit.
    async fn run(&self, script: &str, stop: &CancellationToken) -> Result<Output, TransportError> {
        let pipe = tokio::select! {
            biased;
            pipe = self.open(Program::Sh) => pipe?,
            () = stop.cancelled() => return Err(TransportError::new("stopped before the script began")),
        };
        pipe.run(script, stop).await
    }
}

/// Executes jobs as its own children.
#[async_trait]
pub trait Direct: Send + Sync {
    /// Whether it can execute `job`.
    fn can(&self, job: &Job) -> bool;

    /// Runs `job` until it has ended; see [`job::run`].
    ///
    /// # Errors
    /// When no process can be made.
    async fn run(
        &self,
        job: &Job,
        timeout: Option<Duration>,
        stop: &CancellationToken,
    ) -> Result<Ended, TransportError>;
}
