//! Containers and engines that end in the middle of a trial.

use super::host::{finish, warnings};
use crate::lab::{self, Experiment, docker, eventually};

/// Two trials of `run` in a container of this machine's engine.
fn experiment(container: &str, workload: &str) -> Experiment {
    Experiment::new(&format!(
        "hosts: {{ here: {{ local: {{}} }} }}\nenvironments: {{ box: {{ container: {{ build: {}/experiments/images/bench{container} }} }} }}\n\
         workloads: {{ w: {workload} }}\nmatrix: [{{ host: here, environment: box }}]\nrepetitions: 2\n",
        lab::ROOT
    ))
}

/// The container in which a process with `marker` runs.
#[track_caller]
fn container_of(marker: &str) -> String {
    let mut found = String::new();
    eventually("it runs in a container", || {
        let names = docker(&["ps", "--format", "{{.Names}}", "--filter", "label=org.runner.run"]);
        let runs = |name: &&str| {
            let top = std::process::Command::new("docker").args(["top", name]).output().unwrap();
            String::from_utf8_lossy(&top.stdout).contains(marker)
        };
        names.lines().find(runs).is_some()
    });
    for name in docker(&["ps", "--format", "{{.Names}}", "--filter", "label=org.runner.run"]).lines() {
        let top = std::process::Command::new("docker").args(["top", name]).output().unwrap();
        if String::from_utf8_lossy(&top.stdout).contains(marker) {
            found = name.to_owned();
        }
    }
    found
}

#[track_caller]
fn assert_no_container(run: &lab::Run) {
    let names = docker(&["ps", "-a", "--format", "{{.Names}}"]);
    assert!(!names.contains(&run.id()), "containers left: {names}");
}

#[test]
fn a_container_that_is_killed_is_told_and_the_next_trial_gets_another() {
    let experiment = experiment("", "{ run: \"test {{ trial.repetition }} = 2 || sleep 631.1\" }");
    let child = experiment.start();
    docker(&["kill", &container_of("sleep 631.1")]);
    let run = finish(&experiment, child);
    run.assert_failed("run", &["its container ended with exit code 137"]);
    let last = run.records.last().unwrap();
    assert_eq!((&last["status"], &last["repetition"]), (&"ok".into(), &2.into()), "{last}");
    assert_no_container(&run);
}

#[test]
fn a_container_that_is_removed_by_somebody_is_told() {
    let experiment = experiment("", "{ run: \"test {{ trial.repetition }} = 2 || sleep 632.1\" }");
    let child = experiment.start();
    docker(&["rm", "-f", &container_of("sleep 632.1")]);
    let run = finish(&experiment, child);
    run.assert_failed("run", &["its container"]);
    assert_eq!(run.records.last().unwrap()["status"], "ok");
    assert_no_container(&run);
}

#[test]
fn too_much_memory_is_told_as_such() {
    // Memory that cannot be given back: 200 MB in one variable.
    let eat = "{ run: [sh, -c, \"x=$(head -c 200000000 /dev/zero | tr '\\\\0' x); echo done\"] }";
    let run = experiment(", memory: 64MiB", eat).run(&[]);
    run.assert_failed("run", &["memory"]);
    assert_no_container(&run);
}

#[test]
fn a_container_that_is_paused_does_not_outlast_its_timeout() {
    let experiment =
        experiment("", "{ timeout: 3s, run: \"test {{ trial.repetition }} = 2 || sleep 633.1\" }");
    let child = experiment.start();
    docker(&["pause", &container_of("sleep 633.1")]);
    let run = finish(&experiment, child);
    run.assert_failed("run", &[]);
    let reason = run.records[0]["reason"].as_str().unwrap();
    assert!(reason.contains("timeout") || reason.contains("did not end"), "{reason}");
    assert_no_container(&run);
}

#[test]
fn a_container_that_is_paused_for_a_moment_is_measured_with_its_pause() {
    let experiment = experiment("", "{ run: sleep 2 }");
    let child = experiment.start();
    let name = container_of("sleep 2");
    docker(&["pause", &name]);
    std::thread::sleep(std::time::Duration::from_secs(3));
    docker(&["unpause", &name]);
    let run = finish(&experiment, child);
    run.assert_ok();
    assert!(super::host::elapsed(&run.records[0]) > 2.0, "{} {}", run.records[0], warnings(&run.records[0]));
    assert_no_container(&run);
}
