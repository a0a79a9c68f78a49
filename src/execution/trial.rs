//! One trial: services, `prepare`, the measured command, `conclude`, reading the metrics. Whatever
//! happens, the services are stopped and an [`Outcome`] comes out.

use std::collections::BTreeMap;
use std::time::Duration;

use minijinja::context;

use super::cell::{self, CellState};
use super::service::{self, Started};
use super::step::Surroundings;
use super::{Failure, Run, step, timestamp};
use crate::event::{CacheDrop, Captured, Event, Outcome, Stage, Status};
use crate::metrics;
use crate::plan::substitute::Context;
use crate::plan::{Cell, Trial};
use crate::transports::job::{self, Ended, Stream};

/// What a trial gathers on its way, kept also when it fails.
#[derive(Default)]
pub(super) struct Gathered {
    pub drops: Vec<CacheDrop>,
    pub outputs: BTreeMap<String, Captured>,
    pub warnings: Vec<String>,
}

pub(super) async fn execute(run: &Run, cell: &Cell, state: &mut CellState, trial: &Trial) -> Outcome {
    let started = timestamp();
    let clock = tokio::time::Instant::now();
    let mut gathered = Gathered::default();
    let result = match state.ready(run, cell, &mut gathered.drops).await {
        Ok(()) => {
            run.say(Event::TrialSetUp { trial: trial.clone(), host: cell.host.clone() });
            with_services(run, cell, state, trial, &mut gathered).await
        }
        Err(failure) => Err(failure),
    };
    let death = state.after_trial(run, cell, result.is_err()).await;
    let (measurements, failure) = match result {
        Ok(measurements) => (measurements, None),
        Err(failure) if run.stop.is_cancelled() => (Vec::new(), Some(Failure::interrupted(failure.stage))),
        Err(mut failure) => {
            failure.reason.extend(death.map(|death| format!("; {death}")));
            (Vec::new(), Some(failure))
        }
    };
    Outcome {
        trial: trial.clone(),
        attempt: 1,
        status: failure.as_ref().map_or(Status::Ok, |failure| failure.status),
        stage: failure.as_ref().map(|failure| failure.stage),
        reason: failure.map(|failure| failure.reason),
        started,
        elapsed_s: clock.elapsed().as_secs_f64(),
        measurements,
        warnings: gathered.warnings,
        caches: gathered.drops,
        outputs: gathered.outputs,
    }
}

type Measured = Result<Vec<metrics::Measurement>, Failure>;

async fn with_services(
    run: &Run,
    cell: &Cell,
    state: &CellState,
    trial: &Trial,
    gathered: &mut Gathered,
) -> Measured {
    let context =
        state.context.with("trial", context! { repetition => trial.repetition, name => trial.id() });
    let mut started: Vec<Started<'_>> = Vec::new();
    let mut failure = None;
    for place in &state.services {
        match service::start(run, cell, place, &context).await {
            Ok(service) => started.push(service),
            Err((reason, ended)) => {
                failure = Some(reason);
                gathered.keep_service(&place.name, ended);
                break;
            }
        }
    }
    let measured = match failure {
        Some(failure) => Err(failure),
        None => {
            let context = context.with("services", service::addresses(state));
            beside(run, cell, state, &context, &mut started, gathered).await
        }
    };
    for service in started {
        let name = service.place.name.clone();
        gathered.keep_service(&name, service.stop().await);
    }
    // Only now: a metric may stand in what a service has printed.
    read(run, cell, &measured?, gathered)
}

