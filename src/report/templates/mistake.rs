//! What minijinja says of a template, as a mistake with its place in the file.

use std::error::Error as _;
use std::path::Path;

use minijinja::{Error, ErrorKind};

use super::{BUILT_IN, PREFIX};
use crate::diagnostic::{Problem, Sources, Span, nearest};
use crate::record::TemplateFile;

/// The mistake that `error` tells of; its template is added to `sources`.
pub(super) fn problem(error: &Error, own: &[TemplateFile], sources: &mut Sources) -> Problem {
    let error = cause(error);
    let name = error.name().unwrap_or_default();
    let Some((path, text)) = find(name, own) else {
        return Problem::of_file(format!("a template can't be rendered: {error}"));
    };
    let range = error.range().filter(|range| text.get(range.clone()).is_some_and(|text| !text.is_empty()));
    let range = range.unwrap_or_else(|| line(text, error.line().unwrap_or(1)));
    let range = whole(text, range);
    let span = Span { file: sources.add(&path, text), offset: range.start, length: range.len() };
    let written = text.get(range).unwrap_or_default().trim();
    let detail = error.detail().map(|detail| format!(": {detail}")).unwrap_or_default();
    if error.kind() != ErrorKind::UndefinedError {
        return Problem::at(span, format!("{}{detail}", error.kind()));
    }
    let problem = Problem::at(span, format!("`{written}` is not defined"));
    let problem = problem.label("there is nothing of this name");
    let known = super::super::view::field_names();
    let last = written.rsplit('.').next().unwrap_or(written);
    match nearest(last, known.iter().map(String::as_str)) {
        Some((_, known)) if known != last => problem.help(format!("did you mean `{known}`?")),
        _ => problem.help(
            "`docs/templates.md` lists what a template sees; what may not be there is asked for with `is defined`",
        ),
    }
}

/// The innermost error that has a place: an include only says that it could not be rendered.
fn cause(error: &Error) -> &Error {
    let mut innermost = error;
    let mut next = error.source();
    while let Some(source) = next {
        if let Some(found) = source.downcast_ref::<Error>().filter(|found| found.name().is_some()) {
            innermost = found;
        }
        next = source.source();
    }
    innermost
}

/// The path and text of a template.
fn find<'a>(name: &str, own: &'a [TemplateFile]) -> Option<(std::path::PathBuf, &'a str)> {
    if let Some(file) = own.iter().find(|file| file.name == name) {
        return Some((file.path.clone(), &file.text));
    }
    let name = name.strip_prefix(PREFIX).unwrap_or(name);
    let (name, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
    Some((Path::new("templates").join(name), text))
}

/// `range` with what stands before it, where it is only the end of an expression: `[9].header`.
fn whole(text: &str, range: std::ops::Range<usize>) -> std::ops::Range<usize> {
    if !text[range.clone()].starts_with(['[', '.']) {
        return range;
    }
    let is_part = |character: char| character.is_alphanumeric() || "_.[]".contains(character);
    text[..range.start].trim_end_matches(is_part).len()..range.end
}

/// The place of a whole line, counted from 1, without the blanks before it.
fn line(text: &str, number: usize) -> std::ops::Range<usize> {
    let mut start = 0;
    let mut last = 0..0;
    for (index, line) in text.split('\n').enumerate() {
        let blanks = line.len() - line.trim_start().len();
        let here = start + blanks..start + line.trim_end().len().max(blanks);
        if !here.is_empty() {
            last = here;
        }
        if index + 1 >= number && !last.is_empty() {
            break;
        }
        start += line.len() + 1;
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_by_its_number() {
        let text = "one\n  two \n\nfour";
        for (number, found) in [(1, "one"), (2, "two"), (3, "two"), (4, "four"), (9, "four")] {
            assert_eq!(&text[line(text, number)], found, "{number}");
        }
        assert_eq!(line("", 1), 0..0);
    }
}
