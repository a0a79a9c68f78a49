//! Commands in a running container, by the engine's exec.

use async_trait::async_trait;
use bollard::Docker;
use bollard::container::LogOutput;
use bollard::errors::Error;
use bollard::exec::{CreateExecOptions, StartExecResults};
use futures_util::StreamExt;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;

use super::{Engine, is_lost, told};
use crate::transports::{Chunk, Exit, Input, Pipe, Program, Shells, Transport, TransportError};

/// The inside of one container.
#[derive(Clone)]
pub struct DockerExec {
    docker: Docker,
    machine: String,
    container: String,
    shells: Arc<Shells>,
    reconnect: Duration,
}

impl DockerExec {
    pub(super) fn new(engine: &Engine, container: String) -> Self {
        let Engine { docker, machine, reconnect, .. } = engine.clone();
        DockerExec { docker, machine, container, shells: Arc::default(), reconnect }
    }

    fn failed(&self, action: &str, error: &Error) -> TransportError {
        TransportError { is_lost: is_lost(error), ..self.refused(action, &told(error)) }
    }

    fn refused(&self, action: &str, reason: &str) -> TransportError {
        let container = self.container.get(..12).unwrap_or(&self.container);
        TransportError::new(format!("`{}`: can't {action} in container {container}: {reason}", self.machine))
    }

    async fn exit(&self, exec: &str) -> Result<Exit, TransportError> {
        const ACTION: &str = "see how a command ended";
        let found = self.docker.inspect_exec(exec).await.map_err(|error| self.failed(ACTION, &error))?;
        match (found.running, found.exit_code) {
            (Some(false) | None, Some(code)) => Ok(Exit::Code(code as i32)),
            _ => {
                let why = "the engine closed its output while it was running";
                Err(TransportError { is_lost: true, ..self.refused(ACTION, why) })
            }
        }
    }
}

#[async_trait]
impl Transport for DockerExec {
    async fn open(&self, program: Program) -> Result<Pipe, TransportError> {
        let failed = |error: Error| self.failed("run a command", &error);
        let options = CreateExecOptions {
            attach_stdin: Some(true),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            cmd: Some(program.words().to_vec()),
            ..Default::default()
        };
        let exec = self.docker.create_exec(&self.container, options).await.map_err(failed)?.id;
        let StartExecResults::Attached { mut output, input: mut stdin } =
            self.docker.start_exec(&exec, None).await.map_err(failed)?
        else {
            return Err(self.refused("run a command", "the engine did not attach to it"));
        };
        let (input, mut queue) = Input::queue();
        let (pipe, sender) = Pipe::new(input);
        tokio::spawn(async move {
            while let Some(bytes) = queue.recv().await {
                // A shell that has ended takes nothing; its end is told by the other task.
                if stdin.write_all(&bytes).await.is_err() || stdin.flush().await.is_err() {
                    return;
                }
            }
            let _ = stdin.shutdown().await;
        });
        let place = self.clone();
        tokio::spawn(async move {
            let mut broken = None;
            while let Some(part) = output.next().await {
                let chunk = match part {
                    Ok(part @ LogOutput::StdErr { .. }) => Chunk::Stderr(part.into_bytes().to_vec()),
                    Ok(part) => Chunk::Stdout(part.into_bytes().to_vec()),
                    Err(error) => {
                        broken = Some(place.failed("run a command", &error));
                        break;
                    }
                };
                // Nobody may listen any more.
                let _ = sender.send(chunk);
            }
            let ended = match broken {
                Some(error) => Err(error),
                None => place.exit(&exec).await,
            };
            let _ = sender.send(Chunk::Ended(ended));
        });
        Ok(pipe)
    }

    fn shells(&self) -> &Shells {
        &self.shells
    }

    fn reconnect(&self) -> Duration {
        self.reconnect
    }
}
