//! Tool outputs with their right values: every recorded output of `fixtures/samples` against the `expected.json`
//! beside it, and these and the cases of `cases.rs` cut short and damaged.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use runner::metrics::{Measurement, Reading, TOOLS, ToolOutput, Values, parser, read_tool};
use runner::units::{Scale, Unit};
use serde_json::{Value, json};

use crate::cases::is_of_another_module;

/// An output as it was recorded, and what is expected of it.
struct Recorded {
    name: String,
    tool: String,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    exit_code: Option<i32>,
    expected: Value,
    /// Whether `expected` names every value.
    is_whole: bool,
}

impl Recorded {
    fn read(&self) -> Reading {
        self.read_cut(usize::MAX)
    }

    /// The reading when both outputs end after `length` bytes.
    fn read_cut(&self, length: usize) -> Reading {
        let cut = |bytes: &[u8]| bytes[..length.min(bytes.len())].to_vec();
        let (stdout, stderr) = (&cut(&self.stdout), &cut(&self.stderr));
        let parser = parser(&self.tool).unwrap_or_else(|| panic!("{}: no parser", self.name));
        read_tool(parser, ToolOutput { stdout, stderr, exit_code: self.exit_code })
    }
}

fn fixtures(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(kind)
}

pub fn folders(kind: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(fixtures(kind)).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<_> = entries.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

pub fn json_of(file: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap_or_else(|e| panic!("{file:?}: {e}"))
}

/// The inputs of one case: where it names several files, each is one.
fn recorded(folder: &Path, case: &Value, is_whole: bool) -> Vec<Recorded> {
    let (input, expect) = (&case["input"], &case["expect"]);
    let bytes = |name: &Value| match name.as_str() {
        None | Some("") => Vec::new(),
        Some(file) => fs::read(folder.join(file)).unwrap(),
    };
    let one = |name: String, stdout: &Value, stderr: &Value, code: &Value, expected: &Value| Recorded {
        name,
        tool: input["tool"].as_str().unwrap().to_owned(),
        stdout: bytes(stdout),
        stderr: bytes(stderr),
        exit_code: code.as_i64().map(|code| i32::try_from(code).unwrap()),
        expected: expected.clone(),
        is_whole,
    };
    let case = case["case"].as_str().unwrap();
    let Some(files) = expect["per_file"].as_object() else {
        return vec![one(case.to_owned(), &input["stdout"], &input["stderr"], &input["exit_code"], expect)];
    };
    let each = files.iter().map(|(file, expected)| {
        let code = input["exit_code"].get(file).unwrap_or(&input["exit_code"]);
        let (name, file) = (format!("{case}: {file}"), json!(file));
        one(name, &Value::Null, &file, code, expected)
    });
    each.collect()
}

/// The cases whose input is the output of a tool.
fn cases() -> Vec<Recorded> {
    let of_folder = |folder: PathBuf| recorded_of(&folder, &json_of(&folder.join("expected.json")), false);
    folders("cases").into_iter().flat_map(of_folder).collect()
}

/// The inputs of a case; none if it is another module's.
fn recorded_of(folder: &Path, case: &Value, is_whole: bool) -> Vec<Recorded> {
    match is_of_another_module(case["input"]["tool"].as_str().unwrap()) {
        true => Vec::new(),
        false => recorded(folder, case, is_whole),
    }
}

fn samples() -> Vec<Recorded> {
    let of_folder = |folder: PathBuf| {
        let cases = json_of(&folder.join("expected.json")).as_array().unwrap().clone();
        cases.iter().flat_map(|case| recorded_of(&folder, case, true)).collect::<Vec<_>>()
    };
    folders("samples").into_iter().flat_map(of_folder).collect()
}

fn all() -> Vec<Recorded> {
    cases().into_iter().chain(samples()).collect()
}

pub fn texts<'a>(expected: &'a Value, key: &str) -> impl Iterator<Item = &'a str> {
    expected[key].as_array().into_iter().flatten().map(|text| text.as_str().unwrap())
}

#[test]
fn samples_give_their_right_values() {
    samples().iter().for_each(check);
}

