//! The program as a user starts it: exit codes, what goes to which stream, and what lies on the disk.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;

/// The program in `folder`, as from a script: no terminal, no colours of its own.
pub fn runner(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::cargo_bin("runner").unwrap();
    command.current_dir(folder).args(arguments).env_remove("CLICOLOR_FORCE").output().unwrap()
}

pub fn texts(output: &Output) -> (String, String) {
    (String::from_utf8(output.stdout.clone()).unwrap(), String::from_utf8(output.stderr.clone()).unwrap())
}

pub fn folder_with(yaml: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("nap.yaml"), yaml).unwrap();
    folder
}

/// The only run of `nap.yaml`.
pub fn run_directory(folder: &Path) -> PathBuf {
    let runs = fs::read_dir(folder.join("results/nap")).unwrap().map(|entry| entry.unwrap().path());
    let runs: Vec<_> = runs.filter(|path| path.is_dir()).collect();
    assert_eq!(runs.len(), 1);
    runs[0].clone()
}

const NAP: &str = "workloads: {nap: {run: sleep 0.01}}\n";

#[test]
fn help_teaches_by_example() {
    let folder = tempfile::tempdir().unwrap();
    let verbs = [
        "init",
        "check",
        "plan",
        "explain",
        "run",
        "status",
        "clean",
        "report",
        "compare",
        "history",
        "schema",
        "completions",
    ];
    let mut all = String::new();
    for arguments in [vec!["--help"]].into_iter().chain(verbs.map(|verb| vec![verb, "--help"])) {
        let output = runner(folder.path(), &arguments);
        let (stdout, stderr) = texts(&output);
        assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""), "{arguments:?}");
        assert!(stdout.contains("Example"), "{arguments:?}");
        all.push_str(&format!("$ runner {}\n{stdout}\n", arguments.join(" ")));
    }
    insta::assert_snapshot!("help", all);
    let (version, _) = texts(&runner(folder.path(), &["--version"]));
    assert!(version.starts_with("runner 0."), "{version}");
}

#[test]
fn misspelt_verbs_and_options_are_recognised() {
    let folder = folder_with(NAP);
    for (arguments, nearest) in [
        (&["plam", "nap.yaml"][..], "'plan'"),
        (&["chekc", "nap.yaml"], "'check'"),
        (&["run", "nap.yaml", "--repetition", "3"], "'--repetitions'"),
        (&["plan", "nap.yaml", "--format", "jsno"], "'json'"),
        (&["completions", "fihs"], "'fish'"),
    ] {
        let output = runner(folder.path(), arguments);
        let (_, stderr) = texts(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr.contains(nearest), "{arguments:?}: {stderr}");
    }
    let (_, alone) = texts(&runner(folder.path(), &[]));
    assert!(alone.contains("Examples:") && alone.contains("Exit codes:"), "{alone}");
}

