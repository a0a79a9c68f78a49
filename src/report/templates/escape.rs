//! How a value is written into a file of each kind, so that it is read there as itself.

use minijinja::{AutoEscape, Error, Output, State, Value};

use crate::record::TEMPLATE_ENDING;
use crate::report::markdown;
use crate::terminal;

const MARKDOWN: &str = "markdown";

/// By the ending of its name before `.j2` what a template is escaped for: `md`, `html`, or nothing.
pub(super) fn kind_of(name: &str) -> AutoEscape {
    let name = name.strip_suffix(TEMPLATE_ENDING).unwrap_or(name);
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("md") => AutoEscape::Custom(MARKDOWN.into()),
        Some("html" | "htm") => AutoEscape::Html,
        _ => AutoEscape::None,
    }
}

/// Whether the template that is rendered now is Markdown.
pub(super) fn is_markdown(state: &State) -> bool {
    matches!(state.auto_escape(), AutoEscape::Custom(kind) if *kind == MARKDOWN)
}

/// Writes a value; the text of a filter or macro that knows the kind of file counts as safe.
pub(super) fn write(out: &mut Output, state: &mut State, value: &Value) -> Result<(), Error> {
    let text = value.to_string();
    let text = match state.auto_escape() {
        _ if value.is_safe() => text,
        AutoEscape::Html => html(&text),
        AutoEscape::Custom(_) => markdown::escape(&text),
        _ => terminal::plain(&text).into_owned(),
    };
    out.write_str(&text).map_err(Error::from)
}

/// `text` between the tags of HTML, and in an attribute with quotes. Its lines stay lines.
pub(super) fn html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in terminal::plain(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' => escaped.push('\n'),
            _ if character.is_control() => escaped.push(' '),
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_of_a_name_says_what_it_is() {
        let markdown = || AutoEscape::Custom(MARKDOWN.into());
        for (name, kind) in [
            ("report.md.j2", markdown()),
            ("built-in/report.html.j2", AutoEscape::Html),
            ("parts/_head.htm.j2", AutoEscape::Html),
            ("report.css.j2", AutoEscape::None),
            ("list.j2", AutoEscape::None),
        ] {
            assert_eq!(kind_of(name), kind, "{name}");
        }
    }

    #[test]
    fn nothing_of_a_text_is_markup() {
        for (text, escaped) in [
            ("<a href=\"x\">&'", "&lt;a href=&quot;x&quot;&gt;&amp;&#39;"),
            ("\x1b[31mred\x1b[0m\x07", "red "),
            ("two\nlines", "two\nlines"),
            ("가", "가"),
        ] {
            assert_eq!(html(text), escaped);
        }
    }
}