#[test]
fn every_tool_has_samples() {
    let tools: BTreeSet<String> = samples().into_iter().map(|sample| sample.tool).collect();
    assert_eq!(tools, TOOLS.iter().map(|parser| parser.tool().to_owned()).collect());
}

/// Reads all inputs of a case of a tool.
pub fn check_case(folder: &Path, case: &Value) {
    let all = recorded(folder, case, false);
    all.iter().for_each(check);
    for recorded in &all {
        let Reading::Ok(Values { measurements, .. }) = recorded.read() else { continue };
        for wrong in texts(&case["expect"], "must_not") {
            let named = measurements.iter().find(|measurement| is_wrong(measurement, wrong));
            assert_eq!(named, None, "{}: {wrong}", recorded.name);
        }
    }
}

/// Whether a measurement is what a case must not give. Its texts are for people; checked are those that begin
/// with a value and its unit (`12.2 Gbit/s`), or with a metric and a value (`retransmits 0`, `read = 9959`).
fn is_wrong(measurement: &Measurement, wrong: &str) -> bool {
    let words: Vec<&str> = wrong.split(' ').filter(|word| *word != "=").collect();
    let is_near = |value: f64| (measurement.value - value).abs() <= 1e-3 * value.abs();
    let number = |index: usize| words.get(index)?.parse::<f64>().ok();
    let scaled = |value: f64, index: usize| {
        let (unit, scale) = Scale::named(words.get(index)?)?;
        (unit == measurement.unit).then(|| scale.to_base(value))
    };
    match (number(0), number(1)) {
        (Some(value), _) => scaled(value, 1).is_some_and(is_near),
        (None, Some(value)) => {
            let is_named =
                measurement.name.split('_').any(|part| part == words[0]) || measurement.name == words[0];
            is_named && is_near(scaled(value, 2).unwrap_or(value))
        }
        (None, None) => false,
    }
}

#[test]
fn what_a_case_must_not_give_is_recognised() {
    for (name, value, unit, wrong, is) in [
        ("throughput_sent", 12.2e9, "bit/s", "12.2 Gbit/s", true),
        ("throughput", 91_120_205.0, "byte/s", "86.9 MiB/s", true),
        ("throughput", 86_881_453.0, "byte/s", "86.9 MiB/s", false),
        ("throughput", 21.2e6, "byte/s", "21.2 Mbit/s", false),
        ("retransmits", 0.0, "count", "retransmits 0", true),
        ("latency_p50", 0.987, "s", "p50 987 ms", true),
        ("latency_p50", 0.000_987, "s", "p50 987 ms", false),
        ("read", 9959.0, "byte/s", "read = 9959", true),
        ("write", 9959.0, "byte/s", "read = 9959", false),
        ("write", 9959.0, "byte/s", "trailing characters error", false),
    ] {
        let unit = Unit::from(unit.to_owned());
        let (better, fixed, labels) = (None, None, BTreeMap::new());
        let measurement = Measurement { name: name.to_owned(), value, unit, better, fixed, labels };
        assert_eq!(is_wrong(&measurement, wrong), is, "{name} {value}: {wrong}");
    }
}

/// What `expect` and each of its `per_file` may say: all of it is checked, but for the class of an error, which
/// is in its words, and what is wrong in prose.
const SAID: [&str; 13] = [
    "status",
    "or_status",
    "reason",
    "error_contains",
    "error_class",
    "warning_contains",
    "warnings",
    "version",
    "metrics",
    "results",
    "absent_metrics",
    "estimate_allowed",
    "must_not",
];

fn check(recorded: &Recorded) {
    let (name, expected) = (&recorded.name, &recorded.expected);
    for key in expected.as_object().unwrap().keys() {
        assert!(SAID.contains(&key.as_str()), "{name}: nothing checks `{key}`");
    }
    let status = expected["status"].as_str().unwrap();
    let or_failed = expected["or_status"].as_str().is_some_and(|status| status.starts_with("failed"));
    match recorded.read() {
        Reading::Failed { reason } => {
            assert!(status == "failed" || or_failed, "{name}: {reason}");
            for words in texts(expected, "error_contains") {
                assert!(reason.contains(words), "{name}: `{words}` is not in: {reason}");
            }
            if let Some(words) = expected["reason"].as_str() {
                assert_eq!(reason, words, "{name}");
            }
        }
        Reading::Ok(values) => {
            assert!(["ok", "ok_with_warning", "mixed"].contains(&status), "{name}: {values:?}");
            check_values(recorded, &values);
        }
    }
}

