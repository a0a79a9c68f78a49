//! Containers and engines that end in the middle of a trial.

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command};

use super::host::{Host, finish, side_by_side, sleeper, warnings};
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
    let found = RefCell::new(String::new());
    eventually("it runs in a container", || {
        let names = docker(&["ps", "--format", "{{.Names}}", "--filter", "label=org.runner.run"]);
        let runs = |name: &&str| {
            // One of another test may be gone by now.
            let top = Command::new("docker").args(["top", name]).output().unwrap();
            String::from_utf8_lossy(&top.stdout).contains(marker)
        };
        let name = names.lines().find(runs).map(str::to_owned);
        name.map(|name| found.replace(name)).is_some()
    });
    found.into_inner()
}

#[track_caller]
fn assert_no_container(run: &lab::Run) {
    let names = docker(&["ps", "-a", "--format", "{{.Names}}"]);
    assert!(!names.contains(&run.id()), "containers left: {names}");
}

#[test]
fn containers_that_end() {
    side_by_side(cases![
        a_container_that_is_killed_is_told_and_the_next_trial_gets_another,
        a_container_that_is_removed_by_somebody_is_told,
        too_much_memory_is_told_as_such,
        a_container_that_is_paused_for_a_moment_is_measured_with_its_pause
    ]);
}

fn a_container_that_is_killed_is_told_and_the_next_trial_gets_another() {
    let sleep = sleeper();
    let experiment =
        experiment("", &"{ run: \"test {{ trial.repetition }} = 2 || SLEEP\" }".replace("SLEEP", &sleep));
    let child = experiment.start();
    docker(&["kill", &container_of(&sleep)]);
    let run = finish(&experiment, child);
    run.assert_failed("run", &["its container ended with exit code 137"]);
    let last = run.records.last().unwrap();
    assert_eq!((&last["status"], &last["repetition"]), (&"ok".into(), &2.into()), "{last}");
    assert_no_container(&run);
}

fn a_container_that_is_removed_by_somebody_is_told() {
    let sleep = sleeper();
    let experiment =
        experiment("", &"{ run: \"test {{ trial.repetition }} = 2 || SLEEP\" }".replace("SLEEP", &sleep));
    let child = experiment.start();
    docker(&["rm", "-f", &container_of(&sleep)]);
    let run = finish(&experiment, child);
    run.assert_failed("run", &["its container"]);
    assert_eq!(run.records.last().unwrap()["status"], "ok");
    assert_no_container(&run);
}

fn too_much_memory_is_told_as_such() {
    // Memory that cannot be given back: 200 MB in one variable.
    let eat = "{ run: [sh, -c, \"x=$(head -c 200000000 /dev/zero | tr '\\\\0' x); echo done\"] }";
    // And a child alone, without which the shell goes on and ends well.
    let child = "{ run: [sh, -c, \"(head -c 200000000 /dev/zero | tail >/dev/null); echo done\"] }";
    for workload in [eat, child] {
        let run = experiment(", memory: 64MiB", workload).run(&[]);
        run.assert_failed("run", &["memory"]);
        assert_no_container(&run);
    }
}

#[test]
#[ignore = "soak: half a minute until it is given up"]
fn a_container_that_is_paused_does_not_outlast_its_timeout() {
    let sleep = sleeper();
    let workload = "{ timeout: 3s, run: \"test {{ trial.repetition }} = 2 || SLEEP\" }";
    let experiment = experiment("", &workload.replace("SLEEP", &sleep));
    let child = experiment.start();
    docker(&["pause", &container_of(&sleep)]);
    let run = finish(&experiment, child);
    run.assert_failed("run", &[]);
    let reason = run.records[0]["reason"].as_str().unwrap();
    assert!(reason.contains("timeout") || reason.contains("did not end"), "{reason}");
    assert_no_container(&run);
}

fn a_container_that_is_paused_for_a_moment_is_measured_with_its_pause() {
    // Two seconds, in a way that no other process is called.
    let sleep = format!("sleep 2.000{}", std::process::id());
    let experiment = experiment("", &format!("{{ run: {sleep} }}"));
    let child = experiment.start();
    let name = container_of(&sleep);
    docker(&["pause", &name]);
    std::thread::sleep(std::time::Duration::from_secs(3));
    docker(&["unpause", &name]);
    let run = finish(&experiment, child);
    run.assert_ok();
    assert!(super::host::elapsed(&run.records[0]) > 2.0, "{} {}", run.records[0], warnings(&run.records[0]));
    assert_no_container(&run);
}

