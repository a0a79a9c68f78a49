//! What all charts have: title, notes, the legend outside of the plots, and plots side by side with their axes, grid
//! and words. The kinds draw their marks into the plots that it hands out. Read [`Page`].

use super::axis::Axis;
use super::marks::{Swatch, draw_swatch};
use super::svg::{Anchor, Svg};
use super::text::{SIZE, TITLE, shortened, told_apart, width, wrap};

/// Left and right of everything.
const MARGIN: f64 = 16.0;
/// The usual width: that of a page of a forge.
pub(super) const WIDTH: f64 = 860.0;
/// Names below an axis are turned by so many degrees where they would collide.
const TURN: f64 = -45.0;
/// The most room that a turned name may take.
const LONGEST_NAME: f64 = 150.0;

/// A picture that grows downwards.
pub(super) struct Page {
    pub svg: Svg,
    pub width: f64,
    bottom: f64,
}

/// The area of a plot within its axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Plot {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

/// What lies along the bottom of a plot.
#[derive(Debug, Clone)]
pub(super) enum Across {
    /// Names, each in the middle of a part of its own.
    Names(Vec<String>),
    /// Numbers.
    Numbers(Axis),
}

/// A plot before anything is in it.
#[derive(Debug, Clone)]
pub(super) struct Panel {
    /// What stands above it; empty for a chart with one plot.
    pub title: String,
    pub across: Across,
    /// What the numbers or names across are.
    pub across_title: String,
    /// Upwards.
    pub up: Up,
    pub up_title: String,
}

/// What lies along the left side of a plot.
#[derive(Debug, Clone)]
pub(super) enum Up {
    /// Numbers.
    Numbers(Axis),
    /// Names from top to bottom.
    Names(Vec<String>),
}

impl Plot {
    /// The place of a part, 0 to 1, of the width.
    pub fn x(&self, part: f64) -> f64 {
        self.left + part * (self.right - self.left)
    }

    /// The place of a part, 0 to 1, of the height, from below.
    pub fn y(&self, part: f64) -> f64 {
        self.bottom - part * (self.bottom - self.top)
    }
}

impl Page {
    /// A page with its title, what else is to be said of it, and its legend.
    pub fn new(width_of_page: f64, title: &str, notes: &str, legend: &[(Swatch, String)]) -> Self {
        let mut page = Self { svg: Svg::default(), width: width_of_page, bottom: 12.0 };
        let room = width_of_page - 2.0 * MARGIN;
        for line in wrap(title, TITLE * 1.1, room, 3) {
            page.bottom += 21.0;
            page.svg.text("title", (MARGIN, page.bottom - 5.0), Anchor::Start, &line);
        }
        for line in wrap(notes, SIZE, room, 3).iter().filter(|line| !line.is_empty()) {
            page.bottom += 17.0;
            page.svg.text("soft", (MARGIN, page.bottom - 4.0), Anchor::Start, line);
        }
        page.legend(legend);
        page.bottom += 8.0;
        page
    }

    /// One entry after the other, in as many rows as it takes.
    fn legend(&mut self, entries: &[(Swatch, String)]) {
        let mut x = MARGIN;
        if !entries.is_empty() {
            self.bottom += 24.0;
        }
        for (swatch, text) in entries {
            let text = shortened(text, SIZE, self.width / 2.0);
            let wide = 24.0 + width(&text, SIZE) + 16.0;
            if x > MARGIN && x + wide > self.width - MARGIN {
                x = MARGIN;
                self.bottom += 19.0;
            }
            let middle = self.bottom - 9.0;
            draw_swatch(&mut self.svg, *swatch, (x, middle));
            self.svg.text("ink", (x + 24.0, middle + 4.0), Anchor::Start, &text);
            x += wide;
        }
    }

    /// Draws the frames of `panels`, so many beside each other, and gives the plots in their order.
    pub fn plots(&mut self, panels: &[Panel], beside: usize, height: f64) -> Vec<Plot> {
        let beside = beside.clamp(1, panels.len().max(1));
        let wide = (self.width - 2.0 * MARGIN - 20.0 * (beside - 1) as f64) / beside as f64;
        let mut plots = Vec::new();
        for row in panels.chunks(beside) {
            let left_room = |panel: &Panel| panel.up.room().min(wide / 3.0);
            let headed = row.iter().any(|panel| !panel.title.is_empty());
            let top = self.bottom + if headed { 46.0 } else { 26.0 };
            let mut lowest = top + height;
            for (index, panel) in row.iter().enumerate() {
                let left = MARGIN + index as f64 * (wide + 20.0);
                let plot = Plot {
                    left: left + left_room(panel),
                    top,
                    right: left + wide - 10.0,
                    bottom: top + height,
                };
                if headed {
                    // Bold letters are wider.
                    let title = shortened(&panel.title, 14.5, wide - 6.0);
                    self.svg.text("head", (left, self.bottom + 16.0), Anchor::Start, &title);
                }
                let up_title = shortened(&panel.up_title, SIZE, wide);
                self.svg.text("soft", (left, top - 12.0), Anchor::Start, &up_title);
                self.up(panel, &plot, left);
                lowest = lowest.max(self.across(panel, &plot));
                plots.push(plot);
            }
            self.bottom = lowest + 16.0;
        }
        plots
    }

