//! The command line: types for clap, and nothing else. Read [`Command`], then [`Changes`].

mod changes;
mod compare;
mod extract;
mod messages;
mod report;

use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

pub use changes::{AxisOption, Changes, SetOption};
pub use compare::{CompareArguments, FailOn, Format, HistoryArguments, Margin, Output};
pub use extract::ExtractArguments;
pub use messages::Messages;
pub use report::ReportArguments;

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
  runner init                                      a first experiment
  runner check experiments/first.yaml              is it right?
  runner plan experiments/first.yaml               what would be run?
  runner run experiments/first.yaml                run it
  runner status                                    how far is it? (from another terminal)
  runner report results/first/2026-11-30T11-45-12Z
  runner compare main:results/first results/first  worse than before?
  runner history first                             how did it go over all runs?
  runner extract --tool dd --stderr dd.txt         what is read out of an output?
  runner clean                                     what did killed runs leave on machines?

`runner VERB --help` shows examples of each.

Exit codes: 0 every trial ok, 1 a trial failed or something is left on a host, 2 wrong usage,
3 a mistake in a file, 4 a host, engine or disk failed, 5 something is worse, 130 interrupted.";

/// A verb.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a first experiment that runs at once.
    Init(InitArguments),
    /// Find every mistake in experiments, without running them.
    Check(CheckArguments),
    /// Show what would be run: every cell, where, how often, how long.
    Plan(PlanArguments),
    /// Show what one cell does: each value, where it comes from, each command.
    Explain(ExplainArguments),
    /// Execute an experiment and write its results and report.
    Run(RunArguments),
    /// Show how far a run is, from another terminal, or how it ended.
    Status(StatusArguments),
    /// Remove from the machines what runs that were killed have left there.
    Clean(CleanArguments),
    /// Make the reports of runs again, from their records alone, or check that they are as these say.
    Report(ReportArguments),
    /// Hold runs against each other: what is worse, better, the same, and what has changed around them.
    Compare(CompareArguments),
    /// Show how the values of an experiment went over all its runs, and where they changed.
    History(HistoryArguments),
    /// Read the output of a tool, or the kept outputs of a run again.
    Extract(ExtractArguments),
    /// Print the JSON Schema of experiments, for editors.
    Schema(SchemaArguments),
    /// Print what completes `runner` in a shell.
    Completions(CompletionsArguments),
}

/// `runner run`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  runner run experiments/quickstart.yaml
  runner run experiments/docker-vs-native.yaml --hosts lab/hosts.yaml --repetitions 2
  runner run experiments/docker-vs-native.yaml --where \"workload == 'network'\" --dry-run
  runner run experiments/docker-vs-native.yaml --quiet --log night.log
  runner run experiments/quickstart.yaml --resume                 go on with the newest run
  runner run experiments/quickstart.yaml --resume 2026-11-30T11-45-12Z --failed
  runner run experiments/quickstart.yaml --resume --repetitions 20 --accept-changes

The results lie in RESULTS/EXPERIMENT/START/: report.md to read, summary.csv and samples.csv
to compute with, records.jsonl and output/ to check. Ctrl-C ends what runs, removes what was
made on the machines and writes the report of what was measured; a second Ctrl-C leaves at once,
and `runner clean` removes the rest. A host that another run uses is waited for. `runner status`
tells from another terminal how far it is.

However a run has ended (Ctrl-C, kill -9, a full disk, a power cut), --resume goes on with what is
missing. It keeps the options of the run; one that is given takes the place of the kept one. A changed
experiment is refused with what changed.