/// The labels of an expected metric: `labels`, iozone's two sizes, and `[job N]` behind a name.
fn labels(metric: &Value) -> (String, BTreeMap<String, String>) {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut labels = BTreeMap::new();
    for (label, value) in metric["labels"].as_object().into_iter().flatten() {
        labels.insert(label.clone(), text(value));
    }
    for label in ["file_kB", "reclen_kB"] {
        labels.extend(metric.get(label).map(|value| (label.to_owned(), text(value))));
    }
    let name = metric["name"].as_str().unwrap();
    match name.strip_suffix(']').and_then(|name| name.split_once("[job ")) {
        Some((name, job)) => {
            labels.insert("job".to_owned(), job.to_owned());
            (name.to_owned(), labels)
        }
        None => (name.to_owned(), labels),
    }
}

/// A value in its base unit: cases may give milliseconds.
fn in_base_unit(metric: &Value) -> (f64, &str) {
    let (value, unit) = (metric["value"].as_f64().unwrap(), metric["unit"].as_str().unwrap());
    if unit == "ms" { (value / 1000.0, "s") } else { (value, unit) }
}

/// Case 072 alone calls dd's throughput by the direction of its transfer.
fn own_name<'a>(recorded: &Recorded, name: &'a str) -> &'a str {
    if recorded.tool == "dd" && name == "write_rate" { "throughput" } else { name }
}

fn check_values(recorded: &Recorded, values: &Values) {
    let (name, expected) = (&recorded.name, &recorded.expected);
    let Values { measurements, warnings, version, .. } = values;
    for words in texts(expected, "warning_contains") {
        assert!(warnings.iter().any(|warning| warning.contains(words)), "{name}: {words}: {warnings:?}");
    }
    assert!(expected["status"] != "ok_with_warning" || !warnings.is_empty(), "{name}: no warning");
    if recorded.is_whole {
        let told = expected["warnings"].as_array().cloned().unwrap_or_default();
        assert_eq!(json!(warnings), json!(told), "{name}");
        assert_eq!(version.as_deref(), expected["version"].as_str(), "{name}");
    }
    let mut wanted: Vec<Value> = expected["metrics"].as_array().cloned().unwrap_or_default();
    for result in expected["results"].as_array().into_iter().flatten() {
        for metric in result["metrics"].as_array().unwrap() {
            let mut metric = metric.clone();
            metric["labels"] = json!({ "command": result["command"] });
            wanted.push(metric);
        }
        if result["status"] == "failed" {
            let command = result["command"].as_str().unwrap();
            let is_of = |m: &&Measurement| m.labels.get("command").is_some_and(|one| one == command);
            assert_eq!(measurements.iter().find(is_of), None, "{name}");
        }
    }
    for metric in &wanted {
        let (metric_name, labels) = labels(metric);
        let metric_name = own_name(recorded, &metric_name);
        let is_wanted = |m: &&Measurement| m.name == metric_name && m.labels == labels;
        let found: Vec<_> = measurements.iter().filter(is_wanted).collect();
        assert_eq!(found.len(), 1, "{name}: {metric} in {measurements:#?}");
        let (value, unit) = in_base_unit(metric);
        assert_eq!(found[0].unit.as_str(), unit, "{name}: {metric}");
        let tolerance = metric["tolerance_rel"].as_f64().unwrap_or(1e-9);
        assert!((found[0].value - value).abs() <= tolerance * value.abs(), "{name}: {metric}: {found:?}");
    }
    if recorded.is_whole {
        assert_eq!(measurements.len(), wanted.len(), "{name}: {measurements:#?}");
    }
    for estimate in expected["estimate_allowed"].as_array().into_iter().flatten() {
        let found = measurements.iter().find(|m| estimate["name"] == m.name);
        assert!(found.is_none_or(|m| estimate["value"] == m.value), "{name}: {found:?}");
    }
    for absent in texts(expected, "absent_metrics") {
        assert!(measurements.iter().all(|m| m.name != absent), "{name}: {absent} is there");
    }
}

