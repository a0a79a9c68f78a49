//! Commands in a running container, by the engine's exec.

use std::time::Duration;

use async_trait::async_trait;
use bollard::Docker;
use bollard::container::LogOutput;
use bollard::errors::Error;
use bollard::exec::{CreateExecOptions, StartExecResults};
use futures_util::{Stream, StreamExt};
use tokio::io::AsyncWriteExt;
use tokio_util::sync::CancellationToken;

use super::told;
use crate::transports::{CAPTURE_LIMIT, Exit, Output, Transport, TransportError};

/// How long a shell may be silent after its input was closed, and not end.
const PATIENCE: Duration = Duration::from_secs(15);

/// The inside of one container.
#[derive(Clone)]
pub struct DockerExec {
    docker: Docker,
    machine: String,
    container: String,
}

impl DockerExec {
    pub(super) fn new(docker: Docker, machine: String, container: String) -> Self {
        DockerExec { docker, machine, container }
    }

    fn failed(&self, action: &str, reason: &str) -> TransportError {
        let container = self.container.get(..12).unwrap_or(&self.container);
        TransportError {
            message: format!("`{}`: can't {action} in container {container}: {reason}", self.machine),
            hint: None,
            is_lost: false,
        }
    }

    async fn exit(&self, exec: &str) -> Result<Exit, TransportError> {
        let found = self
            .docker
            .inspect_exec(exec)
            .await
            .map_err(|error| self.failed("see how a command ended", &told(&error)))?;
        match (found.running, found.exit_code) {
            (Some(false) | None, Some(code)) => Ok(Exit::Code(code as i32)),
            _ => {
                Err(self
                    .failed("see how a command ended", "the engine closed its output while it was running"))
            }
        }
    }
}

#[async_trait]
impl Transport for DockerExec {
    async fn run(&self, script: &str, stop: &CancellationToken) -> Result<Output, TransportError> {
        let failed = |error: Error| self.failed("run a command", &told(&error));
        let options = CreateExecOptions {
            attach_stdin: Some(true),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            cmd: Some(vec!["/bin/sh"]),
            ..Default::default()
        };
        let exec = self.docker.create_exec(&self.container, options).await.map_err(failed)?.id;
        let StartExecResults::Attached { output, mut input } =
            self.docker.start_exec(&exec, None).await.map_err(failed)?
        else {
            return Err(self.failed("run a command", "the engine did not attach to it"));
        };
        let broken = |error: std::io::Error| self.failed("write to a shell", &error.to_string());
        input.write_all(script.as_bytes()).await.map_err(broken)?;
        input.flush().await.map_err(broken)?;
        let (mut output, mut captured) = (output, Captured::default());
        tokio::select! {
            rest = captured.take_all(&mut output) => rest.map_err(failed)?,
            () = stop.cancelled() => {
                input.shutdown().await.map_err(broken)?;
                let silent = |_| self.failed("stop a command", "it goes on after its input was closed");
                while let Some(part) =
                    tokio::time::timeout(PATIENCE, output.next()).await.map_err(silent)?
                {
                    captured.push(part.map_err(failed)?);
                }
            }
        }
        let Captured { stdout, stderr } = captured;
        Ok(Output { stdout, stderr, exit: self.exit(&exec).await? })
    }
}

/// What is kept of both streams.
#[derive(Default)]
struct Captured {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Captured {
    async fn take_all(
        &mut self,
        output: &mut (impl Stream<Item = Result<LogOutput, Error>> + Unpin),
    ) -> Result<(), Error> {
        while let Some(part) = output.next().await {
            self.push(part?);
        }
        Ok(())
    }

    fn push(&mut self, part: LogOutput) {
        let kept = if matches!(part, LogOutput::StdErr { .. }) { &mut self.stderr } else { &mut self.stdout };
        let bytes = part.into_bytes();
        kept.extend_from_slice(&bytes[..bytes.len().min(CAPTURE_LIMIT.saturating_sub(kept.len()))]);
    }
}
