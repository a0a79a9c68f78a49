//! From records to what people read: tables in Markdown and CSV, made again at any time from a run's
//! directory alone. [`render`] is pure, the same records give the same bytes; [`write`] puts its texts
//! beside the records, and [`check`] only looks whether they are there.

mod check;
mod comparison;
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

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::{Path, PathBuf};

use crate::analysis::summarise;
use crate::record::{RecordError, Run, RunDirectory, experiment_folder, list_runs, read_run, write_file};

pub use check::{Checked, Deviation, Fault, check};
pub use comparison::{Compared, ComparisonView, List, Named, comparison_csv};

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

impl Report {
    /// Every file that is made of the run in `directory`, with its text; the report first.
    pub fn files(&self, directory: &RunDirectory) -> Vec<(PathBuf, &str)> {
        let Report { markdown, summary, samples, series } = self;
        let mut files: Vec<(PathBuf, &str)> = vec![
            (directory.report(), markdown),
            (directory.summary(), summary),
            (directory.samples(), samples),
        ];
        files.extend(series.iter().map(|text| (directory.series(), text.as_str())));
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
