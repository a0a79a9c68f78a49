//! `runner run FILE --resume` on this machine: what is missing is done, what is done stays, and a changed
//! experiment is refused. Kills and full disks are in `tests/live/resume.rs`.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::cli::{folder_with, runner, texts};

const TWO: &str = "workloads:\n  a: { run: echo a }\n  b: { run: echo b }\nrepetitions: 3\nwarmup: 1\n";

/// The only run of `nap.yaml`.
fn run_directory(folder: &Path) -> PathBuf {
    let runs = fs::read_dir(folder.join("results/nap")).unwrap().map(|entry| entry.unwrap().path());
    let runs: Vec<_> = runs.filter(|path| path.is_dir()).collect();
    assert_eq!(runs.len(), 1, "a run that is gone on with stays one");
    runs[0].clone()
}

/// Runs `nap.yaml`, and asserts how it ends. Returns what it says.
#[track_caller]
fn run(folder: &Path, arguments: &str, code: i32) -> String {
    let words: Vec<&str> = ["run", "nap.yaml"].into_iter().chain(arguments.split_whitespace()).collect();
    let output = runner(folder, &words);
    let (_, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(code), "{arguments}: {stderr}");
    stderr
}

fn lines(directory: &Path) -> Vec<String> {
    let text = fs::read_to_string(directory.join("records.jsonl")).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn records(directory: &Path) -> Vec<Value> {
    lines(directory).iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Trial, attempt and status of each record.
fn attempts(directory: &Path) -> Vec<(String, u64, String)> {
    let text = |record: &Value, key: &str| record[key].as_str().unwrap().to_owned();
    let of =
        |record: &Value| (text(record, "trial"), record["attempt"].as_u64().unwrap(), text(record, "status"));
    records(directory).iter().map(of).collect()
}

fn manifest(directory: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(directory.join("manifest.json")).unwrap()).unwrap()
}

/// What a kill leaves after `kept` whole records: no end, and of the next record a part.
fn kill_after(directory: &Path, kept: usize, part: usize) {
    let all = lines(directory);
    let mut text: String = all[..kept].iter().map(|line| format!("{line}\n")).collect();
    text.push_str(&all[kept][..part]);
    fs::write(directory.join("records.jsonl"), text).unwrap();
    let mut manifest = manifest(directory);
    manifest["ended"] = Value::Null;
    manifest["counts"] = serde_json::json!({});
    manifest["sittings"][0]["ended"] = Value::Null;
    fs::write(directory.join("manifest.json"), manifest.to_string()).unwrap();
}

#[test]
fn what_is_missing_is_done_in_the_order_of_the_run() {
    let folder = folder_with(TWO);
    run(folder.path(), "", 0);
    let directory = run_directory(folder.path());
    let (whole, whole_lines) = (attempts(&directory), lines(&directory));
    assert_eq!(whole.len(), 8);
    for (kept, part) in [(0, 0), (0, 40), (3, 1), (5, 200), (7, 0)] {
        kill_after(&directory, kept, part);
        let said = run(folder.path(), "--resume", 0);
        let measured = |all: Vec<(String, u64, String)>| {
            all.into_iter().filter(|(trial, ..)| !trial.contains("#warmup")).collect::<Vec<_>>()
        };
        let again = attempts(&directory);
        assert_eq!(again[..kept], whole[..kept]);
        assert_eq!(
            measured(again.clone()),
            measured(whole.clone()),
            "after {kept} records the rest, in order"
        );
        // What an earlier sitting has warmed is cold: each cell of which something is measured warms up again.
        let due: BTreeSet<&str> =
            whole[kept..].iter().filter_map(|(trial, ..)| Some(trial.split_once('#')?.0)).collect();
        let warmed = |all: &[(String, u64, String)]| {
            let of = all.iter().filter(|(trial, ..)| trial.contains("#warmup"));
            of.map(|(trial, ..)| trial.split_once('#').unwrap().0.to_owned()).collect::<BTreeSet<_>>()
        };
        assert_eq!(warmed(&again[kept..]), due.iter().map(|cell| (*cell).to_owned()).collect());
        let warm = kept.min(2)
            - warmed(&whole[..kept.min(2)]).iter().filter(|cell| due.contains(cell.as_str())).count();
        let done = warm + kept.saturating_sub(2);
        assert_eq!(
            said.contains("was half-written and is cut off") || said.contains("is half-written"),
            part > 0,
            "{said}"
        );
        assert!(said.contains(&format!("{done} of 8 trials are done, {} are due", 8 - done)), "{said}");
        assert!(said.contains("8 of 8 trials ok, warm-up among them,"), "{said}");
        let whole: String = whole_lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(directory.join("records.jsonl"), whole).unwrap();
    }
    let manifest = manifest(&directory);
    assert_eq!(manifest["sittings"].as_array().unwrap().len(), 6);
    assert_eq!(manifest["counts"]["ok"], 6, "measured ones");
    let ids: BTreeSet<&str> = manifest["sittings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|sitting| sitting["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids.len(), 6, "each sitting has an id of its own");
    let report = fs::read_to_string(directory.join("report.md")).unwrap();
    assert!(report.contains("UTC in 6 sittings: 6 of 6 trials ok"), "{report}");
}

#[test]
fn a_line_that_lacks_only_its_newline_is_whole() {
    let folder = folder_with(TWO);
    run(folder.path(), "", 0);
    let directory = run_directory(folder.path());
    let all = lines(&directory);
    kill_after(&directory, 4, all[4].len());
    let said = run(folder.path(), "--resume", 0);
    assert!(said.contains("3 of 8 trials are done") && !said.contains("half-written"), "{said}");
    assert_eq!(lines(&directory)[..5], all[..5]);
}

#[test]
fn where_nothing_is_missing_the_report_is_made_and_the_exit_code_is_that_of_the_run() {
    let folder =
        folder_with("workloads:\n  good: { run: 'true' }\n  bad: { run: \"false\" }\nrepetitions: 1\n");
    run(folder.path(), "", 1);
    let directory = run_directory(folder.path());
    let before = fs::read(directory.join("manifest.json")).unwrap();
    fs::remove_file(directory.join("report.md")).unwrap();
    let said = run(folder.path(), "--resume", 1);
    assert!(said.contains("nothing is missing") && said.contains("1 of them failed"), "{said}");
    assert!(directory.join("report.md").is_file());
    assert_eq!(fs::read(directory.join("manifest.json")).unwrap(), before, "nobody sat down to it");

    kill_after(&directory, 1, lines(&directory)[1].len());
    run(folder.path(), "--resume", 1);
    assert_eq!(
        manifest(&directory)["counts"],
        serde_json::json!({ "failed": 1, "ok": 1 }),
        "it has an end now"
    );
}

#[test]
fn failed_trials_are_done_again_when_asked_for() {
    let folder = folder_with(
        "workloads:\n  w: { run: \"echo tried; test -e PLACE/there\" }\nrepetitions: 2\nwarmup: 1\n",
    );
    let yaml = fs::read_to_string(folder.path().join("nap.yaml")).unwrap();
    let yaml = yaml.replace("PLACE", folder.path().to_str().unwrap());
    fs::write(folder.path().join("nap.yaml"), yaml).unwrap();
    let said = run(folder.path(), "", 1);
    assert!(said.contains("0 of 3 trials ok"), "{said}");
    let directory = run_directory(folder.path());
    assert!(run(folder.path(), "--resume", 1).contains("`--failed` runs failed trials again"));
    assert_eq!(attempts(&directory).len(), 3);
    run(folder.path(), "--resume --failed", 1);
    fs::write(folder.path().join("there"), "").unwrap();
    let said = run(folder.path(), "--resume --failed", 0);
    assert!(said.contains("0 of 3 trials are done, 3 are due"), "{said}");
    let of_first: Vec<_> =
        attempts(&directory).into_iter().filter(|(trial, ..)| trial.ends_with("#1")).collect();
    let ends: Vec<_> = of_first.iter().map(|(_, attempt, status)| (*attempt, status.as_str())).collect();
    assert_eq!(ends, [(1, "failed"), (2, "failed"), (3, "ok")]);
    for output in [
        "w/localhost/native/1/stdout",
        "w/localhost/native/1/attempt-3/stdout",
        "w/localhost/native/warmup-1/attempt-2/stdout",
    ] {
        assert_eq!(fs::read_to_string(directory.join("output").join(output)).unwrap(), "tried\n", "{output}");
    }
    let report = fs::read_to_string(directory.join("report.md")).unwrap();
    assert!(report.contains("2 of 2 trials ok") && report.contains("(repeated)"), "{report}");
    assert!(run(folder.path(), "--resume --failed", 0).contains("nothing is missing"));
}

#[test]
fn a_changed_experiment_is_refused_with_what_changed() {
    let same = "workloads:\n  a: { run: echo a }\n  b: { run: echo b }\nrepetitions: 2\nseed: 1\n";
    let folder = folder_with(same);
    run(folder.path(), "", 0);
    let directory = run_directory(folder.path());
    let before = fs::read(directory.join("records.jsonl")).unwrap();
    let b = "  b: { run: echo b }\n";
    let change = |yaml: &str| fs::write(folder.path().join("nap.yaml"), yaml).unwrap();
    for (yaml, arguments, told) in [
        (same.replace("echo a", "echo A"), "", "other settings: a/localhost/native"),
        (same.replace(b, ""), "", "cells that are no more: b/localhost/native"),
        (same.replace(b, &format!("{b}  c: {{ run: c }}\n")), "", "new cells: c/localhost/native"),
        (
            same.replace(b, "").replace("workloads:\n", &format!("workloads:\n{b}")),
            "",
            "come in another order",
        ),
        (same.replace("seed: 1", "seed: 2"), "", "seed: 2, was 1"),
        (format!("{same}order: shuffled\n"), "", "order: shuffled, was blocks"),
        (
            format!("{same}warmup: 1\n"),
            "",
            "warm-up trials: 1, were 0: a/localhost/native, b/localhost/native",
        ),
        (
            format!("{same}hosts: {{ localhost: {{ ssh: pi@pi4 }} }}\n"),
            "",
            "localhost: ssh pi@pi4, was this machine",
        ),
        (same.into(), "--repetitions 3", "repetitions: 3, were 2: a/localhost/native, b/localhost/native"),
        (same.into(), "--where workload=='a'", "cells that are no more: b/localhost/native"),
    ] {
        change(&yaml);
        let said = run(folder.path(), &format!("--resume {arguments}"), 2);
        for words in [told, "--accept-changes", "experiment.yaml"] {
            assert!(said.contains(words), "{words}: {said}");
        }
    }
    assert_eq!(fs::read(directory.join("records.jsonl")).unwrap(), before);
    change(&format!("title: Another\n{same}report: {{ baseline: {{ workload: a }} }}\n"));
    assert!(run(folder.path(), "--resume", 0).contains("nothing is missing"), "the report is no measurement");
    assert!(fs::read_to_string(directory.join("report.md")).unwrap().starts_with("# Another\n"));
}

#[test]
fn an_accepted_change_keeps_what_is_still_true() {
    let folder = folder_with(
        "workloads:\n  a: { run: echo a }\n  b: { run: echo b }\n  c: { run: echo c }\nrepetitions: 3\n",
    );
    run(folder.path(), "", 0);
    let directory = run_directory(folder.path());
    fs::write(
        folder.path().join("nap.yaml"),
        "workloads:\n  a: { run: echo a }\n  b: { run: echo B }\n  d: { run: echo d }\nrepetitions: 2\n",
    )
    .unwrap();
    let said = run(folder.path(), "--resume --accept-changes", 0);
    assert!(said.contains("2 of 6 trials are done, 4 are due") && said.contains("accepted"), "{said}");
    let all = records(&directory);
    assert_eq!(all.len(), 9 + 4, "nothing is taken out of the records");
    let again: Vec<_> =
        all.iter().filter(|record| record["workload"] == "b" && record["attempt"] == 2).collect();
    assert_eq!(again.len(), 2, "its outputs lie beside the earlier ones");
    assert_ne!(
        again[0]["settings"],
        all.iter().find(|record| record["workload"] == "b").unwrap()["settings"]
    );
    assert_eq!(
        fs::read_to_string(directory.join("output/b/localhost/native/1/attempt-2/stdout")).unwrap(),
        "B\n"
    );

    let report = fs::read_to_string(directory.join("report.md")).unwrap();
    for text in [
        "6 of 6 trials ok",
        "3 records are of no cell that is planned and are left out",
        "3 records are of other settings than their cells have now and are left out",
        "1 record is of repetitions that are planned no longer and is left out",
    ] {
        assert!(report.contains(text), "{text}: {report}");
    }
    let samples = fs::read_to_string(directory.join("samples.csv")).unwrap();
    assert_eq!(samples.lines().count(), 1 + 6, "{samples}");
    let summary = fs::read_to_string(directory.join("summary.csv")).unwrap();
    assert!(
        !summary.contains("c/localhost") && summary.lines().skip(1).all(|row| row.contains(",2,2,")),
        "{summary}"
    );
    let kept: Vec<_> = fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let earlier = kept.iter().find(|name| name.starts_with("experiment-")).unwrap();
    assert!(fs::read_to_string(directory.join(earlier)).unwrap().contains("echo c"));
    assert!(fs::read_to_string(directory.join("experiment.yaml")).unwrap().contains("echo d"));
    assert!(run(folder.path(), "--resume", 0).contains("nothing is missing"), "it is the experiment now");
}

#[test]
fn the_options_of_the_run_are_kept() {
    let folder = folder_with("workloads:\n  w: { parameters: { n: 1 }, run: 'echo {{ n }}' }\n");
    run(folder.path(), "--repetitions 2 --axis n=1,2 --set timeout=9s --seed 5", 0);
    let directory = run_directory(folder.path());
    kill_after(&directory, 2, 0);
    let said = run(folder.path(), "--resume", 0);
    assert!(said.contains("2 of 4 trials are done, 2 are due"), "{said}");
    assert!(run(folder.path(), "--resume --repetitions 2 --seed 5", 0).contains("nothing is missing"));
    let said = run(folder.path(), "--resume --axis n=1,2,3 --accept-changes", 0);
    assert!(said.contains("4 of 6 trials are done, 2 are due"), "{said}");
    let report = fs::read_to_string(directory.join("report.md")).unwrap();
    assert!(
        report.contains("`--axis n=1,2,3`, `--repetitions 2`, `--seed 5`, `--set timeout=9s`"),
        "{report}"
    );
}

#[test]
fn other_contents_are_another_program() {
    let yaml = "workloads:\n  script: { run: sh s.sh, files: s.sh }\n  tag: { run: 'echo {{ env.RUNNER_TEST_TAG }}' }\n  \
                plain: { run: echo plain }\nrepetitions: 2\n";
    let folder = folder_with(yaml);
    let resume = |tag: &str, arguments: &str, code: i32| {
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("runner"));
        command.args(["run", "nap.yaml"]).args(arguments.split_whitespace()).env("RUNNER_TEST_TAG", tag);
        let output = command.current_dir(folder.path()).output().unwrap();
        let (_, stderr) = texts(&output);
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        stderr
    };
    let script = |text: &str| fs::write(folder.path().join("s.sh"), text).unwrap();
    script("echo one");
    resume("first-tag", "", 0);
    let directory = run_directory(folder.path());
    let text = fs::read_to_string(directory.join("manifest.json")).unwrap();
    assert!(!text.contains("first-tag"), "{text}");
    assert!(resume("first-tag", "--resume", 0).contains("nothing is missing"));
    script("echo two");
    assert!(resume("first-tag", "--resume", 2).contains("files: `s.sh` has other contents"));
    let said = resume("other-tag", "--resume", 2);
    assert!(
        said.contains("`s.sh` has other contents")
            && said.contains("`env.RUNNER_TEST_TAG` has another value")
    );
    let said = resume("first-tag", "--resume --accept-changes", 0);
    assert!(said.contains("4 of 6 trials are done, 2 are due"), "{said}");
    let said = resume("other-tag", "--resume --accept-changes", 0);
    assert!(said.contains("4 of 6 trials are done, 2 are due"), "{said}");
    let of =
        |workload: &str| records(&directory).iter().filter(|record| record["workload"] == workload).count();
    assert_eq!((of("script"), of("tag"), of("plain")), (4, 4, 2));
    assert!(resume("other-tag", "--resume", 0).contains("nothing is missing"));
}

