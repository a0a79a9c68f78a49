//! SVG as text: a few shapes, escaped words, rounded numbers, and the colours of a chart in light and dark
//! surroundings. It knows nothing of measurements; read [`Svg`].

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::terminal;

/// The colours of Okabe & Ito (2008), which people with any common colour blindness tell apart; yellow, which is hard
/// to see on white, comes last.
const COLOURS: [&str; 8] =
    ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#7f7f7f", "#f0e442"];

/// Fonts with Korean, Chinese and Japanese letters behind those that look at home.
const FONTS: &str =
    "system-ui,-apple-system,'Segoe UI','Noto Sans','DejaVu Sans','Noto Sans CJK KR',sans-serif";

/// Where a text is fastened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// What is drawn, from back to front.
#[derive(Debug, Default)]
pub(super) struct Svg {
    body: String,
}

impl Svg {
    pub fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(number);
        self.push(format_args!("<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>"));
    }

    /// A box from one corner to the other, whichever lies higher.
    pub fn rect(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let [x, y, width, height] = [x1.min(x2), y1.min(y2), (x2 - x1).abs(), (y2 - y1).abs()].map(number);
        self.push(format_args!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>"
        ));
    }

    /// The same in a colour of its own.
    pub fn coloured(&mut self, colour: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let [x, y, width, height] = [x1.min(x2), y1.min(y2), (x2 - x1).abs(), (y2 - y1).abs()].map(number);
        self.push(format_args!(
            "<rect fill=\"{colour}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>"
        ));
    }

    pub fn circle(&mut self, class: &str, (x, y): (f64, f64), radius: f64) {
        let [x, y, radius] = [x, y, radius].map(number);
        self.push(format_args!("<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"/>"));
    }

    /// Straight lines through `points`; nothing for fewer than two.
    pub fn path(&mut self, class: &str, points: &[(f64, f64)], is_closed: bool) {
        if points.len() < 2 {
            return;
        }
        let mut path = String::new();
        let mut last = None;
        for (index, (x, y)) in points.iter().enumerate() {
            let place = (number(*x), number(*y));
            if last.as_ref() != Some(&place) {
                let _ = write!(path, "{}{} {}", if index == 0 { "M" } else { "L" }, place.0, place.1);
            }
            last = Some(place);
        }
        let end = if is_closed { "Z" } else { "" };
        self.push(format_args!("<path class=\"{class}\" d=\"{path}{end}\"/>"));
    }

    pub fn text(&mut self, class: &str, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        self.turned(class, (x, y), anchor, 0.0, text);
    }

    /// A text turned by `degrees` clockwise about the place where it is fastened.
    pub fn turned(&mut self, class: &str, (x, y): (f64, f64), anchor: Anchor, degrees: f64, text: &str) {
        let [x, y, degrees] = [x, y, degrees].map(number);
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let turn = match degrees.as_str() {
            "0" => String::new(),
            _ => format!(" transform=\"rotate({degrees} {x} {y})\""),
        };
        let text = escape(text);
        self.push(format_args!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\"{anchor}{turn}>{text}</text>"));
    }

    /// What `draw` draws, as one thing with a text that shows where a pointer rests on it.
    pub fn told(&mut self, text: &str, draw: impl FnOnce(&mut Self)) {
        let text = escape(text);
        self.push(format_args!("<g><title>{text}</title>"));
        draw(self);
        self.push(format_args!("</g>"));
    }

    fn push(&mut self, text: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.body, "{text}");
    }

    /// The whole picture. `name` makes its id and its styles its own where several stand in one page.
    pub fn finish(self, name: &str, (width, height): (f64, f64), title: &str, description: &str) -> String {
        let [width, height] = [width, height].map(number);
        let (title, description, style) = (escape(title), escape(description), style(name, &self.body));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"chart-{name}\" {MADE_BY} role=\"img\" \
             aria-label=\"{title}\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             style=\"max-width:100%;height:auto\">\n<desc>{description}</desc>\n<style>{style}</style>\n\
             <rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n{}</svg>\n",
            self.body
        )
    }
}

/// What tells a chart of a report from any other picture.
pub(super) const MADE_BY: &str = "data-made-by=\"runner-report\"";

/// The class of the colour number `index` as the fill of an area.
pub(super) fn fill(index: usize) -> String {
    format!("f{}{}", index % COLOURS.len(), again(index))
}

/// The class of the colour number `index` as that of a line.
pub(super) fn stroke(index: usize) -> String {
    format!("k{}{}", index % COLOURS.len(), again(index))
}

