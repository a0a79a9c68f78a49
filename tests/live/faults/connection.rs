//! The way to a machine is lost: a trial that runs goes on and is collected, one that has not begun begins
//! once, one whose machine stays away is recorded as such.

use std::time::Duration;

use super::host::{Host, elapsed, finish, kept, side_by_side, stdout, warnings};
use super::proxy::Proxy;
use crate::lab::{self, Experiment, eventually};

/// Leaves a line each time it is executed.
const COUNTED: &str = "{ run: \"echo ran >>/var/tmp/ran; echo before; sleep 3; echo after\" }";

#[track_caller]
fn assert_collected(host: &Host, run: &lab::Run, environment: &str, at_least_s: f64) {
    run.assert_ok();
    assert_eq!(stdout(run, host, environment), "before\nafter\n");
    let took = elapsed(&run.records[0]);
    assert!((at_least_s..at_least_s + 2.5).contains(&took), "{took} s");
    assert!(warnings(&run.records[0]).contains("the connection was lost"), "{}", run.records[0]);
    assert_eq!(host.lines("ran"), 1, "it was executed once");
    host.assert_clean();
}

#[test]
fn lost_connections() {
    side_by_side(cases![
        sessions_that_are_killed_lose_nothing,
        a_server_that_is_restarted_loses_nothing,
        a_network_that_is_cut_and_comes_back_loses_nothing,
        a_short_cut_is_not_even_noticed,
        what_ends_while_its_machine_is_away_is_collected,
        what_takes_too_long_while_its_machine_is_away_is_ended,
        a_machine_that_restarts_does_not_run_a_trial_twice,
        a_command_that_arrives_late_by_a_lost_connection_does_not_begin,
        in_a_container_over_ssh_nothing_is_lost_either,
        a_service_goes_on_when_the_connection_to_its_host_is_lost,
        a_host_that_comes_back_later_does_what_is_left,
        a_late_host_does_not_measure_beside_what_a_killed_run_left_there
    ]);
}

fn sessions_that_are_killed_lose_nothing() {
    let host = Host::new();
    let experiment = host.experiment(COUNTED);
    let child = experiment.start();
    eventually("it runs", || host.lines("ran") == 1);
    host.kill_sessions();
    let run = finish(&experiment, child);
    assert_collected(&host, &run, "native", 3.0);
}

fn a_server_that_is_restarted_loses_nothing() {
    let host = Host::new();
    let experiment = host.experiment(COUNTED);
    let child = experiment.start();
    eventually("it runs", || host.lines("ran") == 1);
    host.sh("pkill -KILL sshd");
    let run = finish(&experiment, child);
    assert_collected(&host, &run, "native", 3.0);
}

fn a_network_that_is_cut_and_comes_back_loses_nothing() {
    let host = Host::with(&["--cap-add", "NET_ADMIN"], "");
    let experiment = host.experiment(&COUNTED.replace("sleep 3", "sleep 11"));
    let child = experiment.start();
    eventually("it runs", || host.lines("ran") == 1);
    host.sh("ip link set eth0 down");
    // Longer than signs of life may stay unanswered.
    std::thread::sleep(Duration::from_secs(8));
    host.sh("ip link set eth0 up");
    let run = finish(&experiment, child);
    assert_collected(&host, &run, "native", 11.0);
}

fn a_short_cut_is_not_even_noticed() {
    let host = Host::with(&["--cap-add", "NET_ADMIN"], "");
    let experiment = host.experiment(COUNTED);
    let child = experiment.start();
    eventually("it runs", || host.lines("ran") == 1);
    host.sh("ip link set eth0 down; sleep 1.5; ip link set eth0 up");
    let run = finish(&experiment, child);
    run.assert_ok();
    assert_eq!((host.lines("ran"), stdout(&run, &host, "native").as_str()), (1, "before\nafter\n"));
    assert!(!warnings(&run.records[0]).contains("lost"), "{}", run.records[0]);
    host.assert_clean();
}

fn what_ends_while_its_machine_is_away_is_collected() {
    let (host, run) = away("3");
    assert_collected(&host, &run, "native", 3.0);
}

fn what_takes_too_long_while_its_machine_is_away_is_ended() {
    // The second ends well when it is asked to end: its time is over all the same.
    for sleep in ["300", "0; trap 'echo bye; exit 0' TERM; sleep 300 & wait"] {
        let (host, run) = away(sleep);
        run.assert_failed("run", &["ended after its timeout of 5s"]);
        assert_eq!(host.lines("ran"), 1);
        host.assert_clean();
    }
}

