//! A job in a kept shell of its place, and what is done when the way to it is lost. Read [`run`] first.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Ended, Job, Stopped, frame, texts};
use crate::transports::shells::{self, Kept};
use crate::transports::{Transport, TransportError};

/// How much later than we the machine itself ends a job.
const LIMIT_MARGIN: Duration = Duration::from_secs(30);
/// How long a job may take to end after it was killed.
const PATIENCE: Duration = Duration::from_secs(15);
/// The limit on the machine of a job that has none here.
const NO_LIMIT: Duration = Duration::from_secs(10 * 365 * 86_400);

pub(super) async fn run(
    transport: &dyn Transport,
    job: &Job,
    timeout: Option<Duration>,
    stop: &CancellationToken,
) -> Result<Ended, TransportError> {
    let base = shells::base(transport, &job.place).await?;
    let running = Running { transport, job, base, is_over: false };
    let limit = timeout.map_or(NO_LIMIT, |timeout| timeout + job.stop.grace + LIMIT_MARGIN);
    running.until_over(limit, timeout, stop).await
}

/// A job that goes on; it is stopped when nobody waits for it any more.
struct Running<'a> {
    transport: &'a dyn Transport,
    job: &'a Job,
    base: String,
    is_over: bool,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.stop();
        }
    }
}

/// What a shell says of a job.
type Asking<'a> = Pin<Box<dyn Future<Output = Result<Vec<u8>, TransportError>> + Send + 'a>>;

impl Running<'_> {
    async fn until_over(
        mut self,
        limit: Duration,
        timeout: Option<Duration>,
        stop: &CancellationToken,
    ) -> Result<Ended, TransportError> {
        let (transport, base) = (self.transport, self.base.clone());
        let mut asking: Asking<'_> = Box::pin(start(transport, self.job.clone(), base.clone(), limit));
        let (mut stopped, mut was_lost) = (None, false);
        let mut due = timeout.map(|timeout| Instant::now() + timeout);
        loop {
            let why = tokio::select! {
                biased;
                answer = &mut asking => match answer {
                    Ok(printed) => {
                        self.is_over = true;
                        return Ok(Ended { stopped, was_lost, ..frame::parse(&printed)? });
                    }
                    Err(error) if error.is_lost && !was_lost => {
                        was_lost = true;
                        asking = Box::pin(find(transport, self.job.clone(), base.clone(), limit, stopped.is_some()));
                        continue;
                    }
                    Err(error) if error.is_lost => {
                        // Its guard ends it when nobody comes back.
                        self.is_over = true;
                        return Err(error);
                    }
                    Err(error) => return Err(error),
                },
                () = stop.cancelled(), if stopped.is_none() => Stopped::Cancelled,
                () = sleep_until(due) => match stopped {
                    None => Stopped::TimedOut,
                    Some(_) => return Err(TransportError::new(
                        "it was stopped and did not end; its processes may still run",
                    )),
                },
            };
            stopped = Some(why);
            due = Some(Instant::now() + self.job.stop.grace + PATIENCE);
            self.stop();
        }
    }

    fn stop(&self) {
        self.transport.shells().tell_guard(&texts::stop(self.job, &self.base));
    }
}

async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// Starts `job` and waits for what becomes of it.
async fn start(
    transport: &dyn Transport,
    job: Job,
    base: String,
    limit: Duration,
) -> Result<Vec<u8>, TransportError> {
    let shell = shells::take(transport).await?;
    answer(transport, shell, &job.id, &base, &texts::job(&job, &base, limit)).await
}

async fn answer(
    transport: &dyn Transport,
    mut shell: Kept,
    id: &str,
    base: &str,
    script: &str,
) -> Result<Vec<u8>, TransportError> {
    let answer = shell.ask(script).await?;
    shell.tell(&texts::forget(id, base));
    transport.shells().give_back(shell);
    Ok(answer.stdout)
}

/// Finds the way to `job` again and waits for what becomes of it. As long as the way comes back, it is
/// looked for; a job that had not begun is begun now, under another name.
async fn find(
    transport: &dyn Transport,
    job: Job,
    base: String,
    limit: Duration,
    is_stopped: bool,
) -> Result<Vec<u8>, TransportError> {
    loop {
        shells::base(transport, &job.place).await?;
        if is_stopped {
            transport.shells().tell_guard(&texts::stop(&job, &base));
        }
        let shell = shells::take(transport).await?;
        let printed = match answer(transport, shell, &job.id, &base, &texts::look(&job.id, &base)).await {
            Err(error) if error.is_lost => continue,
            printed => printed?,
        };
        return match printed.as_slice() {
            b"unclaimed\n" if is_stopped => Err(TransportError::new("stopped before it began")),
            b"unclaimed\n" => {
                let again = Job { id: format!("{}-again", job.id), ..job };
                start(transport, again, base, limit).await
            }
            b"gone\n" => Err(gone()),
            _ => Ok(printed),
        };
    }
}

fn gone() -> TransportError {
    TransportError {
        message: "the connection was lost while it ran, and its process is gone".into(),
        hint: Some("was the machine restarted?".into()),
        is_lost: true,
    }
}
