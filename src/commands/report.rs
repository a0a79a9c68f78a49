//! `runner report RUN_DIRECTORY`: the texts of a run, made again from its records.

use super::templates;
use crate::cli::ReportArguments;
use crate::error::{EXIT_OK, Error};
use crate::{report, ui};

pub(super) fn report(arguments: &ReportArguments) -> Result<u8, Error> {
    let instead = arguments.templates.as_deref().map(templates::read).transpose()?;
    let written = report::write_with(&arguments.directory, instead)?;
    ui::show_written(&written);
    Ok(EXIT_OK)
}
