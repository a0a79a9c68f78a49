//! `runner plan FILE`: what would be run, and how long it took before. No machine is touched.

use std::path::Path;

use super::experiment::{self, Experiment};
use crate::analysis::{Forecast, Load, forecast};
use crate::cli::{PlanArguments, PlanFormat};
use crate::error::{EXIT_OK, Error};
use crate::plan::Cell;
use crate::{record, ui};

pub(super) fn plan(arguments: &PlanArguments) -> Result<u8, Error> {
    let experiment = experiment::read(&arguments.file, &arguments.changes)?;
    show(&experiment, &arguments.file, &arguments.results, arguments.format)
}

/// Prints the plan of `experiment`, which was read from `file`; earlier runs lie in `results`.
pub(super) fn show(
    experiment: &Experiment,
    file: &Path,
    results: &Path,
    format: PlanFormat,
) -> Result<u8, Error> {
    let Experiment { spec, plan, .. } = experiment;
    match format {
        PlanFormat::Text => {
            let folder = results.join(experiment::name(file));
            let facts = ui::plan::Facts {
                seed: (!experiment.is_seed_drawn).then_some(plan.seed),
                hosts: &plan.hosts(),
                forecast: earlier_run(experiment, &folder),
                folder: &folder,
            };
            ui::plan::show_table(spec, plan, &facts)?;
        }
        PlanFormat::Json => ui::plan::show_json(spec, plan)?,
        PlanFormat::Csv => ui::plan::show_csv(spec, plan)?,
    }
    Ok(EXIT_OK)
}

/// What the latest run in `folder` that has measured cells of this plan tells, with its name. A run that
/// can't be read tells nothing.
fn earlier_run(experiment: &Experiment, folder: &Path) -> Option<(String, Forecast)> {
    let load = |cell: Cell| Load {
        cell: cell.name.to_string(),
        workload: cell.workload.clone(),
        hosts: cell.hosts(),
        trials: cell.warmup + cell.repetitions,
    };
    record::list_runs(folder).ok()?.into_iter().find_map(|run| {
        let records = record::read_run(run.directory.path()).ok()?.records;
        let forecast = forecast(experiment.plan.cells().map(load), &records);
        (forecast.known > 0).then(|| (run.directory.name(), forecast))
    })
}
