//! How many values lie where, on two levels: ranges over all values on the left, and the fullest of them opened on the
//! right. No range is narrower than what is known of the values in it. Read [`ranges`].

use super::Drawn;
use super::axis::{Axis, figure};
use super::data::{Data, number};
use super::estimates::Source;
use super::frame::{Across, Page, Panel, Plot, Up, WIDTH};
use super::marks::Swatch;
use super::spreads::{Lump, PickedSpreads, Spread, of_what, pick};
use super::svg::{Anchor, fill};
use crate::record::{ChartLayout, LogAxes};

const COLUMNS: &str = "plot series cell quantity unit level low high count";
/// The most ranges of a level.
const MOST: usize = 40;
/// The most cells that are drawn; the data has all.
const MOST_CELLS: usize = 16;

/// The two levels of one spread.
struct Levels {
    all: Vec<Lump>,
    /// Empty where nothing more is known of the fullest range.
    opened: Vec<Lump>,
}

pub(super) fn draw(source: &Source<'_>, layout: &ChartLayout, title: &str) -> Option<Drawn> {
    let picked = pick(source, layout);
    if picked.all.is_empty() {
        return None;
    }
    let levels: Vec<Levels> = picked.all.iter().map(levels).collect();
    let drawn: Vec<usize> = (0..levels.len()).take(MOST_CELLS).collect();
    let left_out = levels.len() - drawn.len();
    let mut notes = format!("{}; on the right the fullest range is opened", of_what(&picked.all));
    if levels.iter().all(|one| one.opened.is_empty()) {
        notes = of_what(&picked.all).to_owned();
    }
    if left_out > 0 {
        notes.push_str(&format!("; {left_out} more cells are in the data alone"));
    }
    let series = &picked.grouping.series;
    let named = series.iter().enumerate().filter(|_| (2..=8).contains(&series.len()));
    let legend: Vec<_> = named.map(|(index, name)| (Swatch::Area(index), name.clone())).collect();
    let mut page = Page::new(WIDTH, title, &notes, &legend);
    for index in drawn {
        let Levels { all, opened } = &levels[index];
        let both: Vec<&Vec<Lump>> = [all, opened].into_iter().filter(|level| !level.is_empty()).collect();
        let panels: Vec<Panel> = both
            .iter()
            .enumerate()
            .map(|(level, lumps)| panel(&picked, index, level, lumps, layout))
            .collect();
        if panels.is_empty() {
            let place = page.strip(24.0);
            let words = format!("{}: no value", picked.all[index].cell.cell);
            page.svg.text("warn", (place.left, place.bottom - 6.0), Anchor::Start, &words);
            continue;
        }
        let plots = page.plots(&panels, 2, 170.0);
        for ((plot, panel), lumps) in plots.iter().zip(&panels).zip(both) {
            draw_level(&mut page, &picked, index, lumps, (plot, panel));
        }
    }
    Some(Drawn { alt: alt(&picked, &levels), data: data(&picked, &levels), page })
}

fn levels(spread: &Spread<'_>) -> Levels {
    let all = ranges(&spread.lumps, MOST);
    let fullest = all.iter().max_by_key(|range| range.count).copied();
    let opened = fullest.map(|range| {
        let within = |lump: &&Lump| range.low <= middle(lump) && middle(lump) <= range.high;
        let lumps: Vec<Lump> = spread.lumps.iter().filter(within).copied().collect();
        ranges(&lumps, MOST)
    });
    // To open a range pays where it says more than its count.
    let opened =
        opened.filter(|parts| parts.len() >= 4 && all.len() > 1 && !spread.of_trials).unwrap_or_default();
    Levels { all, opened }
}

fn middle(lump: &Lump) -> f64 {
    lump.low / 2.0 + lump.high / 2.0
}

