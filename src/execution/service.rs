//! Services: processes beside the workload, on any host and in any environment. Each is started before
//! `prepare`, watched while the workload runs, and always stopped.

use std::collections::BTreeMap;

use futures_util::future;
use minijinja::{Value, context};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::cell::{self, CellState};
use super::step::{Notes, Surroundings};
use super::telling::Telling;
use super::{Cause, Failure, Run, place, readiness, step};
use crate::environments::{Place, Settings, is_fresh_for_each_trial};
use crate::event::Stage;
use crate::metrics;
use crate::plan::substitute::Context;
use crate::plan::{Cell, PlannedService};
use crate::transports::TransportError;
use crate::transports::job::{self, Ended, Job};

/// Where a service of a cell runs, and its port; kept for all trials of the cell.
pub(super) struct ServicePlace {
    pub name: String,
    environment: String,
    pub place: Place,
    pub port: u16,
    /// Whether each trial gets a new one.
    pub is_fresh: bool,
}

impl ServicePlace {
    /// The same when its container has died.
    pub(super) async fn discard(self, run: &Run, cell: &Cell, state: &CellState) {
        place::discard(run, cell, &self.environment, &state.surroundings(run, &self.place)).await;
        let host = self.place.machine.name.clone();
        let discarded = self.place.discard(&run.shared).await;
        state.troubles.tell(run, &host, cell.name.as_str(), discarded);
    }

    /// Removes it. A failure is told and never touches a measurement.
    pub(super) async fn leave(self, run: &Run, cell: &Cell, state: &CellState) {
        place::leave(run, cell, &self.environment, &state.surroundings(run, &self.place)).await;
        let host = self.place.machine.name.clone();
        let left = self.place.leave().await;
        state.troubles.tell(run, &host, cell.name.as_str(), left);
    }
}

/// A service that was started for one trial.
pub(super) struct Started<'a> {
    pub place: &'a ServicePlace,
    run: &'a Run,
    telling: Telling,
    stop: CancellationToken,
    running: JoinHandle<Result<Ended, TransportError>>,
    ended: Option<Result<Ended, TransportError>>,
}

/// Makes the places of the services of `cell` that are not there yet, in the order of the file.
pub(super) async fn make_places(
    run: &Run,
    cell: &Cell,
    state: &mut CellState,
    notes: &mut Notes,
) -> Result<(), Failure> {
    for (index, service) in cell.services.iter().enumerate() {
        if state.services.get(index).is_some_and(|place| place.name == service.name) {
            continue;
        }
        let port = run.machine(&service.host)?.free_port().await;
        let whose = format!("service `{}`: ", service.name);
        let port = port.map_err(|error| Failure::of(Stage::Service, &whose, &error))?;
        let mut settings = place::settings(run, &service.environment, &state.context)?;
        if needs_publishing(run, cell, service, &settings, &state.context).await? {
            settings.publish(port);
        }
        let place = place::enter(run, &service.host, &settings).await;
        let place = place.map_err(|failure| failure.at(Stage::Service, &whose))?;
        place::tell(run, cell, &service.environment, &place).await;
        let declared = &run.spec.environments[service.environment.as_str()];
        let (name, environment) = (service.name.clone(), service.environment.clone());
        let is_fresh = is_fresh_for_each_trial(declared);
        state.services.insert(index, ServicePlace { name, environment, place, port, is_fresh });
        let around = state.surroundings(run, &state.services[index].place);
        let around = Surroundings { stage: Stage::Service, ..around };
        step::run_all(&declared.setup, &around, notes).await?;
        for file in &cell::workload(run, cell).files {
            step::upload(file, &around).await?;
        }
    }
    Ok(())
}

/// Whether the clients of a service in a container come from outside its network.
async fn needs_publishing(
    run: &Run,
    cell: &Cell,
    service: &PlannedService,
    settings: &Settings,
    context: &Context,
) -> Result<bool, Failure> {
    let Some(network) = settings.network().filter(|network| *network != "host") else { return Ok(false) };
    let (machine, client_machine) = (run.machine(&service.host)?, run.machine(&cell.host)?);
    if machine.cluster().is_some() {
        // A task has an address of its own.
        return Ok(false);
    }
    let client = place::settings(run, &cell.environment, context)?;
    if client.network() != Some(network) || client_machine.cluster().is_some() {
        return Ok(true);
    }
    let failed = |error: TransportError| Failure::of(Stage::Service, "", &error);
    let engine = machine.engine().await.map_err(failed)?;
    let client_engine = client_machine.engine().await.map_err(failed)?;
    Ok(engine.id != client_engine.id)
}

/// `{{ services.NAME.address }}` and `.port`, as seen from where the workload runs.
pub(super) fn addresses(state: &CellState) -> Value {
    let entry = |service: &ServicePlace| {
        let address = state.place.as_ref().map(|client| address(&service.place, client));
        (service.name.clone(), context! { address, port => service.port })
    };
    Value::from(state.services.iter().map(entry).collect::<BTreeMap<_, _>>())
}

