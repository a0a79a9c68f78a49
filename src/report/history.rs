//! The runs of an experiment over time, as people read it: a row a cell and metric with its course, the runs, and what
//! has changed between them. Read [`HistoryView`]; the picture is in `chart/history.rs`.

use std::error::Error;

use jiff::Timestamp;

use super::cells::ratio;
use super::comparison::{List, metric};
use super::csv::{names, number, values, write};
use super::markdown;
use super::number::{NOTHING, fixed, place, significant};
use super::view::{Column, Table};
use crate::analysis::{Change, FEWEST_RUNS, History, Refusal, Series, Verdict};
use crate::record::{Run, word};
use crate::units::{Better, Scale};

/// So many of the latest runs have a place in a course.
const COURSE: usize = 40;
/// The heights of a course.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// What stands for a run without a value.
const GAP: char = '·';

/// A history as texts.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryView {
    /// A row a cell and metric; the course comes last, since some terminals show its letters wider than others.
    pub table: Table,
    /// The verdict on the latest run of each row, or on its change where that is sure.
    pub verdicts: Vec<Option<Verdict>>,
    /// What the figures are, sentence by sentence.
    pub note: Vec<String>,
    /// The runs, the oldest first.
    pub runs: Table,
    /// What has changed, by run.
    pub changed: List,
    /// How many runs and changes there are.
    pub summary: String,
}

impl HistoryView {
    /// What is told of `history`, which is that of `runs`, the oldest first; `margin` is a part.
    pub fn new(runs: &[Run], history: &History<'_>, margin: f64) -> Self {
        let rows = history.series.iter().map(|series| row(runs, series, margin));
        let columns = vec![
            Column::text("cell"),
            Column::text("metric"),
            Column::number("latest"),
            Column::text("against the run before"),
            Column::text("level changed"),
            Column::number("runs"),
            Column::text("course"),
        ];
        let changed = runs
            .iter()
            .zip(&history.changed)
            .flat_map(|(run, lines)| lines.iter().map(|line| format!("{}: {line}", run.directory.name())));
        Self {
            table: Table::new(columns, rows.collect()),
            verdicts: history.series.iter().map(|series| verdict(series, margin)).collect(),
            note: note(runs.len()),
            runs: table_of_runs(runs),
            changed: List { title: "What has changed".to_owned(), lines: changed.collect() },
            summary: summary(runs, history),
        }
    }

    /// As a page of Markdown.
    pub fn to_markdown(&self) -> String {
        let title = "# History".to_owned();
        let mut parts = vec![title, format!("**{}**", markdown::escape(&self.summary))];
        parts.extend([self.table.to_markdown(), markdown::escape(&self.note.join(" "))]);
        if !self.changed.lines.is_empty() {
            parts.push(self.changed.to_markdown());
        }
        parts.extend(["## Runs".to_owned(), self.runs.to_markdown()]);
        parts.join("\n\n") + "\n"
    }
}

fn row(runs: &[Run], series: &Series<'_>, margin: f64) -> Vec<String> {
    let scale = scale(runs, series);
    let places = series.places();
    let latest = places.last().and_then(|place| series.points[*place].as_ref());
    let shown = latest.map(|point| {
        let median = scale.apply(point.median);
        format!("{} {}", fixed(median, place(median, None)), scale.name).trim_end().to_owned()
    });
    // The latest value is not always of the latest run.
    let is_old = places.last().is_some_and(|place| place + 1 < runs.len());
    let old = if is_old { " (not in the latest run)" } else { "" };
    vec![
        series.cell.cell.clone(),
        metric(&series.metric),
        shown.unwrap_or_default() + old,
        against(series),
        change(runs, series, margin),
        places.len().to_string(),
        course(series),
    ]
}

/// `worse ×1.25 [1.20, 1.30]`.
fn against(series: &Series<'_>) -> String {
    match series.latest {
        None => NOTHING.to_owned(),
        Some(Err(refusal)) => format!("{NOTHING} {refusal}"),
        Some(Ok(comparison)) => {
            let verdict = comparison.verdict.map_or("too few trials", Verdict::as_str);
            format!("{verdict} {}", ratio(&comparison.contrast.ratio))
        }
    }
}

