//! Both ends of a running `/bin/sh`: what is sent to it, and what comes back piece by piece. Every
//! transport makes one; what is done with it is the same for all. Read [`Pipe`] first.

use std::time::Duration;

use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

use super::{CAPTURE_LIMIT, Exit, Output, TransportError};

/// How long a shell may be silent after its input was closed, and not end.
pub(super) const PATIENCE: Duration = Duration::from_secs(15);

/// What comes back from a shell.
#[derive(Debug, Clone)]
pub enum Chunk {
    /// A piece of its standard output.
    Stdout(Vec<u8>),
    /// A piece of its standard error.
    Stderr(Vec<u8>),
    /// It has ended, or the way to it is lost. Nothing comes after it.
    Ended(Result<Exit, TransportError>),
}

/// What a transport does with input: bytes to be sent, or `None` for its end.
type Send = dyn Fn(Option<Vec<u8>>) + std::marker::Send + Sync;

/// The input of a shell; it ends when this is dropped.
pub struct Input(Box<Send>);

impl Input {
    /// Input that goes where `send` takes it. It may be called after the shell has ended.
    pub fn new(send: impl Fn(Option<Vec<u8>>) + std::marker::Send + Sync + 'static) -> Self {
        Input(Box::new(send))
    }

    /// Input that somebody else takes from a queue, whose end is the end of the input.
    pub fn queue() -> (Self, UnboundedReceiver<Vec<u8>>) {
        let (sender, receiver) = unbounded_channel();
        let sender = std::sync::Mutex::new(Some(sender));
        let send = move |bytes: Option<Vec<u8>>| {
            let Ok(mut sender) = sender.lock() else { return };
            match (bytes, sender.as_ref()) {
                // Nobody takes it any more when the shell has ended.
                (Some(bytes), Some(open)) => drop(open.send(bytes)),
                (None, _) => *sender = None,
                (Some(_), None) => {}
            }
        };
        (Input::new(send), receiver)
    }

    /// Queues `text`; it never waits.
    pub fn send(&self, text: &str) {
        (self.0)(Some(text.as_bytes().to_vec()));
    }

    /// Ends the input.
    pub fn end(&self) {
        (self.0)(None);
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        self.end();
    }
}

/// A running `/bin/sh`.
pub struct Pipe {
    /// Its standard input.
    pub input: Input,
    output: UnboundedReceiver<Chunk>,
}

impl Pipe {
    /// A pipe and where its output is to be put.
    pub fn new(input: Input) -> (Self, UnboundedSender<Chunk>) {
        let (sender, output) = unbounded_channel();
        (Pipe { input, output }, sender)
    }

    /// The next piece of output.
    pub async fn next(&mut self) -> Chunk {
        let lost = || TransportError { is_lost: true, ..TransportError::new("the connection was given up") };
        self.output.recv().await.unwrap_or_else(|| Chunk::Ended(Err(lost())))
    }

    /// Whether the shell has ended already. To be asked while it has nothing to say.
    pub fn is_over(&self) -> bool {
        !self.output.is_empty() || self.output.is_closed()
    }

    /// The same of a shell to whose words nobody listens.
    pub fn has_ended(&mut self) -> bool {
        loop {
            match self.output.try_recv() {
                Ok(Chunk::Stdout(_) | Chunk::Stderr(_)) => {}
                Ok(Chunk::Ended(_)) => {
                    self.output.close();
                    return true;
                }
                Err(TryRecvError::Empty) => return self.output.is_closed(),
                Err(TryRecvError::Disconnected) => return true,
            }
        }
    }

    /// Lets it run `script` and end; see [`super::Transport::run`].
    pub(super) async fn run(
        mut self,
        script: &str,
        stop: &CancellationToken,
    ) -> Result<Output, TransportError> {
        // The shell would read on after the script: `exit` ends it, with the script's own status.
        self.input.send(&format!("{script}\nexit\n"));
        let mut output = Output { stdout: Vec::new(), stderr: Vec::new(), exit: Exit::Code(0) };
        let mut is_stopped = false;
        loop {
            let chunk = tokio::select! {
                biased;
                chunk = self.next() => chunk,
                () = stop.cancelled(), if !is_stopped => {
                    self.input.end();
                    is_stopped = true;
                    continue;
                }
                () = tokio::time::sleep(PATIENCE), if is_stopped => return Err(impatient()),
            };
            match chunk {
                Chunk::Stdout(bytes) => keep(&mut output.stdout, &bytes, CAPTURE_LIMIT),
                Chunk::Stderr(bytes) => keep(&mut output.stderr, &bytes, CAPTURE_LIMIT),
                Chunk::Ended(exit) => return exit.map(|exit| Output { exit, ..output }),
            }
        }
    }
}

fn impatient() -> TransportError {
    let message = format!(
        "the script was stopped and did not end, silent for {} s; its processes may still run",
        PATIENCE.as_secs()
    );
    TransportError { hint: Some("log in and look with `ps`".into()), ..TransportError::new(message) }
}

/// Adds `bytes` to what is kept, up to `limit`.
pub(super) fn keep(kept: &mut Vec<u8>, bytes: &[u8], limit: usize) {
    let room = limit.saturating_sub(kept.len());
    kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_no_more_than_the_limit() {
        let mut kept = vec![0; 6];
        keep(&mut kept, b"abcdef", 8);
        keep(&mut kept, b"ghi", 8);
        assert_eq!(kept, b"\0\0\0\0\0\0ab");
    }
}
