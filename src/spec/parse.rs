//! One file's text into a [`Spec`], and the parser's errors into [`Problem`]s.

use std::sync::Arc;

use serde_yaml::Error;

use super::{Spec, located};
use crate::diagnostic::{Problem, Span, suggest};

/// The largest file that is read, in bytes.
const FILE_LIMIT: usize = 1 << 20;

/// Parses one file, number `file` of the sources.
///
/// # Errors
/// The first mistake of form; the parser stops there.
pub(super) fn parse(file: usize, text: &Arc<str>) -> Result<Spec, Problem> {
    if text.len() > FILE_LIMIT {
        return Err(Problem::of_file(format!("the file has {} bytes; 1 MiB is the limit", text.len())));
    }
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
            .label("needed in this section")
            .help(format!("add `{field}: …`")),
        Error::DuplicateMappingKey { key, .. } => {
            Problem::at(span, format!("`{}` is declared twice", key.as_deref().unwrap_or("this key")))
                .label("the second one")
                .help("remove or rename one of the two")
        }
        other => general(span, text, other),
    }
}

/// Mistakes told in the parser's words, with a hint for the ones people make.
fn general(span: Span, text: &str, error: &Error) -> Problem {
    let told = error.to_string();
    let message = told.split(" at line ").next().unwrap_or(&told).trim_end_matches(['.', ':']).to_owned();
    let problem = Problem::at(span, message);
    let written = text.get(span.offset..).unwrap_or_default();
    if written.starts_with("{{") || written.starts_with("{ {") {
        return problem.label("YAML reads this as a map").help("quote the value: \"{{ … }}\"");
    }
    if written.starts_with('\t') || told.contains("tab") {
        return problem.help("indent with spaces; YAML forbids tabs");
    }
    if told.contains("null") {
        return problem
            .label("nothing is written here")
            .help("write a value, or `{}` or `[]` for an empty one");
    }
    problem
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
    Span { file, offset: start, length: length.clamp(1, (line_end - start).max(1)).min(text.len() - start) }
}

/// The byte at `line` and `column`, both counted from 1, the column in characters.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let characters = text[start..].char_indices().map(|(index, _)| start + index);
    characters.chain(std::iter::once(text.len())).nth(column.saturating_sub(1)).unwrap_or(text.len())
}
