//! What becomes of each event: it is shown, and what must last is written.

use std::collections::BTreeMap;
use std::path::PathBuf;

use tokio::sync::mpsc::UnboundedReceiver;

use crate::error::Error;
use crate::event::{Event, Facts, Status};
use crate::execution::{Run, timestamp};
use crate::plan::Plan;
use crate::record::{RecordError, RunWriter};
use crate::ui::progress::Progress;

/// The writer and the progress of one run.
pub(super) struct Recorder {
    writer: RunWriter,
    progress: Progress,
    plan: Plan,
    facts: BTreeMap<String, Facts>,
    failed: usize,
    stopped: Option<String>,
}

/// A run that is over.
pub(super) struct Recorded {
    /// Where its results lie.
    pub directory: PathBuf,
    /// How many trials are not ok.
    pub failed: usize,
    /// Whether the run itself has ended it before its last trial, by its deadline or after a failure.
    pub is_stopped: bool,
}

impl Recorder {
    pub(super) fn new(writer: RunWriter, progress: Progress, plan: &Plan) -> Self {
        Recorder { writer, progress, plan: plan.clone(), facts: BTreeMap::new(), failed: 0, stopped: None }
    }

    /// Executes `run` while its events are recorded. When nothing more can be written, the run is stopped: measuring on would be for
    /// nothing.
    pub(super) async fn record(
        mut self,
        run: Run,
        mut events: UnboundedReceiver<Event>,
    ) -> Result<Recorded, Error> {
        let stop = run.stop.clone();
        let execute = async {
            run.execute().await;
            // The last sender goes, and with it the loop below ends.
            drop(run);
        };
        let consume = async {
            let (mut result, mut told) = (Ok(()), false);
            loop {
                let event = tokio::select! {
                    biased;
                    () = stop.cancelled(), if !told => {
                        told = true;
                        self.progress.stopping();
                        continue;
                    }
                    event = events.recv() => event,
                };
                let Some(event) = event else { break result };
                self.progress.show(&event);
                if result.is_ok() {
                    result = self.write(&event);
                    if result.is_err() {
                        // The error itself is told at the end.
                        told = true;
                        stop.cancel();
                    }
                }
            }
        };
        let ((), result) = tokio::join!(execute, consume);
        self.progress.finish();
        result?;
        let is_stopped = self.stopped.is_some();
        let is_interrupted = stop.is_cancelled() && !is_stopped;
        let directory = self.writer.finish(&timestamp(), is_interrupted, self.stopped)?;
        Ok(Recorded { directory: directory.path().to_owned(), failed: self.failed, is_stopped })
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
                self.failed += usize::from(outcome.status != Status::Ok && !outcome.is_repeated);
                self.writer.write_outcome(outcome, &self.plan.cell(outcome.trial.index)).map(drop)
            }
            _ => Ok(()),
        }
    }
}
