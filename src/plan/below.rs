//! `drop_caches: [guest, host]` needs a machine below the trial's, and only one of Vagrant is known to have one.

use std::collections::BTreeSet;

use super::grid::{ENVIRONMENT, Grid, HOST};
use crate::diagnostic::Problem;
use crate::spec::Spec;
use crate::spec::host::Kind;
use crate::spec::step::Step;

/// A mistake for each such step of a grid whose cells are on other hosts too.
pub(super) fn mistakes(spec: &Spec, grid: &Grid) -> Vec<Problem> {
    let hosts: BTreeSet<String> = grid.used_values(HOST);
    let is_vagrant = |name: &String| matches!(spec.hosts[name.as_str()].kind(), Kind::Vagrant(_));
    let Some(other) = hosts.iter().find(|name| !is_vagrant(name)) else { return Vec::new() };
    let environments = grid.used_values(ENVIRONMENT);
    let environments = environments.iter().map(|name| &spec.environments[name.as_str()]);
    let steps = environments.flat_map(|environment| [&environment.setup, &environment.cleanup]);
    let steps = spec.workloads[grid.workload.as_str()].steps().into_iter().chain(steps);
    let is_of_host = |step: &Step| matches!(step, Step::DropCaches(settings) if settings.is_of_host());
    let found = steps.flat_map(|steps| &steps.0).filter(|step| is_of_host(&step.value));
    let problem = |span| {
        Problem::at(span, format!("`{other}` is no virtual machine of Vagrant: there is no `host` below it"))
            .label("this drops the page cache of the machine below as well")
            .help("write `drop_caches` in a workload of its own for that host")
    };
    found.map(|step| problem(step.span)).collect()
}
