//! One file a verb: gather the inputs, call the stages, hand the results to `ui`. No algorithm lives here.

mod experiment;
mod explain;
mod local_files;
mod plan;
mod report;
mod run;

use crate::cli::Command;
use crate::ui;

/// Executes a verb and returns the exit code; every error was told by then.
pub fn execute(command: Command) -> u8 {
    let result = match command {
        Command::Explain(arguments) => explain::show(&arguments),
        Command::Plan(arguments) => plan::plan(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Report(arguments) => report::report(&arguments),
        _ => Ok(0),
    };
    result.unwrap_or_else(|error| {
        ui::show_error(&error);
        error.exit_code()
    })
}