/// `lumps` as they were printed, where they are few ranges one after the other: narrow ones joined up to the width of the
/// widest, which they open. None of others.
fn printed(lumps: &[Lump], widest: f64) -> Option<Vec<Lump>> {
    let mut ranges: Vec<Lump> = Vec::new();
    for lump in lumps {
        match ranges.last_mut() {
            Some(last) if lump.low < last.high => return None,
            // Ends that were rounded make widths that differ a little.
            Some(last) if lump.high - last.low <= widest * 1.05 => {
                (last.high, last.count) = (lump.high, last.count + lump.count);
            }
            _ => ranges.push(*lump),
        }
    }
    let is_whole = ranges.iter().all(|range| range.high > range.low);
    Some(ranges).filter(|ranges| is_whole && (4..=MOST).contains(&ranges.len()))
}

/// `lumps` counted in ranges of one width: as many as can be told apart, at most `most`, and of few values fewer. A lump
/// counts where its middle lies, which no range is too narrow for.
fn ranges(lumps: &[Lump], most: usize) -> Vec<Lump> {
    let low = lumps.iter().map(|lump| lump.low).fold(f64::INFINITY, f64::min);
    let high = lumps.iter().map(|lump| lump.high).fold(f64::NEG_INFINITY, f64::max);
    let widest = lumps.iter().map(|lump| lump.high - lump.low).fold(0.0, f64::max);
    let values = lumps.iter().map(|lump| lump.count).sum::<u64>();
    if !(high - low).is_finite() || lumps.is_empty() {
        return Vec::new();
    }
    if high == low {
        return vec![Lump { low, high, count: values }];
    }
    if let Some(ranges) = printed(lumps, widest) {
        return ranges;
    }
    let apart = if widest > 0.0 { ((high - low) / widest + 0.01).floor() } else { f64::INFINITY };
    // As many as the square root of the values, after which a range of few values holds about as many.
    let count = apart.min((values as f64).sqrt().ceil().max(4.0)).clamp(1.0, most as f64) as usize;
    let wide = (high - low) / count as f64;
    let end = |index: usize| if index == count { high } else { low + wide * index as f64 };
    let mut ranges: Vec<Lump> =
        (0..count).map(|index| Lump { low: end(index), high: end(index + 1), count: 0 }).collect();
    for lump in lumps {
        let index = (((middle(lump) - low) / wide) as usize).min(count - 1);
        ranges[index].count += lump.count;
    }
    ranges
}

fn panel(
    picked: &PickedSpreads<'_>,
    index: usize,
    level: usize,
    lumps: &[Lump],
    layout: &ChartLayout,
) -> Panel {
    let (spread, place) = (&picked.all[index], picked.grouping.places[index]);
    let shown = &picked.shown[place.panel];
    let ends = lumps.iter().flat_map(|lump| [lump.low, lump.high]).map(|end| shown.scale.apply(end));
    let counts = || lumps.iter().filter(|lump| lump.count > 0).map(|lump| lump.count as f64);
    let (least, largest) =
        counts().fold((f64::INFINITY, 0.0_f64), |(low, high), one| (low.min(one), high.max(one)));
    let is_log = match layout.log {
        Some(log) => matches!(log, LogAxes::Y | LogAxes::Both),
        None => largest >= 200.0 * least,
    };
    // Below 1, so that a single value is seen.
    let log = if is_log { Axis::logarithmic(counts().chain([0.8])) } else { None };
    let counted = if spread.of_trials { "trials" } else { "values" };
    Panel {
        title: match level {
            0 => spread.cell.cell.clone(),
            _ => format!(
                "{}–{} {}",
                figure(shown.scale.apply(lumps[0].low)),
                end_text(picked, index, lumps),
                shown.scale.name
            ),
        },
        across: Across::Numbers(Axis::tight(ends.collect::<Vec<_>>().into_iter(), 5)),
        across_title: shown.title(),
        up_title: if log.is_some() { format!("{counted}, logarithmic") } else { counted.to_owned() },
        up: Up::Numbers(log.unwrap_or_else(|| Axis::linear(counts(), true, 4))),
    }
}

fn end_text(picked: &PickedSpreads<'_>, index: usize, lumps: &[Lump]) -> String {
    let scale = &picked.shown[picked.grouping.places[index].panel].scale;
    lumps.last().map(|lump| figure(scale.apply(lump.high))).unwrap_or_default()
}

