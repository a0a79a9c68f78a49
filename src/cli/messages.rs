//! How much a run says, and where to. Read [`Messages`].

use std::path::PathBuf;

use clap::Args;

/// What `runner run` says while it goes on.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Messages")]
pub struct Messages {
    /// Say only what went wrong, and where the report is.
    #[arg(long, short, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Show each command, how it ended and what it printed.
    #[arg(long, short)]
    pub verbose: bool,
    /// Append everything that --verbose shows to a file, with the time; also beside --quiet.
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
}
