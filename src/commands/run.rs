//! `runner run FILE`: from the file to the report.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "files, clock, processes")]

mod begun;
mod contents;
mod inputs;
mod machines;
mod manifest;
mod messages;
mod recorder;
mod resume;
mod signals;

use std::path::Path;

use jiff::Timestamp;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

use self::begun::Begun;
use self::machines::Hosted;
use self::recorder::{Recorded, Recorder};
use self::resume::Earlier;
use super::experiment::{self, Experiment};
use super::temporary::Temporary;
use super::{block_on, plan, templates};
use crate::cli::{PlanFormat, RunArguments};
use crate::error::{EXIT_FAILED_TRIALS, EXIT_INTERRUPTED, EXIT_OK, Error};
use crate::event::Event;
use crate::execution::Run;
use crate::hosts::{Claim, Ledger};
use crate::record::{RecordError, RunDirectory, TemplateFile};
use crate::report::{self, ReportError};
use crate::ui::progress::Progress;
use crate::{analysis, ui};

pub(super) fn run(arguments: &RunArguments) -> Result<u8, Error> {
    messages::heed(&arguments.messages)?;
    let id = format!("{:08x}", experiment::random() as u32);
    let Some(which) = &arguments.resume.run else {
        let mut experiment = experiment::read(&arguments.file, &arguments.changes)?;
        choose_templates(arguments, &mut experiment)?;
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
        return end(
            &arguments,
            earlier.directory(),
            arguments.templates.as_deref().map(templates::read).transpose()?,
            Ending { has_failed: earlier.has_failed(), ..Ending::default() },
        );
    }
    block_on(execute(&arguments, id, experiment, Some(earlier)))?
}

async fn execute(
    arguments: &RunArguments,
    id: String,
    experiment: Experiment,
    earlier: Option<Earlier>,
) -> Result<u8, Error> {
    let (stop, asked, at_interrupt) = <(CancellationToken, CancellationToken, signals::Left)>::default();
    signals::cancel_on_interrupt(stop.clone(), asked.clone(), at_interrupt.clone());
    let (events, mut receiver) = unbounded_channel();
    ui::note(&format!("run {id} of {}", arguments.file.display()));
    let mut progress = messages::progress(&arguments.messages, &experiment);
    let mut claim = Claim::new(&id, &format!("experiment `{}`", experiment::name(&arguments.file)));
    let (mut hosts, mut history) = (experiment.plan.hosts(), Default::default());
    if let Some(earlier) = &earlier {
        earlier.show(&mut progress);
        (hosts, history) = (earlier.hosts(&experiment.plan), earlier.history.clone());
        claim.predecessors = earlier.ids();
    }
    let (locking, mut early) = ((arguments.locking, &claim), Vec::new());
    let begun = Begun::new(arguments, &experiment, &id, earlier)?;
    let (directory, variables) = (begun.directory(), &experiment.spec.variables);
    let _temporary = Temporary::new(&id, &claim.predecessors)?;
    let ledger = Ledger::open(&directory.ledger(), variables)?;
    // The second interrupt tells of it.
    let _ = at_interrupt.set((directory.clone(), ledger.clone()));
    let making = machines::making(&experiment, &id, &ledger, &events);
    let hosted = Hosted::new(&experiment, &making);
    // What an earlier sitting has made for itself is made anew.
    give_back(&hosted, &events, &mut progress, &mut receiver, &mut early).await;
    let connected = tokio::select! {
        machines = machines::connect(&experiment, hosts, locking, &making, &events) => Some(machines),
        () = recorder::watch(&mut progress, &mut receiver, &mut early) => None,
        () = stop.cancelled() => None,
    };
    let machines = match connected {
        Some(Ok(machines)) => machines,
        not_connected => {
            give_back(&hosted, &events, &mut progress, &mut receiver, &mut early).await;
            begun.give_up(&ledger)?;
            return not_connected.map_or(Ok(EXIT_INTERRUPTED), |failed| failed.map(|_| EXIT_INTERRUPTED));
        }
    };
    let connector = machines::connector(&experiment, locking, &making, &events);
    let writer = match begun.writer(&experiment) {
        Ok(writer) => writer,
        Err(error) => {
            give_back(&hosted, &events, &mut progress, &mut receiver, &mut early).await;
            return Err(error);
        }
    };
    ui::note(&format!("its results: {}", directory.path().display()));
    machines::end_earlier(&machines, &ledger, &events).await;
    let recorder = Recorder::new(writer, progress, &experiment.plan);
    let experiment = (experiment.spec, experiment.sources, experiment.plan);
    let begun = Run::new(id, experiment, machines, stop.clone(), events).with_ledger(ledger.clone());
    let mut run = match begun {
        Ok(run) => run,
        Err(error) => {
            hosted.release(&unbounded_channel().0).await;
            return Err(error.into());
        }
    };
    (run.history, run.connector, run.is_precise) = (history, Some(connector), analysis::is_precise);
    run.tells_commands = messages::wants_commands(&arguments.messages);
    let recorded = recorder.record(run, hosted, asked, early, receiver).await;
    finish(arguments, recorded, (&ledger, &directory), stop.is_cancelled())
}

