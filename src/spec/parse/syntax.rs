//! YAML that can't be read as YAML: the parser's errors as [`Problem`]s. Mistakes of form are told elsewhere.
//! Read [`problem`] first.

use serde_yaml::Error;

use crate::diagnostic::{Problem, Span};

/// What the parser says of file number `file`.
pub(in crate::spec) fn problem(file: usize, text: &str, error: &Error) -> Problem {
    if let Error::AliasError { error, .. } = error {
        return problem(file, text, error);
    }
    let error = error.without_snippet();
    let span = span(file, text, error);
    if let Some(problem) = braces(span, text) {
        return problem;
    }
    of_file(span, error)
}

/// Text after `{{ x }}` at the start of a value is an error of syntax, told somewhere behind it.
fn braces(span: Span, text: &str) -> Option<Problem> {
    let line = text[..span.offset].rfind('\n').map_or(0, |end| end + 1);
    let before = &text[line..span.offset];
    let start = [": {{", "- {{", "[{{", ", {{"].iter().filter_map(|start| before.rfind(start)).max()?;
    let offset = line + start + text[line + start..].find('{')?;
    Some(
        Problem::at(Span { offset, length: 2, ..span }, "braces at the start of a value are YAML's own")
            .label("YAML reads this as a section")
            .help("quote the whole value: \"{{ … }} …\""),
    )
}

/// A file that can't be read as one experiment, or not as YAML.
fn of_file(span: Span, error: &Error) -> Problem {
    match error {
        // The parser's own limit on brackets in each other, which it tells in words alone.
        error if error.to_string().contains("recursion limit") => too_much(span),
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => too_much(span),
        Error::RecursiveReferencesRequireWeakTypes { .. } => {
            Problem::at(span, "this alias holds itself").help("name another anchor")
        }
        Error::MultipleDocuments { .. } => Problem::at(span, "a second document begins here")
            .help("keep one experiment in a file, without `---` in the middle"),
        other => general(span, other),
    }
}

fn too_much(span: Span) -> Problem {
    Problem::at(span, "the file holds too many values, or too deep in each other")
        .help("an alias counts as often as it is used; at most 100,000 values and 32 levels are read")
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
