//! When a service may be used: something listens on its port, its log says so, or a command succeeds.
//! No connection is made to the port: a server that serves one client only would take it for that one.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{Cause, Failure, step};
use crate::environments::Place;
use crate::event::Stage;
use crate::plan::substitute::Context;
use crate::spec::TimeSpan;
use crate::spec::service::Ready;
use crate::transports::TransportError;
use crate::transports::job::{self, Job};

const DEFAULT_WAIT: Duration = Duration::from_secs(10);
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// Returns when the service with job id `job_id` in `place` is ready.
///
/// # Errors
/// When it is not ready in time, or its sign can't be looked for.
pub(super) async fn wait(
    place: &Place,
    job_id: &str,
    ready: &Ready,
    context: &Context,
    env: &[(String, String)],
) -> Result<(), Failure> {
    let within = ready.within.as_ref().map_or(DEFAULT_WAIT, |time| time.value.0);
    let sign = Sign::new(place, ready, context, env).map_err(failed)?;
    if let Some(task) = &place.task {
        // The time until it runs is not the service's.
        task.until_running().await;
        if task.is_over() {
            // Whoever waits for its end says so.
            return std::future::pending().await;
        }
    }
    let look = async {
        if let (Some(task), true) = (&place.task, sign.is_for_tasks()) {
            task.until_ready().await;
            return if task.is_over() { std::future::pending().await } else { Ok(()) };
        }
        while !sign.is_seen(place, job_id).await? {
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        Ok::<(), Failure>(())
    };
    match tokio::time::timeout(within, look).await {
        Ok(result) => result?,
        Err(_) => {
            let reason = format!("it was not ready within {}: {}", TimeSpan(within), sign.missing());
            return Err(failed(reason).with(Cause::NotReady));
        }
    }
    if let Some(delay) = &ready.delay {
        tokio::time::sleep(delay.0).await;
    }
    Ok(())
}

fn failed(reason: String) -> Failure {
    Failure::new(Stage::Service, reason)
}

/// How the task that `job` will be says that it is ready: nobody can look into it from outside.
///
/// # Errors
/// A template that can't be rendered, or a sign that no task can give.
pub(super) fn announce(
    place: &Place,
    ready: &Ready,
    context: &Context,
    env: &[(String, String)],
) -> Result<(), String> {
    let Some(task) = &place.task else { return Ok(()) };
    task.announce(match Sign::new(place, ready, context, env)? {
        Sign::Port(port) => Some(job::alone::Sign::Port(port)),
        Sign::Command(job) => Some(job::alone::Sign::Command(job.command)),
        Sign::Log(_) => {
            return Err("the output of a task is not seen while it runs: wait for its `port`".into());
        }
        Sign::None => None,
    });
    Ok(())
}

enum Sign {
    Port(u16),
    Log(regex::bytes::Regex),
    Command(Box<Job>),
    /// It is ready at once; only its delay counts.
    None,
}

impl Sign {
    fn new(
        place: &Place,
        ready: &Ready,
        context: &Context,
        env: &[(String, String)],
    ) -> Result<Self, String> {
        if let Some(port) = &ready.port {
            let port = context.render(port)?;
            return port.trim().parse().map(Sign::Port).map_err(|_| format!("`{port}` is not a port"));
        }
        if let Some(log) = &ready.log {
            let pattern = regex::bytes::RegexBuilder::new(&context.render(log)?).multi_line(true).build();
            return pattern.map(Sign::Log).map_err(|error| error.to_string());
        }
        let Some(command) = &ready.command else { return Ok(Sign::None) };
        // As a job, so that it ends when nobody waits for it any more.
        step::line(place, command, context, env).map(|job| Sign::Command(Box::new(job)))
    }

    fn is_for_tasks(&self) -> bool {
        matches!(self, Sign::Port(_) | Sign::Command(_))
    }

    async fn is_seen(&self, place: &Place, job_id: &str) -> Result<bool, Failure> {
        let lost = |error: TransportError| Failure::of(Stage::Service, "", &error);
        let script = match self {
            Sign::Port(port) => format!(
                "grep -qsiE ':{port:04X} [0-9A-F]+:[0-9A-F]+ 0A ' /proc/net/tcp /proc/net/tcp6 && echo seen; :"
            ),
            Sign::Log(_) => job::printed_so_far(job_id),
            Sign::Command(job) => {
                let job = Job { id: step::next_id(place), ..*job.clone() };
                let ended = job::run(&*place.transport, &job, None, &CancellationToken::new()).await;
                return ended.map(|ended| ended.exit_code == 0).map_err(lost);
            }
            Sign::None => return Ok(true),
        };
        let printed = job::query(&*place.transport, &script).await.map_err(lost)?;
        Ok(match self {
            Sign::Log(pattern) => pattern.is_match(&printed),
            _ => !printed.is_empty(),
        })
    }

    fn missing(&self) -> String {
        match self {
            Sign::Port(port) => format!("nothing listens on port {port}"),
            Sign::Log(pattern) => format!("its output does not match `{pattern}`"),
            Sign::Command(job) => format!("`{}` does not succeed", job.command),
            Sign::None => String::new(),
        }
    }
}
