//! The filters that templates have beside those of minijinja: tables, and numbers with the digits and in the unit
//! that a text needs.

use std::fmt::Write;

use minijinja::value::{Kwargs, Serde, Value};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, State};
use serde::Deserialize;

use super::escape;
use crate::report::number::{fixed, significant};
use crate::report::trials::CellView;
use crate::report::view::Table;
use crate::report::{markdown, panels};
use crate::units::Scale;

/// Adds them.
pub(super) fn add(environment: &mut Environment<'_>) {
    environment.add_filter("table", |state: &State, table: Value, options: Kwargs| {
        let header: Option<Vec<String>> = options.get("header")?;
        options.assert_all_used()?;
        if table.is_none() {
            let detail = "there is no such table in this run: ask `{% if … %}` before";
            return Err(Error::new(ErrorKind::InvalidOperation, detail));
        }
        if table.is_undefined() {
            let detail = "what stands before `| table` is not defined";
            return Err(Error::new(ErrorKind::InvalidOperation, detail));
        }
        written(state, with_header(Table::deserialize(&table)?, header)?)
    });
    environment.add_filter("align", |text: Value| same_kind(&text, markdown::align));
    environment.add_filter("tidy", |text: Value| same_kind(&text, markdown::tidy));
    environment.add_filter("fixed", |value: f64, digits: u32| fixed(value, digits.min(20) as i32));
    environment.add_filter("significant", |value: f64, digits: u32| {
        significant(value, digits.clamp(1, 17) as usize)
    });
    environment.add_filter("scaled", |value: f64, unit: &str| match Scale::named(unit) {
        Some((_, scale)) => Ok(scale.apply(value)),
        None => {
            let detail = format!("`{unit}` is no unit that values are shown in, such as `MB/s` or `ms`");
            Err(Error::new(ErrorKind::InvalidOperation, detail))
        }
    });
    environment.add_filter("panels", |cells: Serde<Vec<CellView>>| {
        panels::json(&cells).map(Value::from_safe_string).map_err(|error| {
            Error::new(ErrorKind::BadSerialization, "the cells have no JSON").with_source(error)
        })
    });
}

/// What `change` makes of a text, to be escaped only if the text is.
fn same_kind(text: &Value, change: fn(&str) -> String) -> Value {
    let changed = change(&text.to_string());
    if text.is_safe() { Value::from_safe_string(changed) } else { Value::from(changed) }
}

/// The table with other words above its columns.
fn with_header(mut table: Table, header: Option<Vec<String>>) -> Result<Table, Error> {
    let Some(header) = header else { return Ok(table) };
    if header.len() != table.columns.len() {
        let detail = format!("`header` has {} texts for {} columns", header.len(), table.columns.len());
        return Err(Error::new(ErrorKind::InvalidOperation, detail));
    }
    table.columns.iter_mut().zip(header).for_each(|(column, text)| column.header = text);
    Ok(table)
}

/// A table as the file that is written shows one.
fn written(state: &State, table: Table) -> Result<Value, Error> {
    Ok(match state.auto_escape() {
        AutoEscape::Html => Value::from_safe_string(html(&table)),
        _ if escape::is_markdown(state) => Value::from_safe_string(markdown::table(&table)),
        _ => Value::from(markdown::table(&table)),
    })
}

fn html(table: &Table) -> String {
    let mut text = String::from("<table>\n<thead><tr>");
    let class = |index: usize| match table.columns.get(index).is_some_and(|column| column.numeric) {
        true => " class=\"number\"",
        false => "",
    };
    // Writing to a string can't fail.
    for (index, column) in table.columns.iter().enumerate() {
        let _ = write!(text, "<th{}>{}</th>", class(index), escape::html(&column.header));
    }
    text.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        text.push_str("<tr>");
        for (index, field) in row.iter().enumerate() {
            let _ = write!(text, "<td{}>{}</td>", class(index), escape::html(field).replace('\n', "<br>"));
        }
        text.push_str("</tr>\n");
    }
    text.push_str("</tbody>\n</table>");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::view::Column;

    fn render(name: &str, template: &str) -> Result<String, String> {
        let environment = super::super::environment().unwrap();
        let columns = vec![Column::text("host"), Column::number("a<b")];
        let table = Table::new(columns, vec![vec!["x|y".into(), "1".into()]]);
        let context = minijinja::context!(table => Value::from(Serde(&table)), rate => 94_234_567.0);
        environment.render_named_str(name, template, context).map_err(|error| error.to_string())
    }

    #[test]
    fn a_table_is_that_of_its_file() {
        let markdown = "| host | a&lt;b |\n| ---- | -----: |\n| x\\|y |      1 |";
        assert_eq!(render("t.md.j2", "{{ table | table }}").unwrap(), markdown);
        let html = "<table>\n<thead><tr><th>host</th><th class=\"number\">a&lt;b</th></tr></thead>\n<tbody>\n\
            <tr><td>x|y</td><td class=\"number\">1</td></tr>\n</tbody>\n</table>";
        assert_eq!(render("t.html.j2", "{{ table | table }}").unwrap(), html);
        let korean = "| 장비 | 속도 |\n| ---- | ---: |\n| x\\|y |    1 |";
        assert_eq!(render("t.md.j2", "{{ table | table(header=['장비', '속도']) }}").unwrap(), korean);
        let error = render("t.md.j2", "{{ table | table(header=['x']) }}").unwrap_err();
        assert!(error.contains("`header` has 1 texts for 2 columns"), "{error}");
    }

    #[test]
    fn numbers_have_the_digits_and_the_unit_that_are_asked_for() {
        for (template, text) in [
            ("{{ rate | scaled('MB/s') | fixed(2) }}", "94.23"),
            ("{{ rate | scaled('MiB/s') | significant(3) }}", "89.9"),
            ("{{ 1 | fixed(0) }}", "1"),
        ] {
            assert_eq!(render("t.md.j2", template).unwrap(), text);
        }
        assert!(
            render("t.md.j2", "{{ rate | scaled('furlong') }}").unwrap_err().contains("`furlong` is no unit")
        );
        assert!(render("t.md.j2", "{{ titel }}").is_err());
    }
}
