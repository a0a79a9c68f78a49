//! `runner run FILE`: from the file to the report.

mod experiment;
mod machines;
mod manifest;
mod signals;

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_util::sync::CancellationToken;

use self::experiment::Experiment;
use crate::cli::RunArguments;
use crate::error::{EXIT_FAILED_TRIALS, EXIT_INTERRUPTED, EXIT_OK, Error};
use crate::event::{Event, Facts, Status};
use crate::execution::Run;
use crate::hosts::Machine;
use crate::record::RunWriter;
use crate::ui::progress::Progress;
use crate::{report, ui};

pub(super) fn run(arguments: &RunArguments) -> Result<u8, Error> {
    let experiment = experiment::read(arguments)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| Error::World { action: "start", source })?;
    runtime.block_on(execute(arguments, experiment))
}

async fn execute(arguments: &RunArguments, experiment: Experiment) -> Result<u8, Error> {
    let stop = CancellationToken::new();
    signals::cancel_on_interrupt(stop.clone());
    let (events, receiver) = unbounded_channel();
    let progress = Progress::start(&experiment.plan, &experiment.spec);
    let machines = tokio::select! {
        machines = machines::connect(&experiment, &events) => machines?,
        () = stop.cancelled() => return Ok(EXIT_INTERRUPTED),
    };
    let manifest = manifest::new(arguments, &experiment);
    let id = manifest.id.clone();
    let writer = RunWriter::create(&arguments.results, manifest, &experiment.yaml)?;
    let experiment = (experiment.spec, experiment.sources, experiment.plan);
    let run = Run::new(id, experiment, machines, stop.clone(), events);
    let (directory, failed) = record(run, receiver, writer, progress).await?;
    let written = report::write(&directory)?;
    ui::show_written(&written);
    Ok(match (stop.is_cancelled(), failed) {
        (true, _) => EXIT_INTERRUPTED,
        (false, 0) => EXIT_OK,
        (false, _) => EXIT_FAILED_TRIALS,
    })
}

/// Executes `run` while its events are written and shown. Returns where the results lie and how many
/// trials are not ok.
async fn record(
    run: Run,
    mut receiver: UnboundedReceiver<Event>,
    mut writer: RunWriter,
    mut progress: Progress,
) -> Result<(std::path::PathBuf, usize), Error> {
    let (plan, stop) = (run.plan.clone(), run.stop.clone());
    let mut facts: BTreeMap<String, Facts> = BTreeMap::new();
    let mut failed = 0;
    let consume = async {
        let mut result = Ok(());
        while let Some(event) = receiver.recv().await {
            progress.show(&event);
            let written = match &event {
                Event::FactsFound { host, facts: found } => {
                    let all = facts.entry(host.clone()).or_default();
                    all.extend(found.clone());
                    writer.write_host(host, all)
                }
                Event::TrialFinished(outcome) => {
                    failed += usize::from(outcome.status != Status::Ok);
                    match plan.cell(&outcome.trial.cell) {
                        Some(cell) => writer.write_outcome(outcome, cell).map(drop),
                        None => Ok(()),
                    }
                }
                _ => Ok(()),
            };
            if result.is_ok() && written.is_err() {
                // Nothing more can be kept: measuring on would be for nothing.
                result = written;
                stop.cancel();
            }
        }
        result
    };
    let execute = async {
        run.execute().await;
        // The last sender goes, and with it the loop above ends.
        drop(run);
    };
    let ((), result) = tokio::join!(execute, consume);
    progress.finish();
    result?;
    let directory = writer.finish(
        &jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string(),
        stop.is_cancelled(),
    )?;
    Ok((directory.path().to_owned(), failed))
}

/// Connected machines by name, or why one is not connected.
type Machines = BTreeMap<String, Result<Arc<Machine>, String>>;
