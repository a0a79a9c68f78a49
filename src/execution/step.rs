//! The steps around the measured command: commands, cache drops, waiting.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::cell::Troubles;
use super::telling::Telling;
use super::{Cause, DEFAULT_TIMEOUT, Failure, Run, wait};
use crate::environments::Place;
use crate::event::{CacheDrop, Stage, Wait};
use crate::hosts;
use crate::metrics::{self, ToolOutput};
use crate::plan::substitute::Context;
use crate::spec::TimeSpan;
use crate::spec::caches::{DropCaches, Layer};
use crate::spec::host::Sudo;
use crate::spec::step::{RunStep, Step, Steps, Upload};
use crate::spec::wait::{CoolDown, WaitIdle};
use crate::spec::workload::Command;
use crate::transports::job::{self, Ended, Job, Stopped};
use crate::transports::{Transport, files};

/// What steps run in.
pub(super) struct Surroundings<'a> {
    pub run: &'a Run,
    pub place: &'a Place,
    pub context: &'a Context,
    /// The variables of the workload.
    pub env: &'a [(String, String)],
    pub stage: Stage,
    /// The longest time of a command that has none of its own.
    pub limit: Duration,
    pub stop: &'a CancellationToken,
    /// Where clean-up that fails is kept.
    pub troubles: &'a Troubles,
}

/// What steps leave to be told.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub drops: Vec<CacheDrop>,
    pub waits: Vec<Wait>,
    pub warnings: Vec<String>,
}

/// Runs `steps` one after the other; the first that fails ends them.
pub(super) async fn run_all(
    steps: &Steps,
    around: &Surroundings<'_>,
    notes: &mut Notes,
) -> Result<(), Failure> {
    let Surroundings { place, stage, limit, stop, .. } = *around;
    let capped = |within: TimeSpan| TimeSpan(within.0.min(limit));
    for step in &steps.0 {
        if stop.is_cancelled() {
            return Err(Failure::interrupted(stage));
        }
        match &step.value {
            Step::Sleep(TimeSpan(time)) => tokio::select! {
                () = tokio::time::sleep(*time) => {}
                () = stop.cancelled() => return Err(Failure::interrupted(stage)),
            },
            Step::DropCaches(settings) => drop_caches(settings, around, notes).await?,
            Step::WaitIdle(settings) => {
                let settings = WaitIdle { within: capped(settings.within), ..*settings };
                notes.waits.push(wait::wait_idle(&place.machine, &settings, stage, stop).await?);
            }
            Step::CoolDown(settings) => {
                let settings = CoolDown { within: capped(settings.within), ..*settings };
                match wait::cool_down(&place.machine, &settings, stage, stop).await? {
                    Ok(waited) => notes.waits.push(waited),
                    Err(reason) if settings.optional => notes.warnings.push(reason),
                    Err(reason) => return Err(Failure::new(stage, reason)),
                }
            }
            Step::Run(step) => command(step, around).await?,
            Step::Upload(file) => upload(file, around).await?,
        }
    }
    Ok(())
}

async fn drop_caches(
    DropCaches { of, optional }: &DropCaches,
    around: &Surroundings<'_>,
    notes: &mut Notes,
) -> Result<(), Failure> {
    for layer in of {
        let machine = match layer {
            Layer::Guest => around.place.machine.clone(),
            Layer::Host => Arc::new(hosts::this_machine(&around.run.spec)),
        };
        match hosts::drop_caches(&machine).await {
            Ok(figures) => notes.drops.push(CacheDrop {
                host: machine.name.clone(),
                cached_before_kb: figures.before_kb,
                cached_after_kb: figures.after_kb,
            }),
            Err(reason) if *optional => notes.warnings.push(format!("cold: not possible: {reason}")),
            Err(reason) => return Err(Failure::new(around.stage, reason)),
        }
    }
    Ok(())
}

