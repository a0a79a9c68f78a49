//! `runner extract` on the command line.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

/// `runner extract`.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("what").required(true).args(["directory", "tool", "list"]),
    after_help = "\
Examples:
  runner extract --list                                    every tool, its metrics and units
  iperf3 --client 192.0.2.1 --json | runner extract --tool iperf3
  runner extract --tool dd --stderr dd.txt --exit-code 1
  runner extract results/quickstart/2026-11-30T11-45-12Z

With --tool an output is read as a run reads it, and told as one JSON object: `status` (`ok` or
`failed`), `reason`, `warnings`, and `measurements` with `name`, `value`, `unit` and `labels`, in base
units. Without --stdout and --stderr, standard input is read as the tool's standard output.

With RUN_DIRECTORY the outputs that a run has kept are read again, after a parser got better. Where
that gives other values, a new record stands beside the old one with the reason, and the report is made
again. Nothing is measured, no machine is touched.

Exit codes: 0 all that was read is ok, 1 the output of a tool or of a trial is not, 2 wrong usage,
3 a mistake in the run's experiment, 4 a file can't be read or written."
)]
pub struct ExtractArguments {
    /// The directory of a run, whose kept outputs are read again.
    #[arg(value_name = "RUN_DIRECTORY")]
    pub directory: Option<PathBuf>,
    /// The tool that printed the output.
    #[arg(long, value_name = "NAME")]
    pub tool: Option<String>,
    /// A file with the tool's standard output; `-` is standard input.
    #[arg(long, value_name = "FILE", requires = "tool")]
    pub stdout: Option<PathBuf>,
    /// A file with the tool's standard error; `-` is standard input.
    #[arg(long, value_name = "FILE", requires = "tool")]
    pub stderr: Option<PathBuf>,
    /// The tool's exit code.
    #[arg(long, value_name = "N", requires = "tool", default_value_t = 0, allow_negative_numbers = true)]
    pub exit_code: i32,
    /// Show every tool with its metrics and their units.
    #[arg(long)]
    pub list: bool,
}
