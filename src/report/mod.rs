//! From records to what people read: tables in Markdown and CSV, made again at any time from a run's
//! directory alone. [`render`] is pure, the same records give the same bytes; [`write`] puts its texts
//! beside the records.

mod csv;
mod distributions;
mod estimates;
mod index;
mod markdown;
mod notes;
mod number;
mod panels;
mod sections;
mod templates;
mod trials;
pub mod view;

use std::error::Error;
use std::path::{Path, PathBuf};

use self::view::ReportView;
use crate::analysis::summarise;
use crate::diagnostic::{Problem, Problems, Sources};
use crate::record::{
    RecordError, Run, RunDirectory, TemplateFile, experiment_folder, kept_templates, list_runs, read_outputs,
    read_run, write_file,
};

pub use templates::Templates;

/// The texts made from one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// `report.md`.
    pub markdown: String,
    /// `report.html`.
    pub html: String,
    /// `summary.csv`.
    pub summary: String,
    /// `samples.csv`.
    pub samples: String,
    /// `series.csv`, where a trial has kept a series.
    pub series: Option<String>,
    /// What further templates give: the name of the file, and its text.
    pub more: Vec<(String, String)>,
}

impl Report {
    /// Its files, the Markdown report first.
    pub fn files(&self, directory: &RunDirectory) -> Vec<(PathBuf, &str)> {
        let mut files = vec![
            (directory.report(), self.markdown.as_str()),
            (directory.summary(), &self.summary),
            (directory.samples(), &self.samples),
        ];
        files.extend(self.series.iter().map(|text| (directory.series(), text.as_str())));
        files.push((directory.html(), &self.html));
        files.extend(self.more.iter().map(|(name, text)| (directory.path().join(name), text.as_str())));
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
        let listed: std::collections::BTreeSet<_> = listed.collect();
        let records = run.records.iter().filter(|record| listed.contains(record.trial.as_str()));
        let outputs = records.flat_map(|record| &record.outputs);
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
    fn text<E: Into<Box<dyn Error + Send + Sync>>>(
        path: PathBuf,
        text: Result<String, E>,
    ) -> Result<String, RecordError> {
        text.map_err(|error| RecordError::new("render", &path, error))
    }
    let summaries = summarise(run);
    let mut view = ReportView::new(run, &summaries);
    complete(&mut view);
    let mut files = templates.render(&view)?.into_iter().map(|(_, text)| text);
    let (markdown, html) = (files.next().unwrap_or_default(), files.next().unwrap_or_default());
    let more = templates.more().into_iter().zip(files).collect();
    Ok(Report {
        markdown,
        html,
        summary: text(run.directory.summary(), csv::summary(&summaries))?,
        samples: text(run.directory.samples(), csv::samples(run))?,
        series: csv::series(run).map(|series| text(run.directory.series(), series)).transpose()?,
        more,
    })
}

/// The mistakes in templates as far as they show on an `example`: a run with made-up values. They point into
/// `sources`.
pub fn check_templates(templates: &Templates, example: Option<&Run>, sources: &mut Sources) -> Vec<Problem> {
    let view = example.map(|run| ReportView::new(run, &summarise(run)));
    templates.mistakes(view.as_ref(), sources)
}

/// Makes `report.md`, `report.html`, `samples.csv`, `summary.csv` and, where there is one, `series.csv` of the run in
/// `run_directory` anew, and the `README.md` of the experiment's folder. The templates are those that the run has
/// kept, or else the built-in ones. The records are only read; nothing is written before all of it is there.
pub fn write(run_directory: &Path) -> Result<Written, ReportError> {
    write_with(run_directory, None)
}

/// The same by the templates in `instead`, where there are some.
pub fn write_with(run_directory: &Path, instead: Option<Vec<TemplateFile>>) -> Result<Written, ReportError> {
    let run = read_run(run_directory)?;
    let directory = &run.directory;
    let kept = || kept_templates(directory, run.manifest.templates.as_deref());
    let templates = Templates::new(instead.map_or_else(kept, Ok)?);
    let mut sources = Sources::default();
    let mistakes = check_templates(&templates, None, &mut sources);
    if !mistakes.is_empty() {
        return Err(Problems::new(mistakes, sources).into());
    }
    let report = render_with(&run, &templates)?;
    let mut files = Vec::new();
    for (path, text) in report.files(directory) {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The run of `tests/fixtures`.
    pub(super) fn run() -> Run {
        read_run(Path::new("tests/fixtures/run-docker-vs-native")).unwrap()
    }
}
