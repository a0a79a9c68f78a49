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
mod excluded;
mod findings;
mod grid;
mod history;
mod index;
mod markdown;
mod metric_table;
mod notes;
mod number;
mod panels;
mod samples;
mod sections;
mod templates;
mod trials;
pub mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;

use self::chart::Chart;
use self::view::ReportView;
use crate::analysis::{Summary, summarise};
use crate::cores::beside;
use crate::diagnostic::{Problem, Problems, Sources};
use crate::record::{
    RecordError, Run, RunDirectory, TemplateFile, experiment_folder, kept_templates, list_folder, list_runs,
    read_file, read_outputs, read_reported, remove_file, write_file, write_file_with,
};

pub use chart::history_svg;
pub use check::{Checked, Deviation, Fault, check};
pub use comparison::{Compared, ComparisonView, List, Named, comparison_csv};
pub use history::{HistoryView, history_csv};
pub use samples::write_samples;
pub use templates::Templates;

/// The texts made from one run. `samples.csv` is too long to be one of them: see [`write_samples`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// `report.md`.
    pub markdown: String,
    /// `report.html`.
    pub html: String,
    /// `summary.csv`.
    pub summary: String,
    /// `series.csv`, where a trial has kept a series.
    pub series: Option<String>,
    /// `charts/NAME.svg` and `charts/NAME.csv`.
    pub charts: Vec<Chart>,
    /// What further templates give: the name of the file, and its text.
    pub more: Vec<(String, String)>,
}

impl Report {
    /// Every file that is made of the run in `directory` but `samples.csv`, with its text; the Markdown report first.
    pub fn files(&self, directory: &RunDirectory) -> Vec<(PathBuf, &str)> {
        let Report { markdown, html, summary, series, charts, more } = self;
        let mut files: Vec<(PathBuf, &str)> =
            vec![(directory.report(), markdown), (directory.summary(), summary), (directory.html(), html)];
        files.extend(series.iter().map(|text| (directory.series(), text.as_str())));
        for Chart { name, svg, csv, .. } in charts {
            let path = |extension: &str| directory.charts().join(format!("{name}.{extension}"));
            files.extend([(path("svg"), svg.as_str()), (path("csv"), csv.as_str())]);
        }
        files.extend(more.iter().map(|(name, text)| (directory.path().join(name), text.as_str())));
        files
    }
}

/// What [`write`] left on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The files, the report first.
    pub files: Vec<PathBuf>,
    /// What a reader should know of the records: a half-written line.
    pub warnings: Vec<String>,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The run can't be read, or the report not be written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A template is wrong.
    #[error(transparent)]
    Template(#[from] Problems),
}

/// All texts of a run, by the built-in templates. `report.html` has no texts of outputs: see [`render_with`].
///
/// # Errors
/// What a CSV can't hold.
pub fn render(run: &Run) -> Result<Report, ReportError> {
    rendered(run, &Templates::default(), |_| {})
}

/// All texts of a run, by `templates`, and with what its trials have printed: its outputs are read from its directory.
///
/// # Errors
/// A mistake in a template, with its place; what a CSV can't hold.
pub fn render_with(run: &Run, templates: &Templates) -> Result<Report, ReportError> {
    rendered(run, templates, |view| {
        let listed = view.cells.iter().flat_map(|cell| &cell.trials).map(|trial| trial.trial.as_str());
        let listed: BTreeSet<_> = listed.collect();
        let outputs = run.records.iter().filter(|record| !record.words().outputs.is_empty());
        let outputs = outputs.filter(|record| listed.contains(record.trial().as_str()));
        let outputs = outputs.flat_map(|record| &record.words().outputs);
        let (each, total) = (trials::BYTES_OF_OUTPUT, trials::BYTES_OF_OUTPUTS);
        let texts = read_outputs(&run.directory, outputs, each, total);
        trials::put_texts(&mut view.cells, &texts);
    })
}

fn rendered(
    run: &Run,
    templates: &Templates,
    complete: impl FnOnce(&mut ReportView),
) -> Result<Report, ReportError> {
    fn text<T, E: Into<Box<dyn Error + Send + Sync>>>(
        path: PathBuf,
        text: Result<T, E>,
    ) -> Result<T, RecordError> {
        text.map_err(|error| RecordError::new("render", &path, error))
    }
    let summaries = summarise(run);
    let charts = text(run.directory.charts(), chart::charts(run, &summaries))?;
    let mut view = view(run, &summaries, &charts);
    complete(&mut view);
    let mut files = templates.render(&view)?.into_iter().map(|(_, text)| text);
    let (markdown, html) = (files.next().unwrap_or_default(), files.next().unwrap_or_default());
    let more = templates.more().into_iter().zip(files).collect();
    Ok(Report {
        markdown,
        html,
        summary: text(run.directory.summary(), csv::summary(&summaries))?,
        series: csv::series(run).map(|series| text(run.directory.series(), series)).transpose()?,
        charts,
        more,
    })
}