/// Its machine is away from before the end of its `sleep` until after its time limit, which is noticed.
fn away(sleep: &str) -> (Host, lab::Run) {
    let host = Host::with(&["--cap-add", "NET_ADMIN"], "");
    let workload =
        COUNTED.replace("sleep 3", &format!("sleep {sleep}")).replace("{ run", "{ timeout: 5s, run");
    let experiment = host.experiment(&workload);
    let child = experiment.start();
    eventually("it runs", || host.lines("ran") == 1);
    host.sh("ip link set eth0 down");
    std::thread::sleep(Duration::from_secs(9));
    host.sh("ip link set eth0 up");
    let run = finish(&experiment, child);
    (host, run)
}

fn a_machine_that_restarts_does_not_run_a_trial_twice() {
    let host = Host::new();
    let workload = "{ run: \"echo ran >>/var/tmp/ran; [ $(wc -l </var/tmp/ran) -gt 1 ] || sleep 300\" }";
    let experiment = host.experiment(workload);
    let child = experiment.start();
    eventually("it runs", || host.lines("ran") == 1);
    lab::docker(&["restart", "-t", "0", &host.name]);
    let run = finish(&experiment, child);
    let first = &run.records[0];
    assert_eq!(first["status"], "failed", "{first}");
    let reason = first["reason"].as_str().unwrap();
    assert!(
        reason.contains("its process is gone") && reason.contains("was the machine restarted?"),
        "{reason}"
    );
    assert_eq!(host.lines("ran"), run.records.len(), "once for each attempt that is recorded");
    host.assert_clean();
}

#[test]
fn connections_that_are_cut_at_20_moments_run_nothing_twice() {
    cut(20);
}

#[test]
#[ignore = "soak: takes minutes, to find a moment that 20 cuts do not"]
fn connections_that_are_cut_at_150_moments_run_nothing_twice() {
    cut(150);
}

fn cut(cuts: usize) {
    let trials = 3 * cuts;
    let host = Host::new();
    let seed = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
    println!("the seed is {seed}");
    let mut state = seed;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    // To log in takes about 3 kB, the first words of two shells 8 kB more, a job 1 kB.
    let budgets = (0..cuts).map(|_| 500 + random(16_000) as usize).collect();
    let proxy = Proxy::new(host.port, budgets);
    host.trust(proxy.port);
    let workload = "{ run: \"echo ran >>/var/tmp/ran-{{ trial.repetition }}; sleep 0.05\" }";
    let experiment = host.experiment_through(proxy.port, workload);
    // The first connection must come about for the run to begin.
    let file = experiment.path().join("x.yaml");
    let text = std::fs::read_to_string(&file)
        .unwrap()
        .replace("repetitions: 1\n", &format!("repetitions: {trials}\n"));
    std::fs::write(file, text).unwrap();
    let mut run = finish(&experiment, experiment.start());
    while run.directory.is_none() {
        run = finish(&experiment, experiment.start());
    }
    // The last may have had room for all that was left to say.
    assert!(proxy.cuts_left() < cuts / 4, "the connections that were to be cut were");
    for repetition in 1..=trials {
        let of_trial: Vec<_> =
            run.records.iter().filter(|record| record["repetition"] == repetition).collect();
        assert!(!of_trial.is_empty(), "repetition {repetition} has no record");
        let ran = host.lines(&format!("ran-{repetition}"));
        assert!(ran <= of_trial.len(), "repetition {repetition} ran {ran} times: {of_trial:?}");
        if let Some(last) = of_trial.last().filter(|last| last["status"] != "ok") {
            let reason = last["reason"].as_str().unwrap();
            assert!(reason.contains("connection"), "{reason}");
        } else {
            assert!(ran >= 1, "repetition {repetition} is ok and never ran");
        }
    }
    host.assert_clean();
}

fn a_command_that_arrives_late_by_a_lost_connection_does_not_begin() {
    let host = Host::new();
    let proxy = Proxy::new(host.port, Vec::new());
    host.trust(proxy.port);
    let workload =
        "{ prepare: [touch /var/tmp/prepared, { sleep: 2s }], run: \"echo ran >>/var/tmp/ran; sleep 3\" }";
    let experiment = host.experiment_through(proxy.port, workload);
    let child = experiment.start();
    eventually("it is prepared", || host.sh("ls /var/tmp").contains("prepared"));
    std::thread::sleep(Duration::from_millis(500));
    proxy.hold();
    // Now the command is on its way, and stays there.
    std::thread::sleep(Duration::from_millis(2500));
    assert_eq!(host.lines("ran"), 0);
    proxy.cut_here();
    eventually("it runs by another connection", || host.lines("ran") > 0);
    proxy.release();
    let run = finish(&experiment, child);
    run.assert_ok();
    assert_eq!(host.lines("ran"), 1, "it was executed once");
    host.assert_clean();
}

