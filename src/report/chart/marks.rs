//! What stands for one value in a plot, and beside its words in the legend: both are drawn here, so that they are alike.

use super::svg::{Svg, fill, stroke};
use super::trials::Trial;

/// What stands before a text of the legend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Swatch {
    /// An area of a colour.
    Area(usize),
    /// A line of a colour with its mark.
    Line(usize),
    /// A trial.
    Dot,
    /// A trial that is far from the others.
    Outlier,
    /// A suspicious trial.
    Suspicious,
    /// An interval.
    Interval,
    /// A setting that was planned and has no value.
    Gap,
}

/// Draws what stands before a text of the legend, from `x` on round the height `y`.
pub(super) fn draw_swatch(svg: &mut Svg, swatch: Swatch, (x, y): (f64, f64)) {
    match swatch {
        Swatch::Area(index) => svg.rect(&fill(index), (x, y - 6.0), (x + 16.0, y + 6.0)),
        Swatch::Line(index) => {
            svg.line(&stroke(index), (x, y), (x + 18.0, y));
            draw_mark(svg, index, (x + 9.0, y));
        }
        Swatch::Dot => svg.circle("dot", (x + 9.0, y), 3.0),
        Swatch::Outlier => draw_outlier(svg, (x + 9.0, y)),
        Swatch::Suspicious => draw_suspicious(svg, (x + 9.0, y)),
        Swatch::Interval => draw_interval(svg, "mark", x + 9.0, (y - 7.0, y + 7.0)),
        Swatch::Gap => svg.rect("gap", (x, y - 6.0), (x + 16.0, y + 6.0)),
    }
}

/// The mark of a series: colour and shape tell it apart, so that neither is needed alone.
pub(super) fn draw_mark(svg: &mut Svg, index: usize, (x, y): (f64, f64)) {
    let class = fill(index);
    let around = |offsets: &[(f64, f64)]| offsets.iter().map(|(a, b)| (x + a, y + b)).collect::<Vec<_>>();
    match index % 4 {
        0 => svg.circle(&class, (x, y), 3.6),
        1 => svg.rect(&class, (x - 3.2, y - 3.2), (x + 3.2, y + 3.2)),
        2 => svg.path(&class, &around(&[(0.0, -4.4), (4.2, 3.4), (-4.2, 3.4)]), true),
        _ => svg.path(&class, &around(&[(0.0, -4.6), (4.6, 0.0), (0.0, 4.6), (-4.6, 0.0)]), true),
    }
}

/// A trial that is far from the others of its cell.
pub(super) fn draw_outlier(svg: &mut Svg, (x, y): (f64, f64)) {
    svg.path("mark", &[(x, y - 5.0), (x + 5.0, y), (x, y + 5.0), (x - 5.0, y)], true);
}

/// A trial that something disturbed.
pub(super) fn draw_suspicious(svg: &mut Svg, (x, y): (f64, f64)) {
    svg.line("mark", (x - 3.5, y - 3.5), (x + 3.5, y + 3.5));
    svg.line("mark", (x - 3.5, y + 3.5), (x + 3.5, y - 3.5));
}

/// An interval with its caps.
pub(super) fn draw_interval(svg: &mut Svg, class: &str, x: f64, (one, other): (f64, f64)) {
    svg.line(class, (x, one), (x, other));
    svg.line(class, (x - 4.0, one), (x + 4.0, one));
    svg.line(class, (x - 4.0, other), (x + 4.0, other));
}

/// A trial with what is to be known of it.
pub(super) fn draw_trial(svg: &mut Svg, trial: &Trial<'_>, place: (f64, f64)) {
    svg.circle("dot", place, 3.0);
    if trial.is_outlier {
        draw_outlier(svg, place);
    }
    if trial.is_suspicious {
        draw_suspicious(svg, place);
    }
}
