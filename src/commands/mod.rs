//! One file a verb: gather the inputs, call the stages, hand the results to `ui`. No algorithm lives here.

mod report;
mod run;
mod variables;

use crate::cli::Command;
use crate::ui;

/// Executes a verb and returns the exit code; every error was told by then.
pub fn execute(command: Command) -> u8 {
    let result = match command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Report(arguments) => report::report(&arguments),
    };
    result.unwrap_or_else(|error| {
        ui::show_error(&error);
        error.exit_code()
    })
}
