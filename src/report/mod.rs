//! From records to what people read: tables in Markdown and CSV, made again at any time from a run's
//! directory alone. [`render`] is pure, the same records give the same bytes; [`write`] puts its texts
//! beside the records.

mod axes;
mod cells;
mod csv;
mod distributions;
mod estimates;
mod findings;
mod grid;
mod index;
mod markdown;
mod notes;
mod number;
mod sections;
mod templates;
pub mod view;

use std::error::Error;
use std::path::{Path, PathBuf};

use crate::analysis::summarise;
use crate::record::{RecordError, Run, experiment_folder, list_runs, read_run, write_file};

/// The texts made from one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// `report.md`.
    pub markdown: String,
    /// `summary.csv`.
    pub summary: String,
    /// `samples.csv`.
    pub samples: String,
    /// `series.csv`, where a trial has kept a series.
    pub series: Option<String>,
}

/// What [`write`] left on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The files, the report first.
    pub files: Vec<PathBuf>,
    /// What a reader should know of the records: a half-written line.
    pub warnings: Vec<String>,
}

/// All texts of a run.
///
/// # Errors
///
/// A template that doesn't fit its view; the built-in ones do.
pub fn render(run: &Run) -> Result<Report, RecordError> {
    fn text<E: Into<Box<dyn Error + Send + Sync>>>(
        path: PathBuf,
        text: Result<String, E>,
    ) -> Result<String, RecordError> {
        text.map_err(|error| RecordError::new("render", &path, error))
    }
    let summaries = summarise(run);
    let view = view::ReportView::new(run, &summaries);
    Ok(Report {
        markdown: text(run.directory.report(), templates::report(&view))?,
        summary: text(run.directory.summary(), csv::summary(&summaries))?,
        samples: text(run.directory.samples(), csv::samples(run))?,
        series: csv::series(run).map(|series| text(run.directory.series(), series)).transpose()?,
    })
}

/// Makes `samples.csv`, `summary.csv`, `report.md` and, where there is one, `series.csv` of the run in `run_directory` anew, and the
/// `README.md` of the experiment's folder. The records are only read.
pub fn write(run_directory: &Path) -> Result<Written, RecordError> {
    let run = read_run(run_directory)?;
    let report = render(&run)?;
    let Report { markdown, summary, samples, series } = &report;
    let directory = &run.directory;
    let always =
        [(directory.report(), markdown), (directory.summary(), summary), (directory.samples(), samples)];
    let mut files = Vec::new();
    for (path, text) in always.into_iter().chain(series.iter().map(|text| (directory.series(), text))) {
        write_file(&path, text.as_bytes())?;
        files.push(path);
    }
    if let Some(folder) = experiment_folder(&run) {
        let path = folder.join("README.md");
        write_file(&path, index::index(&list_runs(&folder)?).as_bytes())?;
        files.push(path);
    }
    Ok(Written { files, warnings: run.warnings })
}