fn view(run: &Run, summaries: &[Summary<'_>], charts: &[Chart]) -> ReportView {
    ReportView { charts: chart::views(charts), ..ReportView::new(run, summaries) }
}

/// The mistakes in templates as far as they show on an `example`: a run with made-up values. They point into
/// `sources`.
pub fn check_templates(templates: &Templates, example: Option<&Run>, sources: &mut Sources) -> Vec<Problem> {
    let made_up = |run: &Run| {
        let summaries = summarise(run);
        view(run, &summaries, &chart::charts(run, &summaries).unwrap_or_default())
    };
    templates.mistakes(example.map(made_up).as_ref(), sources)
}

/// All texts of `run`, by the templates in `instead`, or else by those that it has kept, or the built-in ones.
fn make(run: &Run, instead: Option<&[TemplateFile]>) -> Result<Report, ReportError> {
    let kept = || kept_templates(&run.directory, run.manifest.templates.as_deref());
    let templates = Templates::new(instead.map_or_else(kept, |files| Ok(files.to_vec()))?);
    let mut sources = Sources::default();
    let mistakes = check_templates(&templates, None, &mut sources);
    match mistakes.is_empty() {
        true => render_with(run, &templates),
        false => Err(Problems::new(mistakes, sources).into()),
    }
}

/// Makes every file of the run in `run_directory` that is made of its records anew, and the `README.md` of the
/// experiment's folder. The templates are those that the run has kept, or else the built-in ones. The records are
/// only read; nothing is written before all of it is there.
pub fn write(run_directory: &Path) -> Result<Written, ReportError> {
    write_with(run_directory, None)
}

/// The same by the templates in `instead`, where there are some.
pub fn write_with(run_directory: &Path, instead: Option<&[TemplateFile]>) -> Result<Written, ReportError> {
    let mut indexes = Indexes::default();
    let mut written = write_run(run_directory, instead, &mut indexes)?;
    for (path, text) in indexes.texts()? {
        write_file(&path, text.as_bytes())?;
        written.files.push(path);
    }
    Ok(written)
}

/// The same for many runs; `tell` hears of each when it is done.
pub fn write_all(
    runs: &[RunDirectory],
    instead: Option<&[TemplateFile]>,
    mut tell: impl FnMut(&Written),
) -> Result<(), ReportError> {
    let mut indexes = Indexes::default();
    for run in runs {
        tell(&write_run(run.path(), instead, &mut indexes)?);
    }
    Ok(indexes.texts()?.iter().try_for_each(|(path, text)| write_file(path, text.as_bytes()))?)
}

fn write_run(
    run_directory: &Path,
    instead: Option<&[TemplateFile]>,
    indexes: &mut Indexes,
) -> Result<Written, ReportError> {
    let run = read_reported(run_directory)?;
    let mut files = write_files(&run, instead)?;
    files.push(run.directory.samples());
    remove_charts(&run.directory, &files)?;
    indexes.add(&run);
    Ok(Written { files, warnings: run.warnings })
}

/// Writes all files of `run` but its experiment's page; returns them without `samples.csv`, which is written beside the
/// others and takes its place only once these are there.
fn write_files(run: &Run, instead: Option<&[TemplateFile]>) -> Result<Vec<PathBuf>, ReportError> {
    let (written, are_written) = channel();
    let samples = move || {
        write_file_with(&run.directory.samples(), move |out| {
            write_samples(run, out)?;
            are_written.recv().map_err(io::Error::other)
        })
    };
    let others = move || {
        let report = make(run, instead)?;
        let write = |(path, text): (PathBuf, &str)| write_file(&path, text.as_bytes()).map(|()| path);
        let files = report.files(&run.directory).into_iter().map(write).collect::<Result<Vec<_>, _>>()?;
        // Who does not hear it any more has failed, and says why.
        let _ = written.send(());
        Ok(files)
    };
    let (samples, others) = beside(samples, others);
    others.and_then(|files| Ok(samples.map(|()| files)?))
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
#[cfg(test)]
mod tests {
    use super::*;

    /// The run of `tests/fixtures`.
    pub(super) fn run() -> Run {
        read_reported(Path::new("tests/fixtures/run-docker-vs-native")).unwrap()
    }
}
