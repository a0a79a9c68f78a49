//! What becomes of each event: it is shown, and what must last is written.

use std::collections::BTreeMap;
use std::path::PathBuf;

use tokio::sync::mpsc::UnboundedReceiver;

use crate::event::{Event, Facts};
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
    stopped: Option<String>,
}

/// What became of a run.
pub(super) struct Recorded {
    pub directory: PathBuf,
    /// How many trials are not ok by their last attempt.
    pub failed: usize,
    /// Whether the run itself ended it before its last trial.
    pub is_stopped: bool,
}

impl Recorder {
    pub(super) fn new(writer: RunWriter, progress: Progress, plan: &Plan) -> Self {
        Recorder { writer, progress, plan: plan.clone(), facts: BTreeMap::new(), stopped: None }
    }

    /// Executes `run` while its events are recorded. When nothing more can be written, the run is stopped:
    /// measuring on would be for nothing.
    /// nothing.
    pub(super) async fn record(
        mut self,
        run: Run,
        mut events: UnboundedReceiver<Event>,
    ) -> Result<Recorded, RecordError> {
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
        let failed = self.writer.failed();
        // Also where a record could not be written: what can be, says how far the run came.
        let is_stopped = self.stopped.is_some();
        let is_interrupted = stop.is_cancelled() && !is_stopped;
        let finished = self.writer.finish(&timestamp(), is_interrupted, self.stopped);
        result?;
        Ok(Recorded { directory: finished?.path().to_owned(), failed, is_stopped })
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
