//! `runner compare` and `runner history` on the command line.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};

/// `runner compare`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runner compare results/web/2026-11-29T08-00-00Z results/web/2026-11-30T11-45-12Z
  runner compare main:results/web results/web              the newest run of a branch, and the newest here
  runner compare results/web/2026-11-30T11-45-12Z@v1.2 results/web
  runner compare A B C --metric throughput                 A is the baseline, B and C have a column each
  runner compare A B --where \"host.name == 'pi5'\" --margin 5%
  runner compare A B --format markdown --output compare.md
  runner compare main:results/web results/web --fail-on worse

A RUN is the directory of a run, or the folder of an experiment, which stands for its newest run. As
REVISION:PATH it is read out of git, PATH from the top of the repository, or from here where it begins with
./; PATH@REVISION is the same with a path from here.

First comes what has changed around what is compared: machines, tools, experiment. Then each cell and metric
that both have, with a verdict: worse, better or different (surely, and by more than the margin), small
(surely, and by less), equivalent (surely not different by the margin), inconclusive (more trials are
needed). Cells are matched by workload, host, environment and parameters. Without --metric, `elapsed` is
compared only where nothing else was measured. The runs of several hosts are never put together.

Exit codes: 0 compared, 2 wrong usage, or nothing in common, 4 a file can't be read or written, 5 --fail-on
found something. A cell without an ok trial that had one before counts as worse.")]
pub struct CompareArguments {
    /// The runs; the first is the baseline.
    #[arg(value_name = "RUN", required = true, num_args = 2..)]
    pub runs: Vec<String>,
    /// What of the runs is told.
    #[command(flatten)]
    pub rows: Rows,
    /// By how much two must differ for it to matter [default: that of the baseline's report, or 2%].
    #[arg(long, value_name = "PERCENT")]
    pub margin: Option<Margin>,
    /// End with exit code 5 where this is found: `worse`; `inconclusive`, which no verdict at all counts as.
    #[arg(long, value_enum, value_name = "VERDICT", value_delimiter = ',', hide_possible_values = true)]
    pub fail_on: Vec<FailOn>,
    /// How it is told.
    #[command(flatten)]
    pub output: Output,
}

/// `runner history`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runner history web                                       results/web
  runner history results/web --metric throughput
  runner history web --where \"host.name == 'pi5'\" --svg history.svg
  runner history web --format csv --output history.csv

A row is a cell and metric: the median of each run in time order, the latest run against the one before, and
the run from which on the level is another one, with the probability that chance alone makes such a change.
That is sure from 8 runs on; before, it says how many are missing. What has changed on machines, tools and
in the experiment stands with the run that has it first. Hosts are never put together.

Exit codes: 0 told, 2 wrong usage, 4 a file can't be read or written.")]
pub struct HistoryArguments {
    /// The folder of an experiment, or its name below RESULTS.
    pub experiment: PathBuf,
    /// Where results are kept.
    #[arg(long, value_name = "DIR", default_value = "results")]
    pub results: PathBuf,
    /// What of the runs is told.
    #[command(flatten)]
    pub rows: Rows,
    /// By how much the latest run must differ from the one before for it to matter [default: that of the
    /// latest run's report, or 2%].
    #[arg(long, value_name = "PERCENT")]
    pub margin: Option<Margin>,
    /// Write a picture too: a panel for each row.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// How it is told.
    #[command(flatten)]
    pub output: Output,
}

/// In which form something is told, and where to.
#[derive(Debug, Args)]
pub struct Output {
    /// `terminal`, aligned to read; `markdown`, for a page or a comment; or `csv`, with everything.
    #[arg(long, value_enum, default_value_t, hide_possible_values = true)]
    pub format: Format,
    /// Write it into a file instead of printing it.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// In which form something is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Format {
    /// To read.
    #[default]
    Terminal,
    /// For a page.
    Markdown,
    /// For machines.
    Csv,
}

/// What a comparison fails on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Something is worse, or fails now.
    Worse,
    /// Something can't be said.
    Inconclusive,
}

/// A part of a value, written in per cent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Margin(pub f64);

impl FromStr for Margin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        match number.filter(|percent| *percent > 0.0 && *percent <= 100.0) {
            Some(percent) => Ok(Margin(percent / 100.0)),
            None => Err("write it in per cent, above 0 and up to 100, as in 5%".to_owned()),
        }
    }
}

/// Which cells and metrics are looked at.
#[derive(Debug, Args)]
pub struct Rows {
    /// This metric alone.
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// Only the cells for which this holds: "host.name == 'pi5' and size > 64".
    #[arg(long = "where", value_name = "EXPR")]
    pub condition: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::Margin;

    #[test]
    fn a_margin_is_written_in_per_cent() {
        for (text, part) in [("5%", 0.05), (" 0.5 % ", 0.005), ("100%", 1.0)] {
            assert_eq!(text.parse::<Margin>(), Ok(Margin(part)), "{text}");
        }
        for text in ["5", "0.05", "0%", "-1%", "101%", "NaN%", "inf%", "%", ""] {
            assert!(text.parse::<Margin>().is_err(), "{text}");
        }
    }
}
