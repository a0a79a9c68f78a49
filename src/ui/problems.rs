//! Draws mistakes in files: file:line:column, the underlined source line, and what to do.

use std::fmt;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode};

use crate::diagnostic::{Problem, Problems, Span};

/// All mistakes as text for a terminal of `width` columns.
pub fn render(problems: &Problems, colours: bool, width: usize) -> String {
    let theme = if colours { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler = GraphicalReportHandler::new_themed(theme).with_width(width).with_context_lines(1);
    let mut text = String::new();
    for problem in problems.problems.iter().take(SHOWN) {
        let drawn = Drawn::new(problem, problems);
        // Writing to a string can't fail.
        let _ = handler.render_report(&mut text, &drawn);
        text.push('\n');
    }
    if let Some(more) = problems.problems.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        text.push_str(&format!("  and {more} more\n"));
    }
    if problems.hides_others {
        text.push_str("  what depends on these is looked at once they are mended\n");
    }
    text
}

/// How many mistakes are drawn; nobody reads more at once.
const SHOWN: usize = 20;
/// Lines longer than this many bytes are not drawn.
const LINE_LIMIT: usize = 2000;

#[derive(Debug)]
struct Drawn<'a> {
    problem: &'a Problem,
    source: Option<NamedSource<String>>,
    /// Where it is, when its line can't be drawn.
    place: String,
    /// What belongs to it in other files.
    elsewhere: Vec<String>,
}

impl<'a> Drawn<'a> {
    fn new(problem: &'a Problem, problems: &Problems) -> Self {
        let source = problem.span.and_then(|span| problems.sources.get(span.file));
        let source =
            source.map(|source| NamedSource::new(source.path.display().to_string(), source.text.to_string()));
        let file = problem.span.map(|span| span.file);
        let elsewhere = problem.also.iter().filter(|(span, _)| Some(span.file) != file);
        let elsewhere = elsewhere
            .map(|(span, label)| format!("{label}: {}", problems.sources.place(*span).unwrap_or_default()))
            .collect();
        match (problem.span, source) {
            (Some(span), Some(source)) if has_long_line(source.inner(), span) => {
                let place =
                    problems.sources.place(span).map(|place| format!(" at {place}")).unwrap_or_default();
                Drawn { problem, place, source: None, elsewhere }
            }
            (_, source) => Drawn { problem, source, place: String::new(), elsewhere },
        }
    }
}

/// Whether a line at `span`, or one beside it, is too long to be read.
fn has_long_line(text: &str, span: Span) -> bool {
    let (before, after) = text.split_at(span.offset.min(text.len()));
    let own = before.rsplit('\n').next().map_or(0, str::len) + after.split('\n').next().map_or(0, str::len);
    let beside = before.rsplit('\n').nth(1).into_iter().chain(after.split('\n').nth(1));
    own > LINE_LIMIT || beside.into_iter().any(|line| line.len() > LINE_LIMIT)
}

impl fmt::Display for Drawn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.problem.message, self.place)
    }
}

impl std::error::Error for Drawn<'_> {}

impl Diagnostic for Drawn<'_> {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let lines: Vec<&str> = self.problem.help.iter().chain(&self.elsewhere).map(String::as_str).collect();
        (!lines.is_empty()).then(|| Box::new(lines.join("\n")) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_ref().map(|source| source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let span = self.problem.span.filter(|_| self.source.is_some())?;
        let main =
            LabeledSpan::new_primary_with_span(Some(self.problem.label.clone()), (span.offset, span.length));
        let also = self.problem.also.iter().filter(move |(place, _)| place.file == span.file);
        let also =
            also.map(|(place, label)| LabeledSpan::new(Some(label.clone()), place.offset, place.length));
        Some(Box::new(std::iter::once(main).chain(also)))
    }
}
