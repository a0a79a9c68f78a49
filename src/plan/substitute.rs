//! The values of `{{ … }}`: what each name stands for in a cell, and the text that comes out.

use std::collections::BTreeMap;
use std::sync::Arc;

use minijinja::value::Object;
use minijinja::{Error, Value};

use super::{Cell, conditions};
use crate::spec::host::Kind;
use crate::spec::{Host, Spec, template};

/// What the names of a template stand for.
#[derive(Debug, Clone, Default)]
pub struct Context(Vec<(Arc<str>, Value)>);

impl Object for Context {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let key = key.as_str()?;
        self.0.iter().find(|(name, _)| &**name == key).map(|(_, value)| value.clone())
    }
}

impl Context {
    /// These names.
    pub(super) fn new<'a>(names: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        Context(names.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }

    /// The names of every template of `cell`.
    pub fn of_cell(spec: &Spec, cell: &Cell) -> Self {
        Context::of_point(spec, [&cell.workload, &cell.host, &cell.environment], &cell.parameters)
    }

    /// The same of a point with these names of workload, host and environment.
    pub fn of_point(
        spec: &Spec,
        [workload, on, environment]: [&str; 3],
        parameters: &BTreeMap<String, String>,
    ) -> Self {
        let parameters = parameters.iter().map(|(name, text)| (name.as_str(), typed(text)));
        let declared = spec.hosts.get_key_value(on).map(|(name, declared)| host(name, declared));
        let fixed = [
            ("workload", typed(workload)),
            ("host", declared.unwrap_or_else(|| typed(on))),
            ("environment", typed(environment)),
            (VARIABLES, variables(spec)),
        ];
        Context::new(parameters.chain(fixed))
    }

    /// The names of a cell that was kept: of its host the name and these labels.
    pub fn of_kept(
        [workload, host, environment]: [&str; 3],
        labels: Option<&BTreeMap<String, String>>,
        parameters: &BTreeMap<String, String>,
    ) -> Self {
        let typed_all = |map: &BTreeMap<String, String>| -> BTreeMap<String, Value> {
            map.iter().map(|(name, text)| (name.clone(), typed(text))).collect()
        };
        let labels = labels.map(typed_all).unwrap_or_default();
        let parameters = typed_all(parameters);
        let parameters = parameters.iter().map(|(name, value)| (name.as_str(), value.clone()));
        let fixed = [
            ("workload", typed(workload)),
            ("host", minijinja::context! { name => host, labels }),
            ("environment", typed(environment)),
        ];
        Context::new(parameters.chain(fixed))
    }

    /// The same names with another host.
    pub fn with_host(&self, name: &str, declared: &Host) -> Self {
        self.with("host", host(name, declared))
    }

    /// The names that are there before any cell: the variables of the environment.
    pub fn of_variables(spec: &Spec) -> Self {
        Context::new([(VARIABLES, variables(spec))])
    }

    /// These names and `name`.
    #[must_use]
    pub fn with(&self, name: &str, value: impl Into<Value>) -> Self {
        let mut names = self.clone();
        match names.0.iter().position(|(known, _)| &**known == name) {
            Some(number) => names.set(number, value.into()),
            None => names.0.push((name.into(), value.into())),
        }
        names
    }

    /// Sets the value of name number `number`.
    pub(super) fn set(&mut self, number: usize, value: Value) {
        if let Some((_, old)) = self.0.get_mut(number) {
            *old = value;
        }
    }

    /// The value of name number `number`.
    pub(super) fn value(&self, number: usize) -> Value {
        self.0.get(number).map(|(_, value)| value.clone()).unwrap_or_default()
    }

    /// These names as what minijinja evaluates in; they are shared, not copied.
    pub(super) fn as_value(self: &Arc<Self>) -> Value {
        Value::from_dyn_object(self.clone())
    }

    /// `text` with every `{{ … }}` replaced.
    ///
    /// # Errors
    /// A name that is not defined, or an expression that fails; told in minijinja's words.
    pub fn render(&self, text: &str) -> Result<String, String> {
        if !template::is_template(text) {
            return Ok(text.to_owned());
        }
        template::environment().render_str(text, Value::from_object(self.clone())).map_err(told)
    }

    /// Whether the bare expression `text` holds.
    ///
    /// # Errors
    /// As [`Context::render`].
    pub fn is_true(&self, text: &str) -> Result<bool, String> {
        let environment = template::environment();
        let eval = |part: &str| {
            environment.compile_expression(part).ok()?.eval(Value::from_object(self.clone())).ok()
        };
        if let Some(reason) = conditions::incomparable(text, &eval) {
            return Err(reason);
        }
        let value = environment
            .compile_expression(text)
            .and_then(|expression| expression.eval(Value::from_object(self.clone())))
            .map_err(told)?;
        match value.is_undefined() {
            true => Err(format!("`{text}` is undefined here")),
            false => Ok(value.is_true()),
        }
    }
}

/// The name of the variables of the environment.
pub(super) const VARIABLES: &str = "env";

/// The variables of the environment as templates see them.
pub(super) fn variables(spec: &Spec) -> Value {
    Value::from(spec.variables.clone())
}

/// A host as templates see it: its name, its address for its peers, its labels.
pub(super) fn host(name: &str, host: &Host) -> Value {
    let labels = host.labels.iter().map(|(label, text)| (label.as_str(), typed(text)));
    let labels: BTreeMap<&str, Value> = labels.collect();
    let address = match (&host.peer_address, host.kind()) {
        (Some(address), _) => address.value.clone(),
        (None, Kind::Ssh(ssh)) => ssh.address.value.clone(),
        (None, Kind::Local) => "127.0.0.1".to_owned(),
        // Known once it is up, when it becomes its `peer_address`; until then, a name that nobody has (RFC 2606).
        (None, _) => format!("{name}.invalid"),
    };
    minijinja::context! { name, address, labels }
}

/// What minijinja says went wrong.
pub(super) fn told(error: Error) -> String {
    error.detail().map_or_else(|| error.kind().to_string(), str::to_owned)
}

/// A number or boolean where the text is exactly how one is written, so that `size >= 512` compares
/// numbers; text such as `3.10` or `0123` stays text.
pub fn typed(text: &str) -> Value {
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