#[test]
fn a_deadline_tells_the_way_on_and_a_killed_sitting_leaves_no_older_report() {
    let folder = folder_with("workloads:\n  w: { run: sleep 0.4 }\nrepetitions: 9\ndeadline: 1s\n");
    let said = run(folder.path(), "", 1);
    assert!(said.contains("go on with `runner run nap.yaml --resume`") && !said.contains("Ctrl-C"), "{said}");
    let directory = run_directory(folder.path());
    assert!(directory.join("report.md").is_file());
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("runner"));
    command.args(["run", "nap.yaml", "--resume", "--set", "deadline=1h", "--accept-changes"]);
    let mut child = command.current_dir(folder.path()).spawn().unwrap();
    let before = lines(&directory).len();
    while lines(&directory).len() == before {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!["report.md", "summary.csv", "samples.csv"].iter().any(|file| directory.join(file).exists()));
}

#[test]
fn a_rule_that_is_met_is_done_and_another_rule_is_a_change() {
    let yaml = |until: &str| {
        format!(
            "workloads:\n  w: {{ run: echo rate 100, metrics: {{ extract: {{ rate: {{ regex: 'rate (\\S+)', unit: 1/s }} }} }} }}\n\
             repetitions: {{ min: 6, max: 20, until: {until} }}\n"
        )
    };
    let folder = folder_with(&yaml("5%"));
    run(folder.path(), "", 0);
    let directory = run_directory(folder.path());
    assert_eq!(lines(&directory).len(), 6);
    let said = run(folder.path(), "--resume", 0);
    assert!(said.contains("nothing is missing") && said.contains("6 of 6 trials are done"), "{said}");
    fs::write(folder.path().join("nap.yaml"), yaml("50%")).unwrap();
    assert!(run(folder.path(), "--resume", 2).contains("until: 50%, was 5%: w/localhost/native"));
    fs::write(folder.path().join("nap.yaml"), yaml("5%")).unwrap();
    kill_after(&directory, 4, 0);
    let output = runner(folder.path(), &["status"]);
    assert!(texts(&output).0.contains("4 of 20 trials, 4 ok, at most 16 left"), "{}", texts(&output).0);
    run(folder.path(), "--resume", 0);
    assert_eq!(lines(&directory).len(), 6);
}

