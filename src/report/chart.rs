//! Pictures of a run, as SVG with the data that they show as CSV. Which there are is what the run's manifest says, or
//! else what fits its records; what they look like is the business of the files in `chart/`, and no caller sees how they
//! are drawn. Medians, intervals and marks are those of the tables. Read [`Chart`] and [`charts`].

mod axis;
mod bars;
mod boxes;
mod cells;
mod data;
mod defaults;
mod ecdf;
mod estimates;
mod frame;
mod heatmap;
mod histogram;
mod history;
mod lines;
mod marks;
mod series;
mod sizes;
mod spreads;
mod svg;
mod text;
mod trials;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::error::Error;

use crate::analysis::{Summary, distributions};
use crate::record::{ChartKind, ChartLayout, Run};

use super::view::{ChartView, distinct};
use data::Data;
use estimates::{Source, headline};
use frame::{Page, WIDTH};
use svg::Anchor;
use trials::Trials;

pub use history::history_svg;

/// One picture and its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chart {
    /// The name of its files without extension: letters, digits and `-` alone, unlike that of any other of the run.
    pub name: String,
    /// What stands above it.
    pub title: String,
    /// What it shows, for who can't see it.
    pub alt: String,
    /// The workloads that it shows, in the order of the file.
    pub workloads: Vec<String>,
    /// The picture. Its id and its styles are its own, so that several may stand in one page.
    pub svg: String,
    /// What it shows, in base units.
    pub csv: String,
}

/// What a kind has drawn.
struct Drawn {
    page: Page,
    data: Data,
    alt: String,
}

/// The charts of a run: those that its manifest asks for, or those that fit it where it asks for none.
///
/// # Errors
/// Data that can't be written as CSV.
pub fn charts(run: &Run, summaries: &[Summary<'_>]) -> Result<Vec<Chart>, Box<dyn Error + Send + Sync>> {
    let source = Source { run, summaries, trials: Trials::new(run), merged: distributions(run) };
    let asked = &run.manifest.charts;
    let layouts = if asked.is_empty() { defaults::layouts(&source) } else { asked.clone() };
    let mut names = BTreeSet::new();
    // What the command line has left out of the matrix has no chart.
    let with_cells = layouts.iter().filter(|layout| !workloads(&source, layout).is_empty());
    with_cells.map(|layout| chart(&source, layout, &mut names)).collect()
}

fn chart(
    source: &Source<'_>,
    layout: &ChartLayout,
    names: &mut BTreeSet<String>,
) -> Result<Chart, Box<dyn Error + Send + Sync>> {
    let title = layout.title.clone().unwrap_or_else(|| title(source, layout));
    let draw = match layout.kind {
        ChartKind::Bars => bars::draw,
        ChartKind::Lines => lines::draw,
        ChartKind::Box => boxes::draw,
        ChartKind::Ecdf => ecdf::draw,
        ChartKind::Histogram => histogram::draw,
        ChartKind::Heatmap => heatmap::draw,
        ChartKind::Series => series::draw,
    };
    let Drawn { page, data, alt } = draw(source, layout, &title).unwrap_or_else(|| nothing(layout, &title));
    let name = name(&title, names);
    Ok(Chart {
        svg: page.finish(&name, &title, &alt),
        csv: data.csv()?,
        workloads: workloads(source, layout),
        name,
        title,
        alt,
    })
}

/// The workloads whose cells a chart takes.
fn workloads(source: &Source<'_>, layout: &ChartLayout) -> Vec<String> {
    let takes = cells::taken(layout);
    let cells = source.run.manifest.cells.iter().filter(|cell| takes(cell));
    distinct(cells.map(|cell| &cell.workload))
}

/// What stands above a chart whose layout does not say.
fn title(source: &Source<'_>, layout: &ChartLayout) -> String {
    let workloads = workloads(source, layout);
    let of_records = |workload: &String| {
        let cells = source.run.manifest.cells.iter().filter(|cell| cell.workload == *workload);
        cells.flat_map(|cell| source.trials.of_cell(&cell.cell)).next()
    };
    let record = workloads.iter().find_map(of_records);
    let first = match layout.kind {
        ChartKind::Series => record.and_then(|one| one.words().series.first()).map(|one| one.name.clone()),
        ChartKind::Ecdf | ChartKind::Histogram => {
            record.and_then(|one| one.words().histograms.first()).map(|one| one.name.clone())
        }
        _ => None,
    };
    let of_headline = || Some(headline(source, workloads.first()?)?.0.to_owned());
    let what = layout.y.clone().or(first).or_else(of_headline).unwrap_or_default();
    let how = match layout.kind {
        ChartKind::Series => " over time",
        ChartKind::Ecdf | ChartKind::Histogram => ", distribution",
        ChartKind::Box => ", all trials",
        _ => "",
    };
    format!("{}: {what}{how}", workloads.join(", "))
}

/// A chart that nothing is there for says so: a picture that is missing would be taken for a mistake.
fn nothing(layout: &ChartLayout, title: &str) -> Drawn {
    let what = layout.y.as_ref().map_or_else(|| "a value".to_owned(), |name| format!("`{name}`"));
    let words = format!("Nothing to draw: no trial has {what}.");
    let mut page = Page::new(WIDTH, title, "", &[]);
    let place = page.strip(40.0);
    page.svg.text("warn", (place.left, place.top + 24.0), Anchor::Start, &words);
    Drawn { page, data: Data::new("plot series x cell"), alt: words }
}

/// A name for files and links out of a title: its letters and digits that every system and every link takes.
fn name(title: &str, taken: &mut BTreeSet<String>) -> String {
    const LONGEST: usize = 60;
    let words = title.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let joined = words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-");
    let short: String = joined.chars().take(LONGEST).collect();
    let base = if short.is_empty() { "chart".to_owned() } else { short.trim_end_matches('-').to_owned() };
    let numbered = (2_usize..).map(|number| format!("{base}-{number}"));
    let name = std::iter::once(base.clone()).chain(numbered).find(|name| !taken.contains(name));
    let name = name.unwrap_or(base);
    taken.insert(name.clone());
    name
}

/// Whether a picture was made by a report, and may be removed by the next.
pub(super) fn is_own(svg: &[u8]) -> bool {
    let begin = &svg[..svg.len().min(400)];
    let mark = svg::MADE_BY.as_bytes();
    begin.starts_with(b"<svg ") && begin.windows(mark.len()).any(|part| part == mark)
}

/// The charts as a template sees them.
pub(super) fn views(charts: &[Chart]) -> Vec<ChartView> {
    let view = |chart: &Chart| ChartView {
        title: chart.title.clone(),
        file: format!("charts/{}.svg", chart.name),
        data: format!("charts/{}.csv", chart.name),
        svg: chart.svg.clone(),
        alt: chart.alt.clone(),
        after: chart.workloads.last().cloned().unwrap_or_default(),
        workloads: chart.workloads.clone(),
    };
    charts.iter().map(view).collect()
}
