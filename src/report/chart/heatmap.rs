//! Medians over two axes: a column each value of one, a row each value of the other, the median as a colour and in
//! figures. Colours are those of cividis (Nuñez, Anderton & Renslow 2018), which grow evenly for every eye.

use super::Drawn;
use super::axis::Axis;
use super::bars::{across_title, alt, notes};
use super::cells::{Wanted, bare, numeric_axes};
use super::data::Data;
use super::estimates::{COLUMNS, Picked, Source, is_log_up, item, pick, row, told};
use super::frame::{Across, Page, Panel, Plot, Up, WIDTH};
use super::svg::Anchor;
use super::text::width;
use crate::record::ChartLayout;

/// Cividis at even steps, as red, green and blue.
const CIVIDIS: [[f64; 3]; 10] = [
    [0.0, 34.0, 78.0],
    [18.0, 53.0, 112.0],
    [59.0, 73.0, 108.0],
    [87.0, 93.0, 109.0],
    [112.0, 113.0, 115.0],
    [138.0, 134.0, 120.0],
    [165.0, 156.0, 116.0],
    [195.0, 179.0, 105.0],
    [225.0, 204.0, 85.0],
    [254.0, 232.0, 56.0],
];

pub(super) fn draw(source: &Source<'_>, layout: &ChartLayout, title: &str) -> Option<Drawn> {
    let picked = pick(source, &with_axes(source, layout), Wanted::Numbers);
    if picked.all.is_empty() {
        return None;
    }
    let rows = rows(&picked);
    let columns: Vec<String> = picked.grouping.xs.iter().map(|x| x.text.clone()).collect();
    let panel = |index: usize| Panel {
        title: picked.grouping.panels[index].clone(),
        across: Across::Names(columns.clone()),
        across_title: across_title(&picked.grouping.x_axis),
        up: Up::Names(rows.iter().map(|(_, name)| name.clone()).collect()),
        up_title: picked.grouping.series_axes.iter().map(|axis| bare(axis)).collect::<Vec<_>>().join(", "),
    };
    let panels: Vec<Panel> = (0..picked.shown.len()).map(panel).collect();
    let (axes, is_log) = axes(&picked, layout);
    let wide = (columns.len() as f64 * 52.0 + 160.0).clamp(WIDTH, 2000.0);
    let mut page = Page::new(wide, title, &notes(&picked, false, is_log), &[]);
    let plots =
        page.plots(&panels, if columns.len() <= 7 { 2 } else { 1 }, (rows.len() as f64 * 26.0).max(52.0));
    for (index, place) in picked.grouping.places.iter().enumerate() {
        let Some(plot) = plots.get(place.panel) else { continue };
        let row = rows.iter().position(|(series, _)| *series == place.series).unwrap_or_default();
        let area = area(plot, (place.x, columns.len()), (row, rows.len()));
        draw_one(&mut page, &picked, index, &axes[place.panel], area);
    }
    let mut seen: Vec<String> = Vec::new();
    for (shown, axis) in picked.shown.iter().zip(&axes) {
        if !seen.contains(&shown.title()) {
            seen.push(shown.title());
            scale_bar(&mut page, axis, &shown.title());
        }
    }
    let mut data = Data::new(COLUMNS);
    (0..picked.all.len()).for_each(|index| data.push(self::row(&picked, index)));
    Some(Drawn { page, data, alt: alt(&picked) })
}

/// The layout with a column and a row axis: those of numbers where the file says nothing.
fn with_axes(source: &Source<'_>, layout: &ChartLayout) -> ChartLayout {
    let mut layout = layout.clone();
    let picked = pick(source, &layout, Wanted::Numbers);
    let items: Vec<_> = picked.all.iter().map(|one| item(one)).collect();
    let mut numeric = numeric_axes(&items);
    // The one with more values lies from left to right, where there is more room.
    let count = |axis: &String| {
        items
            .iter()
            .map(|one| super::cells::value(one, axis))
            .collect::<std::collections::BTreeSet<_>>()
            .len()
    };
    numeric.sort_by_key(|axis| std::cmp::Reverse(count(axis)));
    let mut free = numeric
        .into_iter()
        .filter(|axis| layout.facet.as_ref() != Some(axis) && !layout.series.contains(axis));
    let mut free =
        free.by_ref().filter(|axis| layout.x.as_ref() != Some(axis)).collect::<Vec<_>>().into_iter();
    if layout.x.is_none() {
        layout.x = free.next();
    }
    if layout.series.is_empty() {
        layout.series = free.next().into_iter().collect();
    }
    // Hosts and environments have a plot each, rather than rows between the rows.
    if layout.facet.is_none() && !layout.series.is_empty() {
        let rest = ["host", "environment"].into_iter().find(|axis| {
            let is_used = layout.x.as_deref() == Some(axis) || layout.series.iter().any(|own| own == axis);
            !is_used && count(&(*axis).to_owned()) > 1
        });
        let is_one_workload = count(&"workload".to_owned()) <= 1;
        layout.facet = rest.filter(|_| is_one_workload).map(str::to_owned);
    }
    layout
}

/// The series in the order of rows: by number where they are numbers, smallest at the top as in the listings of iozone.
fn rows(picked: &Picked<'_>) -> Vec<(usize, String)> {
    let mut rows: Vec<(usize, String, Option<f64>)> = Vec::new();
    for (series, name) in picked.grouping.series.iter().enumerate() {
        let value = name.rsplit_once('=').map_or(name.as_str(), |(_, value)| value);
        let axis = picked.grouping.series_axes.first().map_or("", String::as_str);
        let is_single = picked.grouping.series_axes.len() == 1;
        let number = super::sizes::number(axis, value).filter(|_| is_single);
        let name = match number {
            Some((bytes, true)) => super::axis::size(bytes),
            Some(_) => value.to_owned(),
            None => name.clone(),
        };
        rows.push((series, name, number.map(|(number, _)| number)));
    }
    if rows.iter().all(|(.., number)| number.is_some()) {
        rows.sort_by(|one, other| one.2.unwrap_or(0.0).total_cmp(&other.2.unwrap_or(0.0)));
    }
    rows.into_iter().map(|(series, name, _)| (series, name)).collect()
}