/// Says what is left, and writes the report.
fn finish(
    arguments: &RunArguments,
    recorded: Result<Recorded, RecordError>,
    (ledger, directory): (&Ledger, &RunDirectory),
    was_ended: bool,
) -> Result<u8, Error> {
    let closed = ledger.close();
    let left = ledger.left();
    ui::show_left(&left, directory.path());
    let Recorded { directory, failed, is_stopped } =
        recorded.map_err(|error| with_way_on(arguments, error))?;
    closed?;
    let is_interrupted = was_ended && !is_stopped;
    let has_failed = failed > 0 || !left.is_empty();
    end(arguments, &directory, None, Ending { is_interrupted, is_stopped, has_failed })
}

/// Gives back the hosts that were made, and shows what is said of it.
async fn give_back(
    hosted: &Hosted,
    events: &UnboundedSender<Event>,
    progress: &mut Progress,
    receiver: &mut UnboundedReceiver<Event>,
    early: &mut Vec<Event>,
) {
    tokio::select! {
        () = hosted.release(events) => {}
        () = recorder::watch(progress, receiver, early) => {}
    }
    while let Ok(event) = receiver.try_recv() {
        progress.show(&event, Timestamp::now());
        early.push(event);
    }
}

/// How a sitting has ended.
#[derive(Default)]
struct Ending {
    is_interrupted: bool,
    /// Whether the run itself ended it before its last trial.
    is_stopped: bool,
    /// Whether a trial is not ok, or something is left on a machine.
    has_failed: bool,
}

/// Writes the report, by the templates in `instead` or those that the run has kept, and says by an exit code what
/// became of the run.
fn end(
    arguments: &RunArguments,
    directory: &Path,
    instead: Option<Vec<TemplateFile>>,
    Ending { is_interrupted, is_stopped, has_failed }: Ending,
) -> Result<u8, Error> {
    let written = report::write_with(directory, instead.as_deref()).map_err(|error| match error {
        ReportError::Record(error) => with_way_on(arguments, error).into(),
        error => with_way_to_report(directory, error.into()),
    })?;
    ui::report::show_written(&written);
    if is_interrupted || is_stopped {
        ui::resume::show_how_to_go_on(&resume::command(arguments));
    }
    if is_interrupted {
        return Ok(EXIT_INTERRUPTED);
    }
    Ok(if has_failed || is_stopped { EXIT_FAILED_TRIALS } else { EXIT_OK })
}

/// Those of the command line instead of those of the file.
fn choose_templates(arguments: &RunArguments, experiment: &mut Experiment) -> Result<(), Error> {
    if let Some(folder) = &arguments.templates {
        experiment.templates = Some(templates::given(folder, experiment)?);
    }
    Ok(())
}

/// A template is wrong, and what was measured is safe.
fn with_way_to_report(directory: &Path, error: Error) -> Error {
    let Error::File(mut problems) = error else { return error };
    let words = ["runner", "report", &directory.to_string_lossy(), "--templates", "DIR"];
    let way = format!(
        "what was measured is kept; make its report with corrected templates: `{}`",
        shell_words::join(words)
    );
    for problem in &mut problems.problems {
        let help = problem.help.take().map(|help| format!("{help}\n")).unwrap_or_default();
        problem.help = Some(format!("{help}{way}"));
    }
    Error::File(problems)
}

fn with_way_on(arguments: &RunArguments, error: RecordError) -> RecordError {
    let command = resume::command(arguments);
    error.with_hint(format!("what was measured before is kept: make room, then go on with `{command}`"))
}
