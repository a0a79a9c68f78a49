//! `runner explain FILE CELL`: what one cell does, and where each of its values comes from.

use super::experiment::{self, Experiment};
use crate::cli::ExplainArguments;
use crate::environments::DEFAULT_WORKDIR;
use crate::error::{EXIT_OK, Error};
use crate::execution::{DEFAULT_RETRIES, DEFAULT_TIMEOUT};
use crate::plan::explain::{Defaults, explain};
use crate::plan::{NoCell, find};
use crate::spec::TimeSpan;
use crate::{metrics, ui};

pub(super) fn show(arguments: &ExplainArguments) -> Result<u8, Error> {
    let Experiment { spec, sources, plan, .. } = experiment::read(&arguments.file, &arguments.changes)?;
    let Some(name) = &arguments.cell else {
        ui::explain::show_names(plan.cells())?;
        return Ok(EXIT_OK);
    };
    let index =
        find(plan.cells(), name).map_err(|NoCell { message, help }| Error::Usage { message, help })?;
    let defaults = Defaults {
        workdir: DEFAULT_WORKDIR.to_owned(),
        timeout: TimeSpan(DEFAULT_TIMEOUT),
        retries: DEFAULT_RETRIES,
        metrics: metrics::names(&spec.workloads[plan.cell(index).workload.as_str()]),
    };
    ui::explain::show_explanation(&explain(&spec, &sources, &plan, index, &defaults))?;
    Ok(EXIT_OK)
}
