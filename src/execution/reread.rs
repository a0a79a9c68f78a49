//! Reads what a trial has left once more, with the parsers of today. Read [`read_again`].

use std::collections::BTreeMap;

use super::{expect, trial};
use crate::event::{Captured, Expectation, Stage};
use crate::metrics::{Details, Measurement};
use crate::plan::substitute::Context;
use crate::spec::{Spec, Workload};

/// What is kept of a trial whose command ended well.
pub struct Kept<'a> {
    /// Its outputs by name: `stdout`, `services/server/stdout`, `files/result.json`.
    pub outputs: BTreeMap<String, Captured>,
    /// What was measured without an output.
    pub measured: Vec<Measurement>,
    /// What was judged then.
    pub expectations: &'a [Expectation],
}

/// What is read now.
pub struct Reread {
    /// The values, in base units.
    pub measurements: Vec<Measurement>,
    /// What a reader should know besides.
    pub warnings: Vec<String>,
    /// What is read besides values.
    pub details: Details,
    /// Each rule with its verdict; that on the exit code and on forbidden words is the old one.
    pub expectations: Vec<Expectation>,
    /// Where it fails, and why.
    pub failure: Option<(Stage, String)>,
}

/// Reads the outputs of a trial of `workload` again, at the point with these names of workload, host and
/// environment, and these parameters.
pub fn read_again(
    spec: &Spec,
    workload: &Workload,
    point: [&str; 3],
    parameters: &BTreeMap<String, String>,
    kept: Kept<'_>,
) -> Reread {
    let mut gathered = trial::Gathered { outputs: kept.outputs, ..trial::Gathered::default() };
    let (mut measurements, failure) = trial::values(workload, &mut gathered);
    measurements.extend(kept.measured);
    let context = Context::of_point(spec, point, parameters);
    let expectations = match &workload.expect {
        Some(expect) => expect::judge_again(expect, kept.expectations, &measurements, &context),
        None => Vec::new(),
    };
    let broken = expectations.iter().find(|verdict| !verdict.holds).map(expect::failure);
    let failure = match (failure, broken) {
        (Some(reason), _) => Some((Stage::Metrics, reason)),
        (None, broken) => broken.map(|failure| (failure.stage, failure.reason)),
    };
    let (warnings, details) = (gathered.notes.warnings, gathered.details);
    Reread { measurements, warnings, details, expectations, failure }
}
