//! The steps that wait until the machine below a place is fit to be measured. They look once a second and
//! leave it alone in between.

use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Failure;
use crate::event::{Stage, Wait};
use crate::hosts::{self, Machine};
use crate::spec::TimeSpan;
use crate::spec::wait::{CoolDown, WaitIdle};

/// How long a machine is left alone between two looks; also the time over which its load is taken.
const PAUSE: Duration = Duration::from_secs(1);

/// Waits until `machine` has nothing to do.
pub(super) async fn wait_idle(
    machine: &Machine,
    settings: &WaitIdle,
    stage: Stage,
    stop: &CancellationToken,
) -> Result<Wait, Failure> {
    let WaitIdle { load_below, within } = *settings;
    let failed = |error| Failure::of(stage, "wait_idle: ", &error);
    let start = Instant::now();
    let mut earlier = hosts::activity(machine).await.map_err(failed)?;
    let mut first = None;
    loop {
        pause(stage, stop).await?;
        let now = hosts::activity(machine).await.map_err(failed)?;
        let load = now.load_since(&earlier);
        earlier = now;
        first = first.or(load);
        if let (Some(first), Some(load)) = (first, load)
            && load < load_below
        {
            return Ok(waited("wait_idle", machine, start, first, load));
        }
        if start.elapsed() >= within.0 {
            let found = |load: Option<f64>| load.map_or("not known".to_owned(), |load| format!("{load:.2}"));
            let reason = format!(
                "wait_idle: the load of `{}` is {} after {}, and must be below {load_below}; it was {} at first",
                machine.name,
                found(load),
                TimeSpan(within.0),
                found(first)
            );
            return Err(Failure::new(stage, reason));
        }
    }
}

/// Waits until the CPU of `machine` is cool. Returns the reason instead where it has no thermal sensor.
pub(super) async fn cool_down(
    machine: &Machine,
    settings: &CoolDown,
    stage: Stage,
    stop: &CancellationToken,
) -> Result<Result<Wait, String>, Failure> {
    let CoolDown { below, within, .. } = *settings;
    let start = Instant::now();
    let mut first = None;
    loop {
        let found = hosts::temperature(machine).await;
        let Some(degrees) = found.map_err(|error| Failure::of(stage, "cool_down: ", &error))? else {
            return Ok(Err(format!("cool_down: `{}` has no thermal sensor that can be read", machine.name)));
        };
        let first = *first.get_or_insert(degrees);
        if degrees < below.0 {
            return Ok(Ok(waited("cool_down", machine, start, first, degrees)));
        }
        if start.elapsed() >= within.0 {
            let reason = format!(
                "cool_down: `{}` has {degrees:.1}C after {within}, and must be below {below}; it had {first:.1}C at first",
                machine.name
            );
            return Err(Failure::new(stage, reason));
        }
        pause(stage, stop).await?;
    }
}

fn waited(step: &str, machine: &Machine, start: Instant, first: f64, last: f64) -> Wait {
    let rounded = |value: f64| (value * 1000.0).round() / 1000.0;
    Wait {
        step: step.to_owned(),
        host: machine.name.clone(),
        waited_s: rounded(start.elapsed().as_secs_f64()),
        first: rounded(first),
        last: rounded(last),
    }
}

/// Waits for a moment, unless the run is to end.
async fn pause(stage: Stage, stop: &CancellationToken) -> Result<(), Failure> {
    tokio::select! {
        () = tokio::time::sleep(PAUSE) => Ok(()),
        () = stop.cancelled() => Err(Failure::interrupted(stage)),
    }
}
