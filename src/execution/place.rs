//! What execution does with a place beside running commands in it: enter it, say what is special of it,
//! undo what its environment has set up.

use tokio_util::sync::CancellationToken;

use super::step::{Notes, Surroundings};
use super::{CLEAN_UP_TIMEOUT, Failure, Run, cell, step};
use crate::environments::{Place, Settings};
use crate::event::{Event, Facts, Stage};
use crate::hosts;
use crate::metrics::version_command;
use crate::plan::Cell;
use crate::plan::substitute::Context;
use crate::spec::step::{Step, Steps};
use crate::transports::job;

/// The settings of `environment` in a cell.
pub(super) fn settings(run: &Run, environment: &str, context: &Context) -> Result<Settings, Failure> {
    let declared = &run.spec.environments[environment];
    Settings::new(declared, &run.sources, &|text| context.render(text))
        .map_err(|reason| Failure::new(Stage::Host, reason))
}

/// A new place on `host`.
///
/// # Errors
/// Why there is none.
pub(super) async fn enter(run: &Run, host: &str, settings: &Settings) -> Result<Place, Failure> {
    let machine = run.machine(host)?;
    let entered = Place::enter(&machine, settings, &run.id, &run.shared, &run.stop).await;
    entered.map_err(|error| Failure::of(Stage::Host, "", &error))
}

/// Undoes what the environment has set up in a place, and ends what its steps have left outside of it. A
/// failure is told and never touches a measurement.
pub(super) async fn leave(run: &Run, cell: &Cell, environment: &str, around: &Surroundings<'_>) {
    let steps = &run.spec.environments[environment].cleanup;
    undo(run, cell, environment, steps, around).await;
}

/// The same for a place whose container has died.
pub(super) async fn discard(run: &Run, cell: &Cell, environment: &str, around: &Surroundings<'_>) {
    let steps = run.spec.environments[environment].cleanup.outside();
    undo(run, cell, environment, &steps, around).await;
}

async fn undo(run: &Run, cell: &Cell, environment: &str, steps: &Steps, around: &Surroundings<'_>) {
    clean_up(steps, around, &format!("environment {environment} of {}", cell.name)).await;
    let declared = &run.spec.environments[environment];
    let steps = cell::workload(run, cell).steps().into_iter().chain([&declared.setup, &declared.cleanup]);
    let has_sudo = |step: &Step| matches!(step, Step::Run(step) if step.sudo);
    let as_root = steps.flat_map(|steps| &steps.0).any(|step| has_sudo(step));
    let own = &around.place.machine.name;
    let machines = cell.step_hosts.iter().chain([own]).filter_map(|host| run.machine(host).ok());
    for machine in machines.filter(|machine| machine.cluster().is_none()) {
        let swept = job::query(&*machine.transport, &job::sweep_place(&around.place.id, as_root)).await;
        around.troubles.tell(run, &machine.name, cell.name.as_str(), swept.map(drop));
    }
}

/// Runs clean-up steps, also when the run was stopped: they have a time limit of their own.
pub(super) async fn clean_up(steps: &Steps, around: &Surroundings<'_>, whose: &str) {
    let never = CancellationToken::new();
    let around = Surroundings { stage: Stage::Conclude, limit: CLEAN_UP_TIMEOUT, stop: &never, ..*around };
    if let Err(failure) = step::run_all(steps, &around, &mut Notes::default()).await {
        let host = &around.place.machine.name;
        around.troubles.add(around.run, host, &format!("cleanup of {whose}"), failure.reason);
    }
}

/// Why the container of `place` died, if it has one that did; looked for only after a failure.
pub(super) async fn death(place: &Place, has_failed: bool) -> Option<String> {
    place.container.as_ref().filter(|_| has_failed)?.death().await
}

/// Whether the container of `place`, if it has one, had too little memory.
pub(super) async fn was_out_of_memory(place: &Place) -> bool {
    match &place.container {
        Some(container) => container.was_out_of_memory(&*place.transport).await,
        None => false,
    }
}

/// Tells what in an environment differs from its host: engine and image, file system, version of the tool.
pub(super) async fn tell(run: &Run, cell: &Cell, environment: &str, place: &Place) {
    let declared = &run.spec.environments[environment];
    let host = &place.machine.name;
    if let Some(task) = &place.task {
        let (name, image) = (format!("{environment}: task of {}", task.size()), task.image().to_owned());
        if run.is_news(&[host, &name]) {
            run.say(Event::FactsFound { host: host.clone(), facts: Facts::from([(name, image)]) });
        }
        return;
    }
    let tool = cell::workload(run, cell).metrics.tool.as_deref().map(|tool| tool.as_str());
    let is_other = declared.container.is_some() || declared.workdir.is_some();
    let workdir = place.directory.rsplit_once('/').map_or("/", |(above, _)| above);
    let is_other_tool = run.is_news(&[host, environment, "tool", tool.unwrap_or_default()]);
    let is_first = run.is_news(&[host, environment]);
    let is_other_workdir = run.is_news(&[host, environment, "workdir", workdir]);
    if !is_other || !(is_other_tool || is_other_workdir) {
        return;
    }
    let mut facts = Facts::new();
    let mut add = |name: &str, value: String| facts.insert(format!("{environment}: {name}"), value);
    if let Some(container) = place.container.as_ref().filter(|_| is_first) {
        add("engine", container.engine().version.clone());
        add("image", container.image.clone());
    }
    // A place that can't be asked fails in its first command, with the reason.
    let versions: Vec<_> = tool.into_iter().filter_map(|tool| Some((tool, version_command(tool)?))).collect();
    let found = hosts::place_facts(&*place.transport, workdir, &versions).await.unwrap_or_default();
    for (name, value) in found {
        let is_of_tool = Some(name.as_str()) == tool;
        match (is_of_tool, is_first) {
            (true, _) | (false, true) => drop(add(&name, value)),
            // A work directory that depends on a parameter: the first has the plain names.
            (false, false) if is_other_workdir && name == "file system" => {
                drop(add(&format!("{name} of {workdir}"), value));
            }
            (false, false) => {}
        }
    }
    run.say(Event::FactsFound { host: host.clone(), facts });
}
