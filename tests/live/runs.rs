//! Whole runs over SSH: what a trial does on a machine, and that nothing is left there.

use std::fs;

use super::lab::{self, Experiment, assert_clean};

const NATIVE: &str =
    "environments: { native: {} }\nmatrix: [{ host: lattepanda-a, environment: native }]\nrepetitions: 1\n";

#[test]
fn a_timeout_ends_the_whole_group_on_the_machine() {
    let workload = "workloads: { w: { timeout: 1s, run: \"trap '' TERM; sleep 611.1 & (sleep 611.1; true) & \
                    setsid sleep 611.1 & sleep 611.1\" } }";
    let run = Experiment::new(&format!("{NATIVE}{workload}")).run(&[]);
    run.assert_failed("run", &["ended after its timeout of 1s"]);
    assert_clean(&run, "lattepanda-a", "sleep 611.1");
}

#[test]
fn what_a_command_leaves_running_ends_with_its_cell() {
    let workload = "workloads: { w: { run: \"sleep 612.1 & setsid sleep 612.1 & true\" } }";
    let run = Experiment::new(&format!("{NATIVE}{workload}")).run(&[]);
    run.assert_ok();
    assert_clean(&run, "lattepanda-a", "sleep 612.1");
}

#[test]
fn exit_code_locale_and_both_outputs_come_from_the_machine() {
    let workload = "workloads: { w: { run: \"echo $LC_ALL $(hostname); echo problem >&2; cat; exit 3\" } }";
    let run = Experiment::new(&format!("{NATIVE}{workload}")).run(&[]);
    run.assert_failed("run", &["exit code 3", "problem"]);
    let output = run.directory.unwrap().join("output/w/lattepanda-a/native/1");
    assert!(fs::read_to_string(output.join("stdout")).unwrap().starts_with("C "));
    assert_eq!(fs::read_to_string(output.join("stderr")).unwrap(), "problem\n");
}

#[test]
fn awkward_login_shells_do_no_harm() {
    for user in ["noisy", "fishy", "cshy"] {
        let experiment = Experiment::new(
            "environments: { native: {} }\nworkloads: { w: { run: \"echo value=42 \\\"it's $((1+1))\\\"\", metrics: \
             { extract: { value: { regex: 'value=(\\d+)' } } } } }\nmatrix: [{ host: lattepanda-a, environment: native }]\nrepetitions: 1\n",
        );
        let hosts = lab::hosts().replace("user: bench", &format!("user: {user}"));
        fs::write(experiment.path().join("hosts.yaml"), hosts).unwrap();
        let run = experiment.run(&["--hosts", "hosts.yaml"]);
        run.assert_ok();
        let kept = run.directory.unwrap().join("output/w/lattepanda-a/native/1/stdout");
        assert_eq!(fs::read_to_string(kept).unwrap(), "value=42 it's 2\n", "{user}");
    }
}

#[test]
fn page_cache_is_dropped_on_the_machine_and_both_figures_are_kept() {
    let workload = "workloads: { w: { setup: dd if=/dev/zero of=f bs=1M count=200, prepare: [drop_caches], run: cat f, \
                    cleanup: rm f } }";
    let run = Experiment::new(&format!("{NATIVE}{workload}").replace("run: cat f", "run: wc -c f")).run(&[]);
    run.assert_ok();
    let drop = &run.records[0]["caches"][0];
    let figure = |name: &str| drop[name].as_u64().unwrap();
    assert!(figure("cached_before_kb") > figure("cached_after_kb"), "{drop}");
    assert_eq!(drop["host"], "lattepanda-a");
    assert!(run.report().contains("1/1"));
}

#[test]
fn a_refused_cache_drop_fails_the_trial_with_the_exact_reason() {
    let workload = "workloads: { w: { prepare: drop_caches, run: touch ran } }";
    let run =
        Experiment::new(&format!("{NATIVE}{workload}").replace("lattepanda-a", "gigabit-server")).run(&[]);
    run.assert_failed(
        "prepare",
        &["refused on `gigabit-server`", "/proc/sys/vm/drop_caches: Read-only file system"],
    );
}

const SERVICE: &str = "timeout: 20s\nworkloads: { w: { services: { s: { host: gigabit-server, run: RUN, ready: READY } }, run: sleep 1 } }";

fn with_service(run: &str, ready: &str) -> String {
    format!("{NATIVE}{}", SERVICE.replace("RUN", run).replace("READY", ready))
}

