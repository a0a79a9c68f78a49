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
}

impl Recorder {
    pub(super) fn new(writer: RunWriter, progress: Progress, plan: &Plan) -> Self {
        Recorder { writer, progress, plan: plan.clone(), facts: BTreeMap::new() }
    }

    /// Executes `run` while its events are recorded. Returns where the results lie and how many trials
    /// of the whole run are not ok. When nothing more can be written, the run is stopped: measuring on would be for
    /// nothing.
    pub(super) async fn record(
        mut self,
        run: Run,
        mut events: UnboundedReceiver<Event>,
    ) -> Result<(PathBuf, usize), RecordError> {
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
        let finished = self.writer.finish(&timestamp(), stop.is_cancelled());
        result?;
        Ok((finished?.path().to_owned(), failed))
    }

    fn write(&mut self, event: &Event) -> Result<(), RecordError> {
        match event {
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