#[test]
fn wrong_usage_is_2() {
    let folder = folder_with(NAP);
    for arguments in [
        &[][..],
        &["walk", "nap.yaml"],
        &["run"],
        &["run", "nap.yaml", "--repetitions", "0"],
        &["run", "nap.yaml", "--repetitions", "many"],
        &["run", "nap.yaml", "--seed", "-1"],
        &["run", "nap.yaml", "--sed", "1"],
        &["run", "nap.yaml", "--axis", "host"],
        &["plan", "nap.yaml", "--axis", "host="],
        &["plan", "nap.yaml", "--set", "seed"],
        &["plan"],
        &["check"],
        &["completions"],
        &["report"],
    ] {
        let output = runner(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{arguments:?}");
    }
    assert!(!folder.path().join("results").exists());
}

#[test]
fn a_mistake_in_a_file_is_3_with_its_place_on_stderr() {
    let folder = folder_with("workloads:\n  nap: { rum: sleep 1 }\n");
    fs::write(folder.path().join("latin.yaml"), b"# ok\ntitle: caf\xe9\n").unwrap();
    fs::write(folder.path().join("large.yaml"), vec![b'#'; 2 << 20]).unwrap();
    fs::create_dir(folder.path().join("folder.yaml")).unwrap();
    assert!(
        std::process::Command::new("mkfifo").arg(folder.path().join("pipe.yaml")).status().unwrap().success()
    );
    fs::write(folder.path().join("includes.yaml"), "include: [pipe.yaml, /dev/zero, folder.yaml]\n").unwrap();
    for (file, expected) in [
        ("nap.yaml", &["nap.yaml:2:10", "unknown key `rum`", "did you mean `run`?"][..]),
        ("none.yaml", &["can't read `none.yaml`: there is no such file"]),
        ("latin.yaml", &["can't read `latin.yaml`: line 2 is not UTF-8 text"]),
        ("large.yaml", &["can't read `large.yaml`: it is larger than 1 MiB"]),
        ("folder.yaml", &["can't read `folder.yaml`: it is not a file"]),
        ("/dev/zero", &["can't read `/dev/zero`: it is not a file"]),
        ("pipe.yaml", &["can't read `pipe.yaml`: it is not a file"]),
        (
            "includes.yaml",
            &["read `pipe.yaml`: it is", "read `/dev/zero`: it is", "read `folder.yaml`: it is"],
        ),
    ] {
        for arguments in [&["run", file][..], &["plan", file], &["check", file], &["explain", file, "nap"]] {
            let output = runner(folder.path(), arguments);
            let (stdout, stderr) = texts(&output);
            assert_eq!((output.status.code(), stdout.as_str()), (Some(3), ""), "{arguments:?}: {stderr}");
            for text in expected {
                assert!(stderr.contains(text), "{arguments:?}: {stderr}");
            }
            assert!(!stderr.contains('\x1b'), "no colours in a file: {stderr:?}");
        }
    }
    assert!(!folder.path().join("results").exists(), "nothing is begun");
}

#[test]
fn the_smallest_file_leaves_its_results() {
    let folder = folder_with(NAP);
    let output = runner(folder.path(), &["run", "nap.yaml", "--repetitions", "3"]);
    let (stdout, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let run = run_directory(folder.path());
    assert_eq!(stdout.trim(), run.strip_prefix(folder.path()).unwrap().join("report.md").to_str().unwrap());
    assert!(stderr.contains("3 of 3 trials ok") && !stderr.contains('\x1b'), "{stderr}");
    for file in [
        "manifest.json",
        "experiment.yaml",
        "records.jsonl",
        "samples.csv",
        "summary.csv",
        "hosts/localhost.json",
    ] {
        assert!(run.join(file).is_file(), "{file}");
    }
    assert_eq!(fs::read_to_string(run.join("records.jsonl")).unwrap().lines().count(), 3);
    assert!(!run.join("output").exists(), "nothing was printed");

    let read = |name: &str| fs::read(run.join(name)).unwrap();
    let names = ["report.md", "summary.csv", "samples.csv"];
    let before = names.map(read);
    names.iter().for_each(|name| fs::remove_file(run.join(name)).unwrap());
    let output = runner(folder.path(), &["report", run.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(names.map(read), before, "the same bytes again");
}

#[test]
fn a_failed_trial_is_1_and_the_rest_is_measured() {
    let folder =
        folder_with("workloads:\n  nap: { run: 'true' }\n  bad: { run: \"false\" }\nrepetitions: 1\n");
    let output = runner(folder.path(), &["run", "nap.yaml", "--results", "results"]);
    let (_, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("1 of 2 trials ok") && stderr.contains("bad/localhost/native#1"), "{stderr}");
    let report = fs::read_to_string(run_directory(folder.path()).join("report.md")).unwrap();
    assert!(report.contains("exit code 1"), "{report}");
}

#[test]
fn a_seed_gives_the_same_order_twice() {
    let folder = folder_with("workloads: {a: {run: ':'}, b: {run: ':'}, c: {run: ':'}, d: {run: ':'}}\n");
    let order = |results: &str, seed: &str| -> Vec<String> {
        let output = runner(
            folder.path(),
            &["run", "nap.yaml", "--repetitions", "2", "--seed", seed, "--results", results],
        );
        assert_eq!(output.status.code(), Some(0));
        let run = fs::read_dir(folder.path().join(results).join("nap")).unwrap();
        let run = run.map(|entry| entry.unwrap().path()).find(|path| path.is_dir()).unwrap();
        let records = fs::read_to_string(run.join("records.jsonl")).unwrap();
        let trial =
            |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["trial"].to_string();
        records.lines().map(trial).collect()
    };
    let first = order("one", "7");
    assert_eq!(first, order("two", "7"));
    assert_ne!(first, order("three", "8"));
}

#[test]
fn a_report_of_nothing_is_4() {
    let folder = tempfile::tempdir().unwrap();
    let output = runner(folder.path(), &["report", "results/none"]);
    let (stdout, stderr) = texts(&output);
    assert_eq!((output.status.code(), stdout.as_str()), (Some(4), ""));
    assert!(stderr.contains("results/none") && stderr.contains("because:"), "{stderr}");
}

#[test]
fn the_experiment_as_run_has_the_overrides() {
    let folder = folder_with(NAP);
    let output = runner(folder.path(), &["run", "nap.yaml", "--repetitions", "2", "--seed", "5"]);
    assert_eq!(output.status.code(), Some(0));
    let yaml = fs::read_to_string(run_directory(folder.path()).join("experiment.yaml")).unwrap();
    fs::write(folder.path().join("again.yaml"), &yaml).unwrap();
    let again = runner(folder.path(), &["run", "again.yaml"]);
    let (_, stderr) = texts(&again);
    assert!(stderr.contains("2 of 2 trials ok") && yaml.contains("seed: 5"), "{yaml}{stderr}");
}

#[test]
fn files_of_this_machine_that_are_not_there_are_3() {
    let folder = folder_with(
        "hosts:\n  pi: { ssh: { address: 192.0.2.7, identity: keys/id } }\n  vm: { vagrant: { directory: vms } }\n  spare: { ssh: { address: 192.0.2.8, identity: spare } }\n\
         environments:\n  a: { container: { build: images/a } }\n  b: { container: { build: images/b } }\n  c: { container: { build: images/c } }\n\
         workloads: { nap: { run: sleep 1 } }\nmatrix: [{ host: [pi, vm], environment: [a, b] }]\n",
    );
    fs::create_dir_all(folder.path().join("images/a")).unwrap();
    let (_, stderr) = texts(&runner(folder.path(), &["check", "nap.yaml"]));
    for text in [
        "no `images/a/Dockerfile`",
        "no folder `images/b`",
        "no file `keys/id`",
        "nap.yaml:2:46",
        "no `vms/Vagrantfile`",
    ] {
        assert!(stderr.contains(text), "{text}: {stderr}");
    }
    assert_eq!(stderr.matches('×').count(), 4, "what the plan does not use is not looked for: {stderr}");
    for file in ["images/a/Dockerfile", "images/b/Dockerfile", "keys/id", "vms/Vagrantfile"] {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    let (stdout, stderr) = texts(&runner(folder.path(), &["check", "nap.yaml"]));
    assert_eq!((stdout.as_str(), stderr.as_str()), ("nap.yaml: ok, 4 cells, 40 trials\n", ""));
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let folder =
        folder_with("workloads: { nap: { parameters: { n: 1 }, run: 'sleep {{ n }}' } }\nmatrix: [{ n: ");
    let values: Vec<String> = (0..3000).map(|n| n.to_string()).collect();
    let file = folder.path().join("nap.yaml");
    let yaml = fs::read_to_string(&file).unwrap() + &format!("[{}] }}]\n", values.join(", "));
    fs::write(&file, yaml).unwrap();
    for arguments in [
        "plan nap.yaml",
        "plan nap.yaml --format json",
        "plan nap.yaml --format csv",
        "run nap.yaml --dry-run",
        "check nap.yaml nap.yaml",
        "explain nap.yaml n=77/",
        "completions bash",
        "schema",
        "--help",
    ] {
        let program = assert_cmd::cargo::cargo_bin("runner");
        let line = format!("{{ {} {arguments}; echo \"=> $?\" >&2; }} | :", program.display());
        let output = std::process::Command::new("bash").arg("-c").arg(line).current_dir(&folder).output();
        let stderr = String::from_utf8(output.unwrap().stderr).unwrap();
        let expected = if arguments.starts_with("explain") { "=> 2\n" } else { "=> 0\n" };
        assert!(stderr.ends_with(expected) && !stderr.contains("panicked"), "{arguments}: {stderr}");
    }
}

#[test]
fn a_run_that_was_killed_before_it_made_anything_leaves_nothing() {
    let folder = folder_with("workloads: { nap: { run: 'true' } }\n");
    assert_eq!(runner(folder.path(), &["run", "nap.yaml"]).status.code(), Some(0));
    let run = run_directory(folder.path());
    fs::write(run.join("ledger.jsonl"), "").unwrap();
    let output = runner(folder.path(), &["clean"]);
    let (_, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let directory = run.strip_prefix(folder.path()).unwrap().display();
    assert_eq!(stderr, format!("{directory}: nothing is left\n"));
}