#[test]
fn a_service_that_never_gets_ready_fails_the_trial_and_is_stopped() {
    let yaml = with_service("\"echo starting up; sleep 613.1\"", "{ port: '{{ port }}', within: 1s }");
    let run = Experiment::new(&yaml).run(&[]);
    run.assert_failed("service", &["service `s`", "not ready within 1s", "nothing listens on port"]);
    let output = run.directory.as_ref().unwrap().join("output/w/lattepanda-a/native/1/services/s/stdout");
    assert_eq!(fs::read_to_string(output).unwrap(), "starting up\n");
    assert_clean(&run, "gigabit-server", "sleep 613.1");
}

#[test]
fn a_service_that_dies_fails_the_trial_with_its_last_lines() {
    let early = with_service("\"echo no such disk >&2; exit 4\"", "{ port: '{{ port }}' }");
    Experiment::new(&early)
        .run(&[])
        .assert_failed("service", &["ended before it was ready", "exit code 4", "no such disk"]);
    let late = with_service("\"echo up; sleep 0.5; echo out of memory >&2; exit 5\"", "{ log: ^up$ }");
    let late = late.replace("run: sleep 1 }", "run: sleep 614.1 }");
    let run = Experiment::new(&late).run(&[]);
    run.assert_failed("service", &["died while the workload ran", "exit code 5", "out of memory"]);
    assert_clean(&run, "lattepanda-a", "sleep 614.1");
}

#[test]
fn a_service_is_ready_by_command_and_seen_by_its_name() {
    let yaml = with_service("\"touch here; exec sleep 615.1\"", "{ command: test -e here }")
        .replace("run: sleep 1 }", "run: \"test {{ services.s.address }} = gigabit-server\" }");
    let run = Experiment::new(&yaml).run(&[]);
    run.assert_ok();
    assert_clean(&run, "gigabit-server", "sleep 615.1");
}

#[test]
fn ctrl_c_leaves_no_process_and_no_container_and_keeps_what_was_measured() {
    let experiment = Experiment::new(
        "workloads:\n  quick: { run: 'true' }\n  slow:\n    services: { s: { host: gigabit-server, environment: docker, \
         run: sleep 616.1, ready: { command: 'true' } } }\n    run: sleep 616.1\nmatrix: [{ host: lattepanda-a, \
         environment: [native, docker] }]\norder: sequential\nrepetitions: 1\n",
    );
    let child = experiment.start();
    lab::eventually("the slow trial runs", || !lab::processes("lattepanda-a", "sleep 616.1").is_empty());
    lab::interrupt(&child);
    let run = experiment.finished(child.wait_with_output().unwrap());
    assert_eq!(run.code, Some(130), "{}", run.stderr);
    let of_run = |record: &serde_json::Value| record["status"].as_str().unwrap().to_owned();
    assert_eq!(run.records.iter().map(of_run).collect::<Vec<_>>(), ["ok", "ok", "interrupted"]);
    assert!(run.report().contains("This run was interrupted"));
    for host in ["lattepanda-a", "gigabit-server"] {
        assert_clean(&run, host, "sleep 616.1");
    }
}

#[test]
fn a_host_that_can_not_be_reached_fails_its_trials_and_the_rest_goes_on() {
    let experiment = Experiment::new(
        "hosts:\n  nobody: { ssh: bench@127.0.0.1:1 }\nenvironments: { native: {} }\nworkloads: { w: { run: 'true' } }\n\
         matrix: [{ host: [nobody, lattepanda-a], environment: native }]\nrepetitions: 2\n",
    );
    let run = experiment.run(&[]);
    assert_eq!(run.code, Some(1));
    let status = |host: &str| -> Vec<&str> {
        let of_host = run.records.iter().filter(|record| record["host"] == host);
        of_host.map(|record| record["status"].as_str().unwrap()).collect()
    };
    assert_eq!((status("nobody"), status("lattepanda-a")), (vec!["failed"; 2], vec!["ok"; 2]));
    assert!(run.stderr.contains("127.0.0.1:1"), "{}", run.stderr);
    assert!(run.report().contains("0/2"));
}

