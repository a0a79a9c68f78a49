//! The templates of a report: those that are built in, and those of a folder that replace them or add files. Every
//! value is escaped for the kind of file that it is written into, and undefined names are mistakes. Read
//! [`Templates`].

mod escape;
mod filters;
mod mistake;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{Environment, Error, UndefinedBehavior};

use super::view::ReportView;
use crate::cores::in_order;
use crate::diagnostic::{Problem, Problems, Sources};
use crate::record::{TEMPLATE_ENDING, TemplateFile};

/// The templates that every report has.
const BUILT_IN: [(&str, &str); 5] = [
    ("report.md.j2", include_str!("../../templates/report.md.j2")),
    ("report.html.j2", include_str!("../../templates/report.html.j2")),
    ("tables.html.j2", include_str!("../../templates/tables.html.j2")),
    ("report.css.j2", include_str!("../../templates/report.css.j2")),
    ("report.js.j2", include_str!("../../templates/report.js.j2")),
];
/// Those of them that become files.
const RENDERED: [&str; 2] = ["report.md.j2", "report.html.j2"];
/// Under this name too a built-in template can be included or extended: its own may be taken by the one that does so.
const PREFIX: &str = "built-in/";

/// What a run has besides its reports: no template may write over it.
fn is_taken(file: &str) -> bool {
    let names = ["manifest.json", "records.jsonl", "status.json", "ledger.jsonl"];
    let tables = ["samples.csv", "summary.csv", "series.csv"];
    let is_kept = file.starts_with("experiment") && file.ends_with(".yaml");
    names.contains(&file)
        || tables.contains(&file)
        || is_kept
        || ["output", "hosts", "charts"].contains(&file)
}

/// The templates of one report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Templates {
    own: Vec<TemplateFile>,
}

impl Templates {
    /// The built-in ones, with those of a folder in their place or beside them.
    pub fn new(own: Vec<TemplateFile>) -> Self {
        Templates { own }
    }

    /// Those of the folder.
    pub fn own(&self) -> &[TemplateFile] {
        &self.own
    }

    /// The templates that become files, each with the name of its file: the Markdown report, the HTML report, then
    /// those of the folder itself by name. What begins with `_` or lies in a folder is only a part of others.
    fn rendered(&self) -> Vec<(&str, &str)> {
        let is_whole = |name: &&str| !name.starts_with('_') && !name.contains('/');
        let own = self.own.iter().map(|file| file.name.as_str()).filter(is_whole);
        let more = own.filter(|name| !BUILT_IN.iter().any(|(known, _)| known == name));
        RENDERED
            .into_iter()
            .chain(more)
            .filter_map(|name| Some((name, name.strip_suffix(TEMPLATE_ENDING)?)))
            .collect()
    }

    /// The names of the files besides the two reports.
    pub(super) fn more(&self) -> Vec<String> {
        self.rendered().into_iter().skip(RENDERED.len()).map(|(_, file)| file.to_owned()).collect()
    }

    /// The texts of all files, by name: `report.md`, `report.html`, then the others.
    ///
    /// # Errors
    /// The first mistake in a template, with its place.
    pub(super) fn render(&self, view: &ReportView) -> Result<Vec<(String, String)>, Problems> {
        let mut sources = Sources::default();
        let rendered = self.try_render(view, &mut sources);
        rendered.map_err(|problem| Problems::new(vec![problem], sources))
    }

    /// Every mistake that is found by reading the templates, or the first that is found by rendering `view`.
    pub(super) fn mistakes(&self, view: Option<&ReportView>, sources: &mut Sources) -> Vec<Problem> {
        let taken = self.rendered().into_iter().filter(|(_, file)| is_taken(file));
        let mut problems: Vec<_> = taken
            .map(|(name, file)| {
                Problem::of_file(format!(
                    "the template `{name}` would write over `{file}`, which is the run's own"
                ))
                .help(format!("give it another name, or begin it with `_` if it is only a part: `_{name}`"))
            })
            .collect();
        let mut environment = match environment() {
            Ok(environment) => environment,
            Err(error) => return vec![self.problem(&error, sources)],
        };
        for file in &self.own {
            if let Err(error) = environment.add_template(&file.name, &file.text) {
                problems.push(self.problem(&error, sources));
            }
        }
        if problems.is_empty() {
            problems.extend(view.and_then(|view| self.try_render(view, sources).err()));
        }
        problems
    }

    fn try_render(&self, view: &ReportView, sources: &mut Sources) -> Result<Vec<(String, String)>, Problem> {
        let render = || {
            let mut environment = environment()?;
            for (name, text) in BUILT_IN {
                environment.add_template(name, text)?;
            }
            let again: Vec<_> =
                BUILT_IN.iter().map(|(name, text)| (format!("{PREFIX}{name}"), text)).collect();
            for file in &self.own {
                environment.add_template(&file.name, &file.text)?;
            }
            again.iter().try_for_each(|(name, text)| environment.add_template(name, text))?;
            let view = Value::from(Serde(view));
            let text = |(name, file): (&str, &str)| -> Result<_, Error> {
                Ok((file.to_owned(), environment.get_template(name)?.render(&view)?))
            };
            let (rendered, mut texts) = (self.rendered(), Vec::new());
            let work = |_: &mut (), number: usize| text(rendered[number]);
            in_order(rendered.len(), || (), work, |text| text.map(|text| texts.push(text)))?;
            Ok(texts)
        };
        render().map_err(|error| self.problem(&error, sources))
    }