fn draw_level(
    page: &mut Page,
    picked: &PickedSpreads<'_>,
    index: usize,
    lumps: &[Lump],
    (plot, panel): (&Plot, &Panel),
) {
    let place = picked.grouping.places[index];
    let scale = &picked.shown[place.panel].scale;
    let (Across::Numbers(across), Up::Numbers(up)) = (&panel.across, &panel.up) else { return };
    for lump in lumps.iter().filter(|lump| lump.count > 0) {
        let [low, high] = [lump.low, lump.high].map(|end| scale.apply(end));
        let (Some(left), Some(right), Some(top)) =
            (across.place(low), across.place(high), up.place(lump.count as f64))
        else {
            continue;
        };
        let (left, right) = (plot.x(left), plot.x(right));
        let (left, right) =
            if right - left < 2.0 { (left - 1.0, left + 1.0) } else { (left + 0.4, right - 0.4) };
        let told = format!("{}–{} {}: {}", figure(low), figure(high), scale.name, lump.count);
        page.svg.told(&told, |svg| svg.rect(&fill(place.series), (left, plot.y(top)), (right, plot.bottom)));
    }
}

fn data(picked: &PickedSpreads<'_>, levels: &[Levels]) -> Data {
    let mut data = Data::new(COLUMNS);
    for ((spread, place), Levels { all, opened }) in
        picked.all.iter().zip(&picked.grouping.places).zip(levels)
    {
        for (level, lumps) in [("1", all), ("2", opened)] {
            for lump in lumps {
                data.push([
                    picked.grouping.panels[place.panel].clone(),
                    picked.grouping.series[place.series].clone(),
                    spread.cell.cell.clone(),
                    spread.name.clone(),
                    spread.unit.to_string(),
                    level.to_owned(),
                    number(lump.low),
                    number(lump.high),
                    lump.count.to_string(),
                ]);
            }
        }
    }
    data
}

fn alt(picked: &PickedSpreads<'_>, levels: &[Levels]) -> String {
    let told = picked.all.iter().zip(levels).zip(&picked.grouping.places).take(24).map(
        |((spread, levels), place)| {
            let shown = &picked.shown[place.panel];
            let write = |value: f64| figure(shown.scale.apply(value));
            let all = levels.all.iter().map(|lump| lump.count).sum::<u64>();
            match levels.all.iter().max_by_key(|lump| lump.count) {
                None => format!("{}: no value", spread.cell.cell),
                Some(fullest) => format!(
                    "{}: {} of {all} from {} to {} {}",
                    spread.cell.cell,
                    fullest.count,
                    write(fullest.low),
                    write(fullest.high),
                    shown.scale.name
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
    fn a_listing_of_two_levels_is_drawn_as_it_was_printed() {
        let lump = |low: f64, high: f64, count| Lump { low, high, count };
        let mut lumps: Vec<Lump> =
            (0..10).map(|part| lump(f64::from(part), f64::from(part) + 1.0, 10)).collect();
        lumps.extend((1..10).map(|range| lump(f64::from(range) * 10.0, f64::from(range) * 10.0 + 10.0, 1)));
        let ranges = ranges(&lumps, MOST);
        assert_eq!(
            ranges.iter().map(|range| range.count).collect::<Vec<_>>(),
            [100, 1, 1, 1, 1, 1, 1, 1, 1, 1]
        );
        let opened = super::ranges(&lumps[..10], MOST);
        assert_eq!(opened.iter().map(|range| range.count).collect::<Vec<_>>(), [10; 10]);
    }

    #[test]
    fn few_values_have_few_ranges() {
        let at = |value: f64| Lump { low: value, high: value, count: 1 };
        assert_eq!(ranges(&[at(1.0), at(2.0), at(9.0)], MOST).len(), 4);
        assert_eq!(ranges(&[at(3.0), at(3.0)], MOST), [Lump { low: 3.0, high: 3.0, count: 2 }]);
        assert!(ranges(&[], MOST).is_empty());
        assert!(ranges(&[at(f64::MAX), at(f64::MIN)], MOST).is_empty());
    }
}
