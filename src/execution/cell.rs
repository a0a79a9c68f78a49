//! What belongs to a cell rather than to one trial: its place, the places of its services, and what
//! `setup` and `cleanup` do there.

use std::cell::RefCell;
use std::rc::Rc;

use super::service::ServicePlace;
use super::step::{Notes, Surroundings};
use super::{Cause, Failure, Run, place, service, step};
use crate::environments::{Place, is_fresh_for_each_trial};
use crate::event::{Event, Stage};
use crate::plan::Cell;
use crate::plan::substitute::Context;
use crate::spec::{Host, Text, Workload};
use crate::transports::docker::End;
use crate::transports::{TransportError, job};

/// What of a cell's clean-up has failed since it was last asked: it is told at once, and goes into the
/// record of the trial.
#[derive(Default)]
pub(super) struct Troubles(RefCell<Vec<String>>);

impl Troubles {
    pub(super) fn add(&self, run: &Run, host: &str, what: &str, reason: String) {
        self.0.borrow_mut().push(format!("clean-up failed on {host}: {what}: {reason}"));
        run.say(Event::CleanUpFailed { host: host.to_owned(), what: what.to_owned(), reason });
    }

    pub(super) fn tell(&self, run: &Run, host: &str, what: &str, result: Result<(), TransportError>) {
        if let Err(error) = result {
            self.add(run, host, what, error.message);
        }
    }

    pub(super) fn take(&self) -> Vec<String> {
        self.0.take()
    }
}

/// What has to be looked at, or made anew, before the next trial of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Doubt {
    /// Nothing.
    None,
    /// A service did not get ready: it gets a new place and a new port.
    Services,
    /// A connection was lost: its machine may have been started anew, and nothing be left there.
    Lost,
    /// Making it has failed half-way.
    Whole,
}

/// The names of the templates of `cell`; the address of a host that was made is known once it is up.
fn context(run: &Run, cell: &Cell) -> Context {
    let context = Context::of_cell(&run.spec, cell);
    let declared = &run.spec.hosts[cell.host.as_str()];
    match run.machine(&cell.host) {
        Ok(machine) if declared.is_provided() => {
            let peer_address = Some(Text::unwritten(machine.peer_address.clone()));
            context.with_host(&cell.host, &Host { peer_address, ..declared.clone() })
        }
        _ => context,
    }
}

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
    doubt: Doubt,
    pub troubles: Rc<Troubles>,
}

impl CellState {
    pub(super) fn new(run: &Run, cell: &Cell) -> Self {
        CellState {
            context: context(run, cell),
            env: Vec::new(),
            warnings: Vec::new(),
            is_fresh: is_fresh_for_each_trial(&run.spec.environments[cell.environment.as_str()]),
            place: None,
            services: Vec::new(),
            failure: None,
            doubt: Doubt::None,
            troubles: Rc::default(),
        }
    }

    /// Makes everything that a trial needs and that is not there yet.
    pub(super) async fn ready(&mut self, run: &Run, cell: &Cell, notes: &mut Notes) -> Result<(), Failure> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        self.reconsider(run, cell).await?;
        let made = self.make(run, cell, notes).await;
        if let Err(failure) = &made
            && !run.stop.is_cancelled()
        {
            match failure.cause.may_pass() {
                true => self.doubt = Doubt::Whole,
                false => self.failure = Some(failure.clone()),
            }
        }
        made
    }

    /// What the failure of a trial means for the next one.
    pub(super) fn after_failure(&mut self, failure: &Failure) {
        let doubt = match failure.cause {
            Cause::Connection => Doubt::Lost,
            Cause::NotReady | Cause::Busy if failure.stage == Stage::Service => Doubt::Services,
            _ => Doubt::None,
        };
        self.doubt = self.doubt.max(doubt);
    }

    /// Whether all its directories are still on their machines.
    async fn is_there(&self) -> Result<bool, Failure> {
        for place in self.place.iter().chain(self.services.iter().map(|service| &service.place)) {
            if place.task.is_some() {
                continue;
            }
            let script = format!("cd {}", job::quote(&place.directory));
            match job::query(&*place.transport, &script).await {
                Ok(_) => {}
                Err(error) if error.is_lost => return Err(Failure::of(Stage::Host, "", &error)),
                Err(_) => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Removes what can't be used any more. When its machine does not answer it stays in doubt.
    async fn reconsider(&mut self, run: &Run, cell: &Cell) -> Result<(), Failure> {
        if self.doubt == Doubt::None {
            return Ok(());
        }
        let is_there = self.is_there().await?;
        let doubt = std::mem::replace(&mut self.doubt, Doubt::None);
        if doubt == Doubt::Services || doubt == Doubt::Whole || !is_there {
            for service in std::mem::take(&mut self.services) {
                match is_there {
                    true => service.leave(run, cell, self).await,
                    false => service.discard(run, cell, self).await,
                }
            }
        }
        if (doubt == Doubt::Whole || !is_there)
            && let Some(place) = self.place.take()
        {
            match is_there {
                true => self.leave(run, cell, place).await,
                false => self.discard(run, cell, place).await,
            }
        }
        Ok(())
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
    /// trial gets another. Returns why one died, or that the memory of the trial's own was too little: that is
    /// asked after every trial, since a shell ends well without its child.
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
        if let Some(place) = self.place.as_ref().filter(|_| death.is_none())
            && place::was_out_of_memory(place).await
        {
            told.get_or_insert_with(|| End::ProcessOutOfMemory.to_string());
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

    /// Runs `cleanup` and removes what was made. A failure is told, kept in its troubles, and never touches a
    /// measurement.
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
        self.troubles.tell(run, &cell.host, cell.name.as_str(), place.leave().await);
    }

    /// The same for a place whose container has died: only what was done outside of it is left to undo.
    async fn discard(&self, run: &Run, cell: &Cell, place: Place) {
        let steps = workload(run, cell).cleanup.outside();
        place::clean_up(&steps, &self.surroundings(run, &place), cell.name.as_str()).await;
        place::discard(run, cell, &cell.environment, &self.surroundings(run, &place)).await;
        self.troubles.tell(run, &cell.host, cell.name.as_str(), place.discard(&run.shared).await);
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
            troubles: &self.troubles,
        }
    }
}

/// The workload of a cell; a checked plan names no other.
pub(super) fn workload<'a>(run: &'a Run, cell: &Cell) -> &'a Workload {
    &run.spec.workloads[cell.workload.as_str()]
}
