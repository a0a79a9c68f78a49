//! `{{ env.NAME }}`: which variables of the environment an experiment names, and where. Their values are
//! secrets: they come from outside, and nothing here keeps them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::matrix::Exclude;
use super::{Spec, template};
use crate::diagnostic::{Sources, Span};

impl Spec {
    /// Every variable of the environment that the experiment names, with the first place that names it.
    pub fn named_variables(&self, sources: &Sources) -> BTreeMap<String, Span> {
        let mut named = BTreeMap::new();
        let mut add = |name: String| {
            named.entry(name).or_insert_with_key(|name| place(name, sources));
        };
        let value = serde_json::to_value(self).unwrap_or_default();
        each_text(&value, &mut |text| template::variables(template::names_in(text)).for_each(&mut add));
        let excludes = self.matrix.iter().flat_map(|block| &block.exclude);
        let excludes = excludes.filter_map(|exclude| match &exclude.value {
            Exclude::Expression(text) => Some(text.as_str()),
            Exclude::Values(_) => None,
        });
        let expects =
            self.workloads.values().filter_map(|workload| workload.expect.as_ref()?.when.as_deref());
        for text in excludes.chain(expects.map(String::as_str)) {
            template::variables(template::names_in_expression(text)).for_each(&mut add);
        }
        named
    }
}

fn each_text(value: &Value, see: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => see(text),
        Value::Array(list) => list.iter().for_each(|value| each_text(value, see)),
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            see(key);
            each_text(value, see);
        }),
        _ => {}
    }
}

/// Where `env.NAME` is written first.
fn place(name: &str, sources: &Sources) -> Span {
    let written = format!("env.{name}");
    let found = sources.iter().enumerate().find_map(|(file, source)| {
        source.text.find(&written).map(|offset| Span { file, offset, length: written.len() })
    });
    found.unwrap_or_default()
}