/// Colours that are used a second time are paler, or dashed.
fn again(index: usize) -> &'static str {
    if index / COLOURS.len() % 2 == 1 { " again" } else { "" }
}

/// How the classes look on a light page; those of the colours are in [`style`].
const LIGHT: [(&str, &str); 16] = [
    ("paper", "fill:#ffffff"),
    ("ink", "fill:#1f2328"),
    ("title", "fill:#1f2328;font-size:16px;font-weight:600"),
    ("head", "fill:#1f2328;font-size:13px;font-weight:600"),
    ("soft", "fill:#59636e"),
    ("warn", "fill:#a40e26;font-size:11px;font-weight:600"),
    ("light", "fill:#ffffff;font-size:11px"),
    ("dark", "fill:#1f2328;font-size:11px"),
    ("grid", "stroke:#d1d9e0;stroke-width:1"),
    ("axis", "stroke:#59636e;stroke-width:1"),
    ("mark", "stroke:#1f2328;stroke-width:1.3;fill:none"),
    ("dot", "stroke:#1f2328;stroke-width:1;fill:#ffffff;fill-opacity:.85"),
    ("gap", "fill:#818b98;fill-opacity:.18;stroke:#818b98;stroke-dasharray:3 3"),
    ("again", "fill-opacity:.55;stroke-dasharray:5 3"),
    ("thin", "stroke-width:1.1;stroke-opacity:.85"),
    ("box", "fill-opacity:.35"),
];

/// What of it is other on a dark page. The darkest colour is hard to see there.
const DARK: [(&str, &str); 12] = [
    ("paper", "fill:#0d1117"),
    ("ink", "fill:#f0f6fc"),
    ("title", "fill:#f0f6fc"),
    ("head", "fill:#f0f6fc"),
    ("soft", "fill:#9198a1"),
    ("warn", "fill:#ff8182"),
    ("grid", "stroke:#2f353d"),
    ("axis", "stroke:#9198a1"),
    ("mark", "stroke:#f0f6fc"),
    ("dot", "stroke:#f0f6fc;fill:#0d1117"),
    ("f0", "fill:#1f8fd0;stroke:#f0f6fc"),
    ("k0", "stroke:#1f8fd0"),
];

/// The rules of the classes that `body` uses, for the picture `name` alone.
fn style(name: &str, body: &str) -> String {
    let used: BTreeSet<&str> = body
        .split("class=\"")
        .filter_map(|rest| rest.split('"').next())
        .flat_map(str::split_whitespace)
        .chain(["paper"])
        .collect();
    let rules = |rules: &[(String, String)]| {
        let used = rules.iter().filter(|(class, _)| used.contains(class.as_str()));
        used.map(|(class, rule)| format!("#chart-{name} .{class}{{{rule}}}")).collect::<String>()
    };
    let owned = |(class, rule): &(&str, &str)| ((*class).to_owned(), (*rule).to_owned());
    let colours = COLOURS.iter().enumerate().flat_map(|(index, colour)| {
        let area = format!("fill:{colour};stroke:#1f2328;stroke-opacity:.35;stroke-width:.7");
        let line = format!("stroke:{colour};fill:none;stroke-width:1.8");
        [(format!("f{index}"), area), (format!("k{index}"), line)]
    });
    // Colours come first, so that what is said of `again`, `thin` and `box` counts.
    let light: Vec<_> = colours.chain(LIGHT.iter().map(owned)).collect();
    let dark: Vec<_> = DARK.iter().map(owned).collect();
    format!(
        "#chart-{name}{{font-family:{FONTS};font-size:12px}}{}@media (prefers-color-scheme:dark){{{}}}",
        rules(&light),
        rules(&dark)
    )
}

/// A coordinate: a tenth of a pixel is enough, and hides how a platform rounds a logarithm.
fn number(value: f64) -> String {
    let value = if value.is_finite() { value.clamp(-1e6, 1e6) } else { 0.0 };
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// `text` on one line of XML. Letters that XML does not have are left out.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in terminal::plain(text).chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => {}
            _ if letter.is_control() => escaped.push(' '),
            _ => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short_and_finite() {
        for (value, text) in [
            (1.0, "1"),
            (-0.04, "0"),
            (2.25, "2.2"),
            (f64::NAN, "0"),
            (f64::NEG_INFINITY, "0"),
            (1e300, "1000000"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn words_can_not_break_out() {
        assert_eq!(escape("a<b> & \"c\"\u{0}\u{1b}[31m\u{ffff}"), "a&lt;b&gt; &amp; &quot;c&quot; ");
    }
}