#[test]
fn a_dry_run_only_tells() {
    let folder = folder_with(TWO);
    run(folder.path(), "", 0);
    let directory = run_directory(folder.path());
    kill_after(&directory, 3, 10);
    let before = fs::read(directory.join("records.jsonl")).unwrap();
    let said = run(folder.path(), "--resume --dry-run", 0);
    assert!(said.contains("1 of 8 trials are done, 7 are due"), "{said}");
    assert_eq!(fs::read(directory.join("records.jsonl")).unwrap(), before);
}

#[test]
fn what_can_not_be_gone_on_with_is_told() {
    let folder = folder_with(TWO);
    fs::write(folder.path().join("other.yaml"), TWO).unwrap();
    let said = run(folder.path(), "--resume", 2);
    assert!(
        said.contains("there is no run in results/nap") && said.contains("runner run nap.yaml"),
        "{said}"
    );
    run(folder.path(), "", 0);
    let directory = run_directory(folder.path());
    let name = directory.file_name().unwrap().to_str().unwrap();
    let said = run(folder.path(), "--resume 1999", 2);
    assert!(said.contains("there is no run `1999`") && said.contains(name), "{said}");
    for which in
        [name, directory.to_str().unwrap(), directory.strip_prefix(folder.path()).unwrap().to_str().unwrap()]
    {
        assert!(
            run(folder.path(), &format!("--resume {which}"), 0).contains("nothing is missing"),
            "{which}"
        );
    }
    let output = runner(folder.path(), &["run", "other.yaml", "--resume", directory.to_str().unwrap()]);
    let (_, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr.contains("a run of the experiment `nap`, not of `other`"), "{stderr}");
    for option in ["--failed", "--accept-changes"] {
        assert!(run(folder.path(), option, 2).contains("--resume"), "{option} alone means nothing");
    }
    let text = fs::read_to_string(directory.join("manifest.json")).unwrap();
    let old: String =
        text.lines().filter(|line| !line.contains("\"settings\"")).collect::<Vec<_>>().join("\n");
    let old = old.replace("\"warmup\": 1,", "\"warmup\": 1");
    fs::write(directory.join("manifest.json"), old).unwrap();
    assert!(run(folder.path(), "--resume", 2).contains("did not keep the settings"));
}

