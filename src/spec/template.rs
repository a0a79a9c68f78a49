//! `{{ … }}` in the strings of a file: which names a template uses, and whether they exist where it
//! stands. Rendering is the business of `plan::substitute`.

use std::collections::BTreeSet;
use std::ops::Range;

use minijinja::{Environment, ErrorKind, UndefinedBehavior};

use super::{Text, filters};
use crate::diagnostic::{Problem, Sources, Span, suggest};

/// The template language of experiment files: minijinja, strict about undefined names.
pub fn environment<'a>() -> Environment<'a> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(1_000_000));
    filters::add(&mut environment);
    // minijinja writes `True`; shells and tools want the word as it stands in YAML.
    environment.set_formatter(|out, state, value| match bool::try_from(value.clone()) {
        Ok(flag) if value.kind() == minijinja::value::ValueKind::Bool => Ok(write!(out, "{flag}")?),
        _ => minijinja::escape_formatter(out, state, value),
    });
    environment
}

/// What a variable of the environment begins with.
const VARIABLE: &str = "env.";
/// The name of a map that people take for a text.
const HOST: &str = "host";

/// Whether `text` holds anything to substitute.
pub fn is_template(text: &str) -> bool {
    text.contains("{{") || text.contains("{%") || text.contains("{#")
}

/// The dotted names that the template `text` uses; none if it is no template.
pub fn names_in(text: &str) -> BTreeSet<String> {
    let environment = environment();
    let template = environment.template_from_str(text).ok().filter(|_| is_template(text));
    template.map(|template| template.undeclared_variables(true).into_iter().collect()).unwrap_or_default()
}

/// The dotted names that the bare expression `text` uses; none if it is no expression.
pub fn names_in_expression(text: &str) -> BTreeSet<String> {
    let environment = environment();
    let expression = environment.compile_expression(text);
    expression
        .map(|expression| expression.undeclared_variables(true).into_iter().collect())
        .unwrap_or_default()
}

/// The same without what follows a dot.
pub(super) fn names(text: &str) -> BTreeSet<String> {
    let first = |name: String| name.split('.').next().map(str::to_owned);
    names_in_expression(text).into_iter().filter_map(first).collect()
}

/// Those of `names` that are variables of the environment, without what they begin with.
pub fn variables(names: BTreeSet<String>) -> impl Iterator<Item = String> {
    names.into_iter().filter_map(|name| name.strip_prefix(VARIABLE).map(str::to_owned))
}

/// The dotted names that exist where a template stands, `services.server.port` for one.
#[derive(Debug, Clone, Default)]
pub struct Names(BTreeSet<String>);

impl Names {
    /// These names.
    pub fn new<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Self {
        Names(names.into_iter().map(Into::into).collect())
    }

    /// These names and more.
    #[must_use]
    pub fn with<S: Into<String>>(&self, more: impl IntoIterator<Item = S>) -> Self {
        Names(self.0.iter().cloned().chain(more.into_iter().map(Into::into)).collect())
    }

    /// These names but one.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.0.remove(name);
        self
    }

    /// Variables of the environment are known by who runs it, not by the file.
    fn has(&self, name: &str) -> bool {
        name.starts_with(VARIABLE)
            || self.0.contains(name)
            || self.0.iter().any(|known| known.starts_with(&format!("{name}.")))
    }

    /// Every mistake in the template `text`: its syntax, and names that do not exist here.
    pub fn check(&self, text: &Text, sources: &Sources) -> Vec<Problem> {
        if !is_template(text) {
            return Vec::new();
        }
        if let Some(problem) = of_other_tools(text, sources) {
            return vec![problem];
        }
        let environment = environment();
        match environment.template_from_str(text) {
            Ok(template) => {
                let mut problems = self.unknown(template.undeclared_variables(true), text.span, sources);
                problems.extend(unknown_filters(text, text.span, sources));
                problems
            }
            Err(error) => {
                let span = error.range().map_or(text.span, |range| part(text, range, sources));
                vec![
                    Problem::at(span, format!("bad template: {}", told(&error)))
                        .help("write `{{ name }}`, or `{% raw %}` for braces that stand for themselves"),
                ]
            }
        }
    }

    /// Every mistake in the bare expression `text`.
    pub fn check_expression(&self, text: &str, span: Span, sources: &Sources) -> Vec<Problem> {
        match environment().compile_expression(text) {
            Ok(expression) => {
                let mut problems = self.unknown(expression.undeclared_variables(true), span, sources);
                problems.extend(unknown_filters(&format!("{{{{{text}}}}}"), span, sources));
                problems
            }
            Err(error) => {
                let span = within(span, "{{", sources);
                vec![Problem::at(span, format!("bad expression: {}", told(&error))).help(instead(text))]
            }
        }
    }

    fn unknown(&self, used: impl IntoIterator<Item = String>, span: Span, sources: &Sources) -> Vec<Problem> {
        let mut used: Vec<String> = used.into_iter().collect();
        used.sort();
        used.into_iter().filter_map(|name| self.mistake(&name, span, sources)).collect()
    }

    fn mistake(&self, name: &str, span: Span, sources: &Sources) -> Option<Problem> {
        // A map is never equal to a text and makes no part of a command.
        if name == HOST && self.has(name) && !sources.text(span).contains("host[") {
            return Some(
                Problem::at(within(span, name, sources), "`host` has parts: it is no text by itself")
                    .help("write `host.name`, `host.address` or `host.labels.LABEL`"),
            );
        }
        (!self.has(name)).then(|| {
            Problem::at(within(span, name, sources), format!("unknown name `{name}`"))
                .label("not defined here")
                .help(match self.0.is_empty() {
                    true => "only variables are known here: `{{ env.NAME }}`".to_owned(),
                    false => suggest(name, self.0.iter().map(String::as_str)),
                })
        })
    }
}

