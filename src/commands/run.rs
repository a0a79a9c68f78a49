//! `runner run FILE`: from the file to the report.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "files, clock, processes")]

mod machines;
mod manifest;
mod messages;
mod recorder;
mod resume;
mod signals;

use std::path::Path;

use jiff::Timestamp;
use tokio::sync::mpsc::unbounded_channel;
use tokio_util::sync::CancellationToken;

use self::recorder::{Recorded, Recorder};
use self::resume::Earlier;
use super::experiment::{self, Experiment};
use super::{block_on, plan};
use crate::cli::{PlanFormat, RunArguments};
use crate::error::{EXIT_FAILED_TRIALS, EXIT_INTERRUPTED, EXIT_OK, Error};
use crate::execution::Run;
use crate::hosts::{Claim, Ledger};
use crate::record::{RecordError, RunWriter};
use crate::ui::progress::Progress;
use crate::{analysis, report, ui};

pub(super) fn run(arguments: &RunArguments) -> Result<u8, Error> {
    messages::heed(&arguments.messages)?;
    let id = format!("{:08x}", experiment::random() as u32);
    let Some(which) = &arguments.resume.run else {
        let experiment = experiment::read(&arguments.file, &arguments.changes)?;
        if arguments.dry_run {
            return plan::show(&experiment, &arguments.file, &arguments.results, PlanFormat::Text);
        }
        manifest::check(&experiment)?;
        return block_on(execute(arguments, id, experiment, None))?;
    };
    let (arguments, experiment, earlier) = resume::prepare(arguments, which.as_deref(), &id)?;
    if arguments.dry_run {
        return Ok(EXIT_OK);
    }
    if earlier.is_complete() {
        return end(&arguments, earlier.directory(), false, earlier.has_failed());
    }
    block_on(execute(&arguments, id, experiment, Some(earlier)))?
}

async fn execute(
    arguments: &RunArguments,
    id: String,
    experiment: Experiment,
    earlier: Option<Earlier>,
) -> Result<u8, Error> {
    let stop = CancellationToken::new();
    let left = signals::Left::default();
    signals::cancel_on_interrupt(stop.clone(), left.clone());
    let (events, mut receiver) = unbounded_channel();
    ui::note(&format!("run {id} of {}", arguments.file.display()));
    let verbosity = messages::verbosity(&arguments.messages);
    let mut progress = Progress::start(&experiment.plan, &experiment.spec, verbosity, Timestamp::now());
    let mut claim = Claim::new(&id, &format!("experiment `{}`", experiment::name(&arguments.file)));
    let (mut hosts, mut history) = (experiment.plan.hosts(), Default::default());
    if let Some(earlier) = &earlier {
        earlier.show(&mut progress);
        (hosts, history) = (earlier.hosts(&experiment.plan), earlier.history.clone());
        claim.predecessors = earlier.ids();
    }
    let (locking, mut early) = ((arguments.locking, &claim), Vec::new());
    let machines = tokio::select! {
        machines = machines::connect(&experiment, hosts, locking, &events) => machines?,
        () = recorder::watch(&mut progress, &mut receiver, &mut early) => return Ok(EXIT_INTERRUPTED),
        () = stop.cancelled() => return Ok(EXIT_INTERRUPTED),
    };
    let connector = machines::connector(&experiment, arguments.locking, &claim);
    let manifest = manifest::new(arguments, &experiment, &id);
    let writer = match earlier {
        Some(earlier) => earlier.writer(manifest, &experiment)?,
        None => {
            // Whatever the run's own folder will be called, it lies there.
            let yaml = experiment.yaml_in(&arguments.results.join(&manifest.experiment).join(&id));
            RunWriter::create(&arguments.results, manifest, &yaml, experiment.secrets)?
        }
    };
    ui::note(&format!("its results: {}", writer.directory().path().display()));
    let ledger = Ledger::open(&writer.directory().ledger(), &experiment.spec.variables)?;
    let directory = writer.directory().clone();
    // The second interrupt tells of it.
    let _ = left.set((directory.clone(), ledger.clone()));
    machines::end_earlier(&machines, &ledger).await;
    let recorder = Recorder::new(writer, progress, &experiment.plan);
    let experiment = (experiment.spec, experiment.sources, experiment.plan);
    let mut run = Run::new(id, experiment, machines, stop.clone(), events).with_ledger(ledger.clone())?;
    (run.history, run.connector, run.is_precise) = (history, Some(connector), analysis::is_precise);
    run.tells_commands = messages::wants_commands(&arguments.messages);
    let recorded = recorder.record(run, early, receiver).await;
    let closed = ledger.close();
    ui::show_left(&ledger.left(), directory.path());
    let Recorded { directory, failed, is_stopped } =
        recorded.map_err(|error| with_way_on(arguments, error))?;
    closed?;
    end(arguments, &directory, stop.is_cancelled() && !is_stopped, failed > 0 || is_stopped)
}

/// Writes the report, and says by an exit code what became of the run.
fn end(
    arguments: &RunArguments,
    directory: &Path,
    is_interrupted: bool,
    has_failed: bool,
) -> Result<u8, Error> {
    let written = report::write(directory).map_err(|error| with_way_on(arguments, error))?;
    ui::show_written(&written);
    if is_interrupted {
        ui::resume::show_how_to_go_on(&resume::command(arguments));
        return Ok(EXIT_INTERRUPTED);
    }
    Ok(if has_failed { EXIT_FAILED_TRIALS } else { EXIT_OK })
}

fn with_way_on(arguments: &RunArguments, error: RecordError) -> RecordError {
    let command = resume::command(arguments);
    error.with_hint(format!("what was measured before is kept: make room, then go on with `{command}`"))
}
