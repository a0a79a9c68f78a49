//! One file a verb: gather the inputs, call the stages, hand the results to `ui`. No algorithm lives here.

mod check;
mod clean;
mod compare;
mod completions;
mod experiment;
mod explain;
mod extract;
mod filter;
mod history;
mod init;
mod local_files;
mod plan;
mod presentation;
mod references;
mod report;
mod revision;
mod run;
mod schema;
mod status;
mod templates;
mod temporary;
mod variables;

use std::future::Future;

use crate::cli::Command;
use crate::error::Error;
use crate::ui;

/// Executes a verb and returns the exit code; every error was told by then.
pub fn execute(command: Command) -> u8 {
    let result = match command {
        Command::Init(arguments) => init::init(&arguments),
        Command::Check(arguments) => check::check(&arguments),
        Command::Plan(arguments) => plan::plan(&arguments),
        Command::Explain(arguments) => explain::show(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Status(arguments) => status::status(&arguments),
        Command::Clean(arguments) => clean::clean(&arguments),
        Command::Report(arguments) => report::report(&arguments),
        Command::Compare(arguments) => compare::compare(&arguments),
        Command::History(arguments) => history::history(&arguments),
        Command::Extract(arguments) => extract::extract(&arguments),
        Command::Schema(_) => schema::schema(),
        Command::Completions(arguments) => completions::show(&arguments),
    };
    result.unwrap_or_else(|error| {
        ui::show_error(&error);
        error.exit_code()
    })
}

/// Runs what waits for machines.
fn block_on<T>(future: impl Future<Output = T>) -> Result<T, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|source| Error::World { action: "start", source })?;
    Ok(runtime.block_on(future))
}
