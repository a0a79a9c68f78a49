//! One file's text into a [`Spec`], and the parser's errors into [`Problem`]s.

use std::sync::Arc;

use serde_yaml::Error;

use super::{Spec, located};
use crate::diagnostic::{Problem, Span, suggest};

/// Parses one file, number `file` of the sources.
///
/// # Errors
/// The first mistake of form; the parser stops there.
pub(super) fn parse(file: usize, text: &Arc<str>) -> Result<Spec, Problem> {
    let mut budget = serde_yaml::budget::Budget::default();
    budget.max_events = 200_000;
    budget.max_nodes = 100_000;
    budget.max_depth = 64;
    let options = serde_yaml::options! { strict_booleans: true, with_snippet: false, budget: Some(budget) };
    located::in_file(file, text.clone(), || serde_yaml::from_str_with_options::<Spec>(text, options))
        .map_err(|error| problem(file, text, error.without_snippet()))
}

fn problem(file: usize, text: &str, error: &Error) -> Problem {
    if let Error::AliasError { error, .. } = error {
        return problem(file, text, error);
    }
    let span = span(file, text, error);
    let written = &text[span.offset..];
    if written.starts_with("{{") || written.starts_with("{ {") {
        let message = "braces at the start of a value are YAML's own";
        return Problem::at(span, message)
            .label("YAML reads this as a map")
            .help("quote the value: \"{{ … }}\"");
    }
    match error {
        Error::SerdeUnknownField { field, expected, .. } => {
            Problem::at(span, format!("unknown key `{field}`"))
                .label("not a key of this section")
                .help(suggest(field, expected.iter().copied()))
        }
        Error::SerdeUnknownVariant { variant, expected, .. } => {
            Problem::at(span, format!("unknown value `{variant}`"))
                .label("not a value of this key")
                .help(suggest(variant, expected.iter().copied()))
        }
        Error::SerdeMissingField { field, .. } => Problem::at(span, format!("missing key `{field}`"))
            .label("needed in the section that begins here")
            .help(format!("add `{field}: …`")),
        Error::DuplicateMappingKey { key, .. } => {
            Problem::at(span, format!("`{}` is declared twice", key.as_deref().unwrap_or("this key")))
                .label("the second one")
                .help("remove or rename one of the two")
        }
        other => of_value(span, written, &text[span.range()], other),
    }
}

/// A value of another kind than its key wants; `written` is the text from there on, `value` its own text.
fn of_value(span: Span, written: &str, value: &str, error: &Error) -> Problem {
    match error {
        Error::Unexpected { expected: "mapping start", .. } => {
            Problem::at(span, "a section with keys is wanted here")
                .label(kind_of(written))
                .help("write `key: value` lines below it, or `{}` for none")
        }
        Error::Unexpected { expected: "sequence start", .. } => Problem::at(span, "a list is wanted here")
            .label(kind_of(written))
            .help("write `[one, two]`, or `- one` lines below it"),
        Error::Unexpected { expected: "string scalar", .. } => {
            Problem::at(span, "a text is wanted here").label(kind_of(written)).help("write one value")
        }
        Error::SerdeInvalidType { unexpected, expected, .. } => {
            Problem::at(span, format!("{expected} is wanted here")).label(match unexpected.as_str() {
                "unit value" => "nothing is written here".to_owned(),
                other => format!("this is a {other}"),
            })
        }
        Error::InvalidScalar { ty: "u16" | "u32" | "u64", .. } => {
            Problem::at(span, format!("`{value}` is not a whole number that fits here"))
                .help("write digits alone, such as `10`")
        }
        Error::InvalidBooleanStrict { .. } => {
            Problem::at(span, format!("`{value}` is neither `true` nor `false`")).help("write one of the two")
        }
        other => of_file(span, other),
    }
}

/// A file that can't be read as one experiment, or not as YAML.
fn of_file(span: Span, error: &Error) -> Problem {
    match error {
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => {
            Problem::at(span, "the file holds too many values, or too deep in each other")
                .help("an alias counts as often as it is used; at most 100,000 values and 64 levels are read")
        }
        Error::RecursiveReferencesRequireWeakTypes { .. } => {
            Problem::at(span, "this alias holds itself").help("name another anchor")
        }
        Error::MultipleDocuments { .. } => Problem::at(span, "a second document begins here")
            .help("keep one experiment in a file, without `---` in the middle"),
        other => general(span, other),
    }
}

/// What stands where something else is wanted.
fn kind_of(written: &str) -> &'static str {
    match written.chars().next() {
        None | Some('\n' | '\r' | '#' | ':' | '~') => "nothing is written here",
        Some('-' | '[') => "this is a list",
        Some('{') => "this is a section",
        Some(_) => "this is text",
    }
}

/// Parts of the parser's words, and what to do.
const HINTS: [(&str, &str); 8] = [
    ("tabs", "indent with spaces; YAML forbids tabs"),
    ("null", "write a value, or `{}` or `[]` for an empty one"),
    ("mapping values are not allowed", "quote a text that holds `: `"),
    ("did not find expected key", "start all keys of one section in the same column"),
    ("unclosed quote", "end the text with the quote that it begins with"),
    ("flow", "close every `[` and `{`, and quote a text that holds `,`, `[` or `{`"),
    ("illegal placement of ':'", "close every `[` and `{` above, and quote a text that holds `: `"),
    ("unknown anchor", "write `&name` at the value that is meant, above this line"),
];

/// Mistakes told in the parser's words, with a hint for the ones people make.
fn general(span: Span, error: &Error) -> Problem {
    let told = error.to_string();
    let message = told.split(" at line ").next().unwrap_or(&told).trim_end_matches(['.', ':']).to_owned();
    let problem = Problem::at(span, message);
    match HINTS.iter().find(|(words, _)| told.contains(words)) {
        Some((_, hint)) => problem.help(*hint),
        None => problem,
    }
}

fn span(file: usize, text: &str, error: &Error) -> Span {
    let location = error.location();
    let place = location.map(|location| location.span());
    let of_line =
        || location.map(|location| offset(text, location.line() as usize, location.column() as usize));
    let start = place.and_then(|place| place.byte_offset()).map(|offset| offset as usize).or_else(of_line);
    let length = place.and_then(|place| place.byte_len()).unwrap_or_default() as usize;
    let start = start.unwrap_or_default().min(text.len());
    let line_end = text[start..].find('\n').map_or(text.len(), |end| start + end);
    // At least one whole letter is underlined, be it the end of the line.
    let letter = text[start..].chars().next().map_or(0, char::len_utf8);
    Span { file, offset: start, length: length.min(line_end - start).max(letter) }
}

/// The byte at `line` and `column`, both counted from 1, the column in characters.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let characters = text[start..].char_indices().map(|(index, _)| start + index);
    characters.chain(std::iter::once(text.len())).nth(column.saturating_sub(1)).unwrap_or(text.len())
}
