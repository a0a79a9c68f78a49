//! `runner init`, `schema` and `completions`: the way in.

use std::fs;

use crate::cli::{runner, texts};

#[test]
fn a_first_experiment_runs_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let made = runner(folder.path(), &["init", "my study/"]);
    let (stdout, stderr) = texts(&made);
    assert_eq!(made.status.code(), Some(0), "{stderr}");
    assert_eq!(stdout, "runner run 'my study/experiments/first.yaml'\n");
    let file = "my study/experiments/first.yaml";
    let text = fs::read_to_string(folder.path().join(file)).unwrap();
    let schema = text.lines().next().unwrap().split_once("$schema=").unwrap().1;
    let schema = fs::read(folder.path().join("my study/experiments").join(schema)).unwrap();
    assert_eq!(schema, runner(folder.path(), &["schema"]).stdout);
    serde_json::from_slice::<serde_json::Value>(&schema).unwrap();

    let checked = runner(folder.path(), &["check", file]);
    assert_eq!(texts(&checked).0, format!("{file}: ok, 4 cells, 24 trials\n"));
    let run = runner(folder.path(), &["run", file, "--results", "tmp", "--repetitions", "2"]);
    let (stdout, stderr) = texts(&run);
    assert_eq!(run.status.code(), Some(0), "{stderr}");
    let report = fs::read_to_string(folder.path().join(stdout.trim())).unwrap();
    assert!(report.contains("What does it cost to wait for the disk?") && report.contains('×'), "{report}");
}

#[test]
fn nothing_is_overwritten() {
    for name in ["first.yaml", "experiment.schema.json"] {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("experiments")).unwrap();
        let file = folder.path().join("experiments").join(name);
        fs::write(&file, "mine").unwrap();
        let refused = runner(folder.path(), &["init"]);
        let (stdout, stderr) = texts(&refused);
        assert_eq!((refused.status.code(), stdout.as_str()), (Some(2), ""));
        assert!(stderr.contains(&format!("`experiments/{name}` is already there")), "{stderr}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
        assert_eq!(fs::read_dir(folder.path().join("experiments")).unwrap().count(), 1, "nothing beside it");
    }
}

#[test]
fn shells_complete_every_verb() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = runner(folder.path(), &["completions", shell]);
        let (stdout, stderr) = texts(&output);
        assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""));
        for word in ["runner", "explain", "dry-run", "reach"] {
            assert!(stdout.contains(word), "{shell}: {word}");
        }
    }
}
