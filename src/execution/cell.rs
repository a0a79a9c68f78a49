//! What belongs to a cell rather than to one trial: its place, the places of its services, and what
//! `setup` and `cleanup` do there.

use super::service::ServicePlace;
use super::step::{Notes, Surroundings};
use super::{Failure, Run, place, service, step};
use crate::environments::{Place, is_fresh_for_each_trial};
use crate::event::{Event, Stage};
use crate::plan::Cell;
use crate::plan::substitute::Context;
use crate::spec::{Text, Workload};
use crate::transports::TransportError;

/// What is kept of a cell between its trials.
pub(super) struct CellState {
    /// The names of its templates.
    pub context: Context,
    /// The variables of the workload for all its commands.
    pub env: Vec<(String, String)>,
    /// What `setup` left to be told of every trial.
    pub warnings: Vec<String>,
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
            env: Vec::new(),
            warnings: Vec::new(),
            is_fresh: is_fresh_for_each_trial(&run.spec.environments[cell.environment.as_str()]),
            place: None,
            services: Vec::new(),
            failure: None,
        }
    }

    /// Makes everything that a trial needs and that is not there yet.
    pub(super) async fn ready(&mut self, run: &Run, cell: &Cell, notes: &mut Notes) -> Result<(), Failure> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let made = self.make(run, cell, notes).await;
        if let Err(failure) = &made
            && !run.stop.is_cancelled()
        {
            self.failure = Some(failure.clone());
        }
        made
    }

    async fn make(&mut self, run: &Run, cell: &Cell, notes: &mut Notes) -> Result<(), Failure> {
        let workload = workload(run, cell);
        let render = |(name, value): (&Text, &Text)| Ok((name.value.clone(), self.context.render(value)?));
        let env = workload.env.iter().map(render).collect::<Result<_, String>>();
        self.env = env.map_err(|reason| Failure::new(Stage::Setup, reason))?;
        service::make_places(run, cell, self, notes).await?;
        if self.place.is_some() {
            return Ok(());
        }
        run.say(Event::Preparing { host: cell.host.clone(), what: format!("setting up {}", cell.name) });
        let settings = place::settings(run, &cell.environment, &self.context)?;
        self.place = Some(place::enter(run, &cell.host, &settings).await?);
        let Some(place) = &self.place else { return Ok(()) };
        place::tell(run, cell, &cell.environment, place).await;
        let around = self.surroundings(run, place);
        step::run_all(&run.spec.environments[cell.environment.as_str()].setup, &around, notes).await?;
        for upload in &workload.files {
            step::upload(upload, &around).await?;
        }
        step::run_all(&workload.setup, &around, notes).await
    }

    /// After a trial: what only it was to have is removed, and a container that has died, so that the next
    /// trial gets another. Returns why one died.
    pub(super) async fn after_trial(&mut self, run: &Run, cell: &Cell, has_failed: bool) -> Option<String> {
        let mut told = None;
        for service in std::mem::take(&mut self.services) {
            let death = place::death(&service.place, has_failed).await;
            match (service.is_fresh, death.is_some()) {
                (_, true) => service.discard(run, cell, self).await,
                (true, _) => service.leave(run, cell, self).await,
                (false, _) => self.services.push(service),
            }
            told = told.or(death);
        }
        let death = match &self.place {
            Some(place) => place::death(place, has_failed).await,
            None => None,
        };
        if let Some(place) = self.place.as_ref().filter(|_| has_failed && death.is_none())
            && place::was_out_of_memory(place).await
        {
            told.get_or_insert_with(|| {
                "a process of its container was ended for using too much memory".into()
            });
        }
        if (self.is_fresh || death.is_some())
            && let Some(place) = self.place.take()
        {
            match death {
                Some(_) => self.discard(run, cell, place).await,
                None => self.leave(run, cell, place).await,
            }
        }
        death.or(told)
    }

    /// Runs `cleanup` and removes what was made. A failure is told and never touches a measurement.
    pub(super) async fn release(mut self, run: &Run, cell: &Cell) {
        if let Some(place) = self.place.take() {
            self.leave(run, cell, place).await;
        }
        for service in std::mem::take(&mut self.services) {
            service.leave(run, cell, &self).await;
        }
    }

    async fn leave(&self, run: &Run, cell: &Cell, place: Place) {
        let steps = &workload(run, cell).cleanup;
        place::clean_up(steps, &self.surroundings(run, &place), cell.name.as_str()).await;
        place::leave(run, cell, &cell.environment, &self.surroundings(run, &place)).await;
        tell(run, &cell.host, cell.name.as_str(), place.leave().await);
    }

    /// The same for a place whose container has died: only what was done outside of it is left to undo.
    async fn discard(&self, run: &Run, cell: &Cell, place: Place) {
        let steps = workload(run, cell).cleanup.outside();
        place::clean_up(&steps, &self.surroundings(run, &place), cell.name.as_str()).await;
        place::discard(run, cell, &cell.environment, &self.surroundings(run, &place)).await;
        tell(run, &cell.host, cell.name.as_str(), place.discard(&run.shared).await);
    }

    /// What steps that belong to no trial run in.
    pub(super) fn surroundings<'a>(&'a self, run: &'a Run, place: &'a Place) -> Surroundings<'a> {
        Surroundings {
            run,
            place,
            context: &self.context,
            env: &self.env,
            stage: Stage::Setup,
            limit: step::default_timeout(run),
            stop: &run.stop,
        }
    }
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