Exit codes: 0 every trial ok, 1 a trial failed or something is left on a host, 2 the experiment of
the resumed run has changed, 3 a mistake in the file, 4 no host can be used or the disk refused, 130 interrupted.")]
pub struct RunArguments {
    /// The experiment.
    pub file: PathBuf,
    /// Where results are kept.
    #[arg(long, value_name = "DIR", default_value = "results")]
    pub results: PathBuf,
    /// Print the plan, as `runner plan` does, and do nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Make the report with the templates in this folder, instead of those that the file names.
    #[arg(long, value_name = "DIR")]
    pub templates: Option<PathBuf>,
    /// Which run is gone on with, and how.
    #[command(flatten)]
    pub resume: ResumeArguments,
    /// What to do about hosts that others use.
    #[command(flatten)]
    pub locking: Locking,
    /// What is said meanwhile.
    #[command(flatten)]
    pub messages: Messages,
    /// What the command line changes of it.
    #[command(flatten)]
    pub changes: Changes,
}

/// What `runner run` does of a run that was begun before.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Going on with a run")]
pub struct ResumeArguments {
    /// Go on with what is missing of a run: its directory, or that one's name; without it, the newest.
    #[arg(long = "resume", value_name = "RUN", num_args = 0..=1)]
    pub run: Option<Option<PathBuf>>,
    /// Run failed trials again too; what they were stays in the records.
    #[arg(long, requires = "run")]
    pub failed: bool,
    /// Go on with a changed experiment: trials whose settings did not change are kept.
    #[arg(long, requires = "run")]
    pub accept_changes: bool,
}

/// What to do about hosts that others use.
#[derive(Debug, Clone, Copy, Default, Args)]
#[command(next_help_heading = "Hosts that others use")]
pub struct Locking {
    /// Fail at once where somebody else has locked a host, instead of waiting until it is free.
    #[arg(long, conflicts_with = "no_lock")]
    pub no_wait: bool,
    /// Neither lock the hosts nor look whether others have: for those that are shared on purpose.
    #[arg(long)]
    pub no_lock: bool,
}

/// `runner clean`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runner clean --dry-run                                  what is left, of all runs in results/
  runner clean
  runner clean results/docker-vs-native/2026-11-30T11-45-12Z
  runner clean --hosts lab/hosts.yaml                     the hosts have moved
  runner clean --tagged 0badcafe --hosts cloud.yaml       the directory of the run is lost

A run writes into ledger.jsonl what it makes on machines before it makes it, and removes the file
when all of that is gone. Where the file is left, since the runner was killed, left by a second
Ctrl-C, or could not reach a host, everything in it is removed here: containers, networks,
processes and directories, and nothing that is not the run's. A run that goes on is left alone.

What was launched in a cloud carries the run's id as a tag, and is found by it when the file, or the
whole directory, is lost: give the run, or its id and a file that declares the hosts.

Exit codes: 0 nothing is left, 2 wrong usage, 3 a mistake in a file, 4 something is left: it could not
be removed, or --dry-run found it.")]
pub struct CleanArguments {
    /// Directories of runs; without one, all below RESULTS that have left something.
    #[arg(value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// Where results are kept.
    #[arg(long, value_name = "DIR", default_value = "results")]
    pub results: PathBuf,
    /// A file whose hosts replace those of the same name that the runs had.
    #[arg(long, value_name = "FILE")]
    pub hosts: Option<PathBuf>,
    /// The id of a run whose directory is gone: look for what carries it where the hosts of `--hosts` are.
    #[arg(long, value_name = "RUN_ID", requires = "hosts", conflicts_with = "runs")]
    pub tagged: Vec<String>,
    /// Say what is left, and remove nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// What to do about hosts that others use.
    #[command(flatten)]
    pub locking: Locking,
}

/// `runner plan`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runner plan experiments/docker-vs-native.yaml
  runner plan experiments/docker-vs-native.yaml --where \"host.name == 'lattepanda-a'\"
  runner plan experiments/quickstart.yaml --format csv >cells.csv
  runner plan experiments/quickstart.yaml --format json | jq -r .cell

