//! Workloads that do not behave, natively here and over SSH, and in a container there.

use std::fs;
use std::process::Command;

use super::host::{Host, elapsed, finish, kept, sleeper, warnings};
use crate::lab::{self, Experiment, Run};

/// Two machines, so that what runs natively and what runs in a container go side by side.
fn machines() -> [Host; 2] {
    [Host::new(), Host::with(&["--volume", "/var/run/docker.sock:/var/run/docker.sock"], "")]
}

/// Runs `workloads` three ways: here, over SSH, and in a container over SSH.
fn three_ways([native, engine]: &[Host; 2], workloads: &str) -> Run {
    let experiment = Experiment::new(&format!(
        "hosts: {{ here: {{ local: {{}} }}, {}, {} }}\nenvironments: {{ native: {{}}, box: {{ container: {{ build: \
         {}/experiments/images/bench }} }} }}\nworkloads:\n{workloads}\nmatrix:\n  - {{ host: [here, {}], environment: native }}\n  \
         - {{ host: {}, environment: box }}\nrepetitions: 1\n",
        native.entry(native.port, ", reconnect: 30s"),
        engine.entry(engine.port, ", reconnect: 30s"),
        lab::ROOT,
        native.name,
        engine.name
    ));
    finish(&experiment, experiment.start())
}

fn of<'a>(run: &'a Run, workload: &str) -> Vec<&'a serde_json::Value> {
    let found: Vec<_> = run.records.iter().filter(|record| record["workload"] == workload).collect();
    assert!(found.len() >= 3, "{workload}: {}", run.stderr);
    found
}

