//! Two runs that want one machine. The tests use different machines, so that they need not wait for each other.

use std::process::Child;
use std::time::Duration;

use crate::lab::{self, Experiment};

fn experiment(host: &str, seconds: &str) -> Experiment {
    Experiment::new(&format!(
        "environments: {{ native: {{}} }}\nworkloads: {{ w: {{ run: sleep {seconds} }} }}\n\
         matrix: [{{ host: {host}, environment: native }}]\nrepetitions: 1\n"
    ))
}

/// A run that has `host` for as long as it is let.
fn holder(host: &str, seconds: &str) -> (Experiment, Child) {
    let experiment = experiment(host, seconds);
    let child = experiment.start_with(&["--lock"]);
    let first = host.trim_matches(['[', ']']).split(',').next().unwrap();
    lab::eventually("it has the machine", || !lab::processes(first, &format!("sleep {seconds}")).is_empty());
    (experiment, child)
}

fn end(experiment: &Experiment, child: Child) -> lab::Run {
    lab::signal(&child, "TERM");
    experiment.finished(child.wait_with_output().unwrap())
}

/// This run does not have the machine any more; another test may.
#[track_caller]
fn assert_free(host: &str, run: &lab::Run) {
    let who = || lab::on(host, "cat /run/lock/runner-lock/who 2>/dev/null; true");
    lab::eventually("the machine is free", || !who().contains(&run.id()));
}

#[test]
fn a_second_run_fails_at_once_or_waits_and_says_who_has_the_machine() {
    let (first, child) = holder("lattepanda-c", "641.1");
    let second = experiment("lattepanda-c", "0");
    let refused = second.run(&["--no-wait"]);
    assert_eq!(refused.code, Some(4), "{}", refused.stderr);
    let words = ["`lattepanda-c` is locked by ", "experiment `x`", ", run ", " since 20"];
    for words in words {
        assert!(refused.stderr.contains(words), "`{words}` is not in {}", refused.stderr);
    }
    assert!(refused.directory.is_none(), "nothing was begun");
    let shared = second.run(&[]);
    shared.assert_ok();

    let waiting = second.start_with(&["--lock"]);
    std::thread::sleep(Duration::from_secs(2));
    let first = end(&first, child);
    let waited = second.finished(waiting.wait_with_output().unwrap());
    waited.assert_ok();
    assert!(waited.stderr.contains("waiting for lattepanda-c, which is locked by "), "{}", waited.stderr);
    assert!(waited.stderr.contains(&first.id()), "{}", waited.stderr);
    assert_free("lattepanda-c", &first);
    assert_free("lattepanda-c", &waited);
}

#[test]
fn the_job_of_a_killed_runner_keeps_its_machine_until_it_is_cleaned() {
    let (first, mut child) = holder("gigabit-server", "642.1");
    let second = experiment("gigabit-server", "0");
    child.kill().unwrap();
    let first_run = first.finished(child.wait_with_output().unwrap());
    let words =
        format!("`gigabit-server` is locked by a job of run {}, whose runner is gone", first_run.id());
    lab::eventually("it says so", || second.run(&["--no-wait"]).stderr.contains(&words));
    let cleaned = std::process::Command::new(env!("CARGO_BIN_EXE_runner"))
        .current_dir(first.path())
        .arg("clean")
        .output()
        .unwrap();
    assert!(cleaned.status.success(), "{}", String::from_utf8_lossy(&cleaned.stderr));
    second.run(&["--lock"]).assert_ok();
    assert_free("gigabit-server", &first_run);
}

#[test]
fn the_lock_of_one_that_gave_up_waiting_is_free() {
    let (first, child) = holder("gigabit-server", "642.2");
    let second = experiment("gigabit-server", "0");
    let waiting = second.start_with(&["--lock"]);
    std::thread::sleep(Duration::from_secs(1));
    let given_up = end(&second, waiting);
    assert_eq!(given_up.code, Some(130), "{}", given_up.stderr);
    let first = end(&first, child);
    second.run(&["--lock"]).assert_ok();
    assert_free("gigabit-server", &first);
}

#[test]
fn two_runs_that_want_the_same_machines_in_other_orders_both_end() {
    let pair = ["[lattepanda-b, gigabit-server]", "[gigabit-server, lattepanda-b]"];
    let runs = pair.map(|hosts| experiment(hosts, "1"));
    let children = runs.each_ref().map(|run| run.start_with(&["--lock"]));
    for (run, child) in runs.iter().zip(children) {
        run.finished(child.wait_with_output().unwrap()).assert_ok();
    }
}

#[test]
fn a_lock_is_taken_again_when_its_shell_is_gone_and_check_tells_of_it() {
    let (first, child) = holder("lattepanda-b", "643.1");
    let who = || lab::on("lattepanda-b", "cut -d ' ' -f 1 /run/lock/runner-lock/who 2>/dev/null; true");
    let before = who().lines().next().unwrap_or_default().to_owned();
    lab::on("lattepanda-b", &format!("kill -KILL {before}"));
    lab::eventually("it is taken again", || who().lines().next().is_some_and(|now| now != before));
    let checked = std::process::Command::new(env!("CARGO_BIN_EXE_runner"))
        .current_dir(first.path())
        .args(["check", "x.yaml", "--reach"])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&checked.stderr).into_owned();
    assert!(checked.status.success() && told.contains("`lattepanda-b` is locked by "), "{told}");
    let first = end(&first, child);
    assert_free("lattepanda-b", &first);
}

#[test]
fn one_machine_under_two_names_is_refused() {
    let experiment = Experiment::new(
        "hosts: { twin: { ssh: { address: localhost, port: 2201, user: noisy, identity: ~/.local/share/runner-lab/id_ed25519, \
         known_hosts: known } } }\nenvironments: { native: {} }\nworkloads: { w: { run: 'true' } }\n\
         matrix: [{ host: [lattepanda-a, twin], environment: native }]\nrepetitions: 1\n",
    );
    let home = std::env::home_dir().unwrap().join(".local/share/runner-lab/known_hosts");
    let known = std::fs::read_to_string(home).unwrap().replace("127.0.0.1", "localhost");
    std::fs::write(experiment.path().join("known"), known).unwrap();
    let run = experiment.run(&["--lock"]);
    assert_eq!(run.code, Some(4), "{}", run.stderr);
    assert!(run.stderr.contains("are one machine"), "{}", run.stderr);
}
