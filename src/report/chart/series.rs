//! What a tool tells over the time of a trial: a thin line each trial, in the colour of its cell. Trials of one cell that
//! differ, or change in their course, are seen here and in no average.

use super::Drawn;
use super::axis::Axis;
use super::cells::{Grouping, Item, Wanted, group, taken};
use super::data::{Data, number};
use super::ecdf::thinned;
use super::estimates::{Shown, Source, axes_up, is_log_up, scale, titled};
use super::frame::{Across, Page, Panel, Up, WIDTH};
use super::marks::Swatch;
use super::svg::stroke;
use crate::record::{ChartLayout, PlannedCell, Record, Series};
use std::collections::BTreeMap;

const COLUMNS: &str = "plot series cell trial quantity unit seconds value";
/// More lines than this hide each other; the data has all.
const MOST_LINES: usize = 240;

struct Line<'a> {
    record: &'a Record,
    series: &'a Series,
}

pub(super) fn draw(source: &Source<'_>, layout: &ChartLayout, title: &str) -> Option<Drawn> {
    let none = BTreeMap::new();
    let (lines, items) = lines(source, layout, &none);
    if lines.is_empty() {
        return None;
    }
    let grouping = group(layout, &items, Wanted::Nothing);
    let shown = shown(source, layout, &lines, &grouping);
    let own =
        |panel: usize| lines.iter().zip(&grouping.places).filter(move |(_, place)| place.panel == panel);
    let values: Vec<Vec<f64>> = shown
        .iter()
        .enumerate()
        .map(|(panel, shown)| {
            own(panel)
                .flat_map(|(line, _)| &line.series.points)
                .map(|(_, value)| shown.scale.apply(*value))
                .collect()
        })
        .collect();
    let is_log = is_log_up(layout);
    let (ups, has_own) = axes_up(&shown, &values, is_log, !is_log);
    let seconds: Vec<f64> =
        lines.iter().flat_map(|line| &line.series.points).map(|(seconds, _)| *seconds).collect();
    let across =
        Across::Numbers(Axis::tight(seconds.iter().copied().chain([0.0]).collect::<Vec<_>>().into_iter(), 6));
    let panel = |(index, up): (usize, Up)| Panel {
        title: grouping.panels[index].clone(),
        across: across.clone(),
        across_title: "time in the trial (s)".to_owned(),
        up,
        up_title: shown[index].title(),
    };
    let panels: Vec<Panel> = ups.into_iter().enumerate().map(panel).collect();
    let named = grouping.series.iter().enumerate().filter(|_| grouping.series.len() > 1);
    let legend: Vec<_> = named.map(|(index, name)| (Swatch::Line(index), name.clone())).collect();
    let mut page = Page::new(WIDTH, title, &notes(lines.len(), has_own, is_log), &legend);
    let plots = page.plots(&panels, if panels.len() > 1 { 2 } else { 1 }, 260.0);
    for (line, place) in lines.iter().zip(&grouping.places).take(MOST_LINES) {
        let Some((plot, panel)) = plots.get(place.panel).zip(panels.get(place.panel)) else { continue };
        let (Across::Numbers(across), Up::Numbers(up)) = (&panel.across, &panel.up) else { continue };
        let scale = &shown[place.panel].scale;
        let at = |(seconds, value): &(f64, f64)| {
            Some((plot.x(across.place(*seconds)?), plot.y(up.place(scale.apply(*value))?)))
        };
        let points = thinned(&line.series.points.iter().filter_map(at).collect::<Vec<_>>());
        page.svg.told(&line.record.trial(), |svg| match points.as_slice() {
            [point] => super::marks::draw_mark(svg, place.series, *point),
            points => svg.path(&format!("{} thin", stroke(place.series)), points, false),
        });
    }
    let alt = format!("{} of {} trials over time", titled(&shown[0].name, &shown[0].scale.name), lines.len());
    Some(Drawn { page, data: data(&lines, &grouping), alt })
}

/// Every series of the counted trials: that of the asked name, else the first of each workload.
fn lines<'a>(
    source: &Source<'a>,
    layout: &ChartLayout,
    none: &'a BTreeMap<String, String>,
) -> (Vec<Line<'a>>, Vec<Item<'a>>) {
    let takes = taken(layout);
    let mut first: BTreeMap<&str, &str> = BTreeMap::new();
    let (mut lines, mut items) = (Vec::new(), Vec::new());
    for cell in source.run.manifest.cells.iter().filter(|cell| takes(cell)) {
        for record in source.trials.of_cell(&cell.cell) {
            for series in &record.words().series {
                let name = layout
                    .y
                    .as_deref()
                    .unwrap_or_else(|| first.entry(&cell.workload).or_insert(&series.name));
                if series.name == name && !series.points.is_empty() {
                    items.push(item(cell, series, none));
                    lines.push(Line { record, series });
                }
            }
        }
    }
    (lines, items)
}

fn item<'a>(cell: &'a PlannedCell, series: &Series, none: &'a BTreeMap<String, String>) -> Item<'a> {
    Item { cell, labels: none, quantity: titled(&series.name, series.unit.as_str()) }
}

fn shown(source: &Source<'_>, layout: &ChartLayout, lines: &[Line<'_>], grouping: &Grouping) -> Vec<Shown> {
    let of = |panel: usize| {
        let first = lines.iter().zip(&grouping.places).find(|(_, place)| place.panel == panel);
        let Some((Line { series, .. }, _)) = first else {
            return Shown { name: String::new(), scale: crate::units::Unit::Count.scale(&[]) };
        };
        let alike =
            lines.iter().filter(|line| line.series.name == series.name && line.series.unit == series.unit);
        let values: Vec<f64> = alike.flat_map(|line| &line.series.points).map(|(_, value)| *value).collect();
        Shown {
            name: series.name.clone(),
            scale: scale(source.run, layout, &series.name, &series.unit, &values),
        }
    };
    (0..grouping.panels.len()).map(of).collect()
}

fn notes(lines: usize, has_own: bool, is_log: bool) -> String {
    let mut notes = vec!["A line each trial".to_owned()];
    if lines > MOST_LINES {
        notes.push(format!("the first {MOST_LINES} of {lines}"));
    }
    if is_log {
        notes.push("logarithmic axis".to_owned());
    }
    if has_own {
        notes.push("each plot has its own scale".to_owned());
    }
    notes.join("; ")
}

fn data(lines: &[Line<'_>], grouping: &Grouping) -> Data {
    let mut data = Data::new(COLUMNS);
    for (Line { record, series }, place) in lines.iter().zip(&grouping.places) {
        for (seconds, value) in &series.points {
            data.push([
                grouping.panels[place.panel].clone(),
                grouping.series[place.series].clone(),
                record.cell.clone(),
                record.trial(),
                series.name.clone(),
                series.unit.to_string(),
                number(*seconds),
                number(*value),
            ]);
        }
    }
    data
}
