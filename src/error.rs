//! What ends a command early, and the exit code of each class. A failed trial is not an error: it is a
//! record.

use crate::diagnostic::Problems;
use crate::record::RecordError;
use crate::report::ReportError;
use crate::transports::TransportError;

/// Why a command could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file is wrong.
    #[error(transparent)]
    File(#[from] Problems),
    /// A run on disk can't be read or written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// No machine can be reached.
    #[error("no host can be used{}", .0.iter().map(|reason| format!("\n  {reason}")).collect::<String>())]
    Hosts(Vec<String>),
    /// The way to a machine.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The command line asks for something that is not there, or that is refused.
    #[error("{message}")]
    Usage {
        /// What is wrong.
        message: String,
        /// What to do, in the imperative.
        help: String,
    },
    /// The program's own surroundings.
    #[error("can't {action}")]
    World {
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        source: std::io::Error,
    },
}

impl From<ReportError> for Error {
    fn from(error: ReportError) -> Self {
        match error {
            ReportError::Record(error) => Error::Record(error),
            ReportError::Template(problems) => Error::File(problems),
        }
    }
}

impl Error {
    /// The exit code of its class.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Usage { .. } => EXIT_USAGE,
            Error::File(_) => EXIT_FILE,
            Error::Record(_) | Error::Hosts(_) | Error::Transport(_) | Error::World { .. } => EXIT_WORLD,
        }
    }

    /// What to do, where something is known to help.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Error::Record(error) => error.hint.as_deref(),
            Error::Transport(error) => error.hint.as_deref(),
            Error::Usage { help, .. } => Some(help),
            _ => None,
        }
    }
}

/// Every trial is ok.
pub const EXIT_OK: u8 = 0;
/// A trial failed.
pub const EXIT_FAILED_TRIALS: u8 = 1;
/// What was made of a run is not what its records give.
pub const EXIT_DIFFERS: u8 = 1;
/// The command line is wrong; clap ends with the same.
pub const EXIT_USAGE: u8 = 2;
/// The file is wrong.
pub const EXIT_FILE: u8 = 3;
/// The world is wrong: a host, an engine, a disk.
pub const EXIT_WORLD: u8 = 4;
/// A comparison found what it was to fail on.
pub const EXIT_WORSE: u8 = 5;
/// Interrupted.
pub const EXIT_INTERRUPTED: u8 = 130;
