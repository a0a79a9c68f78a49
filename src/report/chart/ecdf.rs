//! Empirical distribution functions: which part of the values is at most as large as each. A lump of values of which only
//! the ends are known rises evenly between these.

use super::Drawn;
use super::axis::{Axis, figure};
use super::data::{Data, number};
use super::estimates::{Source, is_log_across};
use super::frame::{Across, Page, Panel, Plot, Up, WIDTH};
use super::marks::Swatch;
use super::spreads::{Lump, PickedSpreads, of_what, pick};
use super::svg::{Anchor, stroke};
use crate::record::ChartLayout;

const COLUMNS: &str = "plot series cell quantity unit value part";

pub(super) fn draw(source: &Source<'_>, layout: &ChartLayout, title: &str) -> Option<Drawn> {
    let picked = pick(source, layout);
    if picked.all.is_empty() {
        return None;
    }
    let curves: Vec<Vec<(f64, f64)>> = picked.all.iter().map(|spread| curve(&spread.lumps)).collect();
    let percent = || Up::Numbers(Axis::linear([0.0, 100.0].into_iter(), true, 5));
    // Plots of one quantity have one axis, so that they can be compared.
    let across = |panel: usize| {
        let shown = &picked.shown[panel];
        let own = curves.iter().zip(&picked.grouping.places);
        let own = own.filter(|(_, place)| picked.shown[place.panel] == *shown);
        let values = own.flat_map(|(curve, _)| curve).map(|(value, _)| shown.scale.apply(*value));
        let values: Vec<f64> = values.collect();
        // A small part at 0 is no reason against a logarithmic axis; the curve begins at its lower end.
        let positive = || values.iter().copied().filter(|value| *value > 0.0);
        let is_log = is_log_across(layout, positive(), 50.0) && positive().count() * 10 >= values.len() * 9;
        let axis = if is_log { Axis::logarithmic(positive()) } else { None };
        axis.unwrap_or_else(|| Axis::tight(values.iter().copied(), 7))
    };
    let panel = |index: usize| Panel {
        title: picked.grouping.panels[index].clone(),
        across: Across::Numbers(across(index)),
        across_title: picked.shown[index].title(),
        up: percent(),
        up_title: "values up to there (%)".to_owned(),
    };
    let panels: Vec<Panel> = (0..picked.shown.len()).map(panel).collect();
    let series = &picked.grouping.series;
    let named = series.iter().enumerate().filter(|(_, name)| series.len() > 1 || !name.is_empty());
    let legend: Vec<_> = named.map(|(index, name)| (Swatch::Line(index), name.clone())).collect();
    let notes = format!("{}; further left is less", of_what(&picked.all));
    let mut page = Page::new(WIDTH, title, &notes, &legend);
    let plots = page.plots(&panels, if panels.len() > 1 { 2 } else { 1 }, 270.0);
    for (index, curve) in curves.iter().enumerate() {
        let place = picked.grouping.places[index];
        let Some((plot, panel)) = plots.get(place.panel).zip(panels.get(place.panel)) else { continue };
        draw_curve(&mut page, &picked, index, curve, (plot, panel));
    }
    let mut data = Data::new(COLUMNS);
    for ((spread, place), curve) in picked.all.iter().zip(&picked.grouping.places).zip(&curves) {
        for (value, part) in curve {
            let [plot, own] =
                [&picked.grouping.panels[place.panel], &series[place.series]].map(String::clone);
            let unit = spread.unit.to_string();
            data.push([
                plot,
                own,
                spread.cell.cell.clone(),
                spread.name.clone(),
                unit,
                number(*value),
                number(*part),
            ]);
        }
    }
    Some(Drawn { alt: alt(&picked, &curves), page, data })
}

