//! This machine: `/bin/sh` as a child process, in a process group of its own so that Ctrl-C at the
//! terminal reaches only `runner`.

use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio_util::sync::CancellationToken;

use super::{CAPTURE_LIMIT, Exit, Output, Transport, TransportError};

/// The machine that runs `runner`.
#[derive(Debug, Clone, Copy)]
pub struct Local;

#[async_trait]
impl Transport for Local {
    async fn run(&self, script: &str, stop: &CancellationToken) -> Result<Output, TransportError> {
        let failed = |action: &str, error: std::io::Error| TransportError {
            message: format!("can't {action} `/bin/sh` on this machine: {error}"),
            hint: None,
            is_lost: false,
        };
        let mut shell = tokio::process::Command::new("/bin/sh")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|error| failed("start", error))?;
        let (mut stdin, stdout, stderr) = (shell.stdin.take(), shell.stdout.take(), shell.stderr.take());
        if let Some(input) = &mut stdin {
            input.write_all(script.as_bytes()).await.map_err(|error| failed("write to", error))?;
        }
        let mut ended = std::pin::pin!(async {
            let (stdout, stderr) = tokio::join!(capture(stdout), capture(stderr));
            shell.wait().await.map(|status| Output { stdout, stderr, exit: exit(status) })
        });
        let output = tokio::select! {
            output = &mut ended => output,
            () = stop.cancelled() => {
                drop(stdin);
                ended.await
            }
        };
        output.map_err(|error| failed("wait for", error))
    }
}

/// Everything of a pipe, of which the first [`CAPTURE_LIMIT`] bytes are kept.
async fn capture(pipe: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let mut kept = Vec::new();
    if let Some(mut pipe) = pipe {
        // A pipe that breaks ends like one that is closed: what came is kept, the exit code tells the rest.
        let _ = (&mut pipe).take(CAPTURE_LIMIT as u64).read_to_end(&mut kept).await;
        let _ = tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await;
    }
    kept
}

fn exit(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, signal) => Exit::Signal(signal.map(|number| number.to_string()).unwrap_or_default()),
    }
}
