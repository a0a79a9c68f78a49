//! What the options on messages mean.

use std::fs::OpenOptions;

use crate::cli::Messages;
use crate::error::Error;
use crate::record::RecordError;
use crate::ui;
use crate::ui::progress::Verbosity;

/// Opens the log, if there is to be one. What is there already stays.
///
/// # Errors
/// It can't be opened: nothing is run without the log that was asked for.
pub(super) fn keep_log(messages: &Messages) -> Result<(), Error> {
    let Some(path) = &messages.log else { return Ok(()) };
    let file = OpenOptions::new().create(true).append(true).open(path);
    let file = file.map_err(|error| {
        RecordError::new("open", path, error).with_hint("give `--log` a file that can be written")
    })?;
    ui::keep_log(Box::new(file));
    Ok(())
}

pub(super) fn verbosity(messages: &Messages) -> Verbosity {
    match messages {
        Messages { quiet: true, .. } => Verbosity::Quiet,
        Messages { verbose: true, .. } => Verbosity::Verbose,
        _ => Verbosity::Normal,
    }
}

/// Whether anybody reads commands and their outputs.
pub(super) fn wants_commands(messages: &Messages) -> bool {
    messages.verbose || messages.log.is_some()
}