/// The axis of the colours of each plot: plots of one metric share one. Logarithmic where the file says so, or where the
/// largest median is 50 times the smallest.
fn axes(picked: &Picked<'_>, layout: &ChartLayout) -> (Vec<Axis>, bool) {
    let medians = |name: &str| {
        let own =
            picked.all.iter().zip(&picked.grouping.places).filter(move |(one, _)| one.metric.name == name);
        own.filter_map(|(one, place)| Some(picked.shown[place.panel].scale.apply(one.sample?.median)))
            .collect::<Vec<f64>>()
    };
    let mut any_log = false;
    let axes = picked.shown.iter().map(|shown| {
        let medians = medians(&shown.name);
        let (low, high) =
            medians.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), one| (low.min(*one), high.max(*one)));
        let is_log = is_log_up(layout) || layout.log.is_none() && low > 0.0 && high >= 50.0 * low;
        any_log |= is_log;
        let log = if is_log { Axis::logarithmic(medians.iter().copied()) } else { None };
        log.unwrap_or_else(|| Axis::tight(medians.iter().copied(), 6))
    });
    let axes = axes.collect();
    (axes, any_log)
}

/// The corners of a field.
fn area(plot: &Plot, (x, columns): (usize, usize), (row, rows): (usize, usize)) -> ((f64, f64), (f64, f64)) {
    let (wide, high) = ((plot.right - plot.left) / columns as f64, (plot.bottom - plot.top) / rows as f64);
    let (left, top) = (plot.left + x as f64 * wide, plot.top + row as f64 * high);
    ((left + 0.5, top + 0.5), (left + wide - 0.5, top + high - 0.5))
}

fn draw_one(
    page: &mut Page,
    picked: &Picked<'_>,
    index: usize,
    axis: &Axis,
    (one, other): ((f64, f64), (f64, f64)),
) {
    let place = picked.grouping.places[index];
    let value = picked.all[index].sample.map(|sample| picked.shown[place.panel].scale.apply(sample.median));
    let middle = ((one.0 + other.0) / 2.0, (one.1 + other.1) / 2.0 + 4.0);
    let room = other.0 - one.0 - 2.0;
    page.svg.told(&told(picked, index), |svg| {
        let Some((value, part)) = value.and_then(|value| Some((value, axis.place(value)?))) else {
            svg.rect("gap", one, other);
            let word = if room > 52.0 { "no value" } else { "none" };
            svg.text("warn", middle, Anchor::Middle, word);
            return;
        };
        let colour = colour(part);
        svg.coloured(&hexadecimal(colour), one, other);
        let figures = super::super::number::significant(value, 3);
        if width(&figures, 11.0) <= room {
            svg.text(if is_dark(colour) { "light" } else { "dark" }, middle, Anchor::Middle, &figures);
        }
    });
}

/// What the colours mean.
fn scale_bar(page: &mut Page, axis: &Axis, title: &str) {
    let strip = page.strip(56.0);
    let (left, right, top) = (strip.left, (strip.left + 320.0).min(strip.right), strip.top + 22.0);
    page.svg.text("soft", (left, top - 7.0), Anchor::Start, title);
    const STEPS: usize = 64;
    for step in 0..STEPS {
        let [from, to] = [step, step + 1].map(|step| left + (right - left) * step as f64 / STEPS as f64);
        let colour = hexadecimal(colour((step as f64 + 0.5) / STEPS as f64));
        // A little wider, so that no seam shows.
        page.svg.coloured(&colour, (from, top), ((to + 1.0).min(right), top + 12.0));
    }
    let mut last = f64::NEG_INFINITY;
    for (value, text) in &axis.ticks {
        let Some(x) = axis
            .place(*value)
            .filter(|part| (0.0..=1.0).contains(part))
            .map(|part| left + part * (right - left))
        else {
            continue;
        };
        let half = width(text, 12.0) / 2.0;
        if x - half > last + 5.0 {
            page.svg.line("axis", (x, top + 12.0), (x, top + 16.0));
            page.svg.text("soft", (x.max(left + half), top + 28.0), Anchor::Middle, text);
            last = x + half;
        }
    }
}

fn colour(part: f64) -> [f64; 3] {
    let place = part.clamp(0.0, 1.0) * (CIVIDIS.len() - 1) as f64;
    let below = (place.floor() as usize).min(CIVIDIS.len() - 2);
    let between = place - below as f64;
    let mix =
        |index: usize| CIVIDIS[below][index] + between * (CIVIDIS[below + 1][index] - CIVIDIS[below][index]);
    [mix(0), mix(1), mix(2)].map(f64::round)
}

fn hexadecimal(colour: [f64; 3]) -> String {
    let [red, green, blue] = colour.map(|part| part as u8);
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Whether white is read better on it than black.
fn is_dark([red, green, blue]: [f64; 3]) -> bool {
    0.299 * red + 0.587 * green + 0.114 * blue < 125.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_go_from_dark_to_light() {
        assert_eq!([0.0, 1.0, 7.0].map(|part| hexadecimal(colour(part))), ["#00224e", "#fee838", "#fee838"]);
        assert!(is_dark(colour(0.0)) && !is_dark(colour(1.0)));
    }
}
