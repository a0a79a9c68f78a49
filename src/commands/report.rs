//! `runner report DIR…`: the texts of runs, made again from their records or compared with them.

use super::{presentation, templates};
use crate::cli::ReportArguments;
use crate::error::{EXIT_DIFFERS, EXIT_OK, Error};
use crate::record::{self, RunDirectory};
use crate::{report, ui};

pub(super) fn report(arguments: &ReportArguments) -> Result<u8, Error> {
    let mut runs: Vec<RunDirectory> = Vec::new();
    for path in &arguments.directories {
        let found = record::runs_below(path)?;
        // `results results/quickstart` names some twice.
        runs.extend(found.into_iter().filter(|run| !runs.contains(run)).collect::<Vec<_>>());
    }
    if let Some(file) = &arguments.experiment {
        let [run] = runs.as_slice() else {
            let message = format!("`--experiment` is for one run, and these are {}", runs.len());
            return Err(Error::Usage { message, help: "name the directory of one run".to_owned() });
        };
        presentation::present_anew(run, file)?;
    }
    if !arguments.check {
        let instead = arguments.templates.as_deref().map(templates::read).transpose()?;
        report::write_all(&runs, instead.as_deref(), ui::report::show_written)?;
        return Ok(EXIT_OK);
    }
    let (going_on, runs): (Vec<_>, Vec<_>) = runs.into_iter().partition(record::is_being_written);
    let checked = report::check(&runs)?;
    ui::report::show_checked(&checked, &arguments.directories, &going_on)?;
    Ok(if checked.deviations.is_empty() { EXIT_OK } else { EXIT_DIFFERS })
}
