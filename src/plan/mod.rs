//! From a Spec to a Plan: which trials there are and in which order. Pure: no file, no clock, and
//! randomness only from the seed. Read [`Plan`], [`Cell`] and [`Trial`] first.

pub mod explain;
mod find;
mod matrix;
mod order;
pub mod substitute;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use find::{NoCell, find};

use crate::diagnostic::{Problems, Sources};
use crate::spec::Spec;

/// The name of a cell: `workload/host/environment`, then `/parameter=value` for each parameter.
/// Readable, unique in an experiment, and the same as long as the settings are.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CellName(String);

impl CellName {
    fn new(workload: &str, host: &str, environment: &str, parameters: &BTreeMap<String, String>) -> Self {
        let parameters = parameters.iter().map(|(name, value)| format!("{name}={}", as_path(value)));
        let parts = [workload, host, environment].map(str::to_owned).into_iter().chain(parameters);
        CellName(parts.collect::<Vec<_>>().join("/"))
    }

    /// The name as text; also a relative path, since no part of it holds `/`, or is `.` or `..`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A parameter's value as part of a path: what a path can't hold is written as `%` and its code, and what
/// is too long for one is cut, with a digest of the whole.
fn as_path(value: &str) -> String {
    const LIMIT: usize = 100;
    let escape = |c: char| match c {
        c if c.is_alphanumeric() || "-_.+,:@".contains(c) => c.to_string(),
        c => format!("%{:02X}", c as u32),
    };
    let path: String = value.chars().map(escape).collect();
    if path.len() <= LIMIT {
        return path;
    }
    let digest: String = Sha256::digest(value).iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    let end =
        path.char_indices().map(|(index, _)| index).take_while(|index| *index <= LIMIT).last().unwrap_or(0);
    format!("{}~{digest}", &path[..end])
}

impl fmt::Display for CellName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether a trial counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Kept in the data, left out of estimates.
    Warmup,
    /// Counts.
    Measure,
}

/// One execution of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    /// The cell it belongs to.
    pub cell: CellName,
    /// Warm-up or measured.
    pub phase: Phase,
    /// From 1, counted for each phase apart.
    pub repetition: u32,
    /// Its place in the planned order, from 1.
    pub order: usize,
    /// The block of the planned order it belongs to, from 1.
    pub block: u32,
}

impl Trial {
    /// What tells it apart within its cell: `3`, or `warmup-1`.
    pub fn label(&self) -> String {
        match self.phase {
            Phase::Measure => self.repetition.to_string(),
            Phase::Warmup => format!("warmup-{}", self.repetition),
        }
    }

    /// Its name in records and messages: `disk-read/lattepanda-a/docker#3`.
    pub fn id(&self) -> String {
        format!("{}#{}", self.cell, self.label())
    }
}

/// One point of the matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Its name.
    pub name: CellName,
    /// Its workload.
    pub workload: String,
    /// Where it runs.
    pub host: String,
    /// What surrounds it there.
    pub environment: String,
    /// The value of each parameter of the workload, as text.
    pub parameters: BTreeMap<String, String>,
    /// Its services, with the host and environment of each.
    pub services: Vec<PlannedService>,
    /// Other hosts on which a step of its workload runs.
    pub step_hosts: BTreeSet<String>,
    /// How many measured trials it has.
    pub repetitions: u32,
    /// How many warm-up trials come before them.
    pub warmup: u32,
}

/// A service of a cell, and where it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedService {
    /// Its name in the workload.
    pub name: String,
    /// Its host.
    pub host: String,
    /// Its environment.
    pub environment: String,
}

impl Cell {
    /// Every host that is busy while a trial of this cell runs: its own, those of its services and its steps.
    pub fn hosts(&self) -> BTreeSet<String> {
        let services = self.services.iter().map(|service| &service.host);
        std::iter::once(&self.host).chain(services).chain(&self.step_hosts).cloned().collect()
    }
}

/// All trials of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The cells, in the order of the file: this is the order of the report.
    pub cells: Vec<Cell>,
    /// The trials, in the order in which they are started.
    pub trials: Vec<Trial>,
    /// The seed of that order.
    pub seed: u64,
}

impl Plan {
    /// Expands the matrix of a checked `spec`; the order is that of its seed, or of seed 0.
    ///
    /// # Errors
    /// Every mistake that shows only in the product of the axes.
    pub fn new(spec: &Spec, sources: &Sources) -> Result<Plan, Problems> {
        let cells =
            matrix::cells(spec).map_err(|problems| Problems { problems, sources: sources.clone() })?;
        let seed = spec.seed.as_ref().map_or(0, |seed| seed.value);
        let trials = order::trials(&cells, spec.order(), seed);
        Ok(Plan { cells, trials, seed })
    }

    /// The cell of a trial.
    pub fn cell(&self, name: &CellName) -> Option<&Cell> {
        self.cells.iter().find(|cell| &cell.name == name)
    }
}