#[test]
#[ignore = "soak: it is tried again for more than a minute before the run ends"]
fn a_host_that_is_gone_for_good_fails_its_own_trials_alone() {
    let (host, other) = (Host::new(), Host::new());
    let experiment = Experiment::new(&format!(
        "hosts: {{ {}, {} }}\nenvironments: {{ native: {{}} }}\nworkloads: {{ w: {{ run: sleep 1 }} }}\n\
         matrix: [{{ host: [{}, {}], environment: native }}]\nrepetitions: 4\n",
        host.entry(host.port, ", reconnect: 2s"),
        other.entry(other.port, ""),
        host.name,
        other.name
    ));
    let child = experiment.start();
    eventually("it runs", || !lab::processes(&host.name, "sleep 1").is_empty());
    lab::docker(&["rm", "-f", "-v", &host.name]);
    let run = finish(&experiment, child);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let of_host =
        |name: &str| -> Vec<_> { run.records.iter().filter(|record| record["host"] == name).collect() };
    let ok = of_host(&other.name);
    assert!(ok.len() == 4 && ok.iter().all(|record| record["status"] == "ok"), "{ok:?}");
    let lost = of_host(&host.name);
    assert!(lost.len() >= 4 && lost.iter().all(|record| record["status"] == "failed"), "{lost:?}");
    for record in lost {
        let reason = record["reason"].as_str().unwrap();
        assert!(reason.contains(&host.name) && reason.contains("connection"), "{reason}");
    }
    assert!(run.report().contains(&other.name));
}

const WITH_ENGINE: [&str; 2] = ["--volume", "/var/run/docker.sock:/var/run/docker.sock"];

fn in_a_container_over_ssh_nothing_is_lost_either() {
    let host = Host::with(&WITH_ENGINE, "");
    let experiment = Experiment::new(&format!(
        "hosts: {{ {} }}\nenvironments: {{ box: {{ container: {{ build: {}/experiments/images/bench, volumes: ['{}:/count'] }} }} }}\n\
         workloads: {{ w: {} }}\nmatrix: [{{ host: {}, environment: box }}]\nrepetitions: 1\n",
        host.entry(host.port, ", reconnect: 30s"),
        lab::ROOT,
        host.name,
        COUNTED.replace("/var/tmp/ran", "/count/ran"),
        host.name
    ));
    let child = experiment.start();
    let ran = || {
        lab::docker(&[
            "run",
            "--rm",
            "-v",
            &format!("{}:/count", host.name),
            "debian:bookworm-slim",
            "sh",
            "-c",
            "cat /count/ran 2>/dev/null; true",
        ])
    };
    eventually("it runs", || ran() == "ran");
    host.kill_sessions();
    let run = finish(&experiment, child);
    let ran = ran();
    let volume = std::process::Command::new("docker").args(["volume", "rm", "-f", &host.name]).output();
    run.assert_ok();
    assert_eq!((stdout(&run, &host, "box").as_str(), ran.as_str()), ("before\nafter\n", "ran"));
    assert!(elapsed(&run.records[0]) >= 3.0);
    assert!(warnings(&run.records[0]).contains("the connection was lost"), "{}", run.records[0]);
    let names = lab::docker(&["ps", "-a", "--format", "{{.Names}}"]);
    assert!(!names.contains(&run.id()), "containers left: {names}");
    assert!(volume.unwrap().status.success());
    host.assert_clean();
}

fn a_service_goes_on_when_the_connection_to_its_host_is_lost() {
    let (host, client) = (Host::new(), Host::new());
    let experiment = Experiment::new(&format!(
        "hosts: {{ {}, {} }}\nenvironments: {{ native: {{}} }}\nworkloads:\n  w:\n    services: {{ s: {{ host: {}, run: \"echo up; \
         echo ran >>/var/tmp/ran; sleep 2; echo still there; exec sleep 623.1\", ready: {{ log: up }} }} }}\n    \
         run: sleep 4\nmatrix: [{{ host: {}, environment: native }}]\nrepetitions: 1\n",
        host.entry(host.port, ", reconnect: 30s"),
        client.entry(client.port, ""),
        host.name,
        client.name
    ));
    let child = experiment.start();
    eventually("the service runs", || host.lines("ran") == 1);
    std::thread::sleep(Duration::from_secs(1));
    host.kill_sessions();
    let run = finish(&experiment, child);
    run.assert_ok();
    let kept =
        run.directory.as_ref().unwrap().join(format!("output/w/{}/native/1/services/s/stdout", client.name));
    assert_eq!(std::fs::read_to_string(kept).unwrap(), "up\nstill there\n");
    assert!(warnings(&run.records[0]).contains("service `s`: the connection was lost"), "{}", run.records[0]);
    assert_eq!(host.lines("ran"), 1, "it was started once");
    host.assert_clean();
}