/// `worse ×1.25 at 2026-11-30T11-45-12Z, p 0.003`.
fn change(runs: &[Run], series: &Series<'_>, margin: f64) -> String {
    let p = |p: f64| if p < 0.001 { "below 0.001".to_owned() } else { significant(p, 3) };
    let place = |found: Change| {
        let ratio = found.ratio.map(|ratio| format!(" ×{}", significant(ratio, 3))).unwrap_or_default();
        format!("{ratio} at {}", runs[found.run].directory.name())
    };
    match series.change {
        Err(Refusal::TooFew { have, needed }) => format!("{NOTHING} {have} of {needed} runs"),
        Err(refusal) => format!("{NOTHING} {refusal}"),
        // By itself it would be sure: among so many rows one looks like that by chance.
        Ok(found) if !found.is_sure && found.chance < 0.05 => {
            format!("perhaps{}, p {} alone, {} of all rows", place(found), p(found.chance), p(found.adjusted))
        }
        Ok(found) if !found.is_sure => format!("not for sure, p {}", p(found.adjusted)),
        Ok(found) => {
            let verdict = verdict_of_change(series, &found, margin).map_or("different", Verdict::as_str);
            format!("{verdict}{}, p {}", place(found), p(found.adjusted))
        }
    }
}

fn verdict(series: &Series<'_>, margin: f64) -> Option<Verdict> {
    let of_change = series.change.ok().and_then(|change| verdict_of_change(series, &change, margin));
    of_change.or_else(|| series.latest?.ok()?.verdict)
}

/// What a sure change is; none of another.
fn verdict_of_change(series: &Series<'_>, change: &Change, margin: f64) -> Option<Verdict> {
    let ratio = change.ratio.filter(|_| change.is_sure)?;
    Some(match series.better {
        _ if ratio.ln().abs() <= margin.ln_1p() => Verdict::Small,
        None => Verdict::Different,
        Some(better) if (better == Better::Higher) == (ratio > 1.0) => Verdict::Better,
        Some(_) => Verdict::Worse,
    })
}

/// The medians of the latest runs as heights, from the smallest to the largest of them.
fn course(series: &Series<'_>) -> String {
    let latest = &series.points[series.points.len().saturating_sub(COURSE)..];
    let medians = || latest.iter().flatten().map(|point| point.median);
    let (low, high) = (medians().fold(f64::INFINITY, f64::min), medians().fold(f64::NEG_INFINITY, f64::max));
    let height = |median: f64| {
        // Halves, since the distance of two finite numbers may be infinite. All the same: in the middle.
        let part = (median / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
        let part = if part.is_finite() { part } else { 0.4 };
        HEIGHTS[(part * (HEIGHTS.len() - 1) as f64).round() as usize]
    };
    latest.iter().map(|point| point.as_ref().map_or(GAP, |point| height(point.median))).collect()
}

/// One scale for a series: that which the latest run asks for, or that fits.
pub(super) fn scale(runs: &[Run], series: &Series<'_>) -> Scale {
    let asked = runs.last().and_then(|run| run.manifest.units.get(&series.metric.name));
    let asked = asked.and_then(|unit| Scale::named(unit)).filter(|(unit, _)| *unit == series.metric.unit);
    let medians: Vec<f64> = series.points.iter().flatten().map(|point| point.median).collect();
    asked.map_or_else(|| series.metric.unit.scale(&medians), |(_, scale)| scale)
}

fn table_of_runs(runs: &[Run]) -> Table {
    let row = |run: &Run| {
        let manifest = &run.manifest;
        let ok = match manifest.ended {
            Some(_) => {
                format!("{}/{}", manifest.counts.get("ok").copied().unwrap_or(0), manifest.planned())
            }
            None => format!("{NOTHING}/{}", manifest.planned()),
        };
        let commit = manifest.commit.clone().unwrap_or_default();
        vec![run.directory.name(), started(run), ok, commit, manifest.runner.clone()]
    };
    let columns = ["run", "started (UTC)", "ok", "commit", "runner"].map(Column::text);
    Table::new(columns.to_vec(), runs.iter().map(row).collect())
}

/// The start of a run to the minute.
pub(super) fn started(run: &Run) -> String {
    let started = &run.manifest.started;
    let time = started.parse::<Timestamp>().map(|time| time.strftime("%Y-%m-%d %H:%M").to_string());
    time.unwrap_or_else(|_| started.clone())
}

fn summary(runs: &[Run], history: &History<'_>) -> String {
    let sure = history.series.iter().filter(|one| one.change.is_ok_and(|change| change.is_sure)).count();
    let runs = match runs.len() {
        1 => "1 run".to_owned(),
        count => format!("{count} runs"),
    };
    let known = history.series.iter().filter(|one| one.change.is_ok()).count();
    let changes = match known {
        0 => format!("too few to tell a change of level from chance, which takes {FEWEST_RUNS}"),
        _ => format!("the level changed for sure in {sure} of {known} series"),
    };
    let verdicts = Verdict::ALL.into_iter().filter_map(|verdict| {
        let is_own = |one: &&Series<'_>| {
            one.latest.is_some_and(|latest| latest.is_ok_and(|one| one.verdict == Some(verdict)))
        };
        let count = history.series.iter().filter(is_own).count();
        (count > 0).then(|| format!("{count} {}", verdict.as_str()))
    });
    let verdicts: Vec<String> = verdicts.collect();
    let latest = match verdicts.is_empty() {
        true => String::new(),
        false => format!("; latest against the run before: {}", verdicts.join(", ")),
    };
    format!("{runs}: {changes}{latest}")
}

