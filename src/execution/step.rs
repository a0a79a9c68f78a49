//! The steps around the measured command: commands, cache drops, waiting.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{DEFAULT_TIMEOUT, Failure, Run};
use crate::environments::Place;
use crate::event::{CacheDrop, Stage};
use crate::hosts::{self, Machine};
use crate::metrics::{self, ToolOutput};
use crate::plan::substitute::Context;
use crate::spec::TimeSpan;
use crate::spec::host::Sudo;
use crate::spec::workload::{RunStep, Step, Steps};
use crate::transports::Transport;
use crate::transports::job::{self, Ended, Job, Stopped};

/// What steps run in.
pub(super) struct Surroundings<'a> {
    pub run: &'a Run,
    pub place: &'a Place,
    pub context: &'a Context,
    pub stage: Stage,
    /// The longest time of a command that has none of its own.
    pub limit: Duration,
    pub stop: &'a CancellationToken,
}

/// Runs `steps` one after the other; the first that fails ends them. Cache drops are added to `drops`.
pub(super) async fn run_all(
    steps: &Steps,
    around: &Surroundings<'_>,
    drops: &mut Vec<CacheDrop>,
) -> Result<(), Failure> {
    let Surroundings { place, stage, stop, .. } = *around;
    for step in &steps.0 {
        if stop.is_cancelled() {
            return Err(Failure::interrupted(stage));
        }
        match &step.value {
            Step::Sleep(TimeSpan(time)) => tokio::select! {
                () = tokio::time::sleep(*time) => {}
                () = stop.cancelled() => return Err(Failure::interrupted(stage)),
            },
            Step::DropCaches => drops.push(drop_caches(&place.machine, stage).await?),
            Step::Run(step) => command(step, around).await?,
        }
    }
    Ok(())
}

async fn drop_caches(machine: &Machine, stage: Stage) -> Result<CacheDrop, Failure> {
    match hosts::drop_caches(machine).await {
        Ok(figures) => Ok(CacheDrop {
            host: machine.name.clone(),
            cached_before_kb: figures.before_kb,
            cached_after_kb: figures.after_kb,
        }),
        Err(reason) => Err(Failure::new(stage, reason)),
    }
}

async fn command(step: &RunStep, around: &Surroundings<'_>) -> Result<(), Failure> {
    let Surroundings { run, place, context, stage, limit, stop } = *around;
    let failed = |reason: String| Failure::new(stage, reason);
    let command = context.render(&step.command).map_err(failed)?;
    let on = step.on.as_deref().map(|on| on.as_str());
    let (machine, is_inside) = match on {
        None | Some("environment") => (&place.machine, true),
        Some("host") => (&place.machine, place.container.is_none()),
        Some(host) => (run.machine(host)?, false),
    };
    if step.sudo && machine.sudo == Sudo::None && !(is_inside && place.container.is_some()) {
        return Err(failed(format!("a step wants `sudo`, and `{}` has `sudo: none`", machine.name)));
    }
    let (transport, directory): (&dyn Transport, &str) = match is_inside {
        true => (&*place.transport, &place.directory),
        false => (&*machine.transport, "/"),
    };
    let timeout = step.timeout.map_or(limit, |time| time.0);
    // What a step starts and sends to a group of its own stays until the cell ends: it may be meant to.
    let job = Job { sudo: step.sudo, ends_daemons: false, ..job(place, command, directory) };
    let ended =
        job::run(transport, &job, Some(timeout), stop).await.map_err(|error| failed(error.message))?;
    if let Some(stopped) = ended.stopped {
        return Err(ended_early(&job.command.to_string(), stopped, timeout, stage));
    }
    match ended.exit_code {
        0 => Ok(()),
        _ => Err(failed(metrics::reason(
            &format!("`{}` failed", shortened(&job.command.to_string())),
            printed(&ended),
        ))),
    }
}

/// The time a command may take when neither it nor its workload says.
pub(super) fn default_timeout(run: &Run) -> Duration {
    run.spec.timeout.as_ref().map_or(DEFAULT_TIMEOUT, |time| time.value.0)
}

/// A command of `place`, under the wrapper.
pub(super) fn job(place: &Place, command: String, directory: &str) -> Job {
    let id = format!("{}-{}", place.id, job::next_number());
    let directory = directory.to_owned();
    Job {
        command: job::Command::line(command),
        env: Vec::new(),
        directory,
        sudo: false,
        ends_daemons: true,
        stop: job::Stop::default(),
        id,
        place: place.id.clone(),
    }
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
