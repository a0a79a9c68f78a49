//! Medians as bars from 0, a colour each series. Enough trials have the interval of the median, fewer are shown
//! themselves. On a logarithmic axis, which has no 0 to begin at, marks take the place of bars.

use std::collections::BTreeSet;

use super::Drawn;
use super::cells::{Place, Wanted};
use super::data::Data;
use super::estimates::{COLUMNS, Picked, Source, axes_up, is_log_up, pick, row, told};
use super::frame::{Across, Page, Panel, Plot, Up, WIDTH};
use super::marks::{Swatch, draw_interval, draw_mark, draw_trial};
use super::svg::{Anchor, fill};
use super::trials::Trial;
use crate::analysis::Summary;
use crate::record::{ChartLayout, word};

/// The least room of a bar in pixels, and how wide a picture may become for it.
const LEAST: f64 = 9.0;
const WIDEST: f64 = 2000.0;

pub(super) fn draw(source: &Source<'_>, layout: &ChartLayout, title: &str) -> Option<Drawn> {
    let picked = pick(source, layout, Wanted::Names);
    let few: Vec<Vec<Trial<'_>>> = picked.all.iter().map(|one| few_trials(source, one)).collect();
    let columns = Columns::new(&picked);
    let is_log = is_log_up(layout);
    let values: Vec<Vec<f64>> = (0..picked.shown.len()).map(|panel| values(&picked, &few, panel)).collect();
    if values.iter().all(Vec::is_empty) && picked.all.is_empty() {
        return None;
    }
    let (ups, has_own) = axes_up(&picked.shown, &values, is_log, true);
    let panels = panels(&picked, ups, |panel| across(&picked, &columns.xs[panel]));
    let beside = if columns.widest(1) > WIDTH / 2.0 { 1 } else { 2 };
    let wide = (columns.widest(beside.min(panels.len())) + 60.0).clamp(WIDTH, WIDEST);
    let mut page = Page::new(wide, title, &notes(&picked, has_own, is_log), &legend(&picked, &few, is_log));
    let plots = page.plots(&panels, beside, 250.0);
    for (index, trials) in few.iter().enumerate() {
        let place = picked.grouping.places[index];
        let Some((plot, Panel { up: Up::Numbers(axis), .. })) =
            plots.get(place.panel).zip(panels.get(place.panel))
        else {
            continue;
        };
        let slot = columns.slot(plot, place);
        let told = told(&picked, index);
        page.svg.told(&told, |svg| draw_one(svg, &picked, index, trials, (plot, axis), slot));
    }
    let mut data = Data::new(COLUMNS);
    (0..picked.all.len()).for_each(|index| data.push(row(&picked, index)));
    Some(Drawn { page, data, alt: alt(&picked) })
}

/// The trials of a summary that has too few for an interval.
pub(super) fn few_trials<'a>(source: &Source<'a>, one: &Summary<'_>) -> Vec<Trial<'a>> {
    if one.median_interval.is_some() { Vec::new() } else { source.trials.of(one) }
}

/// Which names a plot has, and how many bars stand at each.
struct Columns {
    /// For each plot its places from left to right.
    xs: Vec<Vec<usize>>,
    /// For each plot its colours.
    series: Vec<Vec<usize>>,
}

impl Columns {
    fn new(picked: &Picked<'_>) -> Self {
        let of = |key: fn(&Place) -> usize| {
            let of_plot = |panel: usize| {
                let own = picked.grouping.places.iter().filter(|place| place.panel == panel);
                own.map(key).collect::<BTreeSet<_>>().into_iter().collect()
            };
            (0..picked.shown.len()).map(of_plot).collect()
        };
        Self { xs: of(|place| place.x), series: of(|place| place.series) }
    }

    /// The room that plots need, so many beside each other.
    fn widest(&self, beside: usize) -> f64 {
        let bars = self.xs.iter().zip(&self.series).map(|(xs, series)| xs.len() * (series.len() + 1));
        bars.max().unwrap_or_default() as f64 * LEAST * beside as f64
    }

    /// From where to where the bar of an estimate goes.
    fn slot(&self, plot: &Plot, place: Place) -> (f64, f64) {
        let (xs, series) = (&self.xs[place.panel], &self.series[place.panel]);
        let number =
            |all: &[usize], one: usize| all.iter().position(|own| *own == one).unwrap_or_default() as f64;
        let (bars, columns) = (series.len().max(1) as f64, xs.len().max(1) as f64);
        let band = (plot.right - plot.left) / columns;
        let room = (band * 0.82).min(90.0 * bars);
        let wide = room / bars;
        let left = plot.left
            + number(xs, place.x) * band
            + (band - room) / 2.0
            + number(series, place.series) * wide;
        (left + wide * 0.04, left + wide * 0.96)
    }
}

/// Everything that a plot must have room for, as shown.
fn values(picked: &Picked<'_>, few: &[Vec<Trial<'_>>], panel: usize) -> Vec<f64> {
    let scale = &picked.shown[panel].scale;
    let own =
        picked.all.iter().zip(few).zip(&picked.grouping.places).filter(|(_, place)| place.panel == panel);
    let of = |one: &Summary<'_>, few: &[Trial<'_>]| {
        let ends = one.median_interval.into_iter().flat_map(|ends| [ends.low, ends.high]);
        let median = one.sample.map(|sample| sample.median);
        ends.chain(median).chain(few.iter().map(|trial| trial.value)).collect::<Vec<_>>()
    };
    own.flat_map(|((one, few), _)| of(one, few)).map(|value| scale.apply(value)).collect()
}

