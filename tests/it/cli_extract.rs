//! `runner extract` as a user types it: one output, and the kept outputs of a run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;
use serde_json::{Value, json};

use crate::cli::runner;

const DD: &str = "1+0 records in\n1+0 records out\n1000 bytes (1.0 kB) copied, 2 s, 0.5 kB/s\n";

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn object(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

#[test]
fn one_output_becomes_one_object() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("dd.txt"), DD).unwrap();
    let output = runner(folder.path(), &["extract", "--tool", "dd", "--stderr", "dd.txt"]);
    assert_eq!(output.status.code(), Some(0));
    let measured = |name: &str, value: f64, unit: &str| json!({"name": name, "value": value, "unit": unit, "labels": {}});
    let expected = json!({"status": "ok", "reason": null, "warnings": [], "measurements": [
        measured("throughput", 500.0, "byte/s"), measured("bytes", 1000.0, "byte"), measured("seconds", 2.0, "s")
    ]});
    assert_eq!(object(&output), expected);

    let mut piped = Command::cargo_bin("runner").unwrap();
    let output = piped.args(["extract", "--tool", "dd"]).write_stdin(DD).output().unwrap();
    assert_eq!(object(&output), expected);
    let mut piped = Command::cargo_bin("runner").unwrap();
    let output = piped.args(["extract", "--tool", "dd", "--stderr", "-"]).write_stdin(DD).output().unwrap();
    assert_eq!(object(&output), expected);
}

#[test]
fn one_that_failed_gives_the_words_of_the_tool() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("dd.txt"), DD).unwrap();
    let arguments = ["extract", "--tool", "dd", "--stderr", "dd.txt", "--exit-code", "137"];
    let output = runner(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(1));
    let failed = object(&output);
    assert_eq!((&failed["status"], &failed["measurements"]), (&json!("failed"), &json!([])));
    assert!(failed["reason"].as_str().unwrap().contains("exit code 137"), "{failed}");
}

#[test]
fn what_is_asked_wrongly_is_told_with_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, code, words) in [
        (&["extract"][..], 2, "--tool"),
        (&["extract", "--tool", "iperf"], 2, "did you mean"),
        (&["extract", "--list", "--tool", "dd"], 2, "cannot be used"),
        (&["extract", "--tool", "dd", "--stdout", "-", "--stderr", "-"], 2, "can't be both outputs"),
        (&["extract", "--tool", "dd", "--stdout", "none"], 4, "could not read `none`"),
        (&["extract", "none"], 4, "none"),
    ] {
        let output = runner(folder.path(), arguments);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {stderr}");
        assert!(stderr.contains(words), "{arguments:?}: {stderr}");
        assert_eq!(text(&output.stdout), "");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is made");
}

#[test]
fn the_list_has_every_tool() {
    let output = runner(Path::new("."), &["extract", "--list"]);
    let list = text(&output.stdout);
    for parser in runner::metrics::TOOLS {
        assert!(list.lines().any(|line| line.starts_with(&format!("{} ", parser.tool()))), "{list}");
    }
    let is_received = |line: &&str| line.starts_with("iperf3 ") && line.contains(" throughput_received ");
    let received = list.lines().find(is_received).unwrap();
    let words: Vec<_> = received.split_whitespace().collect();
    assert_eq!(words, ["iperf3", "throughput_received", "bit/s", "higher", "yes"]);
}

/// A run with outputs of dd whose third trial has a closing line that can't be read.
fn run_of_dd(folder: &Path) -> PathBuf {
    let last = DD.lines().last().unwrap();
    let yaml = format!(
        "workloads:\n  w:\n    run: \"printf '1+0 records in\\n1+0 records out\\n' >&2; [ {{{{ trial.repetition }}}} = 3 ] && echo odd/s >&2 || \
         echo '{last}' >&2\"\n    metrics: {{ tool: dd }}\n    expect: {{ when: throughput > 400 }}\nrepetitions: 3\nseed: 1\n"
    );
    fs::write(folder.join("x.yaml"), yaml).unwrap();
    let output = runner(folder, &["run", "x.yaml"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    folder.join(text(&output.stdout).trim()).parent().unwrap().to_owned()
}

fn records(run: &Path) -> Vec<Value> {
    let text = fs::read_to_string(run.join("records.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn outputs_of_a_run_are_read_again_and_stand_beside_what_was() {
    let folder = tempfile::tempdir().unwrap();
    let run = run_of_dd(folder.path());
    let report = fs::read_to_string(run.join("report.md")).unwrap();
    let extract = || runner(folder.path(), &["extract", &run.display().to_string()]);

    // The parser is the same: nothing changes.
    let before = fs::read_to_string(run.join("records.jsonl")).unwrap();
    let output = extract();
    assert!(text(&output.stderr).contains("3 trials read again, 0 have other values"), "{output:?}");
    assert_eq!(output.status.code(), Some(1), "the third is still failed");
    assert_eq!(fs::read_to_string(run.join("records.jsonl")).unwrap(), before);
    assert_eq!(fs::read_to_string(run.join("report.md")).unwrap(), report);

    // As if an older parser had read another value, and none of what the third has printed.
    fs::write(run.join("records.jsonl"), before.replacen("\"value\":500.0", "\"value\":512.0", 1)).unwrap();
    let third = records(&run).into_iter().find(|record| record["repetition"] == 3).unwrap();
    assert_eq!(third["stage"], "metrics", "{third}");
    let path = third["outputs"][0]["path"].as_str().unwrap();
    assert!(path.ends_with("/3/stderr"), "{path}");
    fs::write(run.join(path), DD).unwrap();
    let output = extract();
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(told.contains("2 have other values"), "{told}");
    assert!(told.contains("throughput is 500 byte/s, was 512 byte/s"), "{told}");
    assert!(told.contains("throughput is 500 byte/s, was missing"), "{told}");

    let now = records(&run);
    assert_eq!(now.len(), 5, "the old records stay");
    let third = &now.iter().rfind(|record| record["repetition"] == 3).unwrap();
    assert_eq!((&third["status"], &third["attempt"]), (&json!("ok"), &json!(1)), "{third}");
    assert_eq!(third["verdicts"]["metrics"], "ok");
    assert_eq!(third["expectations"][0]["holds"], true);
    assert!(third["read_again"].as_str().unwrap().starts_with("runner "), "{third}");
    let report = fs::read_to_string(run.join("report.md")).unwrap();
    assert!(report.contains("3 of 3"), "{report}");
    assert!(report.contains("read again by runner"), "{report}");
    assert!(report.contains("(read again)"), "the old failure stays in sight: {report}");
}

#[test]
fn a_trial_whose_outputs_are_gone_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let run = run_of_dd(folder.path());
    let before = records(&run);
    fs::remove_dir_all(run.join("output")).unwrap();
    let output = runner(folder.path(), &["extract", &run.display().to_string()]);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("stays as it is") && told.contains("can't be read"), "{told}");
    assert_eq!(records(&run), before);
}