/// minijinja looks for a filter only when it runs it; by then machines are at work.
fn unknown_filters(text: &str, span: Span, sources: &Sources) -> Vec<Problem> {
    let is_unknown = |filter: &String| {
        let called = environment().render_str(&format!("{{{{ 1|{filter} }}}}"), ());
        called.is_err_and(|error| error.kind() == ErrorKind::UnknownFilter)
    };
    let problem = |filter: String| {
        Problem::at(within(span, &filter, sources), format!("unknown filter `{filter}`"))
            .label("no filter has this name")
            .help(suggest(&filter, filters::known()))
    };
    filters::used(text).into_iter().filter(is_unknown).map(problem).collect()
}

/// `${{ x }}` would leave a `$` before the value, and the shell would take both for a variable of its own.
fn of_other_tools(text: &Text, sources: &Sources) -> Option<Problem> {
    let start = text.find("${{").filter(|start| !text[start + 3..].starts_with('{'))?;
    let problem = Problem::at(part(text, start..start + 3, sources), "`${{` is not written here");
    Some(
        problem
            .label("the `$` would stay")
            .help("write `{{ name }}`, or `${% raw %}{{{% endraw %}` for the letters"),
    )
}

/// What to write instead of an expression of another language.
fn instead(text: &str) -> &'static str {
    let has_unit = text.split(|c: char| !c.is_alphanumeric() && c != '.').any(|word| {
        word.starts_with(|c: char| c.is_ascii_digit()) && word.ends_with(|c: char| c.is_alphabetic())
    });
    match text {
        _ if text.contains("{{") => "write the names without braces: all of it is an expression",
        _ if text.contains("&&") || text.contains("||") => "`&&` is written `and`, `||` is written `or`",
        _ if has_unit => "write numbers without a unit, and compare with `size|bytes` or in seconds",
        _ if text.contains('=') => "`=` is written `==`; join with `and`, `or`, `not`",
        _ => "compare with `==`, `!=` or `<`; join with `and`, `or`, `not`",
    }
}

fn told(error: &minijinja::Error) -> String {
    error.detail().map_or_else(|| error.kind().to_string(), str::to_owned)
}

/// The place of a `range` of `text`, where the source has the text as it stands; else the whole of it.
fn part(text: &Text, range: Range<usize>, sources: &Sources) -> Span {
    match sources.text(text.span).find(text.as_str()) {
        Some(start) if !range.is_empty() => {
            Span { file: text.span.file, offset: text.span.offset + start + range.start, length: range.len() }
        }
        _ => text.span,
    }
}

/// The place of `name` inside the value at `span`, in braces rather than outside; or the whole of it.
fn within(span: Span, name: &str, sources: &Sources) -> Span {
    let written = sources.text(span);
    let is_in_braces = |start: &usize| {
        let before = &written[..*start];
        before.rfind("{{").max(before.rfind("{%")) > before.rfind("}}").max(before.rfind("%}"))
    };
    let mut starts = written.match_indices(name).map(|(start, _)| start);
    match starts.find(is_in_braces).or_else(|| written.find(name)) {
        Some(start) => Span { file: span.file, offset: span.offset + start, length: name.len() },
        None => span,
    }
}
