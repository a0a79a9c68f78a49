//! The values of `{{ … }}`: what each name stands for in a cell, and the text that comes out.

use std::collections::BTreeMap;

use minijinja::Value;

use super::Cell;
use crate::spec::{Spec, template};

/// What the names of a template stand for.
#[derive(Debug, Clone, Default)]
pub struct Context(BTreeMap<String, Value>);

impl Context {
    /// The names of every template of `cell`.
    pub fn of_cell(spec: &Spec, cell: &Cell) -> Self {
        let mut point = cell.parameters.clone();
        point.insert("workload".into(), cell.workload.clone());
        point.insert("host".into(), cell.host.clone());
        point.insert("environment".into(), cell.environment.clone());
        Context::of_point(spec, &point)
    }

    /// The names of a combination of axis values.
    pub(super) fn of_point(spec: &Spec, point: &BTreeMap<String, String>) -> Self {
        let mut names: BTreeMap<String, Value> =
            point.iter().map(|(name, text)| (name.clone(), typed(text))).collect();
        if let Some((name, host)) = point.get("host").and_then(|host| spec.hosts.get_key_value(host.as_str()))
        {
            let labels: BTreeMap<&str, Value> =
                host.labels.iter().map(|(label, text)| (label.as_str(), typed(text))).collect();
            let address = host.peer_address.as_ref().or(host.ssh.as_ref().map(|ssh| &ssh.0.address));
            let address = address.map_or("127.0.0.1", |address| address.as_str());
            names.insert("host".into(), minijinja::context! { name => name.value.clone(), address, labels });
        }
        names.insert("env".into(), Value::from(spec.variables.clone()));
        Context(names)
    }

    /// The names that are there before any cell: the variables of the environment.
    pub fn of_variables(spec: &Spec) -> Self {
        Context::default().with("env", Value::from(spec.variables.clone()))
    }

    /// These names and `name`.
    #[must_use]
    pub fn with(&self, name: &str, value: impl Into<Value>) -> Self {
        let mut names = self.0.clone();
        names.insert(name.to_owned(), value.into());
        Context(names)
    }

    /// `text` with every `{{ … }}` replaced.
    ///
    /// # Errors
    /// A name that is not defined, or an expression that fails; told in minijinja's words.
    pub fn render(&self, text: &str) -> Result<String, String> {
        if !template::is_template(text) {
            return Ok(text.to_owned());
        }
        template::environment().render_str(text, &self.0).map_err(told)
    }

    /// Whether the bare expression `text` holds.
    pub fn is_true(&self, text: &str) -> Result<bool, String> {
        let environment = template::environment();
        let value = environment
            .compile_expression(text)
            .and_then(|expression| expression.eval(&self.0))
            .map_err(told)?;
        match value.is_undefined() {
            true => Err(format!("`{text}` is undefined here")),
            false => Ok(value.is_true()),
        }
    }
}

fn told(error: minijinja::Error) -> String {
    error.detail().map_or_else(|| error.kind().to_string(), str::to_owned)
}

/// A number or boolean where the text is exactly how one is written, so that `size >= 512` compares
/// numbers; text such as `3.10` or `0123` stays text.
fn typed(text: &str) -> Value {
    match text {
        "true" => return Value::from(true),
        "false" => return Value::from(false),
        _ => {}
    }
    if let Some(number) = text.parse::<i64>().ok().filter(|number| number.to_string() == text) {
        return Value::from(number);
    }
    match text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::from) {
        Some(number) if number.to_string() == text => number,
        _ => Value::from(text),
    }
}

#[cfg(test)]
mod tests {
    use super::{Context, typed};

    #[test]
    fn text_comes_out_as_it_was_written() {
        for text in [
            "512",
            "-3",
            "0.5",
            "3.10",
            "0123",
            "1e3",
            "yes",
            "true",
            "22:22",
            "4KiB",
            "007",
            "NaN",
            "inf",
            "-0",
            "1.0",
            "1000000000000000000000",
        ] {
            let context = Context::default().with("value", typed(text));
            assert_eq!(context.render("{{ value }}"), Ok(text.to_owned()));
        }
        assert!(typed("512") > typed("64"));
        assert!(typed("3.10").as_str().is_some());
    }
}
