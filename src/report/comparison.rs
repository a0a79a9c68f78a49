//! Runs held against the first of them, as people read it: what has changed around them, then the verdicts, those to
//! look at first on top. Read [`ComparisonView`]; `comparison/rows.rs` makes the table, `comparison/csv.rs` the file
//! for machines.

mod csv;
mod lists;
mod rows;

use super::view::{Column, Table};
use super::{markdown, notes};
use crate::analysis::{Against, Verdict};
use crate::record::{Manifest, Run};

pub use csv::csv as comparison_csv;
pub(super) use rows::metric;

/// A run with the name that it has in a comparison.
#[derive(Debug, Clone, Copy)]
pub struct Named<'a> {
    /// What stands above its column.
    pub name: &'a str,
    /// Where it is from, as it was asked for.
    pub source: &'a str,
    /// The run.
    pub run: &'a Run,
}

/// A run and what it is against the baseline.
#[derive(Debug, Clone, Copy)]
pub struct Compared<'a> {
    /// The run.
    pub named: Named<'a>,
    /// What came of it.
    pub against: &'a Against<'a>,
}

/// A comparison as texts.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparisonView {
    /// The runs, the baseline first.
    pub runs: Table,
    /// What has changed around the cells that are compared, and which cells fail now.
    pub before: Vec<List>,
    /// A row a cell and metric.
    pub table: Table,
    /// The gravest verdict of each row; none where there is none.
    pub verdicts: Vec<Option<Verdict>>,
    /// What the figures are, sentence by sentence.
    pub note: Vec<String>,
    /// What is not compared.
    pub after: Vec<List>,
    /// How many verdicts there are of each kind, a line for each run.
    pub summary: Vec<String>,
}

/// Lines that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List {
    /// What they are.
    pub title: String,
    /// From top to bottom.
    pub lines: Vec<String>,
}

impl ComparisonView {
    /// Everything that is told of `others` against `baseline`; differences below `margin`, a part, matter little.
    pub fn new(baseline: Named<'_>, others: &[Compared<'_>], margin: f64) -> Self {
        let (table, verdicts) = rows::table(baseline, others);
        let summary = others.iter().map(|other| match others {
            [_] => summary(other.against),
            _ => format!("{}: {}", other.named.name, summary(other.against)),
        });
        Self {
            runs: runs(baseline, others),
            before: lists::before(others),
            table,
            verdicts,
            note: note(margin),
            after: lists::after(others),
            summary: summary.collect(),
        }
    }

    /// As a page of Markdown.
    pub fn to_markdown(&self) -> String {
        let summary = self.summary.iter().map(|line| format!("**{}**", markdown::escape(line)));
        let mut parts = vec!["# Comparison of runs".to_owned(), summary.collect::<Vec<_>>().join("\\\n")];
        parts.push(self.runs.to_markdown());
        parts.extend(self.before.iter().map(List::to_markdown));
        if !self.table.rows.is_empty() {
            parts.extend([
                "## Verdicts".to_owned(),
                self.table.to_markdown(),
                markdown::escape(&self.note.join(" ")),
            ]);
        }
        parts.extend(self.after.iter().map(List::to_markdown));
        parts.join("\n\n") + "\n"
    }
}

impl List {
    pub(super) fn to_markdown(&self) -> String {
        let lines = self.lines.iter().map(|line| format!("\n- {}", markdown::escape(line)));
        format!("## {}\n{}", markdown::escape(&self.title), lines.collect::<String>())
    }
}

/// `3 worse, 1 better, 12 equivalent, 4 inconclusive`.
fn summary(against: &Against<'_>) -> String {
    let told = Verdict::ALL.into_iter().filter_map(|verdict| {
        let count = against.count(verdict);
        (count > 0).then(|| format!("{count} {}", verdict.as_str()))
    });
    let open = against.without_verdict();
    let told: Vec<String> = told.chain((open > 0).then(|| format!("{open} without a verdict"))).collect();
    let note = if against.is_itself { " (both are the same run)" } else { "" };
    match told.is_empty() {
        true => format!("nothing to compare{note}"),
        false => told.join(", ") + note,
    }
}

fn runs(baseline: Named<'_>, others: &[Compared<'_>]) -> Table {
    let ok = |manifest: &Manifest| match manifest.ended {
        Some(_) => format!("{}/{}", manifest.counts.get("ok").copied().unwrap_or(0), manifest.planned()),
        None => format!("no end recorded, {} planned", manifest.planned()),
    };
    let row = |role: &str, Named { name, source, run }: Named<'_>| {
        let Manifest { experiment, started, commit, runner, .. } = &run.manifest;
        let commit = commit.clone().unwrap_or_default();
        let texts = [role, name, source, experiment, started, &ok(&run.manifest), &commit, runner];
        texts.map(str::to_owned).to_vec()
    };
    let headers = ["", "run", "from", "experiment", "started", "ok", "commit", "runner"];
    let compared = others.iter().map(|other| row("compared", other.named));
    let rows = std::iter::once(row("baseline", baseline)).chain(compared).collect();
    Table::new(headers.map(Column::text).to_vec(), rows)
}

fn note(margin: f64) -> Vec<String> {
    let percent = notes::percent(margin);
    vec![
        "Medians; × ratio to the baseline by geometric means [its 95 % interval].".to_owned(),
        "The trials of two runs are no pairs: Welch's test on logarithms, with Holm over all comparisons of a run."
            .to_owned(),
        format!("Better and worse: surely different by more than {percent}. Small: surely different, and perhaps by less."),
        format!("Equivalent: surely within {percent}. Inconclusive: more trials are needed."),
        "What differs from one run to the next by itself is in no interval here: `runner history` shows it.".to_owned(),
    ]
}