#[test]
fn every_sample_is_expected() {
    for folder in folders("samples") {
        let cases = json_of(&folder.join("expected.json"));
        let named = |case: &Value| {
            let files = [&case["input"]["stdout"], &case["input"]["stderr"], &case["input"]["also"]];
            files.into_iter().filter_map(|file| file.as_str().map(str::to_owned)).collect::<Vec<_>>()
        };
        let named: BTreeSet<_> = cases.as_array().unwrap().iter().flat_map(named).collect();
        let files = fs::read_dir(&folder).unwrap();
        let mut files: BTreeSet<_> =
            files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        files.remove("expected.json");
        assert_eq!(files, named, "{folder:?}");
    }
}

/// What a parser gives is what it says that it gives.
#[test]
fn every_value_is_of_a_declared_metric() {
    for recorded in all() {
        let Reading::Ok(values) = recorded.read() else { continue };
        let parser = parser(&recorded.tool).unwrap();
        let declared = parser.metrics();
        for found in values.measurements {
            match declared.iter().find(|metric| metric.name == found.name) {
                Some(metric) => {
                    // With `-O`, iozone counts operations under the names of its rates.
                    let counts = recorded.tool == "iozone" && found.unit == Unit::PerSecond;
                    // A table that tells its unit is one of times.
                    let times = recorded.tool == "histogram" && found.unit == Unit::Second;
                    if times {
                        continue;
                    }
                    let unit = if counts { &found.unit } else { &metric.unit };
                    assert_eq!((unit, metric.better), (&found.unit, found.better), "{}", found.name)
                }
                None => assert!(parser.names_more(), "{}: {}", recorded.name, found.name),
            }
        }
    }
}

#[test]
fn tools_are_in_order_and_their_metrics_have_one_meaning() {
    assert!(TOOLS.is_sorted_by_key(|parser| parser.tool()));
    for parser in TOOLS {
        let metrics = parser.metrics();
        let names: BTreeSet<_> = metrics.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), metrics.len(), "{}", parser.tool());
        assert!(metrics.iter().any(|metric| metric.headline) || parser.names_more(), "{}", parser.tool());
    }
}

/// Every recorded output, with an exit code of 0: the worst case, in which nothing else says that it failed.
fn all_as_succeeded() -> Vec<Recorded> {
    let mut all = all();
    all.iter_mut().for_each(|recorded| recorded.exit_code = Some(0));
    all
}

/// Cuts every fixture at any byte (in the first part of long ones: at some): no value may come out that
/// the whole does not have.
#[test]
fn a_cut_output_gives_no_other_value() {
    for recorded in all_as_succeeded() {
        let whole = match recorded.read() {
            Reading::Ok(values) => values.measurements,
            Reading::Failed { .. } => Vec::new(),
        };
        let length = recorded.stdout.len().max(recorded.stderr.len());
        let tail = length.saturating_sub(1200);
        for cut in (0..tail).step_by(1 + tail / 200).chain(tail..length) {
            if let Reading::Ok(values) = recorded.read_cut(cut) {
                assert!(!values.measurements.is_empty());
                for measurement in values.measurements {
                    assert!(whole.contains(&measurement), "{} cut at {cut}: {measurement:?}", recorded.name);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    /// Whatever the bytes are, reading ends without a panic and gives only finite values.
    #[test]
    fn any_bytes_are_survived(index in 0_usize..1000, damage in prop::collection::vec((any::<usize>(), any::<u8>()), 1..8)) {
        let mut all = all_as_succeeded();
        let chosen = index % all.len();
        let recorded = &mut all[chosen];
        for (position, byte) in damage {
            for bytes in [&mut recorded.stdout, &mut recorded.stderr] {
                if !bytes.is_empty() {
                    let position = position % bytes.len();
                    bytes[position] = byte;
                }
            }
        }
        if let Reading::Ok(values) = recorded.read() {
            prop_assert!(values.measurements.iter().all(|m| m.value.is_finite()));
        }
    }
}
