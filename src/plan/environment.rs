//! What environments bring into a plan: the parameters that their templates need, and the hosts on which
//! their steps run.

use std::collections::{BTreeMap, BTreeSet};

use super::grid::{ENVIRONMENT, Grid};
use crate::diagnostic::{Problem, suggest};
use crate::spec::{Spec, template};

/// The other hosts on which the steps of each environment run.
pub(super) type StepHosts = BTreeMap<String, BTreeSet<String>>;

pub(super) fn step_hosts(spec: &Spec) -> StepHosts {
    let hosts = spec.environments.iter().map(|(name, declared)| {
        let steps = [&declared.setup, &declared.cleanup].into_iter();
        (name.value.clone(), steps.flat_map(|steps| steps.hosts()).map(str::to_owned).collect())
    });
    hosts.collect()
}

/// An environment whose templates name a parameter that a workload in it does not have. Of each
/// environment and workload only the first is told.
pub(super) fn missing_parameters(spec: &Spec, grids: &[Grid]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut seen = BTreeSet::new();
    for grid in grids {
        let services = grid.services.iter().flat_map(|service| service.environment.names());
        let names = grid.used_values(ENVIRONMENT).into_iter().chain(services.map(str::to_owned));
        for name in names {
            if seen.insert((grid.workload.clone(), name.clone())) {
                problems.extend(missing(spec, grid, &name));
            }
        }
    }
    problems
}

fn missing(spec: &Spec, grid: &Grid, environment: &str) -> Option<Problem> {
    let parameters: BTreeSet<&str> = spec
        .workloads
        .values()
        .flat_map(|workload| workload.parameters.keys())
        .map(|name| name.as_str())
        .collect();
    let own = &spec.workloads[grid.workload.as_str()].parameters;
    let lacks = |name: &String| parameters.contains(name.as_str()) && !own.contains_key(name.as_str());
    spec.environments[environment].texts().find_map(|text| {
        let name = template::names_in(&text).into_iter().find(lacks)?;
        let message =
            format!("environment `{environment}` needs `{name}`, which workload `{}` lacks", grid.workload);
        Some(Problem::at(text.span, message).label(format!("names the parameter `{name}`")).help(format!(
            "add `{name}` to the `parameters` of `{}`, or give its block another environment; {}",
            grid.workload,
            suggest(&name, own.keys().map(|name| name.as_str()))
        )))
    })
}
