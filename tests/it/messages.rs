//! What a run says: piped, quiet, verbose and into a log; and what `runner status` tells of it from outside.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use regex::Regex;
use serde_json::Value;

use crate::cli::{folder_with, runner, texts};

/// A workload with everything, and one that fails.
const FILE: &str = "
title: Talk
hosts: { 라즈베리: { local: {} } }
workloads:
  good:
    setup: echo begun
    prepare: printf 'warm\\tup'
    run: echo one; echo two >&2
    services: { server: { run: 'echo listening; sleep 60', ready: { log: listening } } }
  bad: { run: 'echo broken >&2; exit 3' }
matrix:
  - { workload: good, repetitions: 2 }
  - { workload: bad, repetitions: 1 }
order: sequential
";

/// Measured times and what hangs on them, as words.
fn without_times(text: &str) -> String {
    [
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ", "TIME "),
        (r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ", "START"),
        (r"(elapsed|in) \d+\.\d{3} (ms|s)", "$1 SECONDS"),
        (r"in \d+ s\n", "in SECONDS\n"),
        (r"run [0-9a-f]{8} of", "run ID of"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (pattern, words)| {
        Regex::new(pattern).unwrap().replace_all(&text, *words).into_owned()
    })
}

fn run_directory(folder: &Path) -> PathBuf {
    let runs = fs::read_dir(folder.join("results/nap")).unwrap().map(|entry| entry.unwrap().path());
    runs.filter(|path| path.is_dir()).max().unwrap()
}

#[test]
fn a_pipe_gets_a_plain_line_an_event() {
    let folder = folder_with(FILE);
    let output = runner(folder.path(), &["run", "nap.yaml", "--no-lock"]);
    let (_, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.chars().all(|c| c == '\n' || !c.is_control()), "{stderr:?}");
    insta::assert_snapshot!("piped", without_times(&stderr));
}

#[test]
fn quiet_says_what_went_wrong_and_where_the_report_is() {
    let folder = folder_with(FILE);
    let output =
        runner(folder.path(), &["run", "nap.yaml", "--no-lock", "--quiet", "--where", "workload == 'good'"]);
    let (stdout, stderr) = texts(&output);
    assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""), "nothing went wrong");
    assert!(stdout.starts_with("results/nap/") && stdout.ends_with("/report.md\n"), "{stdout}");
    let output = runner(folder.path(), &["run", "nap.yaml", "--no-lock", "-q"]);
    let (_, stderr) = texts(&output);
    let lines: Vec<&str> = stderr.lines().collect();
    assert_eq!((output.status.code(), lines.len()), (Some(1), 2), "{stderr}");
    assert!(lines[0].contains("bad/라즈베리/native#1  run: ") && lines[0].contains("broken"), "{stderr}");
    assert!(lines[1].starts_with("2 of 3 trials ok in "), "{stderr}");
    let both = runner(folder.path(), &["run", "nap.yaml", "--no-lock", "--quiet", "--verbose"]);
    assert_eq!(both.status.code(), Some(2));
}

