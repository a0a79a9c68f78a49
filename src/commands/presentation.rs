//! What an experiment says of its report, as a manifest keeps it: from the start, or put into that of a run that is
//! there already. Read [`presentation`] and [`present_anew`].

#![allow(clippy::disallowed_methods, reason = "where a run lies")]

use std::collections::BTreeMap;
use std::path::Path;

use indexmap::IndexMap;

use super::experiment::{self, Experiment};
use crate::cli::Changes;
use crate::diagnostic::{Problem, Problems, suggest};
use crate::error::Error;
use crate::plan::{CellCost, Phase, cost_of_cell};
use crate::record::{self, Presentation, RecordError, RunDirectory, Status, TableLayout};
use crate::spec::report::Table;
use crate::spec::{List, Text};
use crate::ui;

/// The presentation of `experiment`.
pub(super) fn presentation(experiment: &Experiment) -> Presentation {
    let spec = &experiment.spec;
    // With their templates: a label may hold what nobody is to read.
    let hosts = || spec.hosts.iter().filter_map(|(name, _)| Some((name, experiment.host(name)?)));
    let labelled = hosts().filter(|(_, host)| !host.labels.is_empty());
    Presentation {
        tables: spec.report.tables.iter().map(|table| layout(table)).collect(),
        references: experiment.references.clone(),
        margin: spec.report.margin.as_ref().map(|margin| margin.fraction()),
        excluded: BTreeMap::new(),
        labels: labelled.map(|(name, host)| (name.value.clone(), texts(&host.labels))).collect(),
        costs: costs(experiment),
    }
}

fn costs(experiment: &Experiment) -> BTreeMap<String, CellCost> {
    let Experiment { spec, plan, .. } = experiment;
    if spec.hosts.values().all(|host| host.cost.is_none()) {
        return BTreeMap::new();
    }
    let costs = plan.cells().filter_map(|cell| Some((cell.name.to_string(), cost_of_cell(spec, &cell)?)));
    costs.collect()
}

/// Puts the `report:` section of `file` into the run in `directory`, in place of the one that it was run with. What is
/// known of hosts stays where the file says nothing of them.
pub(super) fn present_anew(directory: &RunDirectory, file: &Path) -> Result<(), Error> {
    let experiment = experiment::read(file, &Changes::default())?;
    let report = &experiment.spec.report;
    let new = Presentation { excluded: excluded(&experiment, directory)?, ..presentation(&experiment) };
    let templates = experiment.templates;
    record::change_manifest(directory, &experiment.secrets, |manifest| {
        let Presentation { labels, mut costs, .. } = std::mem::take(&mut manifest.presentation);
        // What has other settings by now, such as another size, was measured at the cost that it had.
        let settings = manifest.cells.iter().map(|cell| (cell.cell.as_str(), cell.settings.as_str()));
        let settings: BTreeMap<&str, &str> = settings.collect();
        for cell in experiment.plan.cells() {
            let measured = settings.get(cell.name.as_str()).and_then(|kept| kept.strip_prefix(&*cell.id));
            let is_same = measured.is_some_and(|inputs| inputs.is_empty() || inputs.starts_with('-'));
            let cost = new.costs.get(cell.name.as_str()).filter(|_| is_same);
            costs.extend(cost.map(|cost| (cell.name.to_string(), cost.clone())));
        }
        manifest.presentation =
            Presentation { labels: labels.into_iter().chain(new.labels).collect(), costs, ..new };
        manifest.baseline = texts(&report.baseline);
        manifest.units = texts(&report.units);
        manifest.charts = experiment.charts;
        manifest.templates = templates.as_ref().map(|chosen| chosen.folder.clone());
    })?;
    // Not before: a run that somebody writes is refused, and keeps what it has.
    record::keep_templates(directory, &templates.map(|chosen| chosen.files).unwrap_or_default())?;
    Ok(())
}

/// The trials of the run in `directory` that the experiment excludes, with their reasons.
fn excluded(experiment: &Experiment, directory: &RunDirectory) -> Result<BTreeMap<String, String>, Error> {
    let path = directory.path();
    let path = std::fs::canonicalize(path).map_err(|error| RecordError::new("read", path, error))?;
    let name = RunDirectory::new(path).name();
    let of_run = experiment.spec.report.exclude.iter().filter(|one| one.run.value == name);
    let wanted: Vec<(&Text, &Text)> =
        of_run.flat_map(|one| one.trial.values.iter().map(|trial| (trial, &one.reason))).collect();
    if wanted.is_empty() {
        if !experiment.spec.report.exclude.is_empty() {
            ui::report::show_nothing_excluded(&name);
        }
        return Ok(BTreeMap::new());
    }
    let run = record::read_run(directory.path())?;
    let measured = run.last_attempts().filter(|record| record.phase == Phase::Measure);
    let known: BTreeMap<String, Status> = measured.map(|record| (record.trial(), record.status)).collect();
    let problem = |trial: &Text| match known.get(trial.as_str()) {
        Some(Status::Ok) => None,
        Some(status) => Some(
            Problem::at(
                trial.span,
                format!("`{}` is {} and counts nowhere anyway", trial.value, record::word(status)),
            )
            .help("leave it out of `exclude`: failures stay in the report"),
        ),
        None => Some(
            Problem::at(trial.span, format!("the run {name} has no measured trial `{}`", trial.value))
                .help(suggest(trial, known.keys().map(String::as_str))),
        ),
    };
    let problems: Vec<Problem> = wanted.iter().filter_map(|(trial, _)| problem(trial)).collect();
    if !problems.is_empty() {
        return Err(Problems::new(problems, experiment.sources.clone()).into());
    }
    Ok(wanted.into_iter().map(|(trial, reason)| (trial.value.clone(), reason.value.clone())).collect())
}

fn layout(table: &Table) -> TableLayout {
    let text = |text: &Option<Text>| text.as_ref().map(|text| text.value.clone());
    TableLayout {
        title: text(&table.title),
        workloads: values(&table.workload),
        condition: text(&table.condition),
        rows: values(&table.rows),
        columns: values(&table.columns),
        metrics: values(&table.metrics),
        units: texts(&table.units),
        baseline: table.baseline.as_ref().map(texts),
    }
}

/// The values of a list, without their places.
pub(super) fn values(list: &List) -> Vec<String> {
    list.values.iter().map(|text| text.value.clone()).collect()
}

/// A map of texts, without their places.
pub(super) fn texts(map: &IndexMap<Text, Text>) -> BTreeMap<String, String> {
    map.iter().map(|(name, value)| (name.value.clone(), value.value.clone())).collect()
}
