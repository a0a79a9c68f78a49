//! `runner check FILE…`: every mistake in the files, and with `--reach` whether the hosts are ready.

use std::collections::BTreeMap;

use futures_util::future::join_all;

use super::block_on;
use super::experiment::{self, Experiment};
use crate::cli::CheckArguments;
use crate::environments::DEFAULT_WORKDIR;
use crate::error::{EXIT_FILE, EXIT_OK, EXIT_WORLD, Error};
use crate::hosts::{Needs, foresee, reach};
use crate::metrics;
use crate::plan::Cell;
use crate::plan::substitute::Context;
use crate::spec::caches::{DropCaches, Layer};
use crate::spec::step::{RunStep, Step};
use crate::ui;

pub(super) fn check(arguments: &CheckArguments) -> Result<u8, Error> {
    let (mut are_files_good, mut are_hosts_good) = (true, true);
    for file in &arguments.files {
        match experiment::read(file, &arguments.changes) {
            Ok(experiment) => {
                ui::check::show_good(file, &experiment.plan)?;
                if arguments.reach {
                    are_hosts_good &= look(&experiment)?;
                }
            }
            Err(problems) => {
                are_files_good = false;
                ui::show_error(&problems.into());
            }
        }
    }
    Ok(match (are_files_good, are_hosts_good) {
        (false, _) => EXIT_FILE,
        (true, false) => EXIT_WORLD,
        (true, true) => EXIT_OK,
    })
}

/// Looks at every host of the plan, all at once. Returns whether each has what is needed.
fn look(experiment: &Experiment) -> Result<bool, Error> {
    let needs = needs(experiment);
    let Experiment { spec, sources, .. } = experiment;
    let one = async |(name, needs): (&String, &Needs)| {
        let host = &spec.hosts[name.as_str()];
        match foresee(name, host, sources).await.transpose() {
            Some(foreseen) => Err(foreseen),
            None => Ok(reach(name, host, sources, needs).await),
        }
    };
    let found = block_on(join_all(needs.iter().map(one)))?;
    let (mut there, mut to_come) = (Vec::new(), Vec::new());
    for ((name, needs), found) in needs.iter().zip(found) {
        match found {
            Ok(found) => there.push((name.as_str(), needs, found)),
            Err(foreseen) => to_come.push((name.as_str(), foreseen)),
        }
    }
    let are_there = there.is_empty() || ui::check::show_hosts(spec, &there)?;
    Ok(ui::check::show_foreseen(&to_come)? && are_there)
}

/// What the plan needs of each of its hosts.
fn needs(experiment: &Experiment) -> BTreeMap<String, Needs> {
    let mut needs = BTreeMap::new();
    for cell in experiment.plan.cells() {
        let cell = &cell;
        add_environment(experiment, &mut needs, cell, &cell.host, &cell.environment);
        for service in &cell.services {
            add_environment(experiment, &mut needs, cell, &service.host, &service.environment);
        }
        let workload = &experiment.spec.workloads[cell.workload.as_str()];
        let environment = &experiment.spec.environments[cell.environment.as_str()];
        let is_native = environment.container.is_none();
        let own = needs.entry(cell.host.clone()).or_default();
        let tool = workload.metrics.tool.as_deref().filter(|_| is_native);
        let program = tool.and_then(|tool| metrics::parser(tool)?.program());
        own.tools.extend(program.map(str::to_owned));
        let steps = workload.steps().into_iter().chain([&environment.setup, &environment.cleanup]);
        for step in steps.flat_map(|steps| &steps.0) {
            add_step(&mut needs, cell, is_native, &step.value);
        }
    }
    needs
}

fn add_environment(
    experiment: &Experiment,
    needs: &mut BTreeMap<String, Needs>,
    cell: &Cell,
    host: &str,
    environment: &str,
) {
    let environment = &experiment.spec.environments[environment];
    let needs = needs.entry(host.to_owned()).or_default();
    if environment.container.is_some() {
        needs.engine = true;
        return;
    }
    // A path that can't be rendered here fails its trials with the reason.
    let context = || Context::of_cell(&experiment.spec, cell);
    let workdir = environment.workdir.as_ref().map(|path| context().render(path));
    needs.workdirs.extend(workdir.unwrap_or_else(|| Ok(DEFAULT_WORKDIR.to_owned())));
}

fn add_step(needs: &mut BTreeMap<String, Needs>, cell: &Cell, is_native: bool, step: &Step) {
    let (host, is_root) = match step {
        Step::DropCaches(DropCaches { of, optional }) => {
            (cell.host.as_str(), !optional && of.contains(&Layer::Guest))
        }
        Step::Sleep(_) | Step::WaitIdle(_) | Step::CoolDown(_) | Step::Upload(_) => return,
        Step::Run(RunStep { on, sudo, .. }) => match on.as_deref().map(|on| on.as_str()) {
            None | Some("environment") => (cell.host.as_str(), *sudo && is_native),
            Some("host") => (cell.host.as_str(), *sudo),
            Some(other) => (other, *sudo),
        },
    };
    needs.entry(host.to_owned()).or_default().root |= is_root;
}