A row is a cell: one point of the matrix. Below stand the hosts and how each is reached, the order,
and how long it took before, from the latest run in RESULTS/EXPERIMENT/. No machine is touched.")]
pub struct PlanArguments {
    /// The experiment.
    pub file: PathBuf,
    /// Where earlier results are kept, for the estimated time.
    #[arg(long, value_name = "DIR", default_value = "results")]
    pub results: PathBuf,
    /// `text`, a table to read; `json`, one object a line and cell; or `csv`, a row a cell.
    #[arg(long, value_enum, default_value_t, hide_possible_values = true)]
    pub format: PlanFormat,
    /// Changes nothing: a plan is never run. Known because `run` has it.
    #[arg(long, hide = true)]
    pub dry_run: bool,
    /// What the command line changes of it.
    #[command(flatten)]
    pub changes: Changes,
}

/// How a plan is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum PlanFormat {
    /// An aligned table, and what is to be known of the whole.
    #[default]
    Text,
    /// One JSON object a line and cell.
    Json,
    /// A row a cell.
    Csv,
}

/// `runner explain`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runner explain experiments/docker-vs-native.yaml disk-read/lattepanda-a/docker
  runner explain experiments/quickstart.yaml disk-write
  runner explain experiments/quickstart.yaml           the names of all cells

Where a final value differs from what is written, both
are shown. Ports and addresses are known only in a run and stand as `<port of server>`.")]
pub struct ExplainArguments {
    /// The experiment.
    pub file: PathBuf,
    /// The cell's name, or a part that no other cell's name holds; without it, the names of all are listed.
    pub cell: Option<String>,
    /// What the command line changes of it.
    #[command(flatten)]
    pub changes: Changes,
}

/// `runner check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runner check experiments/*.yaml
  runner check experiments/docker-vs-native.yaml --hosts lab/hosts.yaml --reach

With --reach each host of the plan is connected to, all at once, and asked for what the experiment
needs there: tools, root, a Docker Engine, room on the disk, a clock that is right.

Exit codes: 0 all is well, 3 a mistake in a file, 4 a host can't be reached or lacks something.")]
pub struct CheckArguments {
    /// The experiments.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Connect to every host, and look whether it has what the experiment needs.
    #[arg(long)]
    pub reach: bool,
    /// What the command line changes of each.
    #[command(flatten)]
    pub changes: Changes,
}

/// `runner init`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runner init
  runner init disk-study

Writes DIR/experiments/first.yaml, which runs on this machine in seconds and explains itself, and
beside it the schema by which editors complete keys. A file that is there already is left alone.")]
pub struct InitArguments {
    /// The folder of the experiments; made where it does not exist.
    #[arg(value_name = "DIR", default_value = ".")]
    pub directory: PathBuf,
}

/// `runner status`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runner status
  runner status results/docker-vs-native/2026-11-30T11-45-12Z
  watch -n 10 runner status
  runner status --format json | jq .left_s

Without RUN: the run below RESULTS that goes on, or else the newest one. It tells whether the run goes
on, has finished, was interrupted or was killed; its trials; what each host does and since when; the
time left; the last failures with their reasons; where the report is. No machine is touched.")]
pub struct StatusArguments {
    /// The directory of a run.
    pub run: Option<PathBuf>,
    /// Where results are kept.
    #[arg(long, value_name = "DIR", default_value = "results")]
    pub results: PathBuf,
    /// `text`, to read; or `json`, one object.
    #[arg(long, value_enum, default_value_t, hide_possible_values = true)]
    pub format: StatusFormat,
}

/// How the status of a run is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum StatusFormat {
    /// A few lines to read.
    #[default]
    Text,
    /// One JSON object.
    Json,
}

/// `runner schema`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  runner schema >experiment.schema.json

An editor with a YAML language server completes keys and marks mistakes in files that begin with
  # yaml-language-server: $schema=experiment.schema.json")]
pub struct SchemaArguments {}

/// `runner completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runner completions bash >~/.local/share/bash-completion/completions/runner
  runner completions zsh >~/.zfunc/_runner
  runner completions fish >~/.config/fish/completions/runner.fish")]
pub struct CompletionsArguments {
    /// The shell.
    #[arg(value_enum)]
    pub shell: Shell,
}

pub use clap_complete::Shell;

/// The script that completes `runner` in `shell`.
pub fn completions(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "runner", &mut script);
    script
}
