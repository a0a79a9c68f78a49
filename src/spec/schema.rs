//! The JSON Schema of experiment files, made from the types that parse them: for editors and validators.
//! It knows form alone; what a name or a template means is the business of `check`. Read [`schema`] first.

mod block;
mod forms;

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::{Value, json};

use super::Spec;
pub(super) use forms::{Amount, Cpus, ExitCodes, Files, Flag, Folder, Port};

/// The JSON Schema (draft 2020-12) of an experiment, an included file and a file given with `--hosts`.
pub fn schema() -> String {
    let settings = SchemaSettings::draft2020_12().with_transform(RecursiveTransform(tidy));
    let mut schema = settings.into_generator().into_root_schema_for::<Spec>();
    schema.insert("$id".into(), "experiment.schema.json".into());
    schema.insert("title".into(), "Experiment".into());
    // Room for anchors, which nothing reads.
    schema.insert("patternProperties".into(), json!({ "^x-": true }));
    serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
}

/// The rule that exactly one of these keys is there.
pub(super) fn exactly_one(keys: &[&str]) -> Value {
    keys.iter().map(|key| json!({ "required": [key] })).collect()
}

/// The rule on the signs of a service: exactly one, where a `delay` is one only when it is alone.
pub(super) fn ready() -> Value {
    let signs = ["port", "log", "command"];
    let alone = json!({ "required": ["delay"], "not": { "anyOf": exactly_one(&signs) } });
    signs.iter().map(|sign| json!({ "required": [sign] })).chain([alone]).collect()
}

/// The rule that these keys of a step stand beside `run`.
pub(super) fn only_with_run(keys: &[&str]) -> Value {
    keys.iter().map(|key| ((*key).to_owned(), json!(["run"]))).collect()
}

/// The rule on the names of hosts, environments and workloads: they become parts of paths.
pub(super) fn names() -> Value {
    json!({ "pattern": r"^[^\s/._-][^\s/]*$" })
}

/// The rule on the names of variables.
pub(super) fn variables() -> Value {
    json!({ "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" })
}

/// The rule on what a template names: parameters and services.
pub(super) fn identifiers() -> Value {
    json!({ "pattern": r"^[^\s\d./-][^\s./-]*$" })
}

/// What holds for every part of the schema: a key that is there has a value, and tells what it is for.
fn tidy(schema: &mut Schema) {
    without_null(schema);
    schema.remove("format");
    describe(schema);
}

/// An `Option` is a key that may be missing, not one that may be empty.
fn without_null(schema: &mut Schema) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = &types[..] {
            let only = only.clone();
            schema.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(kinds)) = schema.get_mut("anyOf") {
        kinds.retain(|kind| kind["type"] != "null");
        if let [Value::Object(only)] = &mut kinds[..] {
            let only = std::mem::take(only);
            schema.remove("anyOf");
            for (key, value) in only {
                schema.ensure_object().entry(key).or_insert(value);
            }
        }
    }
}

/// A doc comment ends with `Default: …. Example: …`: gives each a line, and the meaning of each value of an
/// enum too.
fn describe(schema: &mut Schema) {
    schema.remove("default");
    let Some(written) = schema.get("description").and_then(Value::as_str) else { return };
    let mut paragraphs: Vec<String> =
        written.split("\n\n").map(|paragraph| paragraph.replace('\n', " ")).collect();
    let last = paragraphs.pop_if(|last| last.starts_with("Default: ") || last.starts_with("Example: "));
    paragraphs.extend(meanings(schema));
    if let Some(last) = last {
        let (default, example) =
            last.split_once(" Example: ").unwrap_or(("", last.trim_start_matches("Example: ")));
        if !default.is_empty() {
            let default = default.trim_end_matches('.');
            let value = default.strip_prefix("Default: `").and_then(|text| text.strip_suffix('`'));
            if let Some(value) = value.filter(|value| !value.contains('`')) {
                schema.insert("default".into(), serde_yaml::from_str(value).unwrap_or(Value::Null));
            }
            paragraphs.push(default.to_owned());
        }
        paragraphs.push(format!("Example: {example}"));
    }
    schema.insert("description".into(), paragraphs.join("\n").into());
    if paragraphs.len() > 1 {
        schema.insert("markdownDescription".into(), paragraphs.join("\n\n").into());
    }
}

/// What each value of an enum means.
fn meanings(schema: &Schema) -> Vec<String> {
    let values = schema.get("oneOf").and_then(Value::as_array);
    let meaning = |value: &Value| {
        let (name, meaning) = (value["const"].as_str()?, value["description"].as_str()?);
        Some(format!("`{name}`: {}", meaning.replace('\n', " ")))
    };
    values.into_iter().flatten().filter_map(meaning).collect()
}
