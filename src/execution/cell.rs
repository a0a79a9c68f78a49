//! What belongs to a cell rather than to one trial: its place, the places of its services, and what
//! `setup` and `cleanup` do there.

use tokio_util::sync::CancellationToken;

use super::service::ServicePlace;
use super::step::Surroundings;
use super::{CLEAN_UP_TIMEOUT, Failure, Run, service, step};
use crate::environments::{Place, Settings, is_fresh_for_each_trial};
use crate::event::{CacheDrop, Event, Facts, Stage};
use crate::hosts;
use crate::plan::Cell;
use crate::plan::substitute::Context;
use crate::spec::Workload;
use crate::spec::workload::Step;
use crate::transports::{TransportError, job};

/// What is kept of a cell between its trials.
pub(super) struct CellState {
    /// The names of its templates.
    pub context: Context,
    /// Whether each trial gets a new place.
    is_fresh: bool,
    /// Where its commands run, once it was made.
    pub place: Option<Place>,
    /// Where its services run.
    pub services: Vec<ServicePlace>,
    /// Set once making it or its `setup` has failed; no trial of it is tried then.
    failure: Option<Failure>,
}

impl CellState {
    pub(super) fn new(run: &Run, cell: &Cell) -> Self {
        CellState {
            context: Context::of_cell(&run.spec, cell),
            is_fresh: is_fresh_for_each_trial(&run.spec.environments[cell.environment.as_str()]),
            place: None,
            services: Vec::new(),
            failure: None,
        }
    }

    /// Makes everything that a trial needs and that is not there yet.
    pub(super) async fn ready(
        &mut self,
        run: &Run,
        cell: &Cell,
        drops: &mut Vec<CacheDrop>,
    ) -> Result<(), Failure> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let made = self.make(run, cell, drops).await;
        if let Err(failure) = &made
            && !run.stop.is_cancelled()
        {
            self.failure = Some(failure.clone());
        }
        made
    }

    async fn make(&mut self, run: &Run, cell: &Cell, drops: &mut Vec<CacheDrop>) -> Result<(), Failure> {
        service::make_places(run, cell, &self.context, &mut self.services).await?;
        if self.place.is_some() {
            return Ok(());
        }
        let settings = settings(run, &cell.environment, &self.context)?;
        let machine = run.machine(&cell.host)?;
        run.say(Event::Preparing { host: cell.host.clone(), what: format!("setting up {}", cell.name) });
        let place = Place::enter(machine, &settings, &run.id, &run.stop)
            .await
            .map_err(|error| Failure::new(Stage::Host, error.with_hint()))?;
        let place = self.place.insert(place);
        tell_place(run, cell, &cell.environment, place).await;
        let setup = &workload(run, cell).setup;
        let around = Surroundings {
            run,
            place,
            context: &self.context,
            stage: Stage::Setup,
            limit: step::default_timeout(run),
            stop: &run.stop,
        };
        step::run_all(setup, &around, drops).await
    }

    /// After a trial: what only it was to have is removed, and a container that has died, so that the next
    /// trial gets another. Returns why one died.
    pub(super) async fn after_trial(&mut self, run: &Run, cell: &Cell, has_failed: bool) -> Option<String> {
        let mut told = None;
        for service in std::mem::take(&mut self.services) {
            let death = death(&service.place, has_failed).await;
            match service.is_fresh || death.is_some() {
                true => service.leave(run, cell).await,
                false => self.services.push(service),
            }
            told = told.or(death);
        }
        let death = match &self.place {
            Some(place) => death(place, has_failed).await,
            None => None,
        };
        if (self.is_fresh || death.is_some())
            && let Some(place) = self.place.take()
        {
            self.leave(run, cell, place).await;
        }
        death.or(told)
    }

    /// Runs `cleanup` and removes what was made. A failure is told and never touches a measurement.
    pub(super) async fn release(mut self, run: &Run, cell: &Cell) {
        if let Some(place) = self.place.take() {
            self.leave(run, cell, place).await;
        }
        for service in std::mem::take(&mut self.services) {
            service.leave(run, cell).await;
        }
    }

    async fn leave(&self, run: &Run, cell: &Cell, place: Place) {
        // Clean-up goes on when the run is stopped; it has a time limit of its own.
        let never = CancellationToken::new();
        let steps = &workload(run, cell).cleanup;
        let around = Surroundings {
            run,
            place: &place,
            context: &self.context,
            stage: Stage::Conclude,
            limit: CLEAN_UP_TIMEOUT,
            stop: &never,
        };
        let cleaned = step::run_all(steps, &around, &mut Vec::new()).await;
        if let Err(failure) = cleaned {
            run.say(Event::CleanUpFailed {
                host: cell.host.clone(),
                what: format!("cleanup of {}", cell.name),
                reason: failure.reason,
            });
        }
        self.sweep(run, cell, &place.id).await;
        tell(run, &cell.host, &cell.name.to_string(), place.leave().await);
    }

    /// Ends what the steps of this cell have left outside its place: on the host of a container, on other
    /// hosts, as root.
    async fn sweep(&self, run: &Run, cell: &Cell, place: &str) {
        let workload = workload(run, cell);
        let steps = [&workload.setup, &workload.prepare, &workload.conclude, &workload.cleanup];
        let has_sudo = |step: &Step| matches!(step, Step::Run(step) if step.sudo);
        let as_root = steps.iter().flat_map(|steps| &steps.0).any(|step| has_sudo(step));
        for machine in cell.step_hosts.iter().chain([&cell.host]).filter_map(|host| run.machine(host).ok()) {
            let swept = job::query(&*machine.transport, &job::sweep_place(place, as_root)).await;
            tell(run, &machine.name, &cell.name.to_string(), swept.map(drop));
        }
    }
}

