//! The schema for editors: it is the committed one, a schema itself, accepts what is planned, and refuses
//! every mistake that it can see.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use jsonschema::Validator;
use runner::spec::wait::Celsius;
use runner::spec::{TimeSpan, schema};
use serde_json::{Value, json};

pub static SCHEMA: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(&schema()).unwrap());
static VALIDATOR: LazyLock<Validator> = LazyLock::new(|| jsonschema::draft202012::new(&SCHEMA).unwrap());

/// The mistakes of a file that the schema can't see, and where they lie instead.
const BEYOND: &[(&str, &[&str])] = &[
    (
        "syntax",
        &[
            "bad-indentation",
            "braces-before-text",
            "braces-in-lists",
            "colon-in-a-command",
            "duplicate-key",
            "duplicate-key-below-an-unknown-one",
            "many-mistakes-of-form",
            "tabs",
            "unclosed-list",
            "unclosed-quote",
            "unknown-alias",
            "unquoted-braces",
        ],
    ),
    (
        "names",
        &[
            "baseline",
            "baseline-not-measured",
            "block-key",
            "charts",
            "cost-by-size",
            "drop-cache",
            "expectations",
            "include-of-half-a-group",
            "long-names-and-no-time",
            "name-of-several-hosts",
            "native-in-a-container",
            "parameter-of-an-environment",
            "paths-of-files",
            "report-tables",
            "report-units",
            "extract-unit-spelling",
            "several-commands-in-a-list",
            "regular-expressions",
            "report-exclude",
            "rules-of-extract",
            "shells",
            "sources-of-extract",
            "step-on-unknown-host",
            "task-container",
            "task-files-of-a-service",
            "task-step-on-a-cluster",
            "task-native",
            "task-size",
            "task-steps",
            "wait-idle-misspelt",
            "unknown-axis",
            "unknown-names-in-matrix",
            "unknown-tool-and-metric",
        ],
    ),
    (
        "templates",
        &[
            "comment-in-a-command",
            "derived-parameters",
            "derived-value",
            "exclude-evaluation",
            "exclude-expression",
            "expressions-of-other-languages",
            "filter",
            "host-without-part",
            "not-english",
            "secret-in-a-parameter",
            "service-host-of-a-parameter",
            "template-in-extract",
            "template-in-matrix",
            "template-never-closed",
            "template-syntax",
            "unknown-names-in-a-template",
            "values-that-do-not-render",
        ],
    ),
    (
        "product",
        &[
            "caches-below",
            "cost-currencies",
            "cell-twice",
            "comparison-of-text",
            "everything-excluded",
            "exclude-without-effect",
            "include-twice",
            "too-many-cells",
            "too-many-points",
            "too-many-trials",
            "value-twice",
            "zip",
        ],
    ),
    (
        "files",
        &[
            "include-clash",
            "include-loop",
            "include-missing",
            "include-of-an-experiment",
            "include-with-a-mistake",
        ],
    ),
    ("machines", &["ec2-launch", "ssh-address", "two-names-for-one-machine"]),
];

/// A file as an editor sees it: aliases and merge keys resolved, plain scalars as YAML 1.2 reads them.
fn value(yaml: &str) -> Result<Value, String> {
    let options = serde_yaml::options! { strict_booleans: true };
    serde_yaml::from_str_with_options(yaml, options).map_err(|error| error.to_string())
}

/// What the schema says against a file; nothing when it accepts it.
pub fn mistakes(yaml: &str) -> Vec<String> {
    let value = value(yaml).unwrap_or_else(|error| panic!("{error}\n{yaml}"));
    let told = |error: jsonschema::ValidationError<'_>| format!("{}: {error}", error.instance_path());
    VALIDATOR.iter_errors(&value).map(told).collect()
}

fn yaml_files(folder: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "yaml")).collect()
}

/// Asserts that a committed file is what it is made of; with `UPDATE_DOCS` set it is written first.
pub fn assert_fresh(file: &str, text: &str) {
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(file, text).unwrap();
    }
    let is_fresh = fs::read_to_string(file).unwrap_or_default() == text;
    assert!(is_fresh, "{file} is stale: run `UPDATE_DOCS=1 cargo test --test it fresh`");
}

