//! From a Spec to a Plan: which trials there are and in which order. Pure: no file, no clock, and
//! randomness only from the seed. Read [`Plan`], [`Cell`] and [`Trial`] first.

mod below;
mod bits;
mod cell;
mod chart;
mod conditions;
mod cost;
mod environment;
pub mod explain;
mod find;
mod grid;
mod lines;
mod lookup;
mod mask;
mod matrix;
mod narrow;
mod order;
mod overlap;
mod permutation;
mod rehearsal;
mod scope;
mod service;
mod shape;
pub mod substitute;
mod task;
mod trial;

use std::collections::BTreeSet;
use std::sync::Arc;

use sha2::Digest;

use self::grid::{ENVIRONMENT, Grid, HOST, Source};
use self::scope::Scope;
use crate::diagnostic::{Problems, Sources, Span};
use crate::spec::{Order, Spec};

pub use self::cell::{Cell, CellName, PlannedService};
pub use self::chart::{ChartLayout, charts};
pub use self::cost::{CellCost, hourly, of_cell as cost_of_cell};
pub use self::find::{NoCell, find};
pub use self::narrow::settle;
pub use self::order::Turns;
pub use self::substitute::typed;
pub use self::trial::{Phase, Trial, Turn};
pub use crate::spec::{Adaptive, ChartKind, LogAxes};

/// All trials of a run. Cells and trials are computed from their numbers when they are asked for, so a plan
/// of a million cells takes hardly more memory than its file; a clone shares everything.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The seed of the order.
    pub seed: u64,
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    scope: Scope,
    grids: Vec<Grid>,
    /// How many cells lie before those of each grid.
    starts: Vec<usize>,
    order: Order,
    seed: u64,
}

impl Inner {
    /// The grid of the cell number `index`, and the cell's number there.
    fn grid_of(&self, index: usize) -> (&Grid, usize) {
        let grid = self.starts.partition_point(|start| *start <= index).saturating_sub(1);
        (&self.grids[grid], index - self.starts[grid])
    }
}

impl Plan {
    /// Expands the matrix of a checked `spec`; the order is that of its seed, or of seed 0.
    ///
    /// # Errors
    /// Every mistake that shows only in the product of the axes.
    pub fn new(spec: &Spec, sources: &Sources) -> Result<Plan, Problems> {
        let problems = |problems| Problems::new(problems, sources.clone());
        let expansion = matrix::expand(spec).map_err(problems)?;
        let found = matrix::without_effect(spec, &expansion);
        if !found.is_empty() {
            return Err(problems(found));
        }
        let seed = spec.seed.as_ref().map_or(0, |seed| seed.value);
        let before = |sum: &mut usize, grid: &Grid| {
            *sum += grid.cells;
            Some(*sum - grid.cells)
        };
        let starts = expansion.grids.iter().scan(0, before).collect();
        let (scope, grids) = (expansion.scope, expansion.grids);
        let plan = Plan { seed, inner: Arc::new(Inner { scope, grids, starts, order: spec.order(), seed }) };
        match task::mistakes(spec, &plan) {
            found if found.is_empty() => Ok(plan),
            found => Err(problems(found)),
        }
    }

    /// How many cells there are.
    pub fn cell_count(&self) -> usize {
        self.inner.grids.iter().map(|grid| grid.cells).sum()
    }

    /// How many trials there are, warm-up included.
    pub fn trial_count(&self) -> usize {
        self.inner.grids.iter().map(|grid| grid.cells * grid.trials_of_a_cell()).sum()
    }

    /// How many trials there are at least, warm-up included: fewer than [`Plan::trial_count`] where some stop as
    /// soon as a cell is known well enough.
    pub fn least_trial_count(&self) -> usize {
        let spared = |grid: &Grid| grid.adaptive.map_or(0, |rule| grid.repetitions.saturating_sub(rule.min));
        let spared = self.inner.grids.iter().map(|grid| grid.cells * spared(grid) as usize);
        self.trial_count() - spared.sum::<usize>()
    }

    /// What ends the measured trials of the cell number `index` before the last one that is planned.
    pub fn adaptive(&self, index: usize) -> Option<Adaptive> {
        self.inner.grid_of(index).0.adaptive
    }

    /// The cells in the order of the file: this is the order of the report.
    pub fn cells(&self) -> impl Iterator<Item = Cell> {
        (0..self.cell_count()).map(|index| self.cell(index))
    }

    /// The cell number `index`, below [`Plan::cell_count`].
    pub fn cell(&self, index: usize) -> Cell {
        let (grid, rank) = self.inner.grid_of(index);
        let digits = grid.cell_digits(rank);
        let texts = texts(grid, &digits, &self.inner.scope);
        let (host, environment) = (texts[HOST].clone(), texts[ENVIRONMENT].clone());
        let services = grid.services.iter().map(|service| PlannedService {
            name: service.name.clone(),
            host: service.host.name(&host, &digits).to_owned(),
            environment: service.environment.name(&environment, &digits).to_owned(),
        });
        let services: Vec<PlannedService> = services.collect();
        let environments = services.iter().map(|service| &service.environment).chain([&environment]);
        let of_environments = environments.filter_map(|name| self.inner.scope.step_hosts.get(name)).flatten();
        let step_hosts = grid.step_hosts.iter().chain(of_environments).cloned().collect();
        let name = name(grid, &texts);
        Cell {
            id: id(grid, &environment, name.as_str()),
            name,
            workload: grid.workload.clone(),
            host,
            environment,
            parameters: grid
                .by_name
                .iter()
                .map(|slot| (grid.slots[*slot].name.clone(), texts[*slot].clone()))
                .collect(),
            services,
            step_hosts,
            repetitions: grid.repetitions,
            adaptive: grid.adaptive,
            warmup: grid.warmup,
        }
    }

