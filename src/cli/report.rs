//! `runner report` on the command line.

use std::path::PathBuf;

use clap::Args;

/// `runner report`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runner report results/quickstart/2026-11-30T11-45-12Z
  runner report results                                  of every run in it
  runner report --check results                          is what is committed right?
  runner report results/quickstart/2026-11-30T11-45-12Z --templates my-templates
  runner report results/quickstart/2026-11-30T11-45-12Z --experiment experiments/quickstart.yaml
                                                         its tables, charts and baseline have changed

Makes report.md, report.html, summary.csv, samples.csv, charts and, where there is something for it, series.csv of
each run, and README.md in the folder of its experiment. Records are only read; the same records give the same
bytes. With --templates, report.md.j2 and report.html.j2 of that folder replace those that are built in, and each
further NAME.j2 becomes NAME in the run's directory. What a template sees: docs/templates.md.

With --check nothing is written: every such file is compared with what the records give. Told are files that
differ, with the first line that does, files that are missing, and files that nothing makes any more. A run that
goes on is left out.

Exit codes: 0 made, or all as it should be; 1 --check found a difference; 2 wrong usage; 4 a file can't be
read or written.")]
pub struct ReportArguments {
    /// Directories of runs, of experiments, or of all results.
    #[arg(value_name = "DIR", required = true)]
    pub directories: Vec<PathBuf>,
    /// Write nothing, and tell what differs from what the records give.
    #[arg(long)]
    pub check: bool,
    /// Use the templates in this folder, this time, instead of those that the run has kept.
    #[arg(long, value_name = "TEMPLATES", conflicts_with = "check")]
    pub templates: Option<PathBuf>,
    /// First put the `report:` section of this experiment file into the run, in place of the one it was run with.
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    pub experiment: Option<PathBuf>,
}
