//! One trial: services, `prepare`, the measured command, `conclude`, reading the metrics. Whatever
//! happens, the services are stopped and an [`Outcome`] comes out.

use std::collections::BTreeMap;
use std::time::Duration;

use minijinja::context;

use super::cell::{self, CellState};
use super::service::{self, Started};
use super::{Failure, Run, step, timestamp};
use crate::event::{CacheDrop, Captured, Outcome, Stage, Status};
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
        Ok(()) => with_services(run, cell, state, trial, &mut gathered).await,
        Err(failure) => Err(failure),
    };
    state.after_trial(run, cell).await;
    let (measurements, failure) = match result {
        Ok(measurements) => (measurements, None),
        Err(failure) if run.stop.is_cancelled() => (Vec::new(), Some(Failure::interrupted(failure.stage))),
        Err(failure) => (Vec::new(), Some(failure)),
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
    let mut result = Ok(Vec::new());
    for place in &state.services {
        match service::start(run, cell, place, &context).await {
            Ok(service) => started.push(service),
            Err((failure, ended)) => {
                result = Err(failure);
                gathered.keep_service(&place.name, ended);
                break;
            }
        }
    }
    if result.is_ok() {
        let context = context.with("services", service::addresses(state));
        result = beside(run, cell, state, &context, &mut started, gathered).await;
    }
    for service in started {
        let name = service.place.name.clone();
        gathered.keep_service(&name, service.stop().await);
    }
    result
}

/// What happens while the services run.
async fn beside(
    run: &Run,
    cell: &Cell,
    state: &CellState,
    context: &Context,
    services: &mut [Started<'_>],
    gathered: &mut Gathered,
) -> Measured {
    let workload = cell::workload(run, cell);
    let Some(place) = &state.place else { return Err(Failure::new(Stage::Host, "the cell has no place")) };
    let drops = &mut gathered.drops;
    step::run_all(run, &workload.prepare, place, context, Stage::Prepare, None, &run.stop, drops).await?;
    let timeout = workload.timeout.as_ref().map_or_else(|| step::default_timeout(run), |time| time.value.0);
    let measured = measure(run, cell, place, context, timeout, services).await;
    if let Ok(ended) = &measured {
        gathered.keep(&ended.stdout, "stdout");
        gathered.keep(&ended.stderr, "stderr");
        if ended.is_coarse {
            gathered
                .warnings
                .push("elapsed has a resolution of 10 ms: the machine's clock was set meanwhile, or tells no fractions".into());
        }
    }
    let drops = &mut gathered.drops;
    let concluded =
        step::run_all(run, &workload.conclude, place, context, Stage::Conclude, None, &run.stop, drops).await;
    let ended = measured?;
    if let Some(stopped) = ended.stopped {
        let command = context.command(&workload.run).unwrap_or_default();
        return Err(step::ended_early(&command, stopped, timeout, Stage::Run));
    }
    concluded?;
    let outputs =
        gathered.outputs.iter().map(|(name, output)| (name.clone(), output.bytes.as_slice())).collect();
    let read = metrics::read(&workload.metrics, &outputs, ended.exit_code, ended.elapsed_s);
    let stage = if ended.exit_code == 0 { Stage::Metrics } else { Stage::Run };
    let (measurements, warnings) = read.map_err(|reason| Failure::new(stage, reason))?;
    gathered.warnings.extend(warnings);
    Ok(measurements)
}

/// Runs the measured command. A service that dies meanwhile ends it.
async fn measure(
    run: &Run,
    cell: &Cell,
    place: &crate::environments::Place,
    context: &Context,
    timeout: Duration,
    services: &mut [Started<'_>],
) -> Result<Ended, Failure> {
    let failed = |reason: String| Failure::new(Stage::Run, reason);
    let command = context.command(&cell::workload(run, cell).run).map_err(failed)?;
    let job = step::job(place, command, &place.directory, false);
    let stop = run.stop.child_token();
    let mut running = std::pin::pin!(job::run(&*place.transport, &job, Some(timeout), &stop));
    let ended = tokio::select! {
        ended = &mut running => ended,
        failure = service::death(services) => {
            stop.cancel();
            // Whatever the command makes of it, the trial failed with its service.
            let _ = running.await;
            return Err(failure);
        }
    };
    ended.map_err(|error| failed(error.with_hint()))
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
