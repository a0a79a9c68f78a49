//! `runner extract`: reads what a tool has printed, or the kept outputs of a run again.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "files with outputs")]

mod run;

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use crate::cli::ExtractArguments;
use crate::diagnostic::suggest;
use crate::error::{EXIT_FAILED_TRIALS, EXIT_OK, Error};
use crate::metrics::{self, Reading, TOOLS, ToolOutput};
use crate::record::RecordError;
use crate::ui;

pub(super) fn extract(arguments: &ExtractArguments) -> Result<u8, Error> {
    match (&arguments.directory, &arguments.tool) {
        (Some(directory), _) => run::extract(directory),
        (None, Some(tool)) => of_tool(tool, arguments),
        (None, None) => ui::extract::show_list().map(|()| EXIT_OK),
    }
}

fn of_tool(tool: &str, arguments: &ExtractArguments) -> Result<u8, Error> {
    let parser = metrics::parser(tool).ok_or_else(|| Error::Usage {
        message: format!("unknown tool `{tool}`"),
        help: format!(
            "{}; `runner extract --list` shows all",
            suggest(tool, TOOLS.iter().map(|parser| parser.tool()))
        ),
    })?;
    let ExtractArguments { stdout, stderr, exit_code, .. } = arguments;
    let files = [stdout, stderr].map(Option::as_deref);
    if files == [Some(Path::new("-")); 2] {
        let message = "standard input can't be both outputs".into();
        return Err(Error::Usage { message, help: "give one of them as a file".into() });
    }
    let [stdout, stderr] = match files {
        [None, None] => [bytes(Some(Path::new("-")))?, Vec::new()],
        [stdout, stderr] => [bytes(stdout)?, bytes(stderr)?],
    };
    let output = ToolOutput { stdout: &stdout, stderr: &stderr, exit_code: Some(*exit_code) };
    let reading = metrics::read_tool(parser, output);
    ui::extract::show_reading(&reading)?;
    Ok(if matches!(reading, Reading::Ok(_)) { EXIT_OK } else { EXIT_FAILED_TRIALS })
}

fn bytes(file: Option<&Path>) -> Result<Vec<u8>, Error> {
    let Some(file) = file else { return Ok(Vec::new()) };
    if file == Path::new("-") {
        let mut bytes = Vec::new();
        let read = io::stdin().lock().read_to_end(&mut bytes);
        return read.map(|_| bytes).map_err(|source| Error::World { action: "read standard input", source });
    }
    fs::read(file).map_err(|error| RecordError::new("read", file, error).into())
}
