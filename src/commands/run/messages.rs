//! What the options on messages mean.

use std::fs::OpenOptions;

use jiff::Timestamp;

use super::experiment::Experiment;
use crate::cli::Messages;
use crate::error::Error;
use crate::record::RecordError;
use crate::ui;
use crate::ui::progress::{Progress, Verbosity};

/// From now on little is said where little is asked for, and all is logged where a log is. What the log holds
/// already stays.
///
/// # Errors
/// The log can't be opened: nothing is run without the log that was asked for.
pub(super) fn heed(messages: &Messages) -> Result<(), Error> {
    if messages.quiet {
        ui::be_quiet();
    }
    let Some(path) = &messages.log else { return Ok(()) };
    let file = OpenOptions::new().create(true).append(true).open(path);
    let file = file.map_err(|error| {
        RecordError::new("open", path, error).with_hint("give `--log` a file that can be written")
    })?;
    ui::keep_log(Box::new(file));
    Ok(())
}

/// The screen of a run that begins now.
pub(super) fn progress(messages: &Messages, experiment: &Experiment) -> Progress {
    Progress::start(&experiment.plan, &experiment.spec, verbosity(messages), Timestamp::now())
}

fn verbosity(messages: &Messages) -> Verbosity {
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
