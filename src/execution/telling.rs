//! What is said of stages and commands while they go on. A measured command is announced before it starts,
//! and whoever listens has handled that by then: while it runs, its machine is left alone. Read [`Telling`].

use tokio::time::Instant;

use super::Run;
use crate::event::{Captured, CommandEnd, CommandStart, Event, Stage};
use crate::transports::TransportError;
use crate::transports::job::{Command, Ended, Stopped, Stream};

/// Says that the trial on `host` comes to `stage`, and lets the listener handle it.
pub(super) async fn stage(run: &Run, host: &str, stage: Stage) {
    run.say(Event::StageStarted { host: host.to_owned(), stage });
    tokio::task::yield_now().await;
}

/// A command that was announced; nothing where nobody wants to know.
pub(super) struct Telling(Option<(CommandStart, Instant)>);

impl Telling {
    /// Announces `command`, and lets the listener handle it.
    pub(super) async fn start(run: &Run, host: &str, stage: Stage, command: &Command) -> Self {
        if !run.tells_commands {
            return Telling(None);
        }
        let start = CommandStart { host: host.to_owned(), stage, command: command.to_string() };
        run.say(Event::CommandStarted(Box::new(start.clone())));
        tokio::task::yield_now().await;
        Telling(Some((start, Instant::now())))
    }

    /// Says how it ended.
    pub(super) fn end(self, run: &Run, ended: &Result<Ended, TransportError>) {
        let Some((start, clock)) = self.0 else { return };
        let captured = |stream: &Stream| Captured { bytes: stream.bytes.clone(), size: stream.size };
        let end = match ended {
            Ok(ended) => CommandEnd {
                start,
                exit_code: Some(ended.exit_code),
                reason: ended.stopped.map(|stopped| reason(stopped).to_owned()),
                elapsed_s: ended.elapsed_s,
                stdout: captured(&ended.stdout),
                stderr: captured(&ended.stderr),
            },
            Err(error) => CommandEnd {
                start,
                exit_code: None,
                reason: Some(error.message.clone()),
                elapsed_s: clock.elapsed().as_secs_f64(),
                stdout: Captured::default(),
                stderr: Captured::default(),
            },
        };
        run.say(Event::CommandEnded(Box::new(end)));
    }
}

fn reason(stopped: Stopped) -> &'static str {
    match stopped {
        Stopped::TimedOut => "ended after its timeout",
        Stopped::Cancelled => "stopped",
    }
}
