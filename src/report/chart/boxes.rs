//! All trials of each cell as points, with a box from the first to the third quartile, a line at the median, and whiskers
//! to the last trial within 1.5 times the height of the box (Tukey 1977). Fewer than 5 trials have no box.

use super::Drawn;
use super::axis::Axis;
use super::bars::{alt, notes, panels};
use super::cells::Wanted;
use super::data::{Data, number};
use super::estimates::{Picked, Source, axes_up, is_log_up, pick, told};
use super::frame::{Across, Page, Panel, Plot, Up, WIDTH};
use super::marks::{Swatch, draw_trial};
use super::svg::{Anchor, Svg, fill};
use super::trials::Trial;
use crate::analysis::quantile;
use crate::record::ChartLayout;

/// A box needs so many trials: below, its ends would be the trials themselves.
const LEAST: usize = 5;
/// Of more trials than this in one chart only the marked ones are drawn.
const MOST_POINTS: usize = 4000;

const COLUMNS: &str = "plot series x cell trial metric unit value outlier suspicious";

pub(super) fn draw(source: &Source<'_>, layout: &ChartLayout, title: &str) -> Option<Drawn> {
    let picked = pick(source, layout, Wanted::Names);
    if picked.all.is_empty() {
        return None;
    }
    let trials: Vec<Vec<Trial<'_>>> = picked.all.iter().map(|one| source.trials.of(one)).collect();
    let values = |panel: usize| {
        let own = trials.iter().zip(&picked.grouping.places).filter(move |(_, place)| place.panel == panel);
        own.flat_map(|(trials, _)| trials).map(|trial| picked.shown[panel].scale.apply(trial.value)).collect()
    };
    let values: Vec<Vec<f64>> = (0..picked.shown.len()).map(values).collect();
    let is_log = is_log_up(layout);
    let (ups, has_own) = axes_up(&picked.shown, &values, is_log, false);
    let across = Across::Names(picked.grouping.xs.iter().map(|x| x.text.clone()).collect());
    let panels = panels(&picked, ups, |_| across.clone());
    let is_full = trials.iter().map(Vec::len).sum::<usize>() > MOST_POINTS;
    let slots = picked.grouping.xs.len() * picked.grouping.series.len();
    let wide = (slots as f64 * 16.0 + 60.0).clamp(WIDTH, 2000.0);
    let notes = format!("{}; the axis need not begin at 0", notes(&picked, has_own, is_log));
    let mut page = Page::new(wide, title, &notes, &legend(&picked, &trials, is_full));
    let beside = if panels.len() > 1 && slots <= 12 { 2 } else { 1 };
    let plots = page.plots(&panels, beside, 270.0);
    for (index, trials) in trials.iter().enumerate() {
        let panel = picked.grouping.places[index].panel;
        let Some((plot, Panel { up: Up::Numbers(up), .. })) = plots.get(panel).zip(panels.get(panel)) else {
            continue;
        };
        let told = told(&picked, index);
        page.svg.told(&told, |svg| draw_one(svg, &picked, index, trials, (plot, up), is_full));
    }
    Some(Drawn { page, data: data(&picked, &trials), alt: alt(&picked) })
}

fn draw_one(
    svg: &mut Svg,
    picked: &Picked<'_>,
    index: usize,
    trials: &[Trial<'_>],
    (plot, up): (&Plot, &Axis),
    is_full: bool,
) {
    let place = picked.grouping.places[index];
    let series = picked.grouping.series.len().max(1) as f64;
    let band = (plot.right - plot.left) / picked.grouping.xs.len().max(1) as f64;
    let room = (band * 0.84).min(110.0 * series);
    let wide = room / series;
    let middle = plot.left + (place.x as f64 + 0.5) * band + (place.series as f64 + 0.5) * wide - room / 2.0;
    let half = wide * 0.4;
    let scale = &picked.shown[place.panel].scale;
    let at = |value: f64| up.place(scale.apply(value)).map(|part| plot.y(part));
    let mut sorted: Vec<f64> = trials.iter().map(|trial| trial.value).collect();
    sorted.sort_by(f64::total_cmp);
    if sorted.is_empty() {
        svg.rect("gap", (middle - half, plot.bottom - 70.0), (middle + half, plot.bottom));
        svg.turned("warn", (middle + 4.0, plot.bottom - 6.0), Anchor::Start, -90.0, "no value");
        return;
    }
    if sorted.len() >= LEAST {
        let [first, third] = [0.25, 0.75].map(|q| quantile(&sorted, q));
        let reach = 1.5 * (third - first);
        let low = sorted.iter().copied().find(|value| *value >= first - reach).unwrap_or(first);
        let high = sorted.iter().rev().copied().find(|value| *value <= third + reach).unwrap_or(third);
        if let (Some(q1), Some(q3)) = (at(first), at(third)) {
            svg.rect(&format!("{} box", fill(place.series)), (middle - half, q1), (middle + half, q3));
            for (from, to) in [(Some(q1), at(low)), (Some(q3), at(high))] {
                let Some((from, to)) = from.zip(to) else { continue };
                svg.line("mark", (middle, from), (middle, to));
                svg.line("mark", (middle - half / 2.0, to), (middle + half / 2.0, to));
            }
        }
    }
    if let Some(median) = at(quantile(&sorted, 0.5)) {
        svg.rect(&fill(place.series), (middle - half, median - 1.6), (middle + half, median + 1.6));
    }
    for (number, trial) in trials.iter().enumerate() {
        if is_full && !trial.is_outlier && !trial.is_suspicious {
            continue;
        }
        // Multiples of the golden ratio spread evenly, and are the same each time.
        let aside = ((number as f64 * 0.618_034) % 1.0 - 0.5) * half * 1.3;
        if let Some(y) = at(trial.value) {
            draw_trial(svg, trial, (middle + aside, y));
        }
    }
}

fn legend(picked: &Picked<'_>, trials: &[Vec<Trial<'_>>], is_full: bool) -> Vec<(Swatch, String)> {
    let series = &picked.grouping.series;
    let named = series.iter().enumerate().filter(|(_, name)| series.len() > 1 || !name.is_empty());
    let mut legend: Vec<_> = named.map(|(index, name)| (Swatch::Area(index), name.clone())).collect();
    let all = || trials.iter().flatten();
    let marks = [
        (!is_full && all().count() > 0, Swatch::Dot, "a trial"),
        (all().any(|trial| trial.is_outlier), Swatch::Outlier, "far from the others"),
        (all().any(|trial| trial.is_suspicious), Swatch::Suspicious, "suspicious trial"),
        (trials.iter().any(Vec::is_empty), Swatch::Gap, "no trial is ok"),
    ];
    legend.extend(
        marks.into_iter().filter(|(is_there, ..)| *is_there).map(|(_, mark, text)| (mark, text.to_owned())),
    );
    legend
}

fn data(picked: &Picked<'_>, trials: &[Vec<Trial<'_>>]) -> Data {
    let mut data = Data::new(COLUMNS);
    for ((one, place), trials) in picked.all.iter().zip(&picked.grouping.places).zip(trials) {
        for trial in trials {
            data.push([
                picked.grouping.panels[place.panel].clone(),
                picked.grouping.series[place.series].clone(),
                picked.grouping.xs[place.x].text.clone(),
                one.cell.cell.clone(),
                trial.record.trial(),
                one.metric.name.clone(),
                one.metric.unit.to_string(),
                number(trial.value),
                trial.is_outlier.to_string(),
                trial.is_suspicious.to_string(),
            ]);
        }
    }
    data
}