/// Why the container of `place` died, if it has one that did; looked for only after a failure.
async fn death(place: &Place, has_failed: bool) -> Option<String> {
    place.container.as_ref().filter(|_| has_failed)?.death().await
}

/// Tells what in an environment differs from its host: engine and image, file system, version of the tool.
pub(super) async fn tell_place(run: &Run, cell: &Cell, environment: &str, place: &Place) {
    let declared = &run.spec.environments[environment];
    let host = &place.machine.name;
    let tool = workload(run, cell).metrics.tool.as_deref().map(|tool| tool.as_str());
    let is_other = declared.container.is_some() || declared.workdir.is_some();
    if !is_other || !run.is_news(&[host, environment, tool.unwrap_or_default()]) {
        return;
    }
    let mut facts = Facts::new();
    let mut add = |name: &str, value: String| facts.insert(format!("{environment}: {name}"), value);
    if let Some(container) = &place.container {
        add("engine", container.engine().version.clone());
        add("image", container.image.clone());
    }
    let workdir = place.directory.rsplit_once('/').map_or("/", |(above, _)| above);
    // A place that can't be asked fails in its first command, with the reason.
    let found = hosts::place_facts(&*place.transport, workdir, tool.as_slice()).await.unwrap_or_default();
    for (name, value) in found {
        add(&name, value);
    }
    run.say(Event::FactsFound { host: host.clone(), facts });
}

pub(super) fn tell(run: &Run, host: &str, what: &str, result: Result<(), TransportError>) {
    if let Err(error) = result {
        run.say(Event::CleanUpFailed { host: host.to_owned(), what: what.to_owned(), reason: error.message });
    }
}

/// The workload of a cell; a checked plan names no other.
pub(super) fn workload<'a>(run: &'a Run, cell: &Cell) -> &'a Workload {
    &run.spec.workloads[cell.workload.as_str()]
}

/// The settings of `environment` in a cell.
pub(super) fn settings(run: &Run, environment: &str, context: &Context) -> Result<Settings, Failure> {
    let declared = &run.spec.environments[environment];
    Settings::new(declared, &run.sources, &|text| context.render(text))
        .map_err(|reason| Failure::new(Stage::Host, reason))
}