async fn command(step: &RunStep, around: &Surroundings<'_>) -> Result<(), Failure> {
    let Surroundings { run, place, context, env, stage, limit, stop, .. } = *around;
    let failed = |reason: String| Failure::new(stage, reason);
    let on = step.on.as_deref().map(|on| on.as_str());
    let (machine, is_inside) = match on {
        None | Some("environment") => (place.machine.clone(), true),
        Some(host) if host == "host" || host == place.machine.name => {
            (place.machine.clone(), place.container.is_none())
        }
        Some(host) => (run.machine(host)?, false),
    };
    if step.sudo && machine.sudo == Sudo::None && !(is_inside && place.container.is_some()) {
        return Err(failed(format!("a step wants `sudo`, and `{}` has `sudo: none`", machine.name)));
    }
    let mut job = line(place, &step.command, context, env).map_err(failed)?;
    let transport: &dyn Transport = match is_inside {
        true => &*place.transport,
        false => {
            // The environment's own shell and variables are not there.
            job.command = job::Command::line(job.command.to_string());
            job.env = env.to_vec();
            job.directory = "/".into();
            &*machine.transport
        }
    };
    let timeout = step.timeout.map_or(limit, |time| time.0);
    // What a step starts and sends to a group of its own stays until the cell ends: it may be meant to.
    let job = Job { sudo: step.sudo, ends_daemons: false, ..job };
    let telling = Telling::start(run, &machine.name, stage, &job.command).await;
    let ended = job::run(transport, &job, Some(timeout), stop).await;
    telling.end(run, &ended);
    let ended = ended.map_err(|error| Failure::of(stage, "", &error))?;
    let command = job.command.to_string();
    if let Some(stopped) = ended.stopped {
        return Err(ended_early(&command, stopped, timeout, stage));
    }
    match ended.exit_code {
        0 => Ok(()),
        _ => {
            let failure =
                failed(metrics::reason(&format!("`{}` failed", shortened(&command)), printed(&ended)));
            let cause = Cause::of_words(&String::from_utf8_lossy(&ended.stderr.bytes));
            Err(failure.with(cause))
        }
    }
}

/// Copies a file or folder into the directory of the cell.
pub(super) async fn upload(upload: &Upload, around: &Surroundings<'_>) -> Result<(), Failure> {
    let Surroundings { run, place, context, stage, stop, .. } = *around;
    let failed = |reason: String| Failure::new(stage, reason);
    let from = context.render(&upload.from).map_err(failed)?;
    let source = run.sources.directory(upload.from.span).join(&from);
    let to = upload.to.as_ref().map(|to| context.render(to)).transpose().map_err(failed)?;
    let own = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let name = match to {
        Some(folder) if folder.ends_with('/') => folder + &own,
        Some(name) => name,
        None => own,
    };
    let uploaded = files::upload(&*place.transport, &source, &place.directory, &name, stop).await;
    uploaded.map_err(|error| Failure::of(stage, "", &error))
}

/// The time a command may take when neither it nor its workload says.
pub(super) fn default_timeout(run: &Run) -> Duration {
    run.spec.timeout.as_ref().map_or(DEFAULT_TIMEOUT, |time| time.value.0)
}

/// A command of `place` with its values.
///
/// # Errors
/// A template that can't be rendered.
pub(super) fn job(
    place: &Place,
    command: &Command,
    context: &Context,
    env: &[(String, String)],
) -> Result<Job, String> {
    let words: Vec<String> =
        command.words.iter().map(|word| context.render(word)).collect::<Result<_, _>>()?;
    Ok(job_of(
        place,
        env,
        match command.is_list {
            true => job::Command::Words(words),
            false => job::Command::Line { shell: place.shell.clone(), text: words.concat() },
        },
    ))
}

/// The same for a line alone.
pub(super) fn line(
    place: &Place,
    text: &str,
    context: &Context,
    env: &[(String, String)],
) -> Result<Job, String> {
    let text = context.render(text)?;
    Ok(job_of(place, env, job::Command::Line { shell: place.shell.clone(), text }))
}

fn job_of(place: &Place, env: &[(String, String)], command: job::Command) -> Job {
    Job {
        command,
        env: [&place.env, env].concat(),
        directory: place.directory.clone(),
        sudo: false,
        ends_daemons: true,
        stop: job::Stop::default(),
        id: next_id(place),
        place: place.id.clone(),
        warms_up: false,
        probes: Vec::new(),
    }
}

/// An id that no other job has.
pub(super) fn next_id(place: &Place) -> String {
    format!("{}-{}", place.id, job::next_number())
}

/// What was printed, as metrics take it.
pub(super) fn printed(ended: &Ended) -> ToolOutput<'_> {
    ToolOutput { stdout: &ended.stdout.bytes, stderr: &ended.stderr.bytes, exit_code: Some(ended.exit_code) }
}

/// The failure of a command that did not end by itself.
pub(super) fn ended_early(command: &str, stopped: Stopped, timeout: Duration, stage: Stage) -> Failure {
    match stopped {
        Stopped::Cancelled => Failure::interrupted(stage),
        Stopped::TimedOut => Failure::new(
            stage,
            format!("`{}` was ended after its timeout of {}", shortened(command), TimeSpan(timeout)),
        ),
    }
}

/// The first line of a command, for messages.
pub(super) fn shortened(command: &str) -> String {
    let line = command.trim().lines().next().unwrap_or_default();
    match line.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