#[test]
fn verbose_shows_each_command_and_what_it_printed() {
    let folder = folder_with(FILE);
    let output = runner(folder.path(), &["run", "nap.yaml", "--no-lock", "--verbose", "--repetitions", "1"]);
    let (_, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    insta::assert_snapshot!("verbose", without_times(&stderr));
}

#[test]
fn a_log_has_all_of_it_with_the_time_and_no_secret() {
    let folder = folder_with(
        "workloads: { nap: { run: 'echo {{ env.RUNNER_TOKEN }}; echo {{ env.RUNNER_TOKEN }} >&2' } }\n",
    );
    let run = |times: u32| {
        let mut command = assert_cmd::Command::cargo_bin("runner").unwrap();
        let arguments =
            ["run", "nap.yaml", "--no-lock", "--quiet", "--log", "night.log", "--repetitions", "1"];
        let output =
            command.current_dir(folder.path()).args(arguments).env("RUNNER_TOKEN", "hunter2hunter2").output();
        let output = output.unwrap();
        assert_eq!((output.status.code(), texts(&output).1.as_str()), (Some(0), ""), "time {times}");
    };
    run(1);
    let log = folder.path().join("night.log");
    let first = fs::read_to_string(&log).unwrap();
    insta::assert_snapshot!("log", without_times(&first));
    run(2);
    let both = fs::read_to_string(&log).unwrap();
    assert!(
        both.starts_with(&first) && both.lines().count() == 2 * first.lines().count(),
        "it is appended to"
    );

    fs::write(folder.path().join("nap.yaml"), "workloads: { nap: { run: 'true' } }\n").unwrap();
    let nowhere = runner(folder.path(), &["run", "nap.yaml", "--no-lock", "--log", "none/night.log"]);
    let (_, stderr) = texts(&nowhere);
    assert_eq!(nowhere.status.code(), Some(4), "{stderr}");
    assert!(stderr.contains("could not open `none/night.log`"), "{stderr}");
    assert_eq!(
        fs::read_dir(folder.path().join("results/nap")).unwrap().count(),
        3,
        "two runs and their index"
    );
}

/// A run that goes on, ended with the test.
struct Going(Child);

impl Going {
    fn start(folder: &Path) -> Self {
        let program = assert_cmd::cargo::cargo_bin("runner");
        let mut command = Command::new(program);
        command.args(["run", "nap.yaml", "--no-lock", "--quiet"]).current_dir(folder);
        Going(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.0.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn status(folder: &Path) -> Option<Value> {
    let output = runner(folder, &["status", "--format", "json"]);
    serde_json::from_slice(&output.stdout).ok()
}

/// The status once it is as `is_so` says.
fn wait_for(folder: &Path, is_so: impl Fn(&Value) -> bool) -> Value {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let seen = status(folder);
        match seen {
            Some(value) if is_so(&value) => return value,
            _ => assert!(Instant::now() < end, "{seen:#?}"),
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

const LONG: &str = "
title: Night
workloads: { nap: { parameters: { n: 0 }, run: 'test {{ n }} = 1 && { echo cold >&2; exit 7; }; sleep {{ n }}' } }
matrix: [{ n: [1, 0, 600] }]
order: sequential
repetitions: 1
";

#[test]
fn a_run_is_seen_from_another_terminal() {
    let folder = folder_with(LONG);
    let (_, stderr) = texts(&runner(folder.path(), &["status"]));
    assert!(stderr.contains("there is no run in `results`") && stderr.contains("help"), "{stderr}");

    let mut run = Going::start(folder.path());
    let is_last = |value: &Value| value["hosts"][0]["trial"] == "nap/localhost/native/n=600#1";
    let seen = wait_for(folder.path(), |value| is_last(value) && value["hosts"][0]["doing"] == "running");
    let number = |key: &str| seen[key].as_u64().unwrap();
    assert_eq!(seen["state"], "going-on");
    assert_eq!((number("planned"), number("ok"), number("failed"), number("left")), (3, 1, 1, 1), "{seen:#}");
    assert_eq!(seen["failures"][0]["stage"], "run");
    assert!(seen["failures"][0]["reason"].as_str().unwrap().contains("cold"), "{seen:#}");
    assert!(seen["left_s"].as_f64().is_some() && seen["report"].is_null(), "{seen:#}");
    let (text, _) = texts(&runner(folder.path(), &["status"]));
    for part in ["going on for", "Night: 2 of 3 trials, 1 ok, 1 failed, 1 left", "localhost  running", "cold"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }

    run.signal("KILL");
    run.0.wait().unwrap();
    let killed = status(folder.path()).unwrap();
    assert_eq!(killed["state"], "killed");
    assert!(is_last(&killed) && killed["left_s"].is_null(), "what it did last: {killed:#}");
    let (text, _) = texts(&runner(folder.path(), &["status"]));
    assert!(text.contains(": killed after") && text.contains("when last heard of"), "{text}");
    assert!(text.contains("no report yet: `runner report"), "{text}");
}

#[test]
fn a_run_that_ended_in_order_leaves_no_status() {
    let folder = folder_with(LONG);
    let mut run = Going::start(folder.path());
    wait_for(folder.path(), |value| value["left"] == 1 && value["hosts"][0]["doing"] == "running");
    assert!(run_directory(folder.path()).join("status.json").is_file());
    run.signal("INT");
    assert_eq!(run.0.wait().unwrap().code(), Some(130));
    assert!(!run_directory(folder.path()).join("status.json").exists());
    let seen = status(folder.path()).unwrap();
    assert_eq!((&seen["state"], &seen["interrupted"]), (&"interrupted".into(), &1.into()), "{seen:#}");
    assert!(seen["hosts"].is_null() && seen["report"].is_string(), "{seen:#}");

    let output = runner(folder.path(), &["run", "nap.yaml", "--no-lock", "--where", "n == 0"]);
    assert_eq!(output.status.code(), Some(0));
    let (text, _) = texts(&runner(folder.path(), &["status"]));
    assert!(text.contains(": finished after") && text.contains("1 of 1 trials, 1 ok\n"), "{text}");
    assert!(text.contains("\nreport: results/nap/"), "{text}");
}

#[test]
fn a_run_that_is_gone_on_with_is_quiet_too() {
    let folder = folder_with("");
    let flag = folder.path().join("flag");
    let yaml = format!("workloads: {{ nap: {{ run: test -e {} }} }}\nrepetitions: 1\n", flag.display());
    fs::write(folder.path().join("nap.yaml"), yaml).unwrap();
    assert_eq!(runner(folder.path(), &["run", "nap.yaml", "--no-lock", "-q"]).status.code(), Some(1));
    fs::write(flag, "").unwrap();
    let output = runner(
        folder.path(),
        &["run", "nap.yaml", "--no-lock", "-q", "--resume", "--failed", "--log", "log"],
    );
    assert_eq!((output.status.code(), texts(&output).1.as_str()), (Some(0), ""));
    let log = fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(log.contains("Z going on with results/nap/"), "{log}");
    let seen = status(folder.path()).unwrap();
    assert_eq!((&seen["state"], &seen["sittings"], &seen["ok"]), (&"finished".into(), &2.into(), &1.into()));
    assert_eq!(seen["failures"].as_array().unwrap().len(), 1, "the first attempt stays: {seen:#}");
    let (text, _) = texts(&runner(folder.path(), &["status"]));
    assert!(text.contains(", sitting 2\n"), "{text}");
}

#[test]
fn a_terminal_gets_a_board_that_stands_still_while_this_machine_is_measured() {
    let folder = folder_with(
        "hosts: { 라즈베리: { local: {} } }\n\
         workloads: { nap: { parameters: { text: 'a long value of a parameter, longer than the line' }, run: 'sleep 2.5 # {{ text }}' },\n\
         \x20 bad: { run: 'exit 3' } }\norder: sequential\nrepetitions: 1\n",
    );
    let program = assert_cmd::cargo::cargo_bin("runner");
    let line = format!("stty cols 60 rows 20; {} run nap.yaml --no-lock", program.display());
    let mut command = Command::new("script");
    command.args(["-qefc", &line, "/dev/null"]).current_dir(folder.path());
    command.env("TERM", "xterm").env_remove("NO_COLOR").stdin(Stdio::null());
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text:?}");
    let drawn = |part: &str| text.matches(part).count();
    assert_eq!(drawn("라즈베리  running     "), 2, "each once, before it starts: {text:?}");
    let line = Regex::new(r"  라즈베리  running     \d\d:\d\d:\d\d  nap/native/t\S*…\S*#1").unwrap();
    assert!(line.is_match(&text), "{text:?}");
    let codes = Regex::new(r"\x1b\[[0-9;]*[A-Za-z]").unwrap();
    for row in text.split(['\n', '\r']).filter(|row| row.contains("  라즈베리  ")) {
        let shown = codes.replace_all(row, "").into_owned();
        let columns = unicode_width::UnicodeWidthStr::width(shown.trim_end());
        // indicatif fills the first line up to the edge; the second follows.
        assert!(columns < 2 * 60, "{columns}: {shown:?}");
    }
    assert!(text.contains("bad/라즈베리/native#1  run: "), "{text:?}");
    let (_, end) = text.rsplit_once("\x1b[1A").unwrap();
    let end: Vec<&str> = end.lines().collect();
    assert!(end.len() == 2 && end[0].starts_with("1 of 2 trials ok in "), "the board is gone: {end:?}");
}
