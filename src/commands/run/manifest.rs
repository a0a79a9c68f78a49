//! What a run is, as its manifest tells it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use super::experiment::{self, Experiment};
use super::inputs;
use crate::cli::{Changes, RunArguments};
use crate::commands::presentation::{presentation, texts};
use crate::diagnostic::{Problem, Problems};
use crate::execution::timestamp;
use crate::record::{FORMAT_VERSION, Manifest, Sitting};

/// The most cells that a run may have: its manifest and its report list them all.
const CELL_LIMIT: usize = 100_000;

/// Refuses a plan that the manifest of a run can't hold.
pub(super) fn check(experiment: &Experiment) -> Result<(), Problems> {
    let cells = experiment.plan.cell_count();
    if cells <= CELL_LIMIT {
        return Ok(());
    }
    let problem =
        Problem::of_file(format!("a run of {cells} cells is more than {CELL_LIMIT}, and can't be kept"))
            .help("measure a part of them at a time: shorten an axis, or name one block less");
    Err(Problems::new(vec![problem], experiment.sources.clone()))
}

/// The manifest of a run whose first sitting begins now; `salt` is kept in it.
pub(super) fn new(arguments: &RunArguments, experiment: &Experiment, id: &str, salt: String) -> Manifest {
    let (inputs, cells) = inputs::take(experiment, salt);
    let name = experiment::name(&arguments.file);
    let Experiment { spec, plan, charts, digest, .. } = experiment;
    let started = timestamp();
    let sitting = Sitting {
        id: id.to_owned(),
        started: started.clone(),
        ended: None,
        interrupted: false,
        runner: env!("CARGO_PKG_VERSION").into(),
        options: arguments.changes.words(),
        changed_facts: Vec::new(),
    };
    Manifest {
        format: FORMAT_VERSION,
        id: id.to_owned(),
        runner: sitting.runner.clone(),
        title: spec.title.as_ref().map_or(&name, |title| &title.value).clone(),
        experiment: name,
        file: arguments.file.display().to_string(),
        options: options(arguments),
        digest: digest.clone(),
        commit: commit(&arguments.file),
        seed: plan.seed,
        order: spec.order().as_str().into(),
        started,
        ended: None,
        interrupted: false,
        stopped: None,
        sittings: vec![sitting],
        hosts: experiment.ways(),
        inputs: Some(inputs),
        cells,
        templates: experiment.templates.as_ref().map(|chosen| chosen.folder.clone()),
        baseline: texts(&spec.report.baseline),
        units: texts(&spec.report.units),
        presentation: presentation(experiment),
        charts: charts.clone(),
        counts: Default::default(),
    }
}

fn options(arguments: &RunArguments) -> BTreeMap<String, String> {
    let Changes { hosts, repetitions, seed, condition, axes, sets } = &arguments.changes;
    let list =
        |option: &str, given: Vec<String>| (!given.is_empty()).then(|| given.join(&format!(" {option} ")));
    let given = [
        ("--hosts", hosts.as_ref().map(|path| path.display().to_string())),
        ("--repetitions", repetitions.map(|count| count.to_string())),
        ("--seed", seed.map(|seed| seed.to_string())),
        ("--templates", arguments.templates.as_ref().map(|path| path.display().to_string())),
        ("--where", condition.clone()),
        ("--axis", list("--axis", axes.iter().map(ToString::to_string).collect())),
        ("--set", list("--set", sets.iter().map(ToString::to_string).collect())),
    ];
    given.into_iter().filter_map(|(option, value)| Some((option.to_owned(), value?))).collect()
}

/// The commit of the repository that `file` lies in; `-dirty` when the file was changed since.
fn commit(file: &Path) -> Option<String> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let git = |arguments: &[&str]| {
        let output =
            Command::new("git").arg("-C").arg(folder).args(arguments).arg(file.file_name()?).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["log", "-n", "1", "--format=%H", "--"]).filter(|commit| !commit.is_empty())?;
    let changed = git(&["status", "--porcelain", "--"]).is_none_or(|changed| !changed.is_empty());
    Some(if changed { format!("{commit}-dirty") } else { commit })
}
