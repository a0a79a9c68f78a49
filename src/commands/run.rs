//! `runner run FILE`: from the file to the report.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "files, clock, processes")]

mod machines;
mod manifest;
mod messages;
mod recorder;
mod signals;

use jiff::Timestamp;
use tokio::sync::mpsc::unbounded_channel;
use tokio_util::sync::CancellationToken;

use self::recorder::{Recorded, Recorder};
use super::experiment::{self, Experiment};
use super::{block_on, plan};
use crate::cli::{PlanFormat, RunArguments};
use crate::error::{EXIT_FAILED_TRIALS, EXIT_INTERRUPTED, EXIT_OK, Error};
use crate::execution::Run;
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
    signals::cancel_on_interrupt(stop.clone(), id.clone());
    let (events, mut receiver) = unbounded_channel();
    messages::keep_log(&arguments.messages)?;
    ui::note(&format!("run {id} of {}", arguments.file.display()));
    let verbosity = messages::verbosity(&arguments.messages);
    let mut progress = Progress::start(&experiment.plan, &experiment.spec, verbosity, Timestamp::now());
    let mut early = Vec::new();
    let machines = tokio::select! {
        machines = machines::connect(&experiment, &events) => machines?,
        () = recorder::watch(&mut progress, &mut receiver, &mut early) => return Ok(EXIT_INTERRUPTED),
        () = stop.cancelled() => return Ok(EXIT_INTERRUPTED),
    };
    let manifest = manifest::new(arguments, &experiment, id.clone());
    // Whatever the run's own folder will be called, it lies there.
    let yaml = experiment.yaml_in(&arguments.results.join(&manifest.experiment).join(&id));
    let writer = RunWriter::create(&arguments.results, manifest, &yaml, experiment.secrets)?;
    ui::note(&format!("its results: {}", writer.directory().path().display()));
    let recorder = Recorder::new(writer, progress, &experiment.plan);
    let experiment = (experiment.spec, experiment.sources, experiment.plan);
    let mut run = Run::new(id, experiment, machines, stop.clone(), events);
    run.tells_commands = messages::wants_commands(&arguments.messages);
    let recorded = recorder.record(run, early, receiver).await?;
    let written = report::write(&recorded.directory)?;
    ui::show_written(&written);
    Ok(match recorded {
        Recorded { is_stopped: true, .. } => EXIT_FAILED_TRIALS,
        _ if stop.is_cancelled() => EXIT_INTERRUPTED,
        Recorded { failed: 0, .. } => EXIT_OK,
        _ => EXIT_FAILED_TRIALS,
    })
}
