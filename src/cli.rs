//! The command line: types for clap, and nothing else.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Declarative experiments on real machines: YAML in, honest tables out.
#[derive(Debug, Parser)]
#[command(version, about, after_help = AFTER_HELP)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  runner run experiments/quickstart.yaml
  runner run experiments/docker-vs-native.yaml --hosts lab/hosts.yaml
  runner report results/quickstart/2026-11-30T11-45-12Z

Exit codes: 0 every trial ok, 1 a trial failed, 2 wrong usage, 3 a mistake in a file,
4 a host, engine or disk failed, 130 interrupted.";

/// A verb.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Execute an experiment and write its results and report.
    Run(RunArguments),
    /// Make the report of a run again, from its records alone.
    Report(ReportArguments),
}

/// `runner run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runner run experiments/quickstart.yaml
  runner run experiments/docker-vs-native.yaml --hosts lab/hosts.yaml --repetitions 2

The results lie in RESULTS/EXPERIMENT/START/: report.md to read, summary.csv and samples.csv
to compute with, records.jsonl and output/ to check. Ctrl-C ends what runs, removes what was
made on the machines and writes the report of what was measured; a second Ctrl-C leaves at once.")]
pub struct RunArguments {
    /// The experiment.
    pub file: PathBuf,
    /// A file whose hosts and environments replace those of the same name.
    #[arg(long, value_name = "FILE")]
    pub hosts: Option<PathBuf>,
    /// Measured trials of each cell, instead of what the file says.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub repetitions: Option<u32>,
    /// The seed of the order, to repeat that of an earlier run.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Where results are kept.
    #[arg(long, value_name = "DIR", default_value = "results")]
    pub results: PathBuf,
}

/// `runner report`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  runner report results/quickstart/2026-11-30T11-45-12Z")]
pub struct ReportArguments {
    /// The directory of a run.
    #[arg(value_name = "RUN_DIRECTORY")]
    pub directory: PathBuf,
}