/// The corners of the curve: values in ascending order, with the part of all values up to there.
fn curve(lumps: &[Lump]) -> Vec<(f64, f64)> {
    let mut lumps = lumps.to_vec();
    lumps.sort_by(|one, other| one.high.total_cmp(&other.high).then(one.low.total_cmp(&other.low)));
    let all = lumps.iter().map(|lump| lump.count).sum::<u64>() as f64;
    let (mut before, mut last) = (0_u64, f64::NEG_INFINITY);
    let mut curve: Vec<(f64, f64)> = Vec::new();
    for lump in lumps {
        // Where lumps overlap, a curve that rises only is drawn from the end of the one before.
        let from = lump.low.max(last);
        curve.push((from, before as f64 / all));
        before += lump.count;
        curve.push((lump.high, before as f64 / all));
        last = lump.high;
    }
    curve.dedup();
    curve
}

fn draw_curve(
    page: &mut Page,
    picked: &PickedSpreads<'_>,
    index: usize,
    curve: &[(f64, f64)],
    (plot, panel): (&Plot, &Panel),
) {
    let (spread, place) = (&picked.all[index], picked.grouping.places[index]);
    let (Across::Numbers(across), Up::Numbers(up)) = (&panel.across, &panel.up) else { return };
    let scale = &picked.shown[place.panel].scale;
    if curve.is_empty() {
        let y = plot.bottom - 8.0 - 14.0 * place.series as f64;
        let words = format!("{}: no value", spread.cell.cell);
        page.svg.text("warn", (plot.left + 8.0, y), Anchor::Start, &words);
        return;
    }
    // What lies at or below 0 of a logarithmic axis is told by the height at which the curve begins.
    let place_of = |(value, part): &(f64, f64)| {
        let x = across.place(scale.apply(*value)).unwrap_or(0.0).clamp(0.0, 1.0);
        Some((plot.x(x), plot.y(up.place(part * 100.0)?)))
    };
    let mut points = thinned(&curve.iter().filter_map(place_of).collect::<Vec<_>>());
    if let Some((_, y)) = points.last().copied() {
        points.push((plot.right, y));
    }
    let told = format!(
        "{}: {} {}",
        spread.cell.cell,
        quartiles(curve, |value| figure(scale.apply(value))),
        scale.name
    );
    page.svg.told(&told, |svg| svg.path(&stroke(place.series), &points, false));
}

/// Points without those that no pixel tells from their neighbours.
pub(super) fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for (index, point) in points.iter().enumerate() {
        let is_far =
            kept.last().is_none_or(|last| (last.0 - point.0).abs() + (last.1 - point.1).abs() >= 0.4);
        if is_far || index + 1 == points.len() {
            kept.push(*point);
        }
    }
    kept
}

fn quartiles(curve: &[(f64, f64)], write: impl Fn(f64) -> String) -> String {
    let at = |wanted: f64| curve.iter().find(|(_, part)| *part >= wanted).map(|(value, _)| write(*value));
    let named = [("p25", 0.25), ("median", 0.5), ("p75", 0.75), ("p99", 0.99)];
    let parts = named.into_iter().filter_map(|(name, part)| Some(format!("{name} {}", at(part)?)));
    parts.collect::<Vec<_>>().join(", ")
}

fn alt(picked: &PickedSpreads<'_>, curves: &[Vec<(f64, f64)>]) -> String {
    let told = picked.all.iter().zip(curves).zip(&picked.grouping.places).take(24).map(
        |((spread, curve), place)| {
            let scale = &picked.shown[place.panel].scale;
            match curve.is_empty() {
                true => format!("{}: no value", spread.cell.cell),
                false => format!(
                    "{}: {} {}",
                    spread.cell.cell,
                    quartiles(curve, |value| figure(scale.apply(value))),
                    scale.name
                ),
            }
        },
    );
    told.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_steps_at_values_and_rises_between_bounds() {
        let at = |value: f64| Lump { low: value, high: value, count: 1 };
        assert_eq!(curve(&[at(1.0), at(2.0)]), [(1.0, 0.0), (1.0, 0.5), (2.0, 0.5), (2.0, 1.0)]);
        let wide = Lump { low: 1.0, high: 3.0, count: 3 };
        assert_eq!(curve(&[wide, at(2.0)]), [(2.0, 0.0), (2.0, 0.25), (3.0, 1.0)]);
        assert!(curve(&[]).is_empty());
    }
}