    fn up(&mut self, panel: &Panel, plot: &Plot, left: f64) {
        match &panel.up {
            Up::Numbers(axis) => {
                let mut last = f64::INFINITY;
                for (value, text) in &axis.ticks {
                    let Some(y) = axis.place(*value).map(|part| plot.y(part)) else { continue };
                    self.svg.line("grid", (plot.left, y), (plot.right, y));
                    if last - y >= 13.0 {
                        self.svg.text("soft", (plot.left - 6.0, y + 4.0), Anchor::End, text);
                        last = y;
                    }
                }
                self.svg.line("axis", (plot.left, plot.bottom), (plot.right, plot.bottom));
            }
            Up::Names(names) => {
                let high = (plot.bottom - plot.top) / names.len().max(1) as f64;
                let short = told_apart(names, SIZE, plot.left - left - 6.0);
                for (index, name) in short.iter().enumerate() {
                    let y = plot.top + (index as f64 + 0.5) * high;
                    self.svg.text("ink", (plot.left - 6.0, y + 4.0), Anchor::End, name);
                }
            }
        }
    }

    /// What stands below a plot; the lowest place that it takes.
    fn across(&mut self, panel: &Panel, plot: &Plot) -> f64 {
        let mut lowest = match &panel.across {
            Across::Names(names) => self.names(names, plot),
            Across::Numbers(axis) => {
                let mut last = f64::NEG_INFINITY;
                for (value, text) in &axis.ticks {
                    let Some(x) = axis.place(*value).map(|part| plot.x(part)) else { continue };
                    self.svg.line("grid", (x, plot.top), (x, plot.bottom));
                    let half = width(text, SIZE) / 2.0;
                    if x - half > last + 6.0 {
                        self.svg.line("axis", (x, plot.bottom), (x, plot.bottom + 4.0));
                        self.svg.text("soft", (x, plot.bottom + 17.0), Anchor::Middle, text);
                        last = x + half;
                    }
                }
                plot.bottom + 20.0
            }
        };
        if !panel.across_title.is_empty() {
            lowest += 17.0;
            let middle = (plot.left + plot.right) / 2.0;
            let title = shortened(&panel.across_title, SIZE, plot.right - plot.left);
            self.svg.text("soft", (middle, lowest - 3.0), Anchor::Middle, &title);
        }
        lowest
    }

    /// Names in one row where all of them have room, in two or three lines where they have it there, turned elsewhere.
    fn names(&mut self, names: &[String], plot: &Plot) -> f64 {
        let band = (plot.right - plot.left) / names.len().max(1) as f64;
        let middle = |index: usize| plot.left + (index as f64 + 0.5) * band;
        let room = band - 8.0;
        let is_narrow = |name: &String| name.split_whitespace().all(|word| width(word, SIZE) <= room);
        if names.iter().all(is_narrow) {
            let mut lowest = plot.bottom + 20.0;
            for (index, name) in names.iter().enumerate() {
                for (line, text) in wrap(name, SIZE, room, 3).iter().enumerate() {
                    let y = plot.bottom + 17.0 + 15.0 * line as f64;
                    self.svg.text("ink", (middle(index), y), Anchor::Middle, text);
                    lowest = lowest.max(y + 3.0);
                }
            }
            return lowest;
        }
        // Of very many names those that have room. None must leave the picture on the left.
        let every = (17.0 / band).ceil().max(1.0) as usize;
        let room = ((middle(0) - 6.0) / TURN.to_radians().cos()).clamp(60.0, LONGEST_NAME);
        let mut longest = 0.0_f64;
        for (index, name) in told_apart(names, SIZE, room).iter().enumerate().step_by(every) {
            longest = longest.max(width(name, SIZE));
            let place = (middle(index) + 3.0, plot.bottom + 13.0);
            let whole = &names[index];
            self.svg.told(whole, |svg| svg.turned("ink", place, Anchor::End, TURN, name));
        }
        plot.bottom + 20.0 + longest * TURN.to_radians().sin().abs()
    }

    /// Room below all that is there.
    pub fn strip(&mut self, height: f64) -> Plot {
        let plot =
            Plot { left: MARGIN, top: self.bottom, right: self.width - MARGIN, bottom: self.bottom + height };
        self.bottom = plot.bottom;
        plot
    }

    /// The picture.
    pub fn finish(self, name: &str, title: &str, description: &str) -> String {
        self.svg.finish(name, (self.width, self.bottom + 4.0), title, description)
    }
}

impl Up {
    fn room(&self) -> f64 {
        let widest = |texts: &mut dyn Iterator<Item = &String>| {
            texts.map(|text| width(text, SIZE)).fold(0.0, f64::max) + 10.0
        };
        match self {
            Up::Numbers(axis) => widest(&mut axis.ticks.iter().map(|(_, text)| text)),
            Up::Names(names) => widest(&mut names.iter()),
        }
    }
}
