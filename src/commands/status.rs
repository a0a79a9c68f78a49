//! `runner status [RUN]`: how far a run is, from its files alone.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "the clock, and files of a run")]

use jiff::Timestamp;

use crate::analysis;
use crate::cli::{StatusArguments, StatusFormat};
use crate::error::{EXIT_OK, Error};
use crate::record::{self, RunDirectory};
use crate::ui::status::{self, State, View};

/// How many failures are told.
const FAILURES: usize = 5;

pub(super) fn status(arguments: &StatusArguments) -> Result<u8, Error> {
    let directory = match &arguments.run {
        Some(run) => RunDirectory::new(run),
        None => record::newest_run(&arguments.results)?.ok_or_else(|| Error::Usage {
            message: format!("there is no run in `{}`", arguments.results.display()),
            help: "name the directory of a run, or another folder with `--results`".into(),
        })?,
    };
    // Asked before the files are read: a run that ends meanwhile is told as going on, and its files are whole.
    let is_going_on = record::is_being_written(&directory);
    let doing = record::read_status(&directory);
    let run = record::read_run(directory.path())?;
    let state = match (is_going_on, &run.manifest.ended) {
        (true, _) => State::GoingOn,
        // What is left when a run ends in order is not there.
        (false, Some(_)) if doing.is_none() => match (run.manifest.interrupted, &run.manifest.stopped) {
            (true, _) => State::Interrupted,
            (false, Some(_)) => State::Stopped,
            (false, None) => State::Finished,
        },
        (false, _) => State::Killed,
    };
    let view = View {
        run: &run,
        standing: analysis::standing(&run, FAILURES),
        state,
        doing,
        report: directory.report().is_file().then(|| directory.report()),
        now: Timestamp::now(),
    };
    match arguments.format {
        StatusFormat::Text => status::show_text(&view)?,
        StatusFormat::Json => status::show_json(&view)?,
    }
    Ok(EXIT_OK)
}
