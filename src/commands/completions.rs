//! `runner completions SHELL`: what completes `runner` in a shell.

use crate::cli::{CompletionsArguments, completions};
use crate::error::{EXIT_OK, Error};
use crate::ui;

pub(super) fn show(arguments: &CompletionsArguments) -> Result<u8, Error> {
    ui::show_bytes(&completions(arguments.shell))?;
    Ok(EXIT_OK)
}
