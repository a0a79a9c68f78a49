//! `runner report RUN_DIRECTORY`: the texts of a run, made again from its records.

use crate::cli::ReportArguments;
use crate::error::{EXIT_OK, Error};
use crate::{report, ui};

pub(super) fn report(arguments: &ReportArguments) -> Result<u8, Error> {
    let written = report::write(&arguments.directory)?;
    ui::show_written(&written);
    Ok(EXIT_OK)
}