fn note(runs: usize) -> Vec<String> {
    let mut note = vec![
        "Medians of each run; × ratio of the latest to the run before by geometric means [its 95 % interval], by Welch's \
         test on logarithms with Holm over all rows."
            .to_owned(),
        "Level changed: the likeliest change of the medians (E-divisive), for sure where a random order of the runs seems \
         to change as much with p below 5 %, with Holm over all rows."
            .to_owned(),
    ];
    if runs > COURSE {
        note.push(format!("The course shows the latest {COURSE} runs."));
    }
    note
}

const COLUMNS: &str = "run started commit cell workload host environment metric unit better planned ok median \
    median_low median_high level_changes p adjusted_p level_ratio changed";

/// A row for each run, cell and metric, in base units. The columns are an interface.
///
/// # Errors
/// Those of the writer; there are none in memory.
pub fn history_csv(runs: &[Run], history: &History<'_>) -> Result<String, Box<dyn Error + Send + Sync>> {
    let parameters = names(history.series.iter().map(|series| &series.cell.parameters));
    let labels = names(history.series.iter().map(|series| &series.metric.labels));
    let mut rows = Vec::new();
    for series in &history.series {
        for (index, point) in series.points.iter().enumerate() {
            let Some(point) = point else { continue };
            let run = &runs[index];
            let change = series.change.ok().filter(|change| change.run == index);
            let cell = series.cell;
            let mut row = vec![
                run.directory.name(),
                run.manifest.started.clone(),
                run.manifest.commit.clone().unwrap_or_default(),
                cell.cell.clone(),
                cell.workload.clone(),
                cell.host.clone(),
                cell.environment.clone(),
                series.metric.name.clone(),
                series.metric.unit.to_string(),
                series.better.map(|better| word(&better)).unwrap_or_default(),
                point.planned.to_string(),
                point.ok.to_string(),
                number(Some(point.median)),
                number(point.interval.map(|ends| ends.low)),
                number(point.interval.map(|ends| ends.high)),
                change
                    .map(|change| if change.is_sure { "surely" } else { "perhaps" }.to_owned())
                    .unwrap_or_default(),
                number(change.map(|change| change.chance)),
                number(change.map(|change| change.adjusted)),
                number(change.and_then(|change| change.ratio)),
                history.changed[index].join("; "),
            ];
            row.extend(values(&labels, Some(&series.metric.labels)));
            row.extend(values(&parameters, Some(&cell.parameters)));
            rows.push(row);
        }
    }
    write(COLUMNS, &labels, &parameters, rows.into_iter())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Point;

    fn series(medians: &[f64]) -> Vec<Option<Point>> {
        let point = |median: &f64| {
            median.is_finite().then(|| Point {
                values: vec![*median],
                median: *median,
                interval: None,
                ok: 1,
                planned: 1,
            })
        };
        medians.iter().map(point).collect()
    }

    #[test]
    fn a_course_has_a_place_for_each_run() {
        let cell = serde_json::from_value(serde_json::json!({
            "cell": "a", "workload": "a", "host": "h", "environment": "n", "parameters": {}, "repetitions": 1,
        }));
        let cell = cell.unwrap();
        let key = crate::analysis::MetricKey {
            name: "m".to_owned(),
            unit: crate::units::Unit::Second,
            labels: Default::default(),
        };
        let long: Vec<f64> = (0..50).map(f64::from).collect();
        let nan = f64::NAN;
        for (medians, right) in [
            (&[1.0, 8.0, nan, 4.5][..], "▁█·▅"),
            (&[2.0, 2.0], "▄▄"),
            (&[nan, 3.0], "·▄"),
            (&[], ""),
            (&[0.0, 1e-300], "▁█"),
            (&[-1e308, 1e308], "▁█"),
        ] {
            let one = Series {
                cell: &cell,
                metric: key.clone(),
                better: None,
                points: series(medians),
                latest: None,
                change: Err(Refusal::Constant),
            };
            assert_eq!(course(&one), right, "{medians:?}");
        }
        let one = Series {
            cell: &cell,
            metric: key,
            better: None,
            points: series(&long),
            latest: None,
            change: Err(Refusal::Constant),
        };
        assert_eq!(course(&one).chars().count(), COURSE);
    }
}
