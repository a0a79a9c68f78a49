//! Draws mistakes in files: file:line:column, the underlined source line, and what to do.

use std::fmt;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode};

use crate::diagnostic::{Problem, Problems};

/// All mistakes as text for a terminal of `width` columns.
pub fn render(problems: &Problems, colours: bool, width: usize) -> String {
    let theme = if colours { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler = GraphicalReportHandler::new_themed(theme).with_width(width).with_context_lines(1);
    let mut text = String::new();
    for problem in &problems.problems {
        let drawn = Drawn::new(problem, problems);
        // Writing to a string can't fail.
        let _ = handler.render_report(&mut text, &drawn);
        text.push('\n');
    }
    text
}

#[derive(Debug)]
struct Drawn<'a> {
    problem: &'a Problem,
    source: Option<NamedSource<String>>,
}

impl<'a> Drawn<'a> {
    fn new(problem: &'a Problem, problems: &Problems) -> Self {
        let source = problem.span.and_then(|span| problems.sources.get(span.file));
        let source =
            source.map(|source| NamedSource::new(source.path.display().to_string(), source.text.to_string()));
        Drawn { problem, source }
    }
}

impl fmt::Display for Drawn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem.message)
    }
}

impl std::error::Error for Drawn<'_> {}

impl Diagnostic for Drawn<'_> {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.problem.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_ref().map(|source| source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let span = self.problem.span?;
        let label = LabeledSpan::new(Some(self.problem.label.clone()), span.offset, span.length);
        Some(Box::new(std::iter::once(label)))
    }
}
