//! Keys of the language at work, on this machine and with the program as a user starts it: what a key
//! says is what happens, and what lies in the records.

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::Value;

/// A run that has ended.
struct Ended {
    folder: tempfile::TempDir,
    code: Option<i32>,
    printed: String,
    directory: PathBuf,
    records: Vec<Value>,
}

impl Ended {
    /// What a trial printed or fetched.
    fn output(&self, record: &Value, name: &str) -> String {
        let path = record["outputs"].as_array().unwrap().iter().find_map(|output| {
            let path = output["path"].as_str().unwrap();
            path.ends_with(&format!("/1/{name}")).then(|| self.directory.join(path))
        });
        let path = path.unwrap_or_else(|| panic!("no {name} in {record:#}"));
        fs::read_to_string(path).unwrap()
    }

    fn stdout(&self) -> String {
        self.output(&self.records[0], "stdout")
    }

    fn reason(&self) -> (&str, &str) {
        let record = &self.records[0];
        (record["stage"].as_str().unwrap_or_default(), record["reason"].as_str().unwrap_or_default())
    }
}

fn run_with(yaml: &str, files: &[(&str, &str)], variables: &[(&str, &str)]) -> Ended {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.yaml"), yaml).unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let mut command = Command::cargo_bin("runner").unwrap();
    command.current_dir(folder.path()).args(["run", "x.yaml", "--no-lock"]).envs(variables.iter().copied());
    let output = command.output().unwrap();
    let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let runs = fs::read_dir(folder.path().join("results/x"));
    let directory = runs.unwrap_or_else(|_| panic!("{printed}")).map(|entry| entry.unwrap().path());
    let directory = directory.into_iter().find(|path| path.is_dir()).unwrap();
    let records = fs::read_to_string(directory.join("records.jsonl")).unwrap();
    let records = records.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    Ended { folder, code: output.status.code(), printed, directory, records }
}

fn run(yaml: &str) -> Ended {
    run_with(yaml, &[], &[])
}

/// Every file below `folder`.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    files
}

