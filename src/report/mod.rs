//! From records to what people read: tables in Markdown and CSV, made again at any time from a run's
//! directory alone. [`render`] is pure, the same records give the same bytes; [`write`] puts its texts
//! beside the records, and [`check`] only looks whether they are there.

mod axes;
mod cells;
pub mod chart;
mod check;
mod comparison;
mod csv;
mod distributions;
mod estimates;
mod findings;
mod grid;
mod history;
mod index;
mod markdown;
mod notes;
mod number;
mod sections;
mod templates;
pub mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::{Path, PathBuf};

use crate::analysis::summarise;
use crate::record::{
    RecordError, Run, RunDirectory, experiment_folder, list_folder, list_runs, read_file, read_run,
    remove_file, write_file,
};
use chart::Chart;

pub use chart::history_svg;
pub use check::{Checked, Deviation, Fault, check};
pub use comparison::{Compared, ComparisonView, List, Named, comparison_csv};
pub use history::{HistoryView, history_csv};

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

impl Report {
    /// Every file that is made of the run in `directory`, with its text; the report first.
    pub fn files(&self, directory: &RunDirectory) -> Vec<(PathBuf, &str)> {
        let Report { markdown, summary, samples, series, charts } = self;
        let mut files: Vec<(PathBuf, &str)> = vec![
            (directory.report(), markdown),
            (directory.summary(), summary),
            (directory.samples(), samples),
        ];
        files.extend(series.iter().map(|text| (directory.series(), text.as_str())));
        for Chart { name, svg, csv, .. } in charts {
            let path = |extension: &str| directory.charts().join(format!("{name}.{extension}"));
            files.extend([(path("svg"), svg.as_str()), (path("csv"), csv.as_str())]);
        }
        files
    }
}

/// Makes every file of the run in `run_directory` that is made of its records anew, and the `README.md` of the
/// experiment's folder. The records are only read.
pub fn write(run_directory: &Path) -> Result<Written, RecordError> {
    let mut indexes = Indexes::default();
    let mut written = write_run(run_directory, &mut indexes)?;
    for (path, text) in indexes.texts()? {
        write_file(&path, text.as_bytes())?;
        written.files.push(path);
    }
    Ok(written)
}

/// The same for many runs; `tell` hears of each when it is done.
pub fn write_all(runs: &[RunDirectory], mut tell: impl FnMut(&Written)) -> Result<(), RecordError> {
    let mut indexes = Indexes::default();
    for run in runs {
        tell(&write_run(run.path(), &mut indexes)?);
    }
    indexes.texts()?.iter().try_for_each(|(path, text)| write_file(path, text.as_bytes()))
}

fn write_run(run_directory: &Path, indexes: &mut Indexes) -> Result<Written, RecordError> {
    let run = read_run(run_directory)?;
    let report = render(&run)?;
    let mut files = Vec::new();
    for (path, text) in report.files(&run.directory) {
        write_file(&path, text.as_bytes())?;
        files.push(path);
    }
    remove_charts(&run.directory, &files)?;
    indexes.add(&run);
    Ok(Written { files, warnings: run.warnings })
}

/// The folders of experiments whose pages are to be made, with the runs whose reports are.
#[derive(Debug, Default)]
struct Indexes(BTreeMap<PathBuf, BTreeSet<String>>);

impl Indexes {
    fn add(&mut self, run: &Run) {
        if let Some((folder, name)) = experiment_folder(run) {
            self.0.entry(folder).or_default().insert(name);
        }
    }

    /// Each page with its text.
    fn texts(self) -> Result<Vec<(PathBuf, String)>, RecordError> {
        let text = |(folder, reported): (PathBuf, BTreeSet<String>)| {
            let mut runs = list_runs(&folder)?;
            runs.iter_mut().for_each(|run| run.has_report |= reported.contains(&run.directory.name()));
            Ok((folder.join("README.md"), index::index(&runs)))
        };
        self.0.into_iter().map(text).collect()
    }
}

/// Removes the charts that an earlier report has made and that are not among `files`. What else lies in the folder stays.
fn remove_charts(directory: &RunDirectory, files: &[PathBuf]) -> Result<(), RecordError> {
    for path in list_folder(&directory.charts())? {
        let is_picture = path.extension().is_some_and(|extension| extension == "svg");
        if is_picture && !files.contains(&path) && chart::is_own(&read_file(&path)?) {
            // The picture, which tells whose both are, goes last.
            remove_file(&path.with_extension("csv"))?;
            remove_file(&path)?;
        }
    }
    Ok(())
}
