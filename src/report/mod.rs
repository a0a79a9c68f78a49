//! From records to what people read: tables in Markdown and CSV, made again at any time from a run's
//! directory alone. [`render`] is pure, the same records give the same bytes; [`write`] puts its texts
//! beside the records.

pub mod chart;
mod csv;
mod distributions;
mod estimates;
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
use crate::record::{
    RecordError, Run, RunDirectory, experiment_folder, list_folder, list_runs, read_file, read_run,
    remove_file, write_file,
};
use chart::Chart;

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
    /// `charts/NAME.svg` and `charts/NAME.csv`.
    pub charts: Vec<Chart>,
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
    let charts = chart::charts(run, &summaries)
        .map_err(|error| RecordError::new("render", &run.directory.charts(), error))?;
    let mut view = view::ReportView::new(run, &summaries);
    view.charts = chart::views(&charts);
    Ok(Report {
        markdown: text(run.directory.report(), templates::report(&view))?,
        summary: text(run.directory.summary(), csv::summary(&summaries))?,
        samples: text(run.directory.samples(), csv::samples(run))?,
        series: csv::series(run).map(|series| text(run.directory.series(), series)).transpose()?,
        charts,
    })
}

/// Makes `samples.csv`, `summary.csv`, `report.md`, its charts and, where there is one, `series.csv` of the run in
/// `run_directory` anew, and the `README.md` of the experiment's folder. The records are only read.
pub fn write(run_directory: &Path) -> Result<Written, RecordError> {
    let run = read_run(run_directory)?;
    let report = render(&run)?;
    let Report { markdown, summary, samples, series, charts } = &report;
    let directory = &run.directory;
    let always =
        [(directory.report(), markdown), (directory.summary(), summary), (directory.samples(), samples)];
    let mut files = Vec::new();
    for (path, text) in always.into_iter().chain(series.iter().map(|text| (directory.series(), text))) {
        write_file(&path, text.as_bytes())?;
        files.push(path);
    }
    files.extend(write_charts(directory, charts)?);
    if let Some(folder) = experiment_folder(&run) {
        let path = folder.join("README.md");
        write_file(&path, index::index(&list_runs(&folder)?).as_bytes())?;
        files.push(path);
    }
    Ok(Written { files, warnings: run.warnings })
}

/// Writes the charts, and removes those that an earlier report has made and this one has not. What else lies in the folder
/// stays.
fn write_charts(directory: &RunDirectory, charts: &[Chart]) -> Result<Vec<PathBuf>, RecordError> {
    let folder = directory.charts();
    let mut files = Vec::new();
    for Chart { name, svg, csv, .. } in charts {
        for (extension, text) in [("svg", svg), ("csv", csv)] {
            let path = folder.join(format!("{name}.{extension}"));
            write_file(&path, text.as_bytes())?;
            files.push(path);
        }
    }
    for path in list_folder(&folder)? {
        let is_picture = path.extension().is_some_and(|extension| extension == "svg");
        if is_picture && !files.contains(&path) && chart::is_own(&read_file(&path)?) {
            // The picture, which tells whose both are, goes last.
            remove_file(&path.with_extension("csv"))?;
            remove_file(&path)?;
        }
    }
    Ok(files)
}