#[test]
fn what_ends_well_however_odd() {
    let machines = machines();
    let workloads = "
  closes-its-output: { run: 'echo early; exec >&- 2>&-; sleep 0.5; :' }
  reads-its-input: { run: 'cat; read x; echo no input' }
  leaves-its-output-open: { run: 'SLEEP & echo started' }
  sends-daemons-away: { run: 'setsid sh -c \"setsid SLEEP & SLEEP & exec SLEEP\" & echo started' }
  is-silent: { run: 'sleep 9; echo at last' }
  is-quick: { run: [\"true\"] }
  prints-no-newline: { run: 'printf x; printf y >&2' }
  has-variables-of-the-shell: { env: { GROUPS: g, RANDOM: r, UID: u, SECONDS: s }, run: [printenv, GROUPS, RANDOM, UID, SECONDS] }
  prints-any-bytes: { run: \"printf 'a\\\\0b\\\\001\\\\377\\\\n\\\\n'\" }
  speaks-like-us: { run: 'echo sizes 5 5; echo failed; echo unclaimed; echo gone' }";
    let sleep = sleeper();
    let run = three_ways(&machines, &workloads.replace("SLEEP", &sleep));
    run.assert_ok();
    for (workload, stdout) in [
        ("closes-its-output", "early\n"),
        ("reads-its-input", "no input\n"),
        ("leaves-its-output-open", "started\n"),
        ("sends-daemons-away", "started\n"),
        ("is-silent", "at last\n"),
        ("is-quick", ""),
        ("prints-no-newline", "x"),
        ("has-variables-of-the-shell", "g\nr\nu\ns\n"),
        ("speaks-like-us", "sizes 5 5\nfailed\nunclaimed\ngone\n"),
    ] {
        for record in of(&run, workload) {
            assert_eq!(kept(&run, record, "/stdout"), stdout.as_bytes(), "{record}");
            assert!(!warnings(record).contains("lost"), "{record}");
        }
    }
    for record in of(&run, "closes-its-output") {
        assert!(elapsed(record) >= 0.5, "{record}");
    }
    for record in of(&run, "leaves-its-output-open").into_iter().chain(of(&run, "sends-daemons-away")) {
        assert!(elapsed(record) < 5.0, "{record}");
    }
    for record in of(&run, "prints-any-bytes") {
        assert_eq!(kept(&run, record, "/stdout"), b"a\0b\x01\xff\n\n", "{record}");
    }
    assert_nothing_runs(&machines, &sleep);
}

/// A service that dies in the moment in which the workload ends was not there to its end.
#[test]
fn a_service_that_dies_as_the_workload_ends_fails_the_trial() {
    let hosts = [Host::new(), Host::new()];
    for (on, at) in [(&hosts[0], "here"), (&hosts[1], hosts[0].name.as_str())] {
        let experiment = Experiment::new(&format!(
            "hosts: {{ here: {{ local: {{}} }}, {}, {} }}\nenvironments: {{ native: {{}} }}\nworkloads:\n  w:\n    services:\n      \
             s: {{ host: {}, run: 'echo up; sleep 1; exit 7', ready: {{ log: ^up$ }} }}\n    run: sleep 0.8\n    conclude: sleep 1\n\
             matrix: [{{ host: {at}, environment: native }}]\nrepetitions: 1\n",
            hosts[0].entry(hosts[0].port, ", reconnect: 30s"),
            hosts[1].entry(hosts[1].port, ", reconnect: 30s"),
            on.name
        ));
        let run = finish(&experiment, experiment.start());
        run.assert_failed("service", &["`s`", "exit code 7"]);
    }
    hosts.iter().for_each(Host::assert_clean);
}

#[track_caller]
fn assert_nothing_runs(machines: &[Host; 2], marker: &str) {
    machines.iter().for_each(Host::assert_clean);
    let everywhere = Command::new("pgrep").args(["-f", "-a", &format!("^{marker}")]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&everywhere.stdout), "", "left on this machine or its engine");
}

#[test]
fn what_fails_is_told_as_it_failed() {
    let machines = machines();
    let workloads = "
  segfaults: { run: 'kill -s SEGV $$' }
  is-killed: { run: [sh, -c, 'kill -s KILL $$'] }
  is-interrupted: { run: 'kill -s INT $$; SLEEP' }
  hangs-up-its-group: { run: 'kill -s HUP 0; SLEEP' }
  is-missing: { run: [/no/such/program, x] }
  executes-what-is-missing: { run: exec /no/such/program }
  may-not-be-executed: { run: [/etc/passwd] }
  is-a-directory: { run: [/etc] }
  stops-itself: { timeout: 1s, run: 'kill -s STOP $$; SLEEP' }
  leaves-and-fails: { run: 'SLEEP & exit 9' }";
    let sleep = sleeper();
    let run = three_ways(&machines, &workloads.replace("SLEEP", &sleep));
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    for (workload, words) in [
        ("segfaults", "139"),
        ("is-killed", "137"),
        ("is-interrupted", "130"),
        ("hangs-up-its-group", "129"),
        ("is-missing", "/no/such/program"),
        ("executes-what-is-missing", "/no/such/program"),
        ("may-not-be-executed", "ermission denied"),
        ("is-a-directory", ""),
        ("stops-itself", "ended after its timeout of 1s"),
        ("leaves-and-fails", "exit code 9"),
    ] {
        for record in of(&run, workload) {
            let reason = record["reason"].as_str().unwrap_or_default();
            assert_eq!((&record["status"], &record["stage"]), (&"failed".into(), &"run".into()), "{record}");
            assert!(reason.contains(words), "`{words}` is not in: {reason}\n{record}");
        }
    }
    assert_nothing_runs(&machines, &sleep);
}

#[test]
fn one_that_ends_what_watches_over_it_harms_no_other_trial() {
    let host = Host::new();
    let mut attempts = 0;
    for (kill, status) in [("kill -s KILL $PPID", None), ("pkill -KILL -u bench", Some("failed"))] {
        let workload = format!(
            "{{ run: \"[ {{{{ trial.repetition }}}} = 2 ] || {{ echo ran >>/var/tmp/ran; {kill}; sleep 643.1; }}\" }}"
        );
        let experiment = host.experiment(&workload);
        let file = experiment.path().join("x.yaml");
        let text =
            fs::read_to_string(&file).unwrap().replace("repetitions: 1", "timeout: 5s\nrepetitions: 2");
        fs::write(&file, text).unwrap();
        let run = finish(&experiment, experiment.start());
        let (first, last) = (&run.records[0], run.records.last().unwrap());
        assert!(status.is_none_or(|status| first["status"] == status), "{first}");
        assert_eq!((&last["status"], &last["repetition"]), (&"ok".into(), &2.into()), "{last}");
        host.assert_clean();
        attempts += run.records.iter().filter(|record| record["repetition"] == 1).count();
    }
    assert_eq!(host.lines("ran"), attempts, "once for each attempt that is recorded");
}

#[test]
fn a_gibibyte_of_output_is_kept_up_to_a_mark_in_flat_memory() {
    let host = Host::with(&["--shm-size", "1200m"], "");
    let experiment = Experiment::new(&format!(
        "hosts: {{ here: {{ local: {{}} }}, {} }}\nenvironments: {{ native: {{}} }}\nworkloads: {{ w: {{ run: 'head -c 1G /dev/zero' }} }}\n\
         matrix: [{{ host: [here, {}], environment: native }}]\nrepetitions: 1\n",
        host.entry(host.port, ""),
        host.name
    ));
    let child = experiment.start();
    let status = format!("/proc/{}/status", child.id());
    let watching = std::thread::spawn(move || {
        let mut peak_kb = 0;
        while let Ok(text) = fs::read_to_string(&status) {
            let peak = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let Some(peak) = peak else { break };
            peak_kb = peak.trim().trim_end_matches(" kB").parse::<u64>().unwrap();
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        peak_kb
    });
    let run = finish(&experiment, child);
    let peak_kb = watching.join().unwrap();
    run.assert_ok();
    for record in &run.records {
        let outputs = record["outputs"].as_array().unwrap();
        let output =
            outputs.iter().find(|output| output["path"].as_str().unwrap().ends_with("stdout")).unwrap();
        assert_eq!((&output["size"], &output["truncated"]), (&(1u64 << 30).into(), &true.into()), "{record}");
        assert!(warnings(record).contains("1073741824 bytes, of which 16777216 are kept"), "{record}");
    }
    assert!((1..400_000).contains(&peak_kb), "{peak_kb} kB");
    host.assert_clean();
}