/// `runner schema > schema/experiment.schema.json` writes it too.
#[test]
fn the_committed_schema_is_fresh() {
    assert_fresh("schema/experiment.schema.json", &schema());
}

#[test]
fn it_is_a_schema() {
    jsonschema::draft202012::meta::validate(&SCHEMA).unwrap();
}

#[test]
fn every_valid_file_is_accepted() {
    let mut files: Vec<PathBuf> =
        ["experiments", "experiments/hosts", "lab"].into_iter().flat_map(yaml_files).collect();
    files.push("tests/fixtures/run-docker-vs-native/experiment.yaml".into());
    files.extend(
        yaml_files("tests/problems/parts").into_iter().filter(|path| !path.ends_with("mistake.yaml")),
    );
    assert!(files.len() > 5);
    for file in files {
        let found = mistakes(&fs::read_to_string(&file).unwrap());
        assert!(found.is_empty(), "{}: {found:#?}", file.display());
    }
}

#[test]
fn merge_keys_are_resolved_first() {
    let yaml = "workloads:\n  a: &a { run: x, timeout: 5s }\n  b: { <<: *a, run: y }\n";
    assert_eq!(value(yaml).unwrap()["workloads"]["b"], json!({ "run": "y", "timeout": "5s" }));
    assert_eq!(mistakes(yaml), [""; 0]);
}

#[test]
fn every_mistake_of_form_is_refused_and_no_other() {
    let listed =
        |name: &str| BEYOND.iter().find(|(_, names)| names.contains(&name)).map(|(reason, _)| *reason);
    let mut unseen: Vec<String> =
        BEYOND.iter().flat_map(|(_, names)| *names).map(|name| (*name).to_owned()).collect();
    let mut wrong = String::new();
    for file in yaml_files("tests/problems") {
        let name = file.file_stem().unwrap().to_str().unwrap().strip_prefix("bad-").unwrap();
        let text = fs::read_to_string(&file).unwrap();
        let is_yaml = value(&text).is_ok();
        let is_refused = is_yaml && !mistakes(&text).is_empty();
        if is_refused != listed(name).is_none() || is_yaml == (listed(name) == Some("syntax")) {
            writeln!(wrong, "{name}: YAML {is_yaml}, refused {is_refused}, listed {:?}", listed(name))
                .unwrap();
        }
        unseen.retain(|other| other != name);
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(unseen.is_empty(), "no such file: {unseen:?}");
}

#[test]
fn keys_that_hold_anchors_are_room_for_anything() {
    for (key, is_known) in [("x-sizes", true), ("x-", true), ("sizes", false), ("X-sizes", false)] {
        let yaml = format!("{key}: &sizes [1, 2]\nworkloads: {{ w: {{ run: 'true' }} }}\n");
        assert_eq!(mistakes(&yaml).is_empty(), is_known, "{key}");
        assert_eq!(crate::world::plan(&yaml).is_ok(), is_known, "{key}");
    }
}

#[test]
fn temperatures_are_those_of_the_parser() {
    let form = &SCHEMA["$defs"]["Temperature"];
    for text in ["60C", "60 °C", "72.5C", "60", "60F", "-3C", "1e2C", "C", "hot", ""] {
        let accepted = jsonschema::is_valid(form, &json!(text));
        assert_eq!(accepted, Celsius::parse(text).is_ok(), "{text}");
    }
}

#[test]
fn durations_are_those_of_the_parser() {
    let form = &SCHEMA["$defs"]["Duration"];
    for text in [
        "250ms",
        "30s",
        "1h30m",
        "5 min",
        "1m 30s",
        "2 hours, 5 minutes",
        "1.5s",
        "10us",
        "10µs",
        "30",
        "0.5",
        "5 parsecs",
        "-3s",
        "",
        "s",
        "1h30",
        "5 d",
        "soon",
    ] {
        let accepted = jsonschema::is_valid(form, &json!(text));
        assert_eq!(accepted, TimeSpan::parse(text).is_ok(), "{text}");
    }
}
