//! A job in a kept shell of its place, and what is done when the way to it is lost. Read [`run`] first.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Ended, Job, Stopped, frame, texts};
use crate::transports::shells;
use crate::transports::{Transport, TransportError};

/// How much later than we the machine itself ends a job.
const LIMIT_MARGIN: Duration = Duration::from_secs(30);
/// How long a job may take to end after it was killed.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long a connection may be silent before it is certain to be noticed.
const SILENCE: Duration = Duration::from_secs(120);
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);
/// The limit on the machine of a job that has none here.
const NO_LIMIT: Duration = Duration::from_secs(10 * 365 * 86_400);

pub(super) async fn run(
    transport: &dyn Transport,
    job: &Job,
    timeout: Option<Duration>,
    stop: &CancellationToken,
) -> Result<Ended, TransportError> {
    let base = tokio::select! {
        biased;
        base = shells::base(transport, &job.place) => base?,
        () = stop.cancelled() => return Err(TransportError::new("it was stopped before it began")),
    };
    let (name, job) = (job.id.clone(), job.clone());
    Running { transport, job, base, timeout, name, tries: 1, is_over: false }.until_over(stop).await
}

/// A job that goes on; it is stopped when nobody waits for it any more.
struct Running<'a> {
    transport: &'a dyn Transport,
    /// The job, under the name it has on its machine now.
    job: Job,
    base: String,
    timeout: Option<Duration>,
    /// The name it had first.
    name: String,
    /// How often it was sent.
    tries: u32,
    is_over: bool,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.stop();
        }
    }
}

/// What is heard of a job.
enum News {
    /// What a shell says of it.
    Told(Vec<u8>),
    /// The way is found again; the folder that its place has now.
    Back(String),
}

type Asking<'a> = Pin<Box<dyn Future<Output = Result<News, TransportError>> + Send + 'a>>;

impl<'a> Running<'a> {
    async fn until_over(mut self, stop: &CancellationToken) -> Result<Ended, TransportError> {
        let mut asking = self.start();
        let (mut stopped, mut was_lost, mut is_away, mut is_silent) = (None, false, false, false);
        let mut due = self.timeout.map(|timeout| Instant::now() + timeout);
        loop {
            let why = tokio::select! {
                biased;
                news = &mut asking => {
                    asking = match news {
                        Ok(News::Told(told)) if told == texts::UNCLAIMED && stopped.is_none() => {
                            due = self.timeout.map(|timeout| Instant::now() + timeout);
                            self.start_again()
                        }
                        Ok(News::Told(told)) if told == texts::UNCLAIMED => {
                            let error = TransportError::new("it was stopped before it began");
                            return Err(TransportError { is_lost: stopped == Some(Stopped::TimedOut), ..error });
                        }
                        Ok(News::Told(told)) if told == texts::GONE => return Err(gone()),
                        Ok(News::Told(told)) => return self.ended(&told, stopped, was_lost),
                        Ok(News::Back(base)) if base != self.base => return Err(gone()),
                        Ok(News::Back(_)) => {
                            is_away = false;
                            if stopped.is_some() {
                                // The guard that was told may have been out of reach already.
                                due = Some(self.stop());
                            }
                            self.look()
                        }
                        Err(error) if error.is_lost && !is_away => {
                            (was_lost, is_away) = (true, true);
                            self.find()
                        }
                        Err(error) => return Err(error),
                    };
                    continue;
                }
                () = stop.cancelled(), if stopped.is_none() => Stopped::Cancelled,
                // What has ended in time meanwhile lies there to be collected.
                () = sleep_until(due), if !is_away || stopped == Some(Stopped::Cancelled) => match stopped {
                    None => Stopped::TimedOut,
                    // The network may have swallowed the word, or the answer.
                    Some(_) if !is_silent && !is_away => {
                        is_silent = true;
                        due = Some(Instant::now() + SILENCE);
                        continue;
                    }
                    Some(why) => {
                        let error = TransportError::new("it was stopped and did not end; its processes may still run");
                        return Err(TransportError { is_lost: why == Stopped::TimedOut, ..error });
                    }
                },
            };
            stopped = Some(why);
            due = Some(self.stop());
        }
    }

    /// Reads what a shell told of the end. Its machine says whether it was stopped: one that ended before the
    /// word reached it was not.
    fn ended(
        &mut self,
        told: &[u8],
        stopped: Option<Stopped>,
        was_lost: bool,
    ) -> Result<Ended, TransportError> {
        self.is_over = true;
        let ended = frame::parse(told)?;
        let is_late = self.timeout.is_some_and(|timeout| ended.elapsed_s > timeout.as_secs_f64());
        let stopped = match ended.stopped {
            Some(by_machine) => Some(stopped.unwrap_or(by_machine)),
            // While the way was lost nobody could stop it in time.
            None => (was_lost && is_late).then_some(Stopped::TimedOut),
        };
        Ok(Ended { stopped, was_lost, ..ended })
    }

    /// Ends it, now or when the way to it is found again. Returns when it should have ended.
    fn stop(&self) -> Instant {
        self.transport.shells().tell_guard(&texts::stop(&self.job, &self.base));
        Instant::now() + self.job.stop.grace + PATIENCE
    }

    /// Starts it and waits for what becomes of it.
    fn start(&self) -> Asking<'a> {
        let grace = self.job.stop.grace;
        let limit = self.timeout.map_or(NO_LIMIT, |timeout| timeout + grace + LIMIT_MARGIN);
        self.ask(texts::job(&self.job, &self.base, limit))
    }

    /// The same once it is certain that it has not begun. Under another name: the shell that was lost may
    /// still come to its script, and then must not begin it.
    fn start_again(&mut self) -> Asking<'a> {
        self.tries += 1;
        self.job.id = texts::again(&self.name, self.tries);
        self.start()
    }

    /// Looks what has become of it, and waits for it.
    fn look(&self) -> Asking<'a> {
        self.ask(texts::look(&self.job.id, &self.base))
    }

    fn ask(&self, script: String) -> Asking<'a> {
        let transport = self.transport;
        let files = texts::files(&self.job.id, &self.base);
        Box::pin(async move {
            let mut shell = shells::take(transport).await?;
            let told = shell.ask(&script).await?.stdout;
            if told != texts::UNCLAIMED {
                shell.forget(files);
            }
            transport.shells().give_back(shell);
            Ok(News::Told(told))
        })
    }

    /// Looks for the way to it.
    fn find(&self) -> Asking<'a> {
        let (transport, place) = (self.transport, self.job.place.clone());
        Box::pin(async move {
            loop {
                match shells::base(transport, &place).await {
                    // A way that is lost again while it is found is looked for again.
                    Err(error) if error.is_lost && transport.shells().may_wait(transport) => {
                        tokio::time::sleep(BETWEEN_LOOKS).await;
                    }
                    base => return base.map(News::Back),
                }
            }
        })
    }
}

async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

fn gone() -> TransportError {
    TransportError {
        message: "the connection was lost while it ran, and its process is gone".into(),
        hint: Some("was the machine restarted?".into()),
        is_lost: true,
    }
}
