//! Machines that lack something or have run full.

use std::fs;

use super::host::{Host, elapsed, finish, side_by_side, stdout, warnings};
use crate::lab::{self, Experiment, Run, eventually};

/// Runs `workload` on `host` in a native environment with `fields`.
fn run_in(host: &Host, fields: &str, workload: &str) -> Run {
    let experiment = host.experiment(workload);
    let file = experiment.path().join("x.yaml");
    let text = fs::read_to_string(&file).unwrap().replace("native: {}", &format!("native: {{ {fields} }}"));
    fs::write(&file, text).unwrap();
    finish(&experiment, experiment.start())
}

#[test]
fn machines_that_are_full_or_frozen() {
    side_by_side(cases![
        a_work_directory_that_can_not_be_written_is_told,
        a_full_work_directory_is_told_by_whoever_writes_to_it,
        where_memory_is_full_outputs_go_to_disk,
        where_outputs_fit_nowhere_it_is_told
    ]);
}

#[test]
fn machines_that_lack_something() {
    side_by_side(cases![
        without_sudo_a_step_as_root_is_refused_with_the_reason,
        one_session_a_connection_is_enough,
        without_bash_nothing_is_missing,
        a_clock_that_is_set_in_the_middle_is_not_believed,
        without_bash_and_setsid_the_package_is_named,
        busybox_is_enough_in_a_container
    ]);
}

fn a_work_directory_that_can_not_be_written_is_told() {
    let host = Host::with(&["--tmpfs", "/frozen:ro", "--tmpfs", "/theirs:mode=755"], "");
    for (workdir, words) in [("/frozen", "Read-only file system"), ("/theirs", "Permission denied")] {
        let run = run_in(&host, &format!("workdir: {workdir}"), "{ run: 'true' }");
        run.assert_failed("host", &[&format!("can't make the directory {workdir}/runner-"), words]);
    }
    host.assert_clean();
}

fn a_full_work_directory_is_told_by_whoever_writes_to_it() {
    let host = Host::with(&["--tmpfs", "/small:size=1m,mode=1777"], "");
    let run = run_in(&host, "workdir: /small", "{ run: head -c 5000000 /dev/zero >file }");
    run.assert_failed("run", &["No space left on device"]);
    host.assert_clean();
    let left = host.sh("ls -A /small");
    assert_eq!(left, "", "left in the work directory");

    let experiment = host.experiment("{ files: [big], run: 'true' }");
    fs::write(experiment.path().join("big"), vec![7; 3_000_000]).unwrap();
    let file = experiment.path().join("x.yaml");
    let text = fs::read_to_string(&file).unwrap().replace("native: {}", "native: { workdir: /small }");
    fs::write(&file, text).unwrap();
    let run = finish(&experiment, experiment.start());
    run.assert_failed("setup", &["No space left on device"]);
    assert_eq!(host.sh("ls -A /small"), "", "left in the work directory");
}

fn where_memory_is_full_outputs_go_to_disk() {
    let host = Host::with(&["--shm-size", "1m"], "");
    host.sh("head -c 2000000 /dev/zero >/dev/shm/fill || true");
    let run = run_in(&host, "", "{ run: 'head -c 3000000 /dev/zero | tr \"\\\\0\" x; ls -d /tmp/*-jobs-*' }");
    run.assert_ok();
    let printed = stdout(&run, &host, "native");
    assert!(printed.len() > 3_000_000 && printed.trim_end().ends_with(|c: char| c.is_ascii_hexdigit()));
    host.assert_clean();
}

fn where_outputs_fit_nowhere_it_is_told() {
    let host = Host::new();
    host.sh("chmod 755 /tmp /var/tmp /dev/shm");
    let run = run_in(&host, "workdir: /home/bench", "{ run: 'true' }");
    run.assert_failed("run", &["no directory for output can be made in /dev/shm, /tmp or /var/tmp"]);

    // Full in the middle, by the output itself.
    let host = Host::with(&["--shm-size", "1m"], "");
    let run = run_in(&host, "", "{ run: 'head -c 3000000 /dev/zero || true' }");
    run.assert_failed("run", &["the file system of the output is full"]);
    // Full before the command begins.
    let run =
        run_in(&host, "", "{ prepare: 'head -c 3000000 /dev/zero >/dev/shm/fill || true', run: echo never }");
    run.assert_failed("prepare", &["the file system of the output is full"]);
    host.sh("rm /dev/shm/fill");
    host.assert_clean();
}

fn without_sudo_a_step_as_root_is_refused_with_the_reason() {
    let host = Host::new();
    host.sh("rm /etc/sudoers.d/bench");
    let run = run_in(&host, "", "{ prepare: { run: 'id -u', sudo: true }, run: 'true' }");
    run.assert_failed("prepare", &["sudo: "]);
    run_in(&host, "", "{ run: 'true' }").assert_ok();
    host.sh("rm /usr/bin/sudo");
    let run = run_in(&host, "", "{ prepare: { run: 'id -u', sudo: true }, run: 'true' }");
    run.assert_failed("prepare", &["sudo"]);
    run_in(&host, "", "{ run: 'true' }").assert_ok();
    host.assert_clean();
}

