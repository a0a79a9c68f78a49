//! The text of a file with another value in one place: where values begin and end, and how they are written
//! on one line. Nothing here knows a path. Read [`replace`] and [`insert`] first.

use crate::spec::tree::{Kind, Node};

/// A value, and where its text begins: behind the colon, the dash or the comma.
pub(super) struct Place<'a> {
    pub node: &'a Node,
    pub start: usize,
    pub key: &'a str,
}

fn blanks(text: &str, from: usize) -> usize {
    from + text[from..].len() - text[from..].trim_start_matches([' ', '\t']).len()
}

/// The byte after the colon of a key that ends at `end`; `end` when it has none.
pub(super) fn after_colon(text: &str, end: usize) -> usize {
    let colon = end + text[end..].len() - text[end..].trim_start().len();
    if text[colon..].starts_with(':') { colon + 1 } else { end }
}

/// The byte after the dash, bracket or comma before an item.
pub(super) fn item_start(text: &str, list: &Node, items: &[Node], index: usize) -> usize {
    let before = match index.checked_sub(1) {
        Some(previous) => items[previous].end,
        None => list.place.offset,
    };
    let mut is_comment = false;
    let last = items[index].place.offset;
    let mut letters = text[before..].char_indices().take_while(|(offset, _)| before + offset <= last);
    let sign = letters.find(|(_, letter)| {
        is_comment = (is_comment || *letter == '#') && *letter != '\n';
        !is_comment && matches!(letter, '-' | '[' | ',')
    });
    // The parser lets a list that is not indented start at its first item.
    sign.map(|(offset, _)| before + offset)
        .or_else(|| text[..before].rfind('-'))
        .map_or(before, |sign| sign + 1)
}

/// The text with another value; an anchor before it stays, a tag does not.
pub(super) fn replace(text: &str, place: &Place<'_>, value: &str) -> String {
    let mut start = blanks(text, place.start);
    while text[start..].starts_with('&') {
        let length = text[start..].find(|letter: char| letter.is_whitespace() || ",]}".contains(letter));
        start = blanks(text, length.map_or(text.len(), |length| start + length));
    }
    let end = match place.node.kind {
        Kind::Null if place.node.place.length == 0 => start,
        _ => place.node.end.max(start),
    };
    let end = start + text[start..end].trim_end().len();
    let colon = if needs_colon(text, place) { ":" } else { "" };
    let blank = if text[..start].ends_with([' ', '\t', '\n', '[']) && colon.is_empty() { "" } else { " " };
    // What follows on the line is the end of the section or a comment.
    let after = if text[end..].starts_with('#') { " " } else { "" };
    format!("{}{colon}{blank}{value}{after}{}", &text[..start], &text[end..])
}

/// Whether the value belongs to a key without a colon, as in `{ a, b }`.
fn needs_colon(text: &str, place: &Place<'_>) -> bool {
    matches!(place.node.kind, Kind::Null) && !text[..place.start].ends_with([':', '-', '[', ','])
}

/// The text with another key in a section, before its first one.
pub(super) fn insert(text: &str, section: &Node, key: &str, value: &str) -> String {
    let start = section.place.offset;
    let entry = format!("{}: {value}", scalar(key));
    if text[start..].starts_with('{') {
        let (before, after) = text.split_at(start + 1);
        let is_empty = matches!(&section.kind, Kind::Map(entries) if entries.is_empty());
        return format!("{before} {entry}{}{after}", if is_empty { " " } else { "," });
    }
    let line = text[..start].rfind('\n').map_or(0, |end| end + 1);
    let column = text[line..start].chars().filter(|letter| *letter != '\u{feff}').count();
    let (before, after) = text.split_at(start);
    format!("{before}{entry}{}{}{after}", newline(text), " ".repeat(column))
}

/// A key in a file that holds nothing.
pub(super) fn append(text: &str, key: &str, value: &str) -> String {
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { newline(text) };
    format!("{text}{end}{}: {value}{}", scalar(key), newline(text))
}

fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// A value on one line.
pub(super) fn flow(node: &Node) -> String {
    match &node.kind {
        Kind::Null => "null".to_owned(),
        Kind::Text(text) => scalar(text),
        Kind::List(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Kind::Map(entries) if entries.is_empty() => "{}".to_owned(),
        Kind::Map(entries) => {
            let entries = entries.iter().map(|(key, value)| format!("{}: {}", flow(key), flow(value)));
            format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}

/// A text, quoted where YAML would read something else.
pub(super) fn scalar(text: &str) -> String {
    let is_letter = |letter: char| letter.is_alphanumeric() || "_./+-".contains(letter);
    let is_plain = text.starts_with(|letter: char| letter.is_alphanumeric() || "_./".contains(letter))
        && text.chars().all(is_letter)
        && !text.eq_ignore_ascii_case("null")
        && !text.starts_with("...");
    if is_plain {
        return text.to_owned();
    }
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if letter.is_control() || "\u{feff}\u{2028}\u{2029}".contains(letter) => {
                quoted.push_str(&format!("\\u{:04x}", letter as u32));
            }
            letter => quoted.push(letter),
        }
    }
    quoted + "\""
}
