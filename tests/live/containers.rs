//! Whole runs in containers: on this machine's engine and on that of an SSH host.

use std::fs;

use super::lab::{self, Experiment, assert_clean};

fn on(host: &str, container: &str, workload: &str) -> String {
    format!(
        "hosts: {{ here: {{ local: {{}} }} }}\nenvironments: {{ box: {{ container: {container} }} }}\nworkloads: {{ w: {workload} }}\n\
         matrix: [{{ host: {host}, environment: box }}]\nrepetitions: 2\n"
    )
}

fn bench(more: &str) -> String {
    format!("{{ build: {}/experiments/images/bench{more} }}", lab::ROOT)
}

fn stdout(run: &lab::Run, repetition: u32) -> String {
    let host = run.records[0]["host"].as_str().unwrap();
    let path = format!("output/w/{host}/box/{repetition}/stdout");
    fs::read_to_string(run.directory.as_ref().unwrap().join(path)).unwrap()
}

#[test]
fn one_container_serves_a_cell_and_is_removed_here_and_over_ssh() {
    for host in ["here", "lattepanda-a"] {
        let run = Experiment::new(&on(host, &bench(""), "{ run: cat /etc/hostname }")).run(&[]);
        run.assert_ok();
        assert_eq!(stdout(&run, 1), stdout(&run, 2), "both trials ran in one container");
        assert_ne!(stdout(&run, 1).trim(), host);
        assert_clean(&run, "lattepanda-a", "sleep 621.1");
    }
}

#[test]
fn fresh_trial_gives_each_trial_a_container_and_its_setup() {
    let workload = "{ setup: touch was-set-up, run: \"ls was-set-up; cat /etc/hostname\" }";
    let run = Experiment::new(&on("lattepanda-a", &bench(", fresh: trial"), workload)).run(&[]);
    run.assert_ok();
    assert_ne!(stdout(&run, 1), stdout(&run, 2));
    assert!(stdout(&run, 2).starts_with("was-set-up\n"));
    assert_clean(&run, "lattepanda-a", "sleep 621.1");
}

#[test]
fn limits_hold_in_the_container() {
    let container =
        bench(", cpus: '0.5', memory: 64MiB, user: nobody, volumes: ['/etc/hostname:/mnt/name:ro']");
    let script = "id -un; cat /mnt/name; cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null; true";
    let run = Experiment::new(&on("here", &container, &format!("{{ run: \"{script}\" }}"))).run(&[]);
    run.assert_ok();
    let printed = stdout(&run, 1);
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!((lines[0], lines[2]), ("nobody", "67108864"), "{printed}");
}

#[test]
fn a_timeout_in_a_container_ends_the_group_while_the_container_lives() {
    // The second trial is prepared only if nothing but the container's own process sleeps.
    let workload = "{ prepare: \"test $(cat /proc/[0-9]*/comm | grep -c '^sleep$') = 1\", timeout: 1s, \
                    run: \"trap '' TERM; sleep 621.1 & setsid sleep 621.1 & sleep 621.1\" }";
    for host in ["here", "lattepanda-a"] {
        let run = Experiment::new(&on(host, &bench(""), workload)).run(&[]);
        run.assert_failed("run", &["ended after its timeout of 1s"]);
        assert_eq!(run.records[1]["stage"], "run", "{}", run.records[1]);
        assert_clean(&run, "lattepanda-a", "sleep 621.1");
    }
}

#[test]
fn a_missing_image_and_a_failing_build_fail_the_trial_with_the_engines_words() {
    let run = Experiment::new(&on("lattepanda-a", "{ image: no-such-image:9 }", "{ run: 'true' }")).run(&[]);
    run.assert_failed("host", &["`lattepanda-a`", "`no-such-image:9`", "can't be pulled"]);
    let experiment = Experiment::new(&on("lattepanda-a", "{ build: broken }", "{ run: 'true' }"));
    fs::create_dir(experiment.path().join("broken")).unwrap();
    let text = "FROM debian:bookworm-slim\nRUN echo about to fail && exit 9\n";
    fs::write(experiment.path().join("broken/Dockerfile"), text).unwrap();
    experiment.run(&[]).assert_failed("host", &["broken", "code: 9"]);
}

#[test]
fn a_network_of_the_run_is_made_and_removed() {
    let workload = "{ services: { s: { run: 'iperf3 -s -1 -p {{ port }}', ready: { port: '{{ port }}' } } }, \
                    run: 'iperf3 -c {{ services.s.address }} -p {{ services.s.port }} -t 1 --json', metrics: { tool: iperf3 } }";
    let run = Experiment::new(&on("here", &bench(", network: runner-test-net"), workload)).run(&[]);
    run.assert_ok();
    assert_eq!(
        lab::docker(&["network", "ls", "-q", "-f", "name=runner-test-net"]),
        "",
        "the network is left"
    );
}

#[test]
fn a_service_in_a_container_is_reached_from_outside_by_a_published_port() {
    let yaml = format!(
        "hosts: {{ here: {{ local: {{}} }} }}\nenvironments: {{ native: {{}}, box: {{ container: {} }} }}\nworkloads:\n  w:\n    \
         services: {{ s: {{ environment: box, run: 'iperf3 -s -1 -p {{{{ port }}}}', ready: {{ port: '{{{{ port }}}}' }} }} }}\n    \
         run: iperf3 -c {{{{ services.s.address }}}} -p {{{{ services.s.port }}}} -t 1 --json\n    metrics: {{ tool: iperf3 }}\n\
         matrix: [{{ host: here, environment: native }}]\nrepetitions: 2\n",
        bench("")
    );
    Experiment::new(&yaml).run(&[]).assert_ok();
}

#[test]
fn a_container_that_died_is_told_and_the_next_trial_gets_another() {
    // The first trial ends what keeps its container alive.
    let script = "test {{ trial.repetition }} = 2 && exit; for p in /proc/[0-9]*; do \
                  grep -qsx sleep $p/comm && kill -s KILL ${p#/proc/}; done; sleep 5";
    let run = Experiment::new(&on("here", &bench(""), &format!("{{ run: '{script}' }}"))).run(&[]);
    run.assert_failed("run", &["its container ended with exit code"]);
    assert_eq!(run.records[1]["status"], "ok", "{}", run.records[1]);
    assert_clean(&run, "lattepanda-a", "2147483647");
}

#[test]
fn output_that_fills_its_file_system_is_not_taken_for_whole() {
    // A container has 64 MiB in /dev/shm.
    let run =
        Experiment::new(&on("here", &bench(""), "{ run: head -c 100000000 /dev/zero || true }")).run(&[]);
    run.assert_failed("run", &["file system of the output is full"]);
}