    fn problem(&self, error: &Error, sources: &mut Sources) -> Problem {
        mistake::problem(error, &self.own, sources)
    }
}

fn environment<'a>() -> Result<Environment<'a>, Error> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_syntax(
        SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build()?,
    );
    environment.set_auto_escape_callback(escape::kind_of);
    environment.set_formatter(escape::write);
    filters::add(&mut environment);
    Ok(environment)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn templates(files: &[(&str, &str)]) -> Templates {
        let file = |(name, text): &(&str, &str)| TemplateFile {
            name: (*name).into(),
            path: PathBuf::from("looks").join(name),
            text: (*text).into(),
        };
        Templates::new(files.iter().map(file).collect())
    }

    fn example() -> ReportView {
        let run: crate::record::Run = crate::report::tests::run();
        ReportView::new(&run, &crate::analysis::summarise(&run))
    }

    #[test]
    fn a_folder_replaces_a_report_and_adds_files() {
        let own = templates(&[
            ("report.md.j2", "{% include '_head.md.j2' %}mine\n"),
            ("_head.md.j2", "# {{ title }}\n"),
            ("title.txt.j2", "{{ title }}"),
            ("parts/no-file.md.j2", ""),
            ("title.html.j2", "<b>{{ title }}</b>"),
        ]);
        let mut view = example();
        view.title = "a|b <c>".into();
        let texts = own.render(&view).unwrap();
        let names: Vec<_> = texts.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["report.md", "report.html", "title.txt", "title.html"]);
        assert_eq!(texts[0].1, "# a\\|b &lt;c>\nmine\n");
        assert!(texts[1].1.starts_with("<!doctype html>"));
        assert_eq!(texts[2].1, "a|b <c>", "a text is not escaped");
        assert_eq!(texts[3].1, "<b>a|b &lt;c&gt;</b>");
    }

    #[test]
    fn a_replaced_report_can_hold_the_built_in_one() {
        let own = templates(&[("report.md.j2", "before\n{% include 'built-in/report.md.j2' %}")]);
        let (plain, own) =
            (Templates::default().render(&example()).unwrap(), own.render(&example()).unwrap());
        assert_eq!(own[0].1, format!("before\n{}", plain[0].1));
        let own = templates(&[(
            "report.html.j2",
            "{% extends 'built-in/report.html.j2' %}{% block footer %}mine{% endblock %}",
        )]);
        assert!(own.render(&example()).unwrap()[1].1.contains("mine"));
    }

    #[test]
    fn a_mistake_has_its_place_and_what_to_do() {
        for (files, message, place, help) in [
            (
                &[("report.md.j2", "# {{ title }}\n\n{{ titel }}\n")][..],
                "`titel` is not defined",
                Some("looks/report.md.j2:3:4"),
                Some("did you mean `title`?"),
            ),
            (
                &[("blog.md.j2", "{% for metric in metrics %}\n{{ metric.tabel }}\n{% endfor %}")],
                "`metric.tabel` is not defined",
                Some("looks/blog.md.j2:2:4"),
                Some("did you mean `table`?"),
            ),
            (
                &[("blog.md.j2", "{% include '_part.md.j2' %}"), ("_part.md.j2", "\n{{ 1 | tabel }}")],
                "unknown filter: filter tabel is unknown",
                Some("looks/_part.md.j2:2:8"),
                None,
            ),
            (
                &[("blog.md.j2", "{{ metrics[90].table }}")],
                "`metrics[90].table` is not defined",
                Some("looks/blog.md.j2:1:4"),
                None,
            ),
            (
                &[("blog.md.j2", "a\n{% if title %}\n")],
                "syntax error: unexpected end of input, expected end of block",
                Some("looks/blog.md.j2"),
                None,
            ),
            (
                &[("blog.md.j2", "{% include 'none.j2' %}")],
                "template not found: tried to include non-existing template 'none.j2'",
                Some("looks/blog.md.j2:1:4"),
                None,
            ),
            (
                &[("summary.csv.j2", "")],
                "the template `summary.csv.j2` would write over `summary.csv`, which is the run's own",
                None,
                None,
            ),
        ] {
            let mut sources = Sources::default();
            let found = templates(files).mistakes(Some(&example()), &mut sources);
            assert_eq!(found.len(), 1, "{found:?}");
            assert_eq!(found[0].message, message);
            let found_place = found[0].span.and_then(|span| sources.place(span)).unwrap_or_default();
            assert!(found_place.starts_with(place.unwrap_or_default()), "{found_place} for {message}");
            if let Some(help) = help {
                assert_eq!(found[0].help.as_deref(), Some(help));
            }
        }
    }
}