#[test]
fn two_runners_on_one_run_are_told_of_each_other() {
    let folder = folder_with(TWO);
    run(folder.path(), "", 0);
    let directory = run_directory(folder.path());
    let records = File::open(directory.join("records.jsonl")).unwrap();
    records.lock().unwrap();
    let said = run(folder.path(), "--resume", 4);
    let process = std::process::id();
    assert!(
        said.contains(&format!("process {process} is writing it")) && said.contains("records.jsonl"),
        "{said}"
    );
    drop(records);
    run(folder.path(), "--resume", 0);
}

#[test]
fn an_interrupted_run_says_how_to_go_on() {
    let folder =
        folder_with("workloads:\n  w: { run: 'test -e PLACE/there || sleep 621.7' }\nrepetitions: 2\n");
    let yaml = fs::read_to_string(folder.path().join("nap.yaml")).unwrap();
    let yaml = yaml.replace("PLACE", folder.path().to_str().unwrap());
    fs::write(folder.path().join("nap.yaml"), yaml).unwrap();
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("runner"));
    command.args(["run", "nap.yaml", "--results", "my results"]).current_dir(folder.path());
    let child =
        command.stderr(std::process::Stdio::piped()).stdout(std::process::Stdio::null()).spawn().unwrap();
    // What is known of the host is written once it is connected.
    let is_connected = || {
        let runs = fs::read_dir(folder.path().join("my results/nap"));
        runs.is_ok_and(|mut runs| runs.any(|run| run.unwrap().path().join("hosts/localhost.json").exists()))
    };
    while !is_connected() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    std::thread::sleep(std::time::Duration::from_millis(200));
    let interrupted = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(interrupted.unwrap().success());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("go on with `runner run nap.yaml --results 'my results' --resume`"), "{said}");

    fs::write(folder.path().join("there"), "").unwrap();
    fs::rename(folder.path().join("my results"), folder.path().join("results")).unwrap();
    let said = run(folder.path(), "--resume", 0);
    assert!(said.contains("2 of 2 trials ok"), "{said}");
    let directory = run_directory(folder.path());
    let ends = attempts(&directory);
    let ends: Vec<_> = ends.iter().map(|(_, attempt, status)| (*attempt, status.as_str())).collect();
    assert_eq!(ends, [(1, "interrupted"), (2, "ok"), (1, "ok")]);
    let report = fs::read_to_string(directory.join("report.md")).unwrap();
    assert!(report.contains("UTC in 2 sittings (") && !report.contains("was interrupted."), "{report}");
}
