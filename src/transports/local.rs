//! This machine: `/bin/sh` as a child process, in a process group of its own so that Ctrl-C at the
//! terminal reaches only `runner`; and jobs as children of ours, without a shell in between (`direct`).

mod direct;

use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc::UnboundedSender;

use super::{Chunk, Direct, Exit, Input, Pipe, Program, Shells, Transport, TransportError};

/// The machine that runs `runner`.
#[derive(Default)]
pub struct Local {
    shells: Shells,
    direct: direct::Children,
}

#[async_trait]
impl Transport for Local {
    async fn open(&self, program: Program) -> Result<Pipe, TransportError> {
        let failed = |error: std::io::Error| {
            TransportError::new(format!("can't start `/bin/sh` on this machine: {error}"))
        };
        let words = program.words();
        let mut shell = tokio::process::Command::new(words[0])
            .args(&words[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let (input, mut queue) = Input::queue();
        let (pipe, output) = Pipe::new(input);
        let (stdin, stdout, stderr) = (shell.stdin.take(), shell.stdout.take(), shell.stderr.take());
        tokio::spawn(async move {
            let Some(mut stdin) = stdin else { return };
            while let Some(bytes) = queue.recv().await {
                // A shell that has ended takes nothing; its end is told by the other task.
                if stdin.write_all(&bytes).await.is_err() {
                    break;
                }
            }
        });
        tokio::spawn(async move {
            tokio::join!(pass(stdout, &output, Chunk::Stdout), pass(stderr, &output, Chunk::Stderr));
            let ended = shell.wait().await.map(exit).map_err(|error| {
                TransportError::new(format!("can't wait for `/bin/sh` on this machine: {error}"))
            });
            // Nobody may listen any more.
            let _ = output.send(Chunk::Ended(ended));
        });
        Ok(pipe)
    }

    fn shells(&self) -> &Shells {
        &self.shells
    }

    fn direct(&self) -> Option<&dyn Direct> {
        Some(&self.direct)
    }
}

impl Local {
    /// This machine, for all who use it.
    pub fn shared() -> Arc<Self> {
        Arc::new(Local::default())
    }
}

/// Passes on everything of a pipe. One that breaks ends like one that is closed: what came is there, the
/// exit code tells the rest.
async fn pass(
    pipe: Option<impl AsyncRead + Unpin>,
    output: &UnboundedSender<Chunk>,
    chunk: fn(Vec<u8>) -> Chunk,
) {
    let Some(mut pipe) = pipe else { return };
    let mut buffer = vec![0; 32 << 10];
    while let Ok(count) = pipe.read(&mut buffer).await
        && count > 0
    {
        let _ = output.send(chunk(buffer[..count].to_vec()));
    }
}

/// A shell's exit as the others tell it.
fn exit(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, signal) => Exit::Signal(signal.map(|number| number.to_string()).unwrap_or_default()),
    }
}
