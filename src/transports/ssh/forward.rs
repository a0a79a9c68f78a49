//! A local socket that leads to a socket on the machine. Each connection to it gets a channel of its
//! own; programs that speak over Unix sockets (bollard) need to know nothing of SSH.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tempfile::TempDir;
use tokio::net::UnixListener;
use tokio::task::JoinHandle;

use super::pool::Pool;
use crate::transports::TransportError;

/// A forwarded socket, gone when dropped. Connections that are open then stay until closed.
pub struct ForwardedSocket {
    path: PathBuf,
    problem: Arc<Mutex<Option<TransportError>>>,
    accepting: JoinHandle<()>,
    _folder: TempDir,
}

impl ForwardedSocket {
    pub(super) async fn open(
        pool: Arc<Pool>,
        remote_socket: &str,
    ) -> Result<ForwardedSocket, TransportError> {
        let local = |error: std::io::Error| pool.fail(format!("no local socket can be made: {error}"));
        // A first connection, closed at once: better an error here than one at every later use.
        let (_, probe) = UnixStream::pair().map_err(local)?;
        probe.set_nonblocking(true).map_err(local)?;
        pool.forward(remote_socket, probe).await?;

        let folder = tempfile::Builder::new()
            .prefix("runner-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir()
            .map_err(local)?;
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).map_err(local)?;
        let problem = Arc::new(Mutex::new(None));
        let accepting = tokio::spawn(accept(listener, pool, remote_socket.to_owned(), Arc::clone(&problem)));
        Ok(ForwardedSocket { path, problem, accepting, _folder: folder })
    }

    /// Where to connect to.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Why the last connection that failed was closed without a word; the one who connected sees only
    /// that.
    #[must_use]
    pub fn problem(&self) -> Option<TransportError> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for ForwardedSocket {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(
    listener: UnixListener,
    pool: Arc<Pool>,
    remote_socket: String,
    problem: Arc<Mutex<Option<TransportError>>>,
) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of file descriptors, say: that may pass.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let (pool, remote_socket, problem) = (Arc::clone(&pool), remote_socket.clone(), Arc::clone(&problem));
        tokio::spawn(async move {
            let outcome = match stream.into_std() {
                Ok(stream) => pool.forward(&remote_socket, stream).await,
                Err(error) => Err(pool.fail(error)),
            };
            if let Err(error) = outcome {
                *problem.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
        });
    }
}
