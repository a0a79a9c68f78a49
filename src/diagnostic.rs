//! Mistakes in a file, with the place and the way out: plain data, drawn by `ui`. Nothing here reads a
//! file or prints. Read [`Problem`] first.

use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A stretch of one source file, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// Which of the [`Sources`].
    pub file: usize,
    /// Where it starts.
    pub offset: usize,
    /// How long it is; 0 for a point.
    pub length: usize,
}

impl Span {
    /// The bytes it covers.
    pub fn range(self) -> std::ops::Range<usize> {
        self.offset..self.offset + self.length
    }
}

/// One file as it was read.
#[derive(Debug, Clone)]
pub struct Source {
    /// The path as the user gave it or as an `include` led to it.
    pub path: PathBuf,
    /// Its whole text.
    pub text: Arc<str>,
}

/// Every file that an experiment is made of; a [`Span`] points into it.
#[derive(Debug, Clone, Default)]
pub struct Sources(Vec<Source>);

impl Sources {
    /// Adds a file and returns its number for spans.
    pub fn add(&mut self, path: &Path, text: impl Into<Arc<str>>) -> usize {
        self.0.push(Source { path: path.to_owned(), text: text.into() });
        self.0.len() - 1
    }

    /// How many files there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no file.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The file a span points into.
    pub fn get(&self, file: usize) -> Option<&Source> {
        self.0.get(file)
    }

    /// Every file, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &Source> {
        self.0.iter()
    }

    /// The text under `span`; empty when the span is not of these files.
    pub fn text(&self, span: Span) -> &str {
        self.get(span.file).and_then(|source| source.text.get(span.range())).unwrap_or_default()
    }

    /// `FILE:LINE:COLUMN` of the start of `span`, both counted from 1, the column in characters; `None` for
    /// what stands in no file.
    pub fn place(&self, span: Span) -> Option<String> {
        let source = self.get(span.file).filter(|_| span.length > 0)?;
        let before = source.text.get(..span.offset)?;
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Some(format!("{}:{line}:{column}", source.path.display()))
    }

    /// The folder that relative paths at `span` start from.
    pub fn directory(&self, span: Span) -> PathBuf {
        self.get(span.file).and_then(|source| source.path.parent()).map(Path::to_owned).unwrap_or_default()
    }
}

/// One mistake.
#[derive(Debug, Clone)]
pub struct Problem {
    /// What is wrong: a lower-case fragment without a final period.
    pub message: String,
    /// Where; `None` only when a whole file can't be read.
    pub span: Option<Span>,
    /// A few words under the underlined text.
    pub label: String,
    /// Other places that belong to it, with a few words each.
    pub also: Vec<(Span, String)>,
    /// What to do, in the imperative.
    pub help: Option<String>,
}

impl Problem {
    /// A mistake at `span`.
    pub fn at(span: Span, message: impl Into<String>) -> Self {
        Problem {
            message: message.into(),
            span: Some(span),
            label: "here".into(),
            also: Vec::new(),
            help: None,
        }
    }

    /// A mistake of a whole file.
    pub fn of_file(message: impl Into<String>) -> Self {
        Problem { message: message.into(), span: None, label: String::new(), also: Vec::new(), help: None }
    }

    /// The words under the underlined text.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Another place that belongs to it.
    #[must_use]
    pub fn also(mut self, span: Span, label: impl Into<String>) -> Self {
        self.also.push((span, label.into()));
        self
    }

    /// What to do.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// All mistakes found at once, with the sources they point into.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{} in the experiment", if .problems.len() == 1 { "a mistake".into() } else { format!("{} mistakes", .problems.len()) })]
pub struct Problems {
    /// At least one.
    pub problems: Vec<Problem>,
    /// The files.
    pub sources: Sources,
    /// Whether they kept others from being looked for: names and values are checked once the form is right.
    pub hides_others: bool,
}

impl Problems {
    /// Mistakes that are all there are.
    pub fn new(problems: Vec<Problem>, sources: Sources) -> Self {
        Problems { problems, sources, hides_others: false }
    }
}

/// "did you mean `x`?" for the nearest of `known`, or the list of them when none is near.
pub fn suggest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let is_one_of = |candidate: &&&str| {
        let number = candidate.strip_prefix(name).and_then(|rest| rest.strip_prefix('-'));
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    };
    let numbered: Vec<String> = known.iter().filter(is_one_of).map(|name| format!("`{name}`")).collect();
    if !numbered.is_empty() {
        return format!("name one of {}", numbered.join(", "));
    }
    match nearest(name, known.iter().copied()) {
        Some((_, candidate)) => format!("did you mean `{candidate}`?"),
        None if known.is_empty() => "none is declared".into(),
        None if known.len() == 1 => format!("use `{}`", known[0]),
        None => format!(
            "use one of {}",
            known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        ),
    }
}

/// The nearest of `known`, with the number of letters by which it differs; capitals, `-`, `_` and blanks
/// are no difference.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<(usize, &'a str)> {
    let plain = |name: &str| name.to_lowercase().replace(['-', ' '], "_");
    let name = plain(name);
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&name, &plain(candidate)), candidate))
        .filter(|(distance, candidate)| {
            *distance <= 1 + candidate.chars().count().min(name.chars().count()) / 3
        })
        .min()
}

#[cfg(test)]
mod tests {
    use super::suggest;

    #[test]
    fn nearest_name_or_the_list() {
        assert_eq!(suggest("p5", ["pi4", "pi5"]), "did you mean `pi5`?");
        assert_eq!(suggest("repititions", ["repetitions", "run"]), "did you mean `repetitions`?");
        assert_eq!(suggest("Drop-Caches", ["drop_caches", "run"]), "did you mean `drop_caches`?");
        assert_eq!(suggest("xyz", ["native", "docker"]), "use one of `native`, `docker`");
        assert_eq!(suggest("load", ["load-1", "load-2", "load-x"]), "name one of `load-1`, `load-2`");
        assert_eq!(suggest("x", []), "none is declared");
    }
}