/// An engine of the test's own, in a network of its own: one that shared this machine's would take away its
/// bridge.
struct OwnEngine {
    folder: tempfile::TempDir,
    running: Child,
}

impl OwnEngine {
    fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("engine-").tempdir_in("/var/tmp").unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(folder.path().join("configuration"), "{}").unwrap();
        let running = OwnEngine::start(folder.path());
        OwnEngine { folder, running }
    }

    fn start(folder: &Path) -> Child {
        let path = |name: &str| folder.join(name).display().to_string();
        let socket = format!("unix://{}", path("socket"));
        let started = Command::new("unshare")
            .args([
                "--net",
                "--",
                "dockerd",
                "--config-file",
                &path("configuration"),
                "--data-root",
                &path("data"),
            ])
            .args(["--exec-root", &path("exec"), "--pidfile", &path("pid"), "-H", &socket])
            .args(["--bridge", "none", "--iptables=false", "--storage-driver", "vfs"])
            .stderr(fs::File::create(folder.join("log")).unwrap())
            .spawn()
            .unwrap();
        eventually("an engine of its own answers", || {
            let output = Command::new("docker").args(["-H", &socket, "version"]).output();
            output.is_ok_and(|output| output.status.success())
        });
        fs::set_permissions(folder.join("socket"), fs::Permissions::from_mode(0o666)).unwrap();
        started
    }

    fn end(&mut self) {
        let ended = Command::new("kill").arg(self.running.id().to_string()).status();
        assert!(ended.is_ok_and(|status| status.success()) && self.running.wait().is_ok());
    }
}

impl Drop for OwnEngine {
    fn drop(&mut self) {
        self.end();
        // What it has mounted keeps its folders busy.
        let script = "grep -o \"$0/[^ ]*\" /proc/mounts | sort -r | xargs -r umount; rm -rf \"$0\"/*";
        let _ = Command::new("sh").args(["-c", script]).arg(self.folder.path()).status();
    }
}

#[test]
#[ignore = "soak: starts a Docker Engine of its own, which takes root and half a minute"]
fn an_engine_that_is_restarted_is_found_again() {
    let mut engine = OwnEngine::new();
    let folder = engine.folder.path().display().to_string();
    let load = "docker save debian:bookworm-slim | docker -H unix://$0/socket load";
    assert!(Command::new("sh").args(["-c", load, &folder]).status().unwrap().success());
    let host = Host::with(&["--volume", &format!("{folder}:/engine")], "");
    host.sh("ln -sf /engine/socket /var/run/docker.sock");
    let sleep = sleeper();
    let experiment = Experiment::new(&format!(
        "hosts: {{ {} }}\nenvironments: {{ box: {{ container: {{ image: 'debian:bookworm-slim', network: none }} }} }}\n\
         workloads: {{ w: {{ run: \"test {{{{ trial.repetition }}}} = 2 || {sleep}\" }} }}\n\
         matrix: [{{ host: {}, environment: box }}]\nrepetitions: 2\n",
        host.entry(host.port, ", reconnect: 60s"),
        host.name
    ));
    let child = experiment.start();
    eventually("it runs", || {
        let found = Command::new("pgrep").args(["-f", &format!("^{sleep}")]).output().unwrap();
        found.status.success()
    });
    engine.end();
    engine.running = OwnEngine::start(engine.folder.path());
    let run = finish(&experiment, child);
    let (first, last) = (&run.records[0], run.records.last().unwrap());
    // An engine takes its containers with it.
    assert_eq!(first["status"], "failed", "{first}");
    assert!(first["reason"].as_str().unwrap().contains("its container ended"), "{first}");
    assert_eq!((&last["status"], &last["repetition"]), (&"ok".into(), &2.into()), "{last}\n{}", run.stderr);
    let socket = format!("unix://{folder}/socket");
    assert_eq!(docker(&["-H", &socket, "ps", "-a", "-q"]), "", "containers left");
}
