//! A line of `records.jsonl` as it is written, and as it is read before what no reader asks for is dropped. Read [`Line`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    CacheDrop, Details, Expectation, FORMAT_VERSION, KeptOutput, Measurement, Noise, Phase, Stage, Status,
    Verdicts, Wait,
};
use crate::event::Outcome;
use crate::plan::Cell;

/// The durable result of one attempt at a trial: one line of `records.jsonl`, whole. Readers keep [`super::Record`] of
/// it. Its type parameters are what texts, parameters and values are read into: their own, or what borrows from the
/// bytes of the line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound(
    serialize = "T: Serialize + AsRef<str>, P: Serialize, M: Serialize",
    deserialize = "T: Deserialize<'de> + Default, P: Deserialize<'de>, M: Deserialize<'de>"
))]
pub struct Line<T = String, P = BTreeMap<String, String>, M = Measurement> {
    /// [`FORMAT_VERSION`] of the writer.
    pub v: u32,
    /// `CELL#REPETITION`, or `CELL#warmup-N`.
    pub trial: T,
    /// The cell's name.
    pub cell: T,
    /// The digest of the cell's settings, as [`PlannedCell::settings`] had it when this was measured.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub settings: T,
    /// The workload's name.
    pub workload: T,
    /// The host's name.
    pub host: T,
    /// The environment's name.
    pub environment: T,
    /// The value of each parameter, as text.
    pub parameters: P,
    /// From 1, counted for each phase apart.
    pub repetition: u32,
    /// From 1.
    pub attempt: u32,
    /// The block of the planned order, from 1.
    pub block: u32,
    /// The place in the planned order, from 1.
    pub order: usize,
    /// Warm-up or measured.
    pub phase: Phase,
    /// How it ended.
    pub status: Status,
    /// Where it failed.
    pub stage: Option<Stage>,
    /// Why it failed.
    pub reason: Option<String>,
    /// Whether another attempt was to follow: this one failed for a cause that may pass.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeated: bool,
    /// How each part of the trial went; missing in records of older runners.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdicts: Option<Verdicts>,
    /// RFC 3339, UTC.
    pub started: T,
    /// Wall time of the whole trial in seconds.
    pub elapsed_s: f64,
    /// The values, in base units.
    pub measurements: Vec<M>,
    /// What a reader should know besides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Page cache around each `drop_caches`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caches: Vec<CacheDrop>,
    /// What `wait_idle` and `cool_down` have waited.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<Wait>,
    /// What the host was like around the measured command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<Box<Noise>>,
    /// What the other hosts of its services were like, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub noise_of_services: BTreeMap<String, Noise>,
    /// The verdict on each rule of `expect`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expectations: Vec<Expectation>,
    /// What was read besides values: versions of tools, series.
    #[serde(default, skip_serializing_if = "Details::is_empty")]
    pub details: Details,
    /// The kept outputs and fetched files, relative to the run's directory.
    pub outputs: Vec<KeptOutput>,
    /// Who read its outputs again later, and what came of it. Such a record stands beside the one that the run
    /// has written, and counts in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_again: Option<String>,
}

impl Line {
    /// What is kept of `outcome`; `settings` are those that the manifest has of its cell, and `outputs` its captured
    /// outputs as they lie on disk.
    pub fn new(outcome: &Outcome, cell: &Cell, settings: &str, outputs: Vec<KeptOutput>) -> Self {
        Self {
            v: FORMAT_VERSION,
            trial: outcome.trial.id(),
            cell: cell.name.to_string(),
            settings: settings.to_owned(),
            workload: cell.workload.clone(),
            host: cell.host.clone(),
            environment: cell.environment.clone(),
            parameters: cell.parameters.clone(),
            repetition: outcome.trial.repetition,
            attempt: outcome.attempt,
            block: outcome.trial.block,
            order: outcome.trial.order,
            phase: outcome.trial.phase,
            status: outcome.status,
            stage: outcome.stage,
            reason: outcome.reason.clone(),
            repeated: outcome.is_repeated,
            verdicts: Some(outcome.verdicts),
            started: outcome.started.clone(),
            elapsed_s: outcome.elapsed_s,
            measurements: outcome.measurements.clone(),
            warnings: outcome.warnings.clone(),
            caches: outcome.caches.clone(),
            waits: outcome.waits.clone(),
            noise: outcome.noise.clone().map(Box::new),
            noise_of_services: outcome.noise_of_services.clone(),
            expectations: outcome.expectations.clone(),
            details: outcome.details.clone(),
            outputs,
            read_again: None,
        }
    }
}

fn is_empty(text: &impl AsRef<str>) -> bool {
    text.as_ref().is_empty()
}