#[test]
fn variables_reach_every_command_and_the_workload_wins() {
    let ended = run(r#"
environments:
  tuned: { env: { COLOUR: red, SIZE: "1" } }
workloads:
  show:
    parameters: { size: 64 }
    env: { SIZE: "{{ size }} MiB", ODD: "it's \"$HOME\"\n; rm x" }
    setup: echo "setup $COLOUR $SIZE" >log
    prepare: echo "prepare $SIZE" >>log
    services:
      beside: { run: 'echo "service $COLOUR $SIZE"; sleep 60', ready: { log: service } }
    run: cat log; printf '%s|%s|%s\n' "$COLOUR" "$SIZE" "$ODD"
matrix: [{ environment: tuned }]
repetitions: 1
"#);
    assert_eq!(ended.code, Some(0), "{}", ended.printed);
    assert_eq!(ended.stdout(), "setup red 64 MiB\nprepare 64 MiB\nred|64 MiB|it's \"$HOME\"\n; rm x\n");
    assert_eq!(ended.output(&ended.records[0], "services/beside/stdout"), "service red 64 MiB\n");
}

#[test]
fn a_list_meets_no_shell_and_a_shell_can_be_chosen() {
    let ended = run("
workloads: { show: { run: [printf, '%s|%s', $HOME, a  b] } }
repetitions: 1
");
    assert_eq!(ended.stdout(), "$HOME|a  b", "{}", ended.printed);
    let ended = run("
environments: { strict: { shell: bash -euo pipefail } }
workloads: { show: { run: 'false | true; echo reached' } }
repetitions: 1
");
    assert_eq!(ended.reason(), ("run", "the command failed (exit code 1): no output"), "{}", ended.printed);
    let ended = run("
workloads: { show: { run: [no-such-program, x] } }
repetitions: 1
");
    assert!(ended.reason().1.contains("no-such-program"), "{:?}", ended.reason());
}

#[test]
fn environments_are_set_up_before_and_undone_after_the_workload() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log").display().to_string();
    let ended = run(&format!(
        "
environments:
  tuned:
    setup: [echo environment setup >>{log}, {{ run: 'echo {{{{ size }}}} on host >>{log}', on: host }}]
    cleanup: echo environment cleanup >>{log}
workloads:
  show:
    parameters: {{ size: 7 }}
    setup: echo setup >>{log}
    run: echo run >>{log}
    cleanup: echo cleanup >>{log}
repetitions: 2
"
    ));
    assert_eq!(ended.code, Some(0), "{}", ended.printed);
    let expected = "environment setup\n7 on host\nsetup\nrun\nrun\ncleanup\nenvironment cleanup\n";
    assert_eq!(fs::read_to_string(&log).unwrap(), expected);
}

#[test]
fn files_go_there_and_come_back() {
    let files =
        [("data/in.txt", "seven\n"), ("tools/deep/tool.sh", "echo tool $1\n"), ("late.txt", "late\n")];
    let ended = run_with(
        "
workloads:
  copy:
    parameters: { what: in }
    files: ['data/{{ what }}.txt', { from: tools, to: bin/tools }]
    setup: cp in.txt copy.txt
    prepare: { upload: { from: late.txt, to: 'late {{ trial.repetition }}.txt' } }
    run: sh bin/tools/deep/tool.sh 1 && cat copy.txt 'late 1.txt' && mkdir -p logs && echo one >logs/1.log
    conclude: echo two >logs/2.log
    fetch: [copy.txt, 'logs/*.log']
repetitions: 1
",
        &files,
        &[],
    );
    assert_eq!(ended.code, Some(0), "{}", ended.printed);
    assert_eq!(ended.stdout(), "tool 1\nseven\nlate\n");
    let record = &ended.records[0];
    for (name, text) in [("copy.txt", "seven\n"), ("logs/1.log", "one\n"), ("logs/2.log", "two\n")] {
        assert_eq!(ended.output(record, &format!("files/{name}")), text);
    }
    let ended =
        run("workloads: { copy: { run: echo x >kept, fetch: [kept, missing.json] } }\nrepetitions: 1\n");
    assert_eq!(ended.reason().0, "fetch");
    assert!(ended.reason().1.contains("missing.json"), "{:?}", ended.reason());
}

#[test]
fn what_is_expected_is_judged_rule_by_rule() {
    let yaml = |run: &str, expect: &str| {
        format!(
            "workloads:
  show:
    run: {run}
    metrics: {{ extract: {{ rate: {{ regex: 'rate=(\\d+)', unit: MB/s }} }} }}
    expect: {{ {expect} }}
repetitions: 1
"
        )
    };
    for (command, expect, stage, reason) in [
        ("echo rate=5; exit 3", "exit: [0, 3]", "", ""),
        ("echo rate=5; exit 4", "exit: [0, 3]", "run", "the command failed (exit code 4): rate=5"),
        ("echo rate=5", "exit: 3", "expect", "expected `exit: 3`, but it is 0"),
        ("echo rate=5", "metrics: [rate], when: rate >= 5e6 and elapsed < 60, not: '(?i)warn'", "", ""),
        (
            "echo rate=5",
            "when: rate > 5e6",
            "expect",
            "expected `when: rate > 5e6`, but rate is 5000000 byte/s",
        ),
        (
            "echo rate=5; echo a Warning >&2",
            "not: '(?i)warn'",
            "expect",
            "expected `not: (?i)warn`, but a line is `a Warning`",
        ),
    ] {
        let ended = run(&yaml(command, expect));
        assert_eq!(ended.reason(), (stage, reason), "{command} {expect}: {}", ended.printed);
        let verdicts = ended.records[0]["expectations"].as_array().unwrap();
        assert_eq!(verdicts.iter().all(|verdict| verdict["holds"] == true), stage.is_empty(), "{verdicts:?}");
        assert_eq!(ended.records[0]["measurements"].as_array().unwrap().is_empty(), !stage.is_empty());
    }
}

#[test]
fn the_kept_experiment_is_planned_again_from_where_it_lies() {
    let yaml = "include: [parts/more.yaml]
workloads: { one: { files: [data/in.txt], run: cat in.txt } }
repetitions: 1
";
    let more = "workloads: { two: { prepare: { upload: near.txt }, run: cat near.txt } }\n";
    let files = [("data/in.txt", "x"), ("parts/more.yaml", more), ("parts/near.txt", "y")];
    let ended = run_with(yaml, &files, &[]);
    assert_eq!(ended.code, Some(0), "{}", ended.printed);
    let kept = fs::read_to_string(ended.directory.join("experiment.yaml")).unwrap();
    for path in ["../../../data/in.txt", "../../../parts/near.txt"] {
        assert!(kept.contains(path), "{kept}");
    }
    let mut command = Command::cargo_bin("runner").unwrap();
    let output = command.current_dir(&ended.directory).args(["check", "experiment.yaml"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn each_rule_is_judged_by_itself() {
    let ended = run("workloads:
  show:
    run: echo rate=5; exit 4
    metrics: { extract: { rate: { regex: 'rate=(\\d+)', unit: MB/s } } }
    expect: { exit: 0, metrics: [rate, elapsed], when: rate >= 5e6, not: ra.e }
repetitions: 1
");
    let verdicts = ended.records[0]["expectations"].as_array().unwrap();
    let holds: Vec<_> = verdicts.iter().map(|verdict| verdict["holds"].as_bool().unwrap()).collect();
    assert_eq!(holds, [false, true, true, true, false], "{verdicts:#?}");
}

#[test]
fn a_service_is_measured_and_ended_as_the_file_says() {
    let ended = run(r#"
workloads:
  talk:
    services:
      server:
        run: trap 'echo last=7; exit 0' INT; echo first=3; while :; do sleep 0.05; done
        ready: { log: first, delay: 100ms }
        stop: { signal: INT, grace: 3s }
        metrics: { extract: { last: { regex: 'last=(\d+)', unit: s } } }
    run: echo talked
    expect: { metrics: [server.last], when: server.last == 7 }
repetitions: 1
"#);
    assert_eq!(ended.code, Some(0), "{}", ended.printed);
    let names: Vec<_> =
        ended.records[0]["measurements"].as_array().unwrap().iter().map(|found| &found["name"]).collect();
    assert_eq!(names, ["server.last", "elapsed"]);
}

#[test]
fn a_secret_stands_nowhere() {
    const SECRET: &str = "hunter2 is 'it'";
    let ended = run_with(
        r#"
title: With {{ env.RUNNER_TEST_SECRET }}
hosts: { here: { local: {}, labels: { owner: "{{ env.RUNNER_TEST_SECRET }}" } } }
environments: { loud: { env: { TOKEN: "{{ env.RUNNER_TEST_SECRET }}" } } }
workloads:
  show:
    prepare: echo "$TOKEN"
    run: |
      echo "$TOKEN" {{ env.RUNNER_TEST_SECRET | quote }} {{ host.labels.owner | quote }}; echo "$TOKEN" >&2; echo "$TOKEN" >kept
    fetch: kept
  fails:
    run: echo "$TOKEN is wrong" >&2; exit 1
  slow:
    run: sleep 9; echo {{ env.RUNNER_TEST_SECRET | quote }}
    timeout: 100ms
repetitions: 1
"#,
        &[],
        &[("RUNNER_TEST_SECRET", SECRET)],
    );
    assert_eq!(ended.code, Some(1), "{}", ended.printed);
    let show = ended.records.iter().find(|record| record["workload"] == "show").unwrap();
    assert_eq!(ended.output(show, "stdout"), "*** *** ***\n");
    assert_eq!(ended.output(show, "files/kept"), "***\n");
    let written = files_below(ended.folder.path()).into_iter().filter(|path| !path.ends_with("x.yaml"));
    let texts = written.map(|path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned());
    for text in texts.chain([ended.printed.clone()]) {
        assert!(!text.contains("hunter2"), "{text}");
    }
    assert!(ended.printed.contains("*** is wrong"), "{}", ended.printed);
}

#[test]
fn a_secret_is_hidden_where_a_text_is_cut_and_in_names() {
    let long = "a".repeat(64);
    let ended = run_with(
        &format!(
            "
workloads:
  cut:
    prepare: 'echo {long} {{{{ env.RUNNER_TEST_SECRET }}}}; false'
    run: 'true'
  last: {{ run: \"printf 'x%.0s' $(seq 290); echo {{{{ env.RUNNER_TEST_SECRET }}}}; exit 3\" }}
  name: {{ run: 'touch a-{{{{ env.RUNNER_TEST_SECRET }}}}', fetch: 'a-*' }}
repetitions: 1
"
        ),
        &[],
        &[("RUNNER_TEST_SECRET", "hunter2-and-more")],
    );
    let files = files_below(&ended.folder.path().join("results"));
    for path in &files {
        let text = String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
        assert!(
            !text.contains("hunt") && !path.to_string_lossy().contains("hunt"),
            "{}: {text}",
            path.display()
        );
    }
    assert!(!ended.printed.contains("hunt"), "{}", ended.printed);
    let name = ended.records.iter().find(|record| record["workload"] == "name").unwrap();
    assert_eq!(ended.output(name, "files/a-***"), "", "the record leads to the file");
}

#[test]
fn what_can_not_be_hidden_is_refused_and_words_of_the_format_stay() {
    let yaml = "workloads: { show: { run: 'echo {{ env.RUNNER_TEST_SECRET }}' } }\nrepetitions: 1\n";
    for value in ["native", "show", "7", "x"] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("x.yaml"), yaml).unwrap();
        let mut command = Command::cargo_bin("runner").unwrap();
        command
            .current_dir(folder.path())
            .args(["run", "x.yaml", "--no-lock"])
            .env("RUNNER_TEST_SECRET", value);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{value}");
    }
    for value in ["ok", "measure", "elapsed", "2026"] {
        let ended = run_with(yaml, &[], &[("RUNNER_TEST_SECRET", value)]);
        assert_eq!(ended.code, Some(0), "{value}: {}", ended.printed);
        assert_eq!((ended.stdout().as_str(), &ended.records[0]["status"]), ("***\n", &"ok".into()));
    }
}

#[test]
fn a_variable_that_is_not_set_is_told_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.yaml"), "workloads: { show: { run: 'echo {{ env.NO_SUCH_THING }}' } }\n")
        .unwrap();
    let mut command = Command::cargo_bin("runner").unwrap();
    let output = command.current_dir(folder.path()).args(["run", "x.yaml", "--no-lock"]).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3));
    for part in ["the variable `NO_SUCH_THING` is not set", "x.yaml:1:36", "NO_SUCH_THING=…"] {
        assert!(told.contains(part), "{part} in {told}");
    }
}

#[test]
fn a_result_of_an_earlier_trial_never_counts() {
    let ended = run("workloads:
  w:
    run: if [ {{ trial.repetition }} = 1 ]; then printf '{\"rate\":12.5}' >result.json; fi
    fetch: result.json
    metrics: { extract: { rate: { json: $.rate, from: result.json, unit: MiB/s, fixed: work } } }
repetitions: 2
");
    let [first, second] = &ended.records[..] else { panic!("{:#?}", ended.records) };
    assert_eq!(first["measurements"][0]["value"], 13_107_200.0, "{first:#}");
    assert_eq!(first["measurements"][0]["fixed"], "work");
    assert_eq!(second["status"], "failed");
    let reason = second["reason"].as_str().unwrap();
    assert!(reason.contains("there is no file `result.json`"), "{reason}");
}