fn address(service: &Place, client: &Place) -> String {
    if let Some(address) = service.task.as_ref().and_then(|task| task.address()) {
        return address;
    }
    if let (Some(server), Some(client)) = (&service.container, &client.container)
        && !service.is_on_host_network()
        && (server.engine().id == client.engine().id && server.network == client.network)
    {
        return server.address.clone();
    }
    match service.machine.name == client.machine.name && client.is_on_host_network() {
        true => "127.0.0.1".into(),
        false => service.machine.peer_address.clone(),
    }
}

/// Starts a service and waits until it is ready. A service that does not get there is stopped, and what
/// it printed comes with the failure.
pub(super) async fn start<'a>(
    run: &'a Run,
    cell: &Cell,
    place: &'a ServicePlace,
    context: &Context,
    env: &[(String, String)],
    stop: &CancellationToken,
) -> Result<Started<'a>, (Failure, Option<Ended>)> {
    let whose = format!("service `{}`: ", place.name);
    let failed = |reason: String| Failure::new(Stage::Service, format!("{whose}{reason}"));
    let declared = &cell::workload(run, cell).services[place.name.as_str()];
    let context = context.with("port", place.port);
    let job =
        step::job(&place.place, &declared.run, &context, env).map_err(|reason| (failed(reason), None))?;
    let rule = declared.stop.clone().unwrap_or_default();
    let default = job::Stop::default();
    let job = Job {
        stop: job::Stop {
            signal: rule.signal.map_or(default.signal, |signal| signal.as_str().to_owned()),
            grace: rule.grace.map_or(default.grace, |grace| grace.0),
        },
        probes: place.place.machine.probes.clone(),
        ..job
    };
    let announced = readiness::announce(&place.place, &declared.ready, &context, env);
    announced.map_err(|reason| (failed(reason), None))?;
    let telling = Telling::start(run, &place.place.machine.name, Stage::Service, &job.command).await;
    let (transport, end) = (place.place.transport.clone(), CancellationToken::new());
    let running = {
        let (job, end) = (job.clone(), end.clone());
        tokio::spawn(async move { job::run(&*transport, &job, None, &end).await })
    };
    // The service goes first, and only then is its sign looked for.
    tokio::task::yield_now().await;
    let mut started = Started { place, run, telling, stop: end, running, ended: None };
    let failure = tokio::select! {
        ready = readiness::wait(&place.place, &job.id, &declared.ready, &context, env) => match ready {
            Ok(()) => return Ok(started),
            Err(failure) => failure.at(Stage::Service, &whose),
        },
        () = started.end() => {
            failed(started.last_words("it ended before it was ready")).with(started.cause(true))
        }
        () = stop.cancelled() => Failure::interrupted(Stage::Service),
    };
    Err((failure, started.stop().await.0))
}

/// Resolves when one of `services` dies; one that ends with exit code 0 has done its work.
pub(super) async fn death(services: &mut [Started<'_>]) -> Failure {
    if services.is_empty() {
        return future::pending().await;
    }
    let deaths = services.iter_mut().map(|service| Box::pin(service.death()));
    future::select_all(deaths).await.0
}

impl Started<'_> {
    async fn end(&mut self) {
        if self.ended.is_none() {
            self.ended = Some((&mut self.running).await.unwrap_or_else(|error| {
                Err(TransportError {
                    message: format!("its task failed: {error}"),
                    hint: None,
                    is_lost: false,
                })
            }));
        }
    }

    async fn death(&mut self) -> Failure {
        self.end().await;
        match &self.ended {
            Some(Ok(ended)) if ended.exit_code == 0 => future::pending().await,
            _ => self.failure(),
        }
    }

    /// That it has died, with its last words.
    fn failure(&self) -> Failure {
        let reason = self.last_words("it died while the workload ran");
        let failure = Failure::new(Stage::Service, format!("service `{}`: {reason}", self.place.name));
        failure.with(self.cause(false))
    }

    /// Why it has ended; what it printed tells only of its start.
    fn cause(&self, is_start: bool) -> Cause {
        match &self.ended {
            Some(Err(error)) if error.is_lost => Cause::Connection,
            Some(Err(error)) => Cause::of_words(&error.message),
            Some(Ok(ended)) if is_start => {
                let printed =
                    [&ended.stdout, &ended.stderr].map(|stream| String::from_utf8_lossy(&stream.bytes));
                Cause::of_words(&printed.concat())
            }
            _ => Cause::Other,
        }
    }

    fn last_words(&self, what: &str) -> String {
        match &self.ended {
            Some(Ok(ended)) => metrics::reason(what, step::printed(ended)),
            Some(Err(error)) => format!("{what}: {}", error.message),
            None => what.to_owned(),
        }
    }

    /// Ends it, if it has not ended, and returns what it printed, and why the trial is spoilt where it died before
    /// it was ended.
    pub(super) async fn stop(mut self) -> (Option<Ended>, Option<Failure>) {
        self.stop.cancel();
        self.end().await;
        let death = match &self.ended {
            Some(Ok(ended)) if ended.stopped.is_some() || ended.exit_code == 0 => None,
            _ => Some(self.failure()),
        };
        let Some(ended) = self.ended else { return (None, death) };
        self.telling.end(self.run, &ended);
        (ended.ok(), death)
    }
}
