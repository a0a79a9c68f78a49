//! Medians over an axis of numbers, as lines: one a series, broken where a cell has no value. Where the axis is one of
//! names, the points stand above them.

use super::Drawn;
use super::axis::Axis;
use super::bars::{alt, few_trials, legend, notes, panels};
use super::cells::Wanted;
use super::data::Data;
use super::estimates::{COLUMNS, Picked, Source, axes_up, is_log_across, is_log_up, pick, row, told};
use super::frame::{Across, Page, Plot, Up, WIDTH};
use super::marks::{draw_interval, draw_mark};
use super::svg::{Anchor, stroke};
use super::trials::Trial;
use crate::record::ChartLayout;

pub(super) fn draw(source: &Source<'_>, layout: &ChartLayout, title: &str) -> Option<Drawn> {
    let picked = pick(source, layout, Wanted::Numbers);
    if picked.all.is_empty() {
        return None;
    }
    let few: Vec<Vec<Trial<'_>>> = picked.all.iter().map(|one| few_trials(source, one)).collect();
    let is_log = is_log_up(layout);
    let values: Vec<Vec<f64>> = (0..picked.shown.len()).map(|panel| values(&picked, &few, panel)).collect();
    let (ups, has_own) = axes_up(&picked.shown, &values, is_log, !is_log);
    let across = across(&picked, layout);
    let panels = panels(&picked, ups, |_| across.clone());
    let mut page = Page::new(WIDTH, title, &notes(&picked, has_own, is_log), &legend(&picked, &few, true));
    let plots = page.plots(&panels, if panels.len() > 1 { 2 } else { 1 }, 270.0);
    for (number, (plot, panel)) in plots.iter().zip(&panels).enumerate() {
        let Up::Numbers(up) = &panel.up else { continue };
        for series in 0..picked.grouping.series.len() {
            draw_series(
                &mut page,
                &picked,
                &few,
                (number, series),
                &Frame { plot, up, across: &panel.across },
            );
        }
        draw_gaps(&mut page, &picked, number, &Frame { plot, up, across: &panel.across });
    }
    let mut data = Data::new(COLUMNS);
    (0..picked.all.len()).for_each(|index| data.push(row(&picked, index)));
    Some(Drawn { page, data, alt: alt(&picked) })
}

/// A plot and its axes.
struct Frame<'a> {
    plot: &'a Plot,
    up: &'a Axis,
    across: &'a Across,
}

impl Frame<'_> {
    fn x(&self, picked: &Picked<'_>, x: usize) -> Option<f64> {
        let part = match self.across {
            Across::Numbers(axis) => axis.place(picked.grouping.xs.get(x)?.number?)?,
            Across::Names(names) => (x as f64 + 0.5) / names.len().max(1) as f64,
        };
        Some(self.plot.x(part))
    }
}

/// Numbers where all values are numbers, else names.
fn across(picked: &Picked<'_>, layout: &ChartLayout) -> Across {
    let xs = &picked.grouping.xs;
    let numbers: Option<Vec<(f64, String)>> = xs.iter().map(|x| Some((x.number?, x.text.clone()))).collect();
    match numbers {
        Some(numbers) => {
            let is_log = is_log_across(layout, numbers.iter().map(|(number, _)| *number), 8.0);
            Across::Numbers(Axis::at(numbers, is_log))
        }
        None => Across::Names(xs.iter().map(|x| x.text.clone()).collect()),
    }
}

fn values(picked: &Picked<'_>, few: &[Vec<Trial<'_>>], panel: usize) -> Vec<f64> {
    let own =
        picked.all.iter().zip(few).zip(&picked.grouping.places).filter(|(_, place)| place.panel == panel);
    let shown = own.flat_map(|((one, few), _)| {
        let ends = one.median_interval.into_iter().flat_map(|ends| [ends.low, ends.high]);
        let median = one.sample.map(|sample| sample.median);
        ends.chain(median).chain(few.iter().map(|trial| trial.value)).collect::<Vec<_>>()
    });
    shown.map(|value| picked.shown[panel].scale.apply(value)).collect()
}

fn draw_series(
    page: &mut Page,
    picked: &Picked<'_>,
    few: &[Vec<Trial<'_>>],
    (panel, series): (usize, usize),
    frame: &Frame<'_>,
) {
    let is_own = |index: &usize| {
        let place = picked.grouping.places[*index];
        (place.panel, place.series) == (panel, series)
    };
    let mut own: Vec<usize> = (0..picked.all.len()).filter(is_own).collect();
    own.sort_by_key(|index| picked.grouping.places[*index].x);
    let scale = &picked.shown[panel].scale;
    let y = |value: f64| frame.up.place(scale.apply(value)).map(|part| frame.plot.y(part));
    // Beside each other, so that intervals and trials do not hide each other; between names there is more room.
    let count = picked.grouping.series.len() as f64;
    let step = match frame.across {
        Across::Numbers(_) => (20.0 / count).min(2.5),
        Across::Names(names) => {
            (0.8 * (frame.plot.right - frame.plot.left) / names.len().max(1) as f64 / count).min(24.0)
        }
    };
    let aside = (series as f64 - (count - 1.0) / 2.0) * step;
    let place = |index: usize| {
        let x = frame.x(picked, picked.grouping.places[index].x)? + aside;
        Some((x, picked.all[index].sample.and_then(|sample| y(sample.median))))
    };
    let places: Vec<_> = own.iter().filter_map(|index| Some((*index, place(*index)?))).collect();
    // Between names lies nothing that a line could go through.
    let has_line = matches!(frame.across, Across::Numbers(_));
    for run in places.split(|(_, (_, y))| y.is_none()) {
        let points: Vec<_> = run.iter().filter_map(|(_, (x, y))| Some((*x, (*y)?))).collect();
        if has_line {
            page.svg.path(&stroke(series), &points, false);
        }
    }
    for (index, (x, median)) in places {
        let Some(median) = median else { continue };
        page.svg.told(&told(picked, index), |svg| {
            let ends = picked.all[index].median_interval;
            if let Some((low, high)) = ends.and_then(|ends| y(ends.low).zip(y(ends.high))) {
                draw_interval(svg, "mark", x, (low, high));
            }
            for trial in &few[index] {
                if let Some(y) = y(trial.value) {
                    super::marks::draw_trial(svg, trial, (x, y));
                }
            }
            draw_mark(svg, series, (x, median));
        });
    }
}

/// A word wherever a line is broken, one for all lines that are broken there.
fn draw_gaps(page: &mut Page, picked: &Picked<'_>, panel: usize, frame: &Frame<'_>) {
    for x in 0..picked.grouping.xs.len() {
        let is_gap = |index: &usize| {
            let place = picked.grouping.places[*index];
            let one = picked.all[*index].sample.map(|one| picked.shown[panel].scale.apply(one.median));
            (place.panel, place.x) == (panel, x) && one.and_then(|one| frame.up.place(one)).is_none()
        };
        let gaps: Vec<String> =
            (0..picked.all.len()).filter(is_gap).map(|index| told(picked, index)).collect();
        let Some(at) = frame.x(picked, x).filter(|_| !gaps.is_empty()) else { continue };
        page.svg.told(&gaps.join("; "), |svg| {
            svg.rect("gap", (at - 7.0, frame.plot.bottom - 66.0), (at + 7.0, frame.plot.bottom));
            svg.turned("warn", (at + 4.0, frame.plot.bottom - 6.0), Anchor::Start, -90.0, "no value");
        });
    }
}