/// What happens while the services run.
async fn beside(
    run: &Run,
    cell: &Cell,
    state: &CellState,
    context: &Context,
    services: &mut [Started<'_>],
    gathered: &mut Gathered,
) -> Result<Ended, Failure> {
    let workload = cell::workload(run, cell);
    let Some(place) = &state.place else { return Err(Failure::new(Stage::Host, "the cell has no place")) };
    let limit = step::default_timeout(run);
    let prepare = Surroundings { run, place, context, stage: Stage::Prepare, limit, stop: &run.stop };
    step::run_all(&workload.prepare, &prepare, &mut gathered.drops).await?;
    let timeout = workload.timeout.as_ref().map_or(limit, |time| time.value.0);
    let measured = measure(run, cell, &prepare, timeout, services, gathered).await;
    let conclude = Surroundings { stage: Stage::Conclude, ..prepare };
    let concluded = step::run_all(&workload.conclude, &conclude, &mut gathered.drops).await;
    let ended = measured?;
    concluded.map(|()| ended)
}

/// Reads the metrics out of everything that was printed.
fn read(run: &Run, cell: &Cell, ended: &Ended, gathered: &mut Gathered) -> Measured {
    let metrics = &cell::workload(run, cell).metrics;
    let cut = gathered.outputs.iter().find(|(_, output)| output.is_cut());
    if let Some((name, output)) = cut {
        let what = format!("{name} has {} bytes, of which {} are kept", output.size, output.bytes.len());
        if metrics.tool.is_some() || !metrics.extract.is_empty() {
            return Err(Failure::new(Stage::Metrics, format!("{what}: nothing is read out of a part")));
        }
        gathered.warnings.push(what);
    }
    if ended.is_coarse {
        let why = "the machine's clock was set meanwhile, or tells no fractions";
        gathered.warnings.push(format!("elapsed has a resolution of 10 ms: {why}"));
    }
    let outputs =
        gathered.outputs.iter().map(|(name, output)| (name.clone(), output.bytes.as_slice())).collect();
    let stage = if ended.exit_code == 0 { Stage::Metrics } else { Stage::Run };
    let (measurements, warnings) = metrics::read(metrics, &outputs, ended.exit_code, ended.elapsed_s)
        .map_err(|reason| Failure::new(stage, reason))?;
    gathered.warnings.extend(warnings);
    Ok(measurements)
}

/// Runs the measured command. A service that dies meanwhile ends it. What it printed is kept, however it
/// ended.
async fn measure(
    run: &Run,
    cell: &Cell,
    around: &Surroundings<'_>,
    timeout: Duration,
    services: &mut [Started<'_>],
    gathered: &mut Gathered,
) -> Result<Ended, Failure> {
    let failed = |reason: String| Failure::new(Stage::Run, reason);
    let Surroundings { place, context, .. } = *around;
    let command = context.command(&cell::workload(run, cell).run).map_err(failed)?;
    let job = step::job(place, command, &place.directory);
    let stop = run.stop.child_token();
    let mut running = std::pin::pin!(job::run(&*place.transport, &job, Some(timeout), &stop));
    let (ended, death) = tokio::select! {
        ended = &mut running => (ended, None),
        failure = service::death(services) => {
            stop.cancel();
            (running.await, Some(failure))
        }
    };
    if let Ok(ended) = &ended {
        gathered.keep(&ended.stdout, "stdout");
        gathered.keep(&ended.stderr, "stderr");
    }
    if let Some(death) = death {
        return Err(death);
    }
    let ended = ended.map_err(|error| failed(error.with_hint()))?;
    match ended.stopped {
        Some(stopped) => Err(step::ended_early(&job.command.to_string(), stopped, timeout, Stage::Run)),
        None => Ok(ended),
    }
}

impl Gathered {
    fn keep(&mut self, stream: &Stream, name: &str) {
        self.outputs.insert(name.to_owned(), Captured { bytes: stream.bytes.clone(), size: stream.size });
    }

    fn keep_service(&mut self, name: &str, ended: Option<Ended>) {
        if let Some(ended) = ended {
            self.keep(&ended.stdout, &format!("services/{name}/stdout"));
            self.keep(&ended.stderr, &format!("services/{name}/stderr"));
        }
    }
}
