//! What becomes of each event: it is shown, and what must last is written.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;

use super::machines::Hosted;
use crate::event::{Event, Facts};
use crate::execution::{Run, timestamp};
use crate::monitor::{Moment, Pace};
use crate::plan::Plan;
use crate::record::{RecordError, RunWriter};
use crate::ui::progress::Progress;

/// The writer and the progress of one run.
pub(super) struct Recorder {
    writer: RunWriter,
    progress: Progress,
    plan: Plan,
    facts: BTreeMap<String, Facts>,
    stopped: Option<String>,
    /// When `status.json` is written again.
    pace: Pace,
    /// Whether it lags behind.
    is_stale: bool,
}

/// What became of a run.
pub(super) struct Recorded {
    pub directory: PathBuf,
    /// How many trials are not ok by their last attempt.
    pub failed: usize,
    /// Whether the run itself ended it before its last trial.
    pub is_stopped: bool,
}

/// Shows what happens before there is anything to write, and keeps it; it never returns by itself, since
/// whoever awaits it holds a sender.
pub(super) async fn watch(
    progress: &mut Progress,
    events: &mut UnboundedReceiver<Event>,
    early: &mut Vec<Event>,
) {
    loop {
        let wait = progress.wait(Timestamp::now());
        tokio::select! {
            event = events.recv() => {
                let Some(event) = event else { return };
                progress.show(&event, Timestamp::now());
                early.push(event);
            }
            () = after(wait) => progress.tick(Timestamp::now()),
        }
    }
}

async fn after(wait: Option<Duration>) {
    match wait {
        Some(wait) => tokio::time::sleep(wait).await,
        None => std::future::pending().await,
    }
}

impl Recorder {
    pub(super) fn new(writer: RunWriter, progress: Progress, plan: &Plan) -> Self {
        let (plan, facts, pace) = (plan.clone(), BTreeMap::new(), Pace::default());
        Recorder { writer, progress, plan, facts, stopped: None, pace, is_stale: true }
    }

    /// Executes `run` and gives its hosts back while its events are recorded; `early` are those that were shown before. When nothing
    /// more can be written, the run is stopped: measuring on would be for nothing. `asked` says that somebody asked
    /// for the end.
    pub(super) async fn record(
        mut self,
        run: Run,
        hosted: Hosted,
        asked: CancellationToken,
        early: Vec<Event>,
        mut events: UnboundedReceiver<Event>,
    ) -> Result<Recorded, RecordError> {
        let stop = run.stop.clone();
        let execute = async {
            run.execute().await;
            hosted.release(&run.events).await;
            // The last sender goes, and with it the loop below ends.
            drop(run);
        };
        let consume = async {
            let mut result = early.iter().try_for_each(|event| self.write(event));
            let mut told = false;
            loop {
                let wait = self.wait();
                let event = tokio::select! {
                    biased;
                    () = asked.cancelled(), if !told => {
                        told = true;
                        self.progress.stopping(Timestamp::now());
                        continue;
                    }
                    event = events.recv() => event,
                    () = after(wait) => {
                        self.refresh();
                        continue;
                    }
                };
                let Some(event) = event else { break result };
                let now = Timestamp::now();
                let moment = self.progress.show(&event, now);
                if result.is_ok() {
                    result = self.write(&event);
                    if result.is_err() {
                        // The error itself is told at the end.
                        stop.cancel();
                    }
                }
                self.write_status(moment, now);
            }
        };
        // In this order: what is said before a measured command starts is heard before it does.
        let ((), result) = tokio::join!(biased; execute, consume);
        self.progress.finish(Timestamp::now());
        let failed = self.writer.failed();
        // Also where a record could not be written: what can be, says how far the run came.
        let is_stopped = self.stopped.is_some();
        let is_interrupted = stop.is_cancelled() && !is_stopped;
        let finished = self.writer.finish(&timestamp(), is_interrupted, self.stopped);
        result?;
        Ok(Recorded { directory: finished?.path().to_owned(), failed, is_stopped })
    }

    /// How long until something is to be shown or written again, if nothing happens before.
    fn wait(&self) -> Option<Duration> {
        let now = Timestamp::now();
        let may_write = self.is_stale && self.progress.monitor().moment() == Moment::Any;
        self.progress.wait(now).into_iter().chain(may_write.then(|| self.pace.wait(now))).min()
    }

    fn refresh(&mut self) {
        let now = Timestamp::now();
        self.progress.tick(now);
        if self.is_stale {
            self.write_status(self.progress.monitor().moment(), now);
        }
    }

    fn write_status(&mut self, moment: Moment, now: Timestamp) {
        self.is_stale = !self.pace.is_due(moment, now);
        if !self.is_stale {
            // Who asks how far the run is learns it from the records then.
            let _ = self.writer.write_status(&self.progress.monitor().snapshot(now));
        }
    }

    fn write(&mut self, event: &Event) -> Result<(), RecordError> {
        match event {
            Event::RunStopped { by } => {
                self.stopped = Some(by.clone());
                Ok(())
            }
            Event::FactsFound { host, facts } => {
                let all = self.facts.entry(host.clone()).or_default();
                all.extend(facts.clone());
                self.writer.write_host(host, all)
            }
            Event::TrialFinished(outcome) => {
                self.writer.write_outcome(outcome, &self.plan.cell(outcome.trial.index)).map(drop)
            }
            _ => Ok(()),
        }
    }
}
