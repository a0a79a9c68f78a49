//! `runner extract`: reads what a tool has printed, or the kept outputs of a run again.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "files with outputs")]

mod run;

use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use crate::cli::ExtractArguments;
use crate::diagnostic::suggest;
use crate::error::{EXIT_FAILED_TRIALS, EXIT_OK, Error};
use crate::metrics::{self, MetricParser, Reading, TOOLS, ToolOutput};
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
    if let (Some(file), None, 0) = (stdout, stderr, exit_code)
        && let Some(reading) = long(file, parser)?
    {
        return told(&reading);
    }
    let bytes = |file| needed(file, parser);
    let [stdout, stderr] = match files {
        [None, None] => [bytes(Some(Path::new("-")))?, Vec::new()],
        [stdout, stderr] => [bytes(stdout)?, bytes(stderr)?],
    };
    let output = ToolOutput { stdout: &stdout, stderr: &stderr, exit_code: Some(*exit_code) };
    told(&metrics::read_tool(parser, output))
}

fn told(reading: &Reading) -> Result<u8, Error> {
    ui::extract::show_reading(reading)?;
    Ok(if matches!(reading, Reading::Ok(_)) { EXIT_OK } else { EXIT_FAILED_TRIALS })
}

/// A file whose form allows it is read without being kept.
fn long(file: &Path, parser: &dyn MetricParser) -> Result<Option<Reading>, Error> {
    if file == Path::new("-") {
        return Ok(None);
    }
    let opened = File::open(file).map_err(|error| RecordError::new("read", file, error))?;
    Ok(parser.read_long(&mut BufReader::new(opened)))
}

/// What `parser` needs of a file, or of standard input.
fn needed(file: Option<&Path>, parser: &dyn MetricParser) -> Result<Vec<u8>, Error> {
    let Some(file) = file else { return Ok(Vec::new()) };
    if file == Path::new("-") {
        let needed = metrics::needed(io::stdin().lock(), parser);
        return needed.map_err(|source| Error::World { action: "read standard input", source });
    }
    let needed = File::open(file).and_then(|file| metrics::needed(BufReader::new(file), parser));
    needed.map_err(|error| RecordError::new("read", file, error).into())
}