#[test]
fn without_any_host_nothing_is_run_and_the_way_out_is_told() {
    let yaml = "hosts:\n  lattepanda-a:\n    ssh: { address: 127.0.0.1, port: 2201, user: bench, identity: IDENTITY, known_hosts: KNOWN }\n\
                environments: { native: {} }\nworkloads: { w: { run: 'true' } }\nmatrix: [{ host: lattepanda-a, environment: native }]\n";
    let home = std::env::home_dir().unwrap().join(".local/share/runner-lab");
    let known = fs::read_to_string(home.join("known_hosts")).unwrap();
    let other_key = known.lines().find(|line| line.contains("2202")).unwrap().replace("2202", "2201");
    for (identity, known_hosts, words) in [
        ("other", known.as_str(), ["was refused", "`other`", "ssh-copy-id"].as_slice()),
        ("~/.local/share/runner-lab/id_ed25519", "", &["ssh-keyscan -p 2201 127.0.0.1", "SHA256:"]),
        ("~/.local/share/runner-lab/id_ed25519", &other_key, &["is not the one in line 1", "ssh-keygen -R"]),
    ] {
        let experiment = Experiment::new(&yaml.replace("IDENTITY", identity).replace("KNOWN", "known"));
        fs::write(experiment.path().join("known"), known_hosts).unwrap();
        let key = experiment.path().join("other");
        let made = std::process::Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-f"])
            .arg(key)
            .status();
        assert!(made.unwrap().success());
        let run = experiment.run(&[]);
        assert_eq!(run.code, Some(4), "{}", run.stderr);
        assert!(run.directory.is_none());
        for word in words {
            assert!(
                run.stderr.to_lowercase().contains(&word.to_lowercase()),
                "`{word}` is not in: {}",
                run.stderr
            );
        }
    }
}

#[test]
fn a_metric_is_read_out_of_a_services_output() {
    let yaml = with_service("\"echo served 42 requests; exec sleep 617.1\"", "{ log: served }").replace(
        "run: sleep 1 }",
        "run: 'true', metrics: { extract: { requests: { regex: 'served (\\d+)', from: services.s.stdout } } } }",
    );
    let run = Experiment::new(&yaml).run(&[]);
    run.assert_ok();
    assert_eq!(run.records[0]["measurements"][0]["value"], 42.0);
}

#[test]
fn an_output_too_large_to_be_kept_whole_is_not_read() {
    let workload = "workloads: { w: { run: \"echo value=1; head -c 20000000 /dev/zero; echo value=2\", metrics: { extract: \
                    { value: { regex: 'value=(\\d+)' } } } } }";
    let run = Experiment::new(&format!("{NATIVE}{workload}")).run(&[]);
    run.assert_failed("metrics", &["20000016 bytes", "nothing is read out of a part"]);
}

#[test]
fn a_step_as_root_runs_as_root_and_harms_nobody() {
    lab::docker(&["exec", "-d", "lattepanda-a", "su", "bench", "-c", "exec sleep 618.1"]);
    let workload = "workloads: { w: { prepare: { run: 'test $(id -u) = 0', sudo: true }, run: 'true' } }";
    let run =
        Experiment::new(&format!("{NATIVE}{workload}").replace("repetitions: 1", "repetitions: 5")).run(&[]);
    let bystander = lab::processes("lattepanda-a", "sleep 618.1");
    lab::on("lattepanda-a", "pkill -f 'sleep 618[.]1'; true");
    run.assert_ok();
    assert!(bystander.lines().any(|line| line.trim() == "sleep 618.1"), "the bystander is gone: {bystander}");
}

#[test]
fn what_steps_and_services_send_to_the_background_ends_too() {
    let yaml = with_service("\"setsid sleep 619.1 & echo up; sleep 619.1\"", "{ log: up }").replace(
        "run: sleep 1 }",
        "setup: [{ run: 'setsid sleep 620.1 &', on: lattepanda-b }, { run: 'setsid sleep 620.1 &', sudo: true }], \
         run: 'true' }",
    );
    let run = Experiment::new(&yaml.replace("repetitions: 1", "repetitions: 2")).run(&[]);
    run.assert_ok();
    for (host, marker) in
        [("gigabit-server", "sleep 619.1"), ("lattepanda-a", "sleep 620.1"), ("lattepanda-b", "sleep 620.1")]
    {
        assert_clean(&run, host, marker);
    }
}

#[test]
fn what_a_killed_runner_has_started_ends_when_nobody_comes_back() {
    let workload = "workloads: { w: { run: \"trap '' TERM; setsid sleep 622.1 & sleep 622.1\" } }";
    let experiment = Experiment::new(&format!("{NATIVE}{workload}"));
    let hosts = lab::hosts().replace("user: bench", "user: bench\n      reconnect: 1s");
    fs::write(experiment.path().join("hosts.yaml"), hosts).unwrap();
    let mut child = experiment.start_with(&["--hosts", "hosts.yaml"]);
    let running = || lab::processes("lattepanda-a", "sleep 622.1");
    lab::eventually("it runs", || !running().is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    std::thread::sleep(std::time::Duration::from_secs(3));
    assert!(!running().is_empty(), "the connection may only be lost for a moment");
    lab::eventually("its processes end", || running().is_empty());
}
