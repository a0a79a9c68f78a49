//! A place that answers as it was told, for tests of everything above transports. Jobs take their time on
//! tokio's clock and end when they are stopped.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use super::job::{Ended, Job, Probes, Stopped, Stream};
use super::{Chunk, Direct, Exit, Input, Pipe, Program, Shells, Transport, TransportError};

/// What a command does.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    /// What it prints on standard output.
    pub stdout: String,
    /// What it prints on standard error.
    pub stderr: String,
    /// How it ends.
    pub exit_code: i32,
    /// How long it takes.
    pub takes: Duration,
    /// What a command of the experiment finds of its probes.
    pub probes: Probes,
}

type Answer = dyn Fn(&str) -> Reply + Send + Sync;

/// Answers each script by a function: a command of the experiment as it was written (words are
/// joined, quoted where need be), a script of our own
/// (which only prepares or looks) whole.
#[derive(Clone)]
pub struct Fake {
    answer: Arc<Answer>,
    shells: Arc<Shells>,
}

impl Fake {
    /// A place where `answer` says what a command does. It is asked when the command starts.
    pub fn new(answer: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        Fake { answer: Arc::new(answer), shells: Arc::default() }
    }
}

#[async_trait]
impl Transport for Fake {
    async fn open(&self, _: Program) -> Result<Pipe, TransportError> {
        let (input, mut queue) = Input::queue();
        let (pipe, output) = Pipe::new(input);
        let answer = Arc::clone(&self.answer);
        tokio::spawn(async move {
            while let Some(script) = queue.recv().await {
                let script = String::from_utf8_lossy(&script).into_owned();
                let Some(mark) = between(&script, "</dev/null; printf '\\n", " %s\\n'") else { continue };
                let Reply { stdout, stderr, exit_code, .. } = answer(&script);
                let _ = output.send(Chunk::Stderr(format!("{stderr}\n{mark}\n").into_bytes()));
                let _ = output.send(Chunk::Stdout(format!("{stdout}\n{mark} {exit_code}\n").into_bytes()));
            }
            let _ = output.send(Chunk::Ended(Ok(Exit::Code(0))));
        });
        Ok(pipe)
    }

    fn shells(&self) -> &Shells {
        &self.shells
    }

    fn direct(&self) -> Option<&dyn Direct> {
        Some(self)
    }
}

#[async_trait]
impl Direct for Fake {
    fn can(&self, _: &Job) -> bool {
        true
    }

    async fn run(
        &self,
        job: &Job,
        timeout: Option<Duration>,
        stop: &CancellationToken,
    ) -> Result<Ended, TransportError> {
        let Reply { stdout, stderr, exit_code, takes, probes } = (self.answer)(&job.command.to_string());
        let start = tokio::time::Instant::now();
        let (exit_code, stopped) = tokio::select! {
            biased;
            () = tokio::time::sleep(takes) => (exit_code, None),
            () = stop.cancelled() => (143, Some(Stopped::Cancelled)),
            () = tokio::time::sleep(timeout.unwrap_or(takes * 2)) => (143, Some(Stopped::TimedOut)),
        };
        let stream = |text: String| Stream { size: text.len() as u64, bytes: text.into_bytes() };
        Ok(Ended {
            exit_code,
            elapsed_s: start.elapsed().as_secs_f64(),
            is_coarse: false,
            stdout: stream(stdout),
            stderr: stream(stderr),
            stopped,
            probes,
            was_lost: false,
        })
    }
}

fn between(text: &str, before: &str, after: &str) -> Option<String> {
    let (_, rest) = text.split_once(before)?;
    rest.split_once(after).map(|(found, _)| found.to_owned())
}
