//! The template engine: undefined names are errors, and every value is escaped for Markdown unless a filter
//! made it. Templates lie in `templates/` and are built in.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, Error, UndefinedBehavior};

use super::markdown;
use super::view::{ReportView, Table};

const REPORT: &str = "report.md.j2";

/// The Markdown report.
pub(super) fn report(view: &ReportView) -> Result<String, Error> {
    let mut environment = markdown_environment()?;
    environment.add_template(REPORT, include_str!("../../templates/report.md.j2"))?;
    environment.get_template(REPORT)?.render(Serde(view))
}

fn markdown_environment() -> Result<Environment<'static>, Error> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_syntax(
        SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build()?,
    );
    // Escaping on, so that the text of a macro counts as safe and is not escaped again.
    environment.set_auto_escape_callback(|_| AutoEscape::Custom("markdown".into()));
    environment.set_formatter(|out, _, value| {
        let text = value.to_string();
        out.write_str(&if value.is_safe() { text } else { markdown::escape(&text) }).map_err(Error::from)
    });
    environment.add_filter("table", |table: Serde<Table>| Value::from_safe_string(table.to_markdown()));
    Ok(environment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_escaped_and_undefined_names_are_errors() {
        let environment = markdown_environment().unwrap();
        let context = minijinja::context!(title => "a|b <c>");
        assert_eq!(environment.render_str("# {{ title }}", &context).unwrap(), "# a\\|b &lt;c>");
        assert!(environment.render_str("{{ titel }}", &context).is_err());
    }
}
