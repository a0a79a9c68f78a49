//! Scripts and sockets on another machine, over SSH by libssh2. [`SshConnection`] is what the rest of
//! the program sees; below it a `pool` keeps up to a few connections, each owned by one thread
//! (`owner`), since a libssh2 session must never be used by two.
//!
//! How a connection comes to be: `config` asks `ssh -G`, `jump` or TCP makes the way, `login`
//! checks the host key (`host_key`, `known_hosts`) and proves who we are (`auth`).

mod auth;
mod config;
mod forward;
mod host_key;
mod jump;
mod known_hosts;
mod login;
mod owner;
mod pool;
mod shell;
mod tunnel;
mod wire;

use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::{Pipe, Program, Shells, Transport, TransportError};
pub use forward::ForwardedSocket;
use pool::Pool;

/// A machine to log in to, as the experiment file names it. What is `None` comes from the user's SSH
/// configuration, what is given wins over it.
#[derive(Debug, Clone)]
pub struct SshTarget {
    /// The machine's name in messages.
    pub name: String,
    /// Its address or an alias of the SSH configuration.
    pub address: String,
    /// The port, 22 by default.
    pub port: Option<u16>,
    /// The user to log in as.
    pub user: Option<String>,
    /// The private key to try before any other.
    pub identity: Option<PathBuf>,
    /// Machines to go through, as for `ssh -J`: `[user@]host[:port]`, several with commas.
    pub jump: Option<String>,
    /// Where the machine's key must be known.
    pub known_hosts: KnownHosts,
    /// A configuration file in place of `~/.ssh/config`.
    pub config: Option<PathBuf>,
    /// How long a lost connection is tried again.
    pub reconnect: Duration,
}

/// Which host keys are trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KnownHosts {
    /// The files of the SSH configuration, and its `StrictHostKeyChecking`.
    Default,
    /// The same files; a machine none of them knows is written to the first one. A changed key is
    /// refused all the same.
    AcceptNew,
    /// This file only.
    File(PathBuf),
    /// The key that is seen first, as long as the connection lives: for a machine that was made just now, whose key
    /// nobody can know.
    First,
}

/// A machine that was reached over SSH. Cheap to clone; the connections end with the last clone.
#[derive(Clone)]
pub struct SshConnection {
    pool: Arc<Pool>,
    shells: Arc<Shells>,
    reconnect: Duration,
}

impl SshConnection {
    /// Logs in to `target`.
    ///
    /// # Errors
    /// When the machine can't be reached, its key is not known or changed, or no key of ours is taken.
    pub async fn connect(target: &SshTarget) -> Result<SshConnection, TransportError> {
        let wanted = target.clone();
        let plan = tokio::task::spawn_blocking(move || config::resolve(&wanted))
            .await
            .map_err(|error| failure(&target.name, error, None))??;
        Ok(SshConnection {
            pool: Arc::new(Pool::connect(plan).await?),
            shells: Arc::default(),
            reconnect: target.reconnect,
        })
    }

    /// Makes a socket on this machine whose connections arrive at `remote_socket` over there. Only
    /// this user may open it; it is gone with the returned value.
    ///
    /// # Errors
    /// When `remote_socket` can't be opened on the machine, or no socket can be made here.
    pub async fn forward_unix(&self, remote_socket: &str) -> Result<ForwardedSocket, TransportError> {
        ForwardedSocket::open(Arc::clone(&self.pool), remote_socket).await
    }
}

#[async_trait]
impl Transport for SshConnection {
    async fn open(&self, program: Program) -> Result<Pipe, TransportError> {
        self.pool.open(program).await
    }

    fn shells(&self) -> &Shells {
        &self.shells
    }

    fn reconnect(&self) -> Duration {
        self.reconnect
    }
}

/// An error that names the machine.
fn failure(name: &str, message: impl Display, hint: Option<String>) -> TransportError {
    TransportError { message: format!("`{name}`: {message}"), hint, is_lost: false }
}