fn a_host_that_comes_back_later_does_what_is_left() {
    let host = Host::new();
    let experiment = Experiment::new(&format!(
        "hosts: {{ {} }}\nenvironments: {{ native: {{}} }}\nworkloads: {{ w: {{ run: \"echo ran >>/var/tmp/ran; sleep 1\" }} }}\n\
         matrix: [{{ host: {}, environment: native }}]\nrepetitions: 4\n",
        host.entry(host.port, ", reconnect: 2s"),
        host.name
    ));
    let child = experiment.start();
    eventually("it runs", || host.lines("ran") == 1);
    lab::docker(&["stop", "-t", "0", &host.name]);
    // Longer than it is waited for.
    std::thread::sleep(Duration::from_secs(6));
    lab::docker(&["start", &host.name]);
    let run = finish(&experiment, child);
    let ok = |repetition: u32| {
        run.records.iter().any(|record| record["repetition"] == repetition && record["status"] == "ok")
    };
    assert!((1..=4).all(ok), "{:?}\n{}", run.records, run.stderr);
    assert_eq!(run.records[0]["status"], "failed", "{}", run.records[0]);
    assert!(run.records[0]["reason"].as_str().unwrap().contains("connection"), "{}", run.records[0]);
    assert!(host.lines("ran") <= run.records.len(), "no more than is recorded: {:?}", run.records);
    host.assert_clean();
}

fn a_late_host_does_not_measure_beside_what_a_killed_run_left_there() {
    let host = Host::new();
    let alone = "{ run: \"echo ran >>/var/tmp/ran; mkdir /var/tmp/busy || echo beside another; sleep 4; rmdir /var/tmp/busy\" }";
    let experiment = Experiment::new(&format!(
        "hosts: {{ here: {{ local: {{}} }}, {} }}\nenvironments: {{ native: {{}} }}\nworkloads: {{ quick: {{ run: sleep 3 }}, w: {alone} }}\n\
         matrix: [{{ host: here, workload: quick, environment: native }}, {{ host: {}, workload: w, environment: native }}]\n\
         repetitions: 2\n",
        host.entry(host.port, ", reconnect: 2s"),
        host.name
    ));
    let mut child = experiment.start();
    eventually("it runs", || host.lines("ran") == 1);
    child.kill().unwrap();
    child.wait().unwrap();
    // The machine can't be reached, and what was left there goes on.
    host.sh("pkill -STOP -o -x sshd");
    let child = experiment.start_with(&["--resume"]);
    std::thread::sleep(Duration::from_secs(5));
    host.sh("rm -rf /var/tmp/busy; pkill -CONT -o -x sshd");
    let run = finish(&experiment, child);
    let of_host = run.records.iter().filter(|record| record["workload"] == "w" && record["status"] == "ok");
    let outputs: Vec<_> = of_host.map(|record| kept(&run, record, "/stdout")).collect();
    assert_eq!(outputs, [b"", b""], "{}", run.stderr);
    host.assert_clean();
}

#[test]
#[ignore = "soak: the machine notices after a minute"]
fn what_a_killed_runner_left_ends_also_when_the_network_swallows_everything() {
    // Three retransmissions instead of 15: a quarter of an hour is too long even here.
    let host = Host::with(&["--cap-add", "NET_ADMIN", "--sysctl", "net.ipv4.tcp_retries2=3"], "");
    let experiment = host.experiment("{ run: \"echo ran >>/var/tmp/ran; sleep 1000\" }");
    let file = experiment.path().join("x.yaml");
    let text = std::fs::read_to_string(&file).unwrap().replace("reconnect: 30s", "reconnect: 2s");
    std::fs::write(&file, text).unwrap();
    let mut child = experiment.start();
    eventually("it runs", || host.lines("ran") == 1);
    host.sh("ip link set eth0 down");
    child.kill().unwrap();
    child.wait().unwrap();
    std::thread::sleep(Duration::from_secs(55));
    assert!(!lab::processes(&host.name, "sleep 1000").is_empty(), "nobody can know yet");
    eventually("it ends", || lab::processes(&host.name, "sleep 1000").is_empty());
    eventually("its files go", || host.sh("ls -d /dev/shm/runner-* 2>/dev/null; true").is_empty());
}