fn one_session_a_connection_is_enough() {
    let host = Host::with(&[], "-o MaxSessions=1");
    let service =
        format!("{{ host: {}, run: 'echo up; exec sleep 651.1', ready: {{ log: up }} }}", host.name);
    let workload = format!(
        "{{ services: {{ s: {service}, t: {service} }}, prepare: echo x, files: [f], run: 'cat f', fetch: f }}"
    );
    let experiment = host.experiment(&workload);
    fs::write(experiment.path().join("f"), "content\n").unwrap();
    let child = experiment.start();
    let run = finish(&experiment, child);
    run.assert_ok();
    assert_eq!(stdout(&run, &host, "native"), "content\n");
    host.assert_clean();
}

/// A machine without bash.
fn plain() -> Host {
    let host = Host::new();
    host.sh("usermod -s /bin/sh bench; rm -f /bin/bash /usr/bin/bash");
    host
}

fn without_bash_nothing_is_missing() {
    let host = plain();
    let run =
        run_in(&host, "", "{ run: 'echo before; sleep 641.1 & setsid sleep 641.1 & sleep 1; echo after' }");
    run.assert_ok();
    assert_eq!(stdout(&run, &host, "native"), "before\nafter\n");
    assert!((1.0..3.0).contains(&elapsed(&run.records[0])), "{}", run.records[0]);
    host.assert_clean();
    let run = run_in(
        &host,
        "",
        "{ timeout: 1s, run: \"trap '' TERM; setsid sleep 652.1 & sleep 652.1; sleep 652.1\" }",
    );
    run.assert_failed("run", &["ended after its timeout of 1s"]);
    host.assert_clean();

    let experiment = host.experiment("{ run: 'echo ran >>/var/tmp/ran; sleep 3; echo after' }");
    let child = experiment.start();
    eventually("it runs", || host.lines("ran") == 1);
    host.kill_sessions();
    let run = finish(&experiment, child);
    run.assert_ok();
    assert_eq!((stdout(&run, &host, "native").as_str(), host.lines("ran")), ("after\n", 1));
    assert!(warnings(&run.records[0]).contains("the connection was lost"), "{}", run.records[0]);
    host.assert_clean();
}

fn a_clock_that_is_set_in_the_middle_is_not_believed() {
    let host = plain();
    // Every second reading is an hour off, forwards or backwards.
    for shift in ["1 hour", "-1 hour"] {
        host.sh(&format!(
            "cat >/usr/local/bin/date <<'END'\n#!/bin/sh\nif [ -e /tmp/odd ]; then rm /tmp/odd; exec /bin/date -d '{shift}' \"$@\"; fi\n\
             [ \"$1\" != +%s.%N ] || touch /tmp/odd; exec /bin/date \"$@\"\nEND\nchmod 755 /usr/local/bin/date; rm -f /tmp/odd"
        ));
        let run = run_in(&host, "", "{ run: sleep 0.5 }");
        run.assert_ok();
        let took = elapsed(&run.records[0]);
        assert!((0.4..5.0).contains(&took), "{took} s");
        assert!(warnings(&run.records[0]).contains("clock was set"), "{}", run.records[0]);
    }
    host.assert_clean();
}

fn without_bash_and_setsid_the_package_is_named() {
    let host = plain();
    host.sh("rm -f /usr/bin/setsid /bin/setsid");
    let run = run_in(&host, "", "{ run: 'true' }");
    run.assert_failed("run", &["setsid is missing: install util-linux"]);
    host.assert_clean();
}

fn busybox_is_enough_in_a_container() {
    let experiment = Experiment::new(
        "hosts: { here: { local: {} } }\nenvironments: { box: { container: { build: busybox } } }\nworkloads:\n  \
         w: { setup: echo data >f, run: 'cat f; sleep 0.5; setsid sleep 653.1 & echo end >&2', fetch: f }\n  \
         late: { timeout: 1s, run: \"trap '' TERM; setsid sleep 653.1 & sleep 653.1; sleep 653.1\" }\n  \
         failing: { run: exit 3 }\nmatrix: [{ host: here, environment: box }]\nrepetitions: 1\norder: sequential\n",
    );
    fs::create_dir(experiment.path().join("busybox")).unwrap();
    let dockerfile = "FROM debian:bookworm-slim AS base\nRUN apt-get update && apt-get install -y --no-install-recommends \
                      busybox-static && mkdir -p /root/bin /root/tmp /root/var/tmp && cp /bin/busybox /root/bin/busybox && \
                      /root/bin/busybox --install /root/bin\nFROM scratch\nCOPY --from=base /root /\nENV PATH=/bin\n";
    fs::write(experiment.path().join("busybox/Dockerfile"), dockerfile).unwrap();
    let run = finish(&experiment, experiment.start());
    let of = |workload: &str| run.records.iter().find(|record| record["workload"] == workload).unwrap();
    assert_eq!(of("w")["status"], "ok", "{}", of("w"));
    let kept = run.directory.as_ref().unwrap().join("output/w/here/box/1");
    assert_eq!(fs::read_to_string(kept.join("stdout")).unwrap(), "data\n");
    assert!((0.4..3.0).contains(&elapsed(of("w"))), "{}", of("w"));
    assert!(
        of("late")["reason"].as_str().unwrap().contains("ended after its timeout of 1s"),
        "{}",
        of("late")
    );
    assert!(of("failing")["reason"].as_str().unwrap().contains("exit code 3"), "{}", of("failing"));
    let names = lab::docker(&["ps", "-a", "--format", "{{.Names}}"]);
    assert!(!names.contains(&run.id()), "containers left: {names}");
}
