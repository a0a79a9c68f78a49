//! A place that answers as it was told, for tests of everything above transports. It understands the
//! wrapper of [`super::job`]: commands take their time on tokio's clock and end when they are stopped.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use super::job::Command;
use super::{Exit, Output, Transport, TransportError};

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
}

type Answer = dyn Fn(&str) -> Reply + Send + Sync;

/// Answers each script by a function: a command of the experiment as it was written (words are
/// joined, quoted where need be), a script of our own
/// (which only prepares or looks) whole.
#[derive(Clone)]
pub struct Fake(Arc<Answer>);

impl Fake {
    /// A place where `answer` says what a command does. It is asked when the command starts.
    pub fn new(answer: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        Fake(Arc::new(answer))
    }
}

#[async_trait]
impl Transport for Fake {
    async fn run(&self, script: &str, stop: &CancellationToken) -> Result<Output, TransportError> {
        let Some(id) = between(script, "RUNNER_JOB=:", ":") else {
            let marker = between(script, "echo ", ";").unwrap_or_default();
            let Reply { stdout, stderr, exit_code, .. } = (self.0)(script);
            let stdout = format!("{marker}\n{stdout}{marker} {exit_code}\n").into_bytes();
            return Ok(Output { stdout, stderr: stderr.into_bytes(), exit: Exit::Code(0) });
        };
        let command = command(script);
        let Reply { stdout, stderr, exit_code, takes } = (self.0)(&command);
        let start = tokio::time::Instant::now();
        let exit_code = tokio::select! {
            () = tokio::time::sleep(takes) => exit_code,
            () = stop.cancelled() => 143,
        };
        let seconds = start.elapsed().as_secs_f64();
        let (out, err) = (stdout.len(), stderr.len());
        let frame =
            format!("{id} ended {exit_code} 0.000 {seconds:.9} 0.00 {seconds} {out} {err}\n{stdout}{stderr}");
        Ok(Output { stdout: frame.into_bytes(), stderr: Vec::new(), exit: Exit::Code(0) })
    }
}

/// The command as it was written: the line for a shell, or the words.
fn command(script: &str) -> String {
    let arguments = between(script, "\nset -- ", "\nt1=$(date +%s.%N)\n").unwrap_or_default();
    let mut words = shell_words::split(&arguments).unwrap_or_default();
    match words.as_slice() {
        [_, .., dash_c, _] if dash_c == "-c" => words.pop().unwrap_or_default(),
        _ => Command::Words(words).to_string(),
    }
}

fn between(text: &str, before: &str, after: &str) -> Option<String> {
    let (_, rest) = text.split_once(before)?;
    rest.split_once(after).map(|(found, _)| found.to_owned())
}
