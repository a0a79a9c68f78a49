//! The `runner` program; see the library for how it works.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = runner::cli::Cli::parse();
    ExitCode::from(runner::commands::execute(cli.command))
}
