//! The runs of an experiment over time: a plot a cell and metric, the median of each run with its interval. A line
//! across tells where the level changed for sure, a mark below the plot where something round it changed.

use std::collections::BTreeSet;

use super::axis::{Axis, figure};
use super::frame::{Across, Page, Panel, Plot, Up, WIDTH};
use super::marks::{Swatch, draw_interval, draw_mark};
use super::svg::{Anchor, stroke};
use crate::analysis::{History, Point, Series};
use crate::record::Run;
use crate::report::comparison::metric;
use crate::report::history::{scale, started};
use crate::units::Scale;

/// The picture of `history`, which is that of `runs`, the oldest first.
pub fn history_svg(runs: &[Run], history: &History<'_>) -> String {
    let title = runs.last().map(|run| run.manifest.title.clone()).unwrap_or_default();
    let legend = [
        (Swatch::Line(0), "median of a run".to_owned()),
        (Swatch::Interval, "its 95 % interval".to_owned()),
        (Swatch::Gap, "something changed before this run".to_owned()),
    ];
    let notes =
        "Over all runs; each plot has its own scale; a line from top to bottom: the level changed for sure";
    let mut page = Page::new(WIDTH, &title, notes, &legend);
    let names = names(runs);
    let scales: Vec<Scale> = history.series.iter().map(|series| scale(runs, series)).collect();
    let panel = |(series, scale): (&Series<'_>, &Scale)| {
        let values = series.points.iter().flatten().flat_map(|point| {
            let ends = point.interval.into_iter().flat_map(|ends| [ends.low, ends.high]);
            ends.chain([point.median]).map(|value| scale.apply(value)).collect::<Vec<_>>()
        });
        let name = metric(&series.metric);
        Panel {
            title: series.cell.cell.clone(),
            across: Across::Names(names.clone()),
            across_title: String::new(),
            up: Up::Numbers(Axis::linear(values, false, 4)),
            up_title: if scale.name.is_empty() { name } else { format!("{name} ({})", scale.name) },
        }
    };
    let panels: Vec<Panel> = history.series.iter().zip(&scales).map(panel).collect();
    let plots = page.plots(&panels, if panels.len() > 1 { 2 } else { 1 }, 200.0);
    for ((series, scale), (plot, panel)) in history.series.iter().zip(&scales).zip(plots.iter().zip(&panels))
    {
        let Up::Numbers(up) = &panel.up else { continue };
        draw(&mut page, runs, history, series, &Frame { scale, plot, up });
    }
    let alt = format!("{} cells and metrics over {} runs", history.series.len(), runs.len());
    page.finish("history", &title, &alt)
}

/// The day of each run, with the time where two are of one day.
fn names(runs: &[Run]) -> Vec<String> {
    let times: Vec<String> = runs.iter().map(started).collect();
    let day = |time: &String| time.split(' ').next().unwrap_or_default().to_owned();
    let days: BTreeSet<String> = times.iter().map(day).collect();
    match days.len() == times.len() {
        true => times.iter().map(day).collect(),
        // The year stands in the tables.
        false => times.iter().map(|time| time.get(5..).unwrap_or(time).to_owned()).collect(),
    }
}

struct Frame<'a> {
    scale: &'a Scale,
    plot: &'a Plot,
    up: &'a Axis,
}

impl Frame<'_> {
    fn y(&self, value: f64) -> Option<f64> {
        self.up.place(self.scale.apply(value)).map(|part| self.plot.y(part))
    }
}

fn draw(page: &mut Page, runs: &[Run], history: &History<'_>, series: &Series<'_>, frame: &Frame<'_>) {
    let plot = frame.plot;
    let x = |run: usize| plot.x((run as f64 + 0.5) / runs.len().max(1) as f64);
    for (run, lines) in history.changed.iter().enumerate().filter(|(_, lines)| !lines.is_empty()) {
        let at = x(run);
        page.svg.told(&lines.join("; "), |svg| {
            svg.rect("gap", (at - 4.0, plot.bottom - 9.0), (at + 4.0, plot.bottom));
        });
    }
    if let Some(change) = series.change.ok().filter(|change| change.is_sure) {
        let between = (x(change.run) + x(change.run.saturating_sub(1))) / 2.0;
        let ratio = change.ratio.map(|ratio| format!("×{}", figure(ratio))).unwrap_or_default();
        page.svg.line("mark", (between, plot.top), (between, plot.bottom));
        page.svg.text("ink", (between + 4.0, plot.top + 11.0), Anchor::Start, &ratio);
    }
    let place = |run: usize| {
        let point = series.points[run].as_ref()?;
        Some((x(run), frame.y(point.median)?))
    };
    // A run without a value breaks the line.
    let places: Vec<Option<(f64, f64)>> = (0..series.points.len()).map(place).collect();
    for part in places.split(Option::is_none) {
        let points: Vec<_> = part.iter().flatten().copied().collect();
        page.svg.path(&stroke(0), &points, false);
    }
    for (run, place) in places.iter().enumerate() {
        let (Some(place), Some(point)) = (place, &series.points[run]) else { continue };
        page.svg.told(&told(&runs[run], point, frame.scale), |svg| {
            let ends = point.interval.and_then(|ends| frame.y(ends.low).zip(frame.y(ends.high)));
            if let Some(ends) = ends {
                draw_interval(svg, "mark", place.0, ends);
            }
            draw_mark(svg, 0, *place);
        });
    }
}

fn told(run: &Run, point: &Point, scale: &Scale) -> String {
    let value = figure(scale.apply(point.median));
    let Point { ok, planned, .. } = point;
    format!("{}: {value} {}, {ok}/{planned} trials ok", run.directory.name(), scale.name)
}
