//! `runner run FILE`: from the file to the report.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "files, clock, processes")]

mod machines;
mod manifest;
mod recorder;
mod signals;

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::mpsc::unbounded_channel;
use tokio_util::sync::CancellationToken;

use self::recorder::Recorder;
use super::experiment::{self, Experiment};
use super::{block_on, plan};
use crate::cli::{PlanFormat, RunArguments};
use crate::error::{EXIT_FAILED_TRIALS, EXIT_INTERRUPTED, EXIT_OK, Error};
use crate::execution::Run;
use crate::hosts::{Claim, Ledger, Machine};
use crate::record::RunWriter;
use crate::ui::progress::Progress;
use crate::{report, ui};

pub(super) fn run(arguments: &RunArguments) -> Result<u8, Error> {
    let experiment = experiment::read(&arguments.file, &arguments.changes)?;
    if arguments.dry_run {
        return plan::show(&experiment, &arguments.file, &arguments.results, PlanFormat::Text);
    }
    manifest::check(&experiment)?;
    block_on(execute(arguments, experiment))?
}

async fn execute(arguments: &RunArguments, experiment: Experiment) -> Result<u8, Error> {
    let stop = CancellationToken::new();
    let id = format!("{:08x}", experiment::random() as u32);
    let left = signals::Left::default();
    signals::cancel_on_interrupt(stop.clone(), left.clone());
    let (events, receiver) = unbounded_channel();
    let mut progress = Progress::start(&experiment.plan, &experiment.spec);
    let claim = Claim::new(&id, &format!("experiment `{}`", experiment::name(&arguments.file)));
    let machines = tokio::select! {
        machines = machines::connect(&experiment, arguments.locking, &claim, &events, &mut progress) => machines?,
        () = stop.cancelled() => return Ok(EXIT_INTERRUPTED),
    };
    let manifest = manifest::new(arguments, &experiment, id.clone());
    // Whatever the run's own folder will be called, it lies there.
    let yaml = experiment.yaml_in(&arguments.results.join(&manifest.experiment).join(&id));
    let writer = RunWriter::create(&arguments.results, manifest, &yaml, experiment.secrets)?;
    let ledger = Ledger::open(&writer.directory().ledger(), &experiment.spec.variables)?;
    let directory = writer.directory().clone();
    // The second interrupt tells of it.
    let _ = left.set((directory.clone(), ledger.clone()));
    machines::end_earlier(&machines, &ledger).await;
    let recorder = Recorder::new(writer, progress, &experiment.plan);
    let experiment = (experiment.spec, experiment.sources, experiment.plan);
    let run = Run::new(id, experiment, machines, stop.clone(), events).with_ledger(ledger.clone())?;
    let recorded = recorder.record(run, receiver).await;
    let closed = ledger.close();
    ui::show_left(&ledger.left(), directory.path());
    let (directory, failed) = recorded?;
    closed?;
    let written = report::write(&directory)?;
    ui::show_written(&written);
    Ok(match (stop.is_cancelled(), failed) {
        (true, _) => EXIT_INTERRUPTED,
        (false, 0) => EXIT_OK,
        (false, _) => EXIT_FAILED_TRIALS,
    })
}

/// Connected machines by name, or why one is not connected.
type Machines = BTreeMap<String, Result<Arc<Machine>, String>>;
