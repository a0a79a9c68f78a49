//! The templates that an experiment or the command line names: read, and tried on a made-up run of the experiment, so
//! that a mistake shows before anything is measured. Read [`of_experiment`].

use std::collections::BTreeMap;
use std::path::Path;

use indexmap::IndexMap;

use super::experiment::Experiment;
use crate::diagnostic::{Problem, Problems, Sources};
use crate::error::Error;
use crate::metrics;
use crate::plan::{Cell, Plan};
use crate::record::{
    FORMAT_VERSION, HostFacts, Line, Manifest, Measurement, Phase, PlannedCell, Record, Run, RunDirectory,
    Status, TemplateFile, read_templates,
};
use crate::report::{Templates, check_templates};
use crate::spec::Spec;
use crate::units::Unit;

/// A plan of more cells is not tried: its templates are only read.
const CELLS: usize = 2_000;
/// So many trials a made-up cell has, where as many are planned: enough for every interval.
const TRIALS: u32 = 6;
const STARTED: &str = "2026-01-01T00:00:00Z";

/// The templates of one folder.
#[derive(Debug, Clone)]
pub(super) struct Chosen {
    /// The folder as it was named.
    pub folder: String,
    /// What lies in it.
    pub files: Vec<TemplateFile>,
}

/// Those of `report.templates`, without a mistake that can be found now.
///
/// # Errors
/// Every mistake, pointing into `sources`.
pub(super) fn of_experiment(
    spec: &Spec,
    plan: &Plan,
    sources: &mut Sources,
) -> Result<Option<Chosen>, Vec<Problem>> {
    let Some(folder) = &spec.report.templates else { return Ok(None) };
    let path = sources.directory(folder.span).join(folder.as_str());
    let files = read_templates(&path).map_err(|error| {
        let message = format!("{error}: {}", error.source);
        let problem = Problem::at(folder.span, message).label("the templates are to be found here");
        vec![match error.hint {
            Some(hint) => problem.help(format!("{hint}; the path starts at the folder of this file")),
            None => problem,
        }]
    })?;
    let chosen = Chosen { folder: folder.value.clone(), files };
    match tried(&chosen, spec, plan, sources) {
        found if found.is_empty() => Ok(Some(chosen)),
        found => Err(found),
    }
}

/// Those of `--templates`, for a run of `experiment`.
pub(super) fn given(folder: &Path, experiment: &Experiment) -> Result<Chosen, Error> {
    let chosen = Chosen { folder: folder.display().to_string(), files: read(folder)? };
    let mut sources = Sources::default();
    match tried(&chosen, &experiment.spec, &experiment.plan, &mut sources) {
        found if found.is_empty() => Ok(chosen),
        found => Err(Problems::new(found, sources).into()),
    }
}

/// What lies in the folder of `--templates`.
pub(super) fn read(folder: &Path) -> Result<Vec<TemplateFile>, Error> {
    read_templates(folder).map_err(|error| Error::Usage {
        message: format!("`--templates`: {error}: {}", error.source),
        help: error.hint.unwrap_or("correct it".into()).into_owned(),
    })
}

fn tried(chosen: &Chosen, spec: &Spec, plan: &Plan, sources: &mut Sources) -> Vec<Problem> {
    let example = (plan.cell_count() <= CELLS).then(|| example(spec, plan));
    check_templates(&Templates::new(chosen.files.clone()), example.as_ref(), sources)
}

/// A run of the plan that went well: every cell has every metric that its workload is known to have.
fn example(spec: &Spec, plan: &Plan) -> Run {
    let cells: Vec<Cell> = plan.cells().collect();
    let facts = |host: String| HostFacts { host, facts: IndexMap::from([("kernel".into(), "Linux".into())]) };
    Run {
        directory: RunDirectory::new("example"),
        manifest: manifest(spec, plan, &cells),
        hosts: plan.hosts().into_iter().map(facts).collect(),
        records: cells.iter().flat_map(|cell| records(spec, cell)).collect(),
        left_out: Vec::new(),
        warnings: Vec::new(),
    }
}

fn manifest(spec: &Spec, plan: &Plan, cells: &[Cell]) -> Manifest {
    let texts = |map: &IndexMap<crate::spec::Text, crate::spec::Text>| {
        map.iter().map(|(name, value)| (name.value.clone(), value.value.clone())).collect()
    };
    Manifest {
        format: FORMAT_VERSION,
        id: "00000000".into(),
        runner: env!("CARGO_PKG_VERSION").into(),
        title: spec.title.as_ref().map_or("example", |title| &title.value).to_owned(),
        experiment: "example".into(),
        file: "example.yaml".into(),
        options: BTreeMap::new(),
        digest: String::new(),
        commit: None,
        seed: plan.seed,
        order: spec.order().as_str().into(),
        started: STARTED.into(),
        ended: Some("2026-01-01T01:00:00Z".into()),
        interrupted: false,
        stopped: None,
        sittings: Vec::new(),
        hosts: BTreeMap::new(),
        inputs: None,
        cells: cells.iter().map(PlannedCell::from).collect(),
        baseline: texts(&spec.report.baseline),
        units: texts(&spec.report.units),
        templates: None,
        presentation: Default::default(),
        charts: Vec::new(),
        counts: BTreeMap::new(),
    }
}

fn records(spec: &Spec, cell: &Cell) -> Vec<Record> {
    let workload = &spec.workloads[cell.workload.as_str()];
    let metrics = metrics::names(workload);
    let measured = |repetition: u32| {
        let measurement = |name: &String| Measurement {
            name: name.clone(),
            value: 1000.0 + f64::from(repetition),
            unit: metrics::unit_of(workload, name).unwrap_or(Unit::Count),
            better: None,
            fixed: None,
            labels: BTreeMap::new(),
        };
        metrics.iter().map(measurement).collect()
    };
    let line = |repetition: u32| Line {
        v: FORMAT_VERSION,
        trial: format!("{}#{repetition}", cell.name),
        cell: cell.name.to_string(),
        settings: cell.id.clone(),
        workload: cell.workload.clone(),
        host: cell.host.clone(),
        environment: cell.environment.clone(),
        parameters: cell.parameters.clone(),
        repetition,
        attempt: 1,
        block: repetition,
        order: repetition as usize,
        phase: Phase::Measure,
        status: Status::Ok,
        stage: None,
        reason: None,
        repeated: false,
        verdicts: None,
        started: STARTED.into(),
        elapsed_s: 1.0,
        measurements: measured(repetition),
        warnings: Vec::new(),
        caches: Vec::new(),
        waits: Vec::new(),
        noise: None,
        noise_of_services: BTreeMap::new(),
        expectations: Vec::new(),
        details: Default::default(),
        outputs: Vec::new(),
        read_again: None,
    };
    (1..=cell.repetitions.min(TRIALS)).map(line).map(Record::from).collect()
}