    /// The order in which the trials are started, before anybody needs their names.
    pub fn turns(&self) -> Turns<'_> {
        Turns::new(&self.inner)
    }

    /// The trials, in the order in which they are started.
    pub fn trials(&self) -> impl Iterator<Item = Trial> {
        self.turns().map(|turn| self.trial(turn))
    }

    /// The trial of a turn.
    pub fn trial(&self, turn: Turn) -> Trial {
        let (grid, rank) = self.inner.grid_of(turn.cell);
        Trial::new(turn, name_of(grid, &grid.cell_digits(rank), &self.inner.scope))
    }

    /// Whether a host is busy while a trial of the cell number `index` runs.
    pub fn is_busy(&self, host: &str, index: usize) -> bool {
        let (grid, rank) = self.inner.grid_of(index);
        let digits = grid.cell_digits(rank);
        let (own, environment) = (grid.text(HOST, &digits), grid.text(ENVIRONMENT, &digits));
        let has_step = |environment: &str| {
            self.inner.scope.step_hosts.get(environment).is_some_and(|hosts| hosts.contains(host))
        };
        own == host
            || grid.step_hosts.contains(host)
            || has_step(&environment)
            || grid.services.iter().any(|service| {
                service.host.name(&own, &digits) == host
                    || has_step(service.environment.name(&environment, &digits))
            })
    }

    /// Every host that is busy in some trial.
    pub fn hosts(&self) -> BTreeSet<String> {
        let mut hosts = self.used(HOST);
        for grid in &self.inner.grids {
            hosts.extend(grid.step_hosts.iter().cloned());
            hosts.extend(grid.services.iter().flat_map(|service| service.host.names()).map(str::to_owned));
        }
        let of_environment = |name: &String| self.inner.scope.step_hosts.get(name);
        hosts.extend(self.environments().iter().filter_map(of_environment).flatten().cloned());
        hosts
    }

    /// Every environment that a cell or a service is in.
    pub fn environments(&self) -> BTreeSet<String> {
        let mut names = self.used(ENVIRONMENT);
        let services = self.inner.grids.iter().flat_map(|grid| &grid.services);
        names.extend(services.flat_map(|service| service.environment.names()).map(str::to_owned));
        names
    }

    /// Whether some trial is a warm-up.
    pub fn has_warmup(&self) -> bool {
        self.inner.grids.iter().any(|grid| grid.cells > 0 && grid.warmup > 0)
    }

    /// Whether some cell has a service.
    pub fn has_services(&self) -> bool {
        self.inner.grids.iter().any(|grid| !grid.services.is_empty())
    }

    /// The workloads that have a cell.
    pub fn workloads(&self) -> BTreeSet<String> {
        let grids = self.inner.grids.iter().filter(|grid| grid.cells > 0);
        grids.map(|grid| grid.workload.clone()).collect()
    }

    /// Where the value that the cell number `index` has on an axis is written: in the matrix, or as default.
    pub fn origin(&self, index: usize, axis: &str) -> Span {
        let (grid, rank) = self.inner.grid_of(index);
        let Some(slot) = grid.slot(axis).map(|slot| &grid.slots[slot]) else { return Span::default() };
        match &slot.source {
            Source::Axis(axis, values) => {
                let written = values.written().get(grid.cell_digits(rank)[*axis]);
                written.map_or(slot.span, |text| text.span)
            }
            Source::Derived(..) => slot.span,
        }
    }

    /// Where the block, or the entry of its `include`, is written that the cell number `index` comes from.
    pub fn origin_of_cell(&self, index: usize) -> Span {
        self.inner.grid_of(index).0.span
    }

    /// The values that some cell has in a slot that is never derived.
    fn used(&self, slot: usize) -> BTreeSet<String> {
        self.inner.grids.iter().flat_map(|grid| grid.used_values(slot)).collect()
    }
}

/// The value of every slot at a point. What is derived was rendered everywhere when the plan was made.
fn texts(grid: &Grid, digits: &[usize], scope: &Scope) -> Vec<String> {
    let context =
        if grid.has_derived() { scope.at(grid, digits).unwrap_or_default() } else { Default::default() };
    (0..grid.slots.len()).map(|slot| Scope::text(grid, slot, digits, &context)).collect()
}

fn name_of(grid: &Grid, digits: &[usize], scope: &Scope) -> CellName {
    name(grid, &texts(grid, digits, scope))
}

fn name(grid: &Grid, texts: &[String]) -> CellName {
    let parameters = grid.by_name.iter().map(|slot| (grid.slots[*slot].name.as_str(), texts[*slot].as_str()));
    CellName::new([&grid.workload, &texts[HOST], &texts[ENVIRONMENT]], parameters)
}

/// See [`Cell::id`].
fn id(grid: &Grid, environment: &str, name: &str) -> String {
    let digest = grid.digests.get(environment).cloned().unwrap_or_default().chain_update(name).finalize();
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
