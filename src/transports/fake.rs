//! A place that answers as it was told, for tests of everything above transports. It understands the
//! wrapper of [`super::job`]: commands take their time on tokio's clock and end when they are stopped.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

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

/// Answers each command by a function, and remembers all of them in order.
#[derive(Clone)]
pub struct Fake {
    answer: Arc<Answer>,
    commands: Arc<Mutex<Vec<String>>>,
}

impl Fake {
    /// A place where `answer` says what a command does. Scripts of our own, which only prepare or look,
    /// are asked for too, and should get the default reply.
    pub fn new(answer: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        Fake { answer: Arc::new(answer), commands: Arc::default() }
    }

    /// Every command that was run under the wrapper, in the order of their starts.
    pub fn commands(&self) -> Vec<String> {
        self.commands.lock().map(|commands| commands.clone()).unwrap_or_default()
    }
}

#[async_trait]
impl Transport for Fake {
    async fn run(&self, script: &str, stop: &CancellationToken) -> Result<Output, TransportError> {
        let done = |stdout: String| {
            Ok(Output { stdout: stdout.into_bytes(), stderr: Vec::new(), exit: Exit::Code(0) })
        };
        let Some(id) = between(script, "RUNNER_JOB=:", ":") else {
            let marker = between(script, "echo ", ";").unwrap_or_default();
            let reply = (self.answer)(script);
            return done(format!("{marker}\n{}{marker} {}\n", reply.stdout, reply.exit_code));
        };
        let command =
            between(script, " sh -c '", "' >\"$d/stdout\"").unwrap_or_default().replace(r"'\''", "'");
        if let Ok(mut commands) = self.commands.lock() {
            commands.push(command.clone());
        }
        let reply = (self.answer)(&command);
        let start = tokio::time::Instant::now();
        let exit_code = tokio::select! {
            () = tokio::time::sleep(reply.takes) => reply.exit_code,
            () = stop.cancelled() => 143,
        };
        let seconds = start.elapsed().as_secs_f64();
        let (out, err) = (reply.stdout.len(), reply.stderr.len());
        done(format!(
            "{id} ended {exit_code} 0.000 {seconds:.9} 0.00 {seconds} {out} {err}\n{}{}",
            reply.stdout, reply.stderr
        ))
    }
}

fn between(text: &str, before: &str, after: &str) -> Option<String> {
    let (_, rest) = text.split_once(before)?;
    rest.split_once(after).map(|(found, _)| found.to_owned())
}
