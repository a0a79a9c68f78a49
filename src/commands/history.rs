//! `runner history EXPERIMENT`: all runs of an experiment over time. Nothing is measured, no machine is touched.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "where the runs of an experiment lie"
)]

use std::path::{Path, PathBuf};

use super::compare::{deliver, must_have_metric};
use super::filter;
use crate::analysis::{self, MARGIN, margin};
use crate::cli::{Format, HistoryArguments};
use crate::error::{EXIT_OK, Error};
use crate::record::{RecordError, Run, read_reported, runs_below, write_file};
use crate::report::{HistoryView, history_csv, history_svg};
use crate::ui;

pub(super) fn history(arguments: &HistoryArguments) -> Result<u8, Error> {
    let folder = folder(&arguments.experiment, &arguments.results);
    let mut runs = read(&folder)?;
    if let Some(condition) = &arguments.rows.condition {
        filter::keep_where(&mut runs.iter_mut().collect::<Vec<_>>(), condition)?;
    }
    must_have_metric(&runs, arguments.rows.metric.as_deref())?;
    let own = runs.last().map_or(MARGIN, margin);
    let margin = arguments.margin.map_or(own, |margin| margin.0);
    let history = analysis::history(&runs, arguments.rows.metric.as_deref(), margin).map_err(|refusal| {
        Error::Usage {
            message: format!("the runs have no history: {refusal}"),
            help: "give another margin, or other cells".to_owned(),
        }
    })?;
    if history.series.is_empty() {
        return Err(Error::Usage {
            message: format!("no run in `{}` has a value of these cells", folder.display()),
            help: "relax what the command line asks for".to_owned(),
        });
    }
    let view = HistoryView::new(&runs, &history, margin);
    let text = match arguments.output.format {
        Format::Terminal => None,
        Format::Markdown => Some(view.to_markdown()),
        Format::Csv => Some(
            history_csv(&runs, &history)
                .map_err(|error| RecordError::new("render", Path::new("the history"), error))?,
        ),
    };
    if let Some(path) = &arguments.svg {
        write_file(path, history_svg(&runs, &history).as_bytes())?;
    }
    let plain = || ui::compare::plain(|out| ui::compare::write_history(out, &view));
    deliver(&arguments.output, text, plain, || ui::compare::show_history(&view))?;
    Ok(EXIT_OK)
}

/// A folder that is there, or the one of that name below `results`.
fn folder(experiment: &Path, results: &Path) -> PathBuf {
    let below = results.join(experiment);
    if !experiment.is_dir() && below.is_dir() { below } else { experiment.to_owned() }
}

/// The runs, the oldest first.
fn read(folder: &Path) -> Result<Vec<Run>, Error> {
    let mut runs = Vec::new();
    for directory in runs_below(folder)? {
        let mut run = read_reported(directory.path())?;
        run.warnings.extend(run.exclusions());
        ui::compare::show_warnings(&run);
        runs.push(run);
    }
    let first = runs.first().map(|run| run.manifest.experiment.clone());
    match runs.iter().find(|run| Some(&run.manifest.experiment) != first.as_ref()) {
        None => Ok(runs),
        Some(other) => Err(Error::Usage {
            message: format!(
                "`{}` holds runs of several experiments: {} and {}",
                folder.display(),
                first.unwrap_or_default(),
                other.manifest.experiment
            ),
            help: "give the folder of one experiment, or its name".to_owned(),
        }),
    }
}