fn across(picked: &Picked<'_>, xs: &[usize]) -> Across {
    Across::Names(xs.iter().map(|x| picked.grouping.xs[*x].text.clone()).collect())
}

/// A panel for each plot, by its number: what goes across, and what goes up.
pub(super) fn panels(picked: &Picked<'_>, ups: Vec<Up>, across: impl Fn(usize) -> Across) -> Vec<Panel> {
    let panel = |(index, up): (usize, Up)| Panel {
        title: picked.grouping.panels[index].clone(),
        across: across(index),
        across_title: across_title(&picked.grouping.x_axis),
        up,
        up_title: picked.shown[index].title(),
    };
    ups.into_iter().enumerate().map(panel).collect()
}

/// Hosts and the like speak for themselves; a parameter does not.
pub(super) fn across_title(axis: &str) -> String {
    match axis {
        "host" | "workload" | "environment" => String::new(),
        axis => super::cells::bare(axis).to_owned(),
    }
}

fn draw_one(
    svg: &mut super::svg::Svg,
    picked: &Picked<'_>,
    index: usize,
    few: &[Trial<'_>],
    (plot, axis): (&Plot, &super::axis::Axis),
    (left, right): (f64, f64),
) {
    let (one, place) = (picked.all[index], picked.grouping.places[index]);
    let scale = &picked.shown[place.panel].scale;
    let at = |value: f64| axis.place(scale.apply(value)).map(|part| plot.y(part));
    let middle = (left + right) / 2.0;
    let median = one.sample.and_then(|sample| at(sample.median));
    let Some(top) = median else {
        let word = if one.sample.is_some() { "not above 0" } else { "no value" };
        svg.rect("gap", (left, plot.bottom - 70.0), (right, plot.bottom));
        svg.turned("warn", (middle + 4.0, plot.bottom - 6.0), Anchor::Start, -90.0, word);
        return;
    };
    match at(0.0) {
        Some(zero) => svg.rect(&fill(place.series), (left, top), (right, zero)),
        None => draw_mark(svg, place.series, (middle, top)),
    }
    if let Some((low, high)) = one.median_interval.and_then(|ends| at(ends.low).zip(at(ends.high))) {
        draw_interval(svg, "mark", middle, (low, high));
    }
    let count = few.len().max(1) as f64;
    for (number, trial) in few.iter().enumerate() {
        let Some(y) = at(trial.value) else { continue };
        let x = middle + ((number as f64 + 0.5) / count - 0.5) * (right - left) * 0.6;
        draw_trial(svg, trial, (x, y));
    }
}

pub(super) fn notes(picked: &Picked<'_>, has_own: bool, is_log: bool) -> String {
    let mut better: Vec<String> = picked.all.iter().filter_map(|one| Some(word(&one.better?))).collect();
    better.dedup();
    let mut notes = vec!["Medians".to_owned()];
    if let [better] = better.as_slice() {
        notes.push(format!("{better} is better"));
    }
    if is_log {
        notes.push("logarithmic axis".to_owned());
    }
    if has_own {
        notes.push("each plot has its own scale".to_owned());
    }
    notes.join("; ")
}

/// What the colours stand for, then what the marks mean.
pub(super) fn legend(picked: &Picked<'_>, few: &[Vec<Trial<'_>>], is_line: bool) -> Vec<(Swatch, String)> {
    let series = &picked.grouping.series;
    let swatch = |index: usize| if is_line { Swatch::Line(index) } else { Swatch::Area(index) };
    let named = series.iter().enumerate().filter(|(_, name)| series.len() > 1 || !name.is_empty());
    let mut legend: Vec<_> = named.map(|(index, name)| (swatch(index), name.clone())).collect();
    let trials = || few.iter().flatten();
    let mut add = |is_there: bool, swatch: Swatch, text: &str| {
        if is_there {
            legend.push((swatch, text.to_owned()));
        }
    };
    add(
        picked.all.iter().any(|one| one.median_interval.is_some()),
        Swatch::Interval,
        "95 % interval of the median",
    );
    add(trials().count() > 0, Swatch::Dot, "a trial, where fewer than 6 are ok");
    add(trials().any(|trial| trial.is_outlier), Swatch::Outlier, "far from the others");
    add(trials().any(|trial| trial.is_suspicious), Swatch::Suspicious, "suspicious trial");
    add(picked.all.iter().any(|one| one.sample.is_none()), Swatch::Gap, "no trial is ok");
    legend
}

/// The figures of a chart in one sentence, for who can't see it.
pub(super) fn alt(picked: &Picked<'_>) -> String {
    const MOST: usize = 24;
    let told: Vec<String> = (0..picked.all.len().min(MOST)).map(|index| told(picked, index)).collect();
    let more = picked.all.len().saturating_sub(MOST);
    let more = if more > 0 { format!("; {more} more in the data of the chart") } else { String::new() };
    format!("{}{more}", told.join("; "))
}
