//! Waiting for a machine, and what is told of its noise, with real load: busy loops of our own, ended by
//! their ids. The lab's machines share a kernel with this one, so a loop here is load there.

use std::fs;
use std::process::{Child, Command};
use std::time::Duration;

use super::lab::{self, Experiment};

const LOOPS: usize = 60;
const CELL: &str =
    "environments: { native: {} }\nmatrix: [{ host: lattepanda-a, environment: native }]\nrepetitions: 1\n";

/// Programs that do nothing as fast as they can, and give way to all others.
struct Busy(Vec<Child>);

impl Busy {
    fn new(loops: usize) -> Self {
        let start = |_| Command::new("nice").args(["-n", "19", "sh", "-c", "while :; do :; done"]).spawn();
        Busy((0..loops).map(|index| start(index).unwrap()).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

#[test]
fn wait_idle_fails_on_a_busy_machine_and_goes_on_once_it_is_idle() {
    let busy = Busy::new(LOOPS);
    let stuck = Experiment::new(&format!(
        "{CELL}workloads: {{ w: {{ prepare: {{ wait_idle: {{ load_below: 30, within: 2s }} }}, run: touch ran }} }}"
    ));
    let words = ["wait_idle: the load of `lattepanda-a` is ", " after 2s, and must be below 30; it was "];
    stuck.run(&[]).assert_failed("prepare", &words);

    let experiment = Experiment::new(&format!(
        "{CELL}workloads: {{ w: {{ prepare: [touch waiting, {{ wait_idle: {{ load_below: 30, within: 60s }} }}], run: rm waiting }} }}"
    ));
    let child = experiment.start();
    let is_waiting = || !lab::on("lattepanda-a", "ls /var/tmp/runner-*/waiting 2>/dev/null; :").is_empty();
    lab::eventually("the trial waits", is_waiting);
    std::thread::sleep(Duration::from_secs(2));
    drop(busy);
    let run = experiment.finished(child.wait_with_output().unwrap());
    run.assert_ok();
    let wait = &run.records[0]["waits"][0];
    let figure = |name: &str| wait[name].as_f64().unwrap();
    assert_eq!((wait["step"].as_str(), wait["host"].as_str()), (Some("wait_idle"), Some("lattepanda-a")));
    assert!(figure("waited_s") >= 2.0 && figure("first") >= 30.0 && figure("last") < 30.0, "{wait}");
}

#[test]
fn programs_that_are_not_of_the_trial_make_it_suspicious_natively_and_in_a_container() {
    let _busy = Busy::new(2);
    let yaml = format!(
        "environments: {{ native: {{}}, box: {{ container: {{ build: {}/experiments/images/bench }} }} }}\n\
         matrix: [{{ host: lattepanda-a, environment: [native, box] }}]\nrepetitions: 1\n\
         workloads: {{ w: {{ run: sleep 2 }} }}",
        lab::ROOT
    );
    let run = Experiment::new(&yaml).run(&[]);
    run.assert_ok();
    assert_eq!(run.records.len(), 2);
    for record in &run.records {
        let noise = &record["noise"];
        let figure = |name: &str| noise[name].as_f64().unwrap_or_else(|| panic!("no {name}: {record}"));
        assert!(figure("others_cpu_percent") > 50.0, "{record}");
        assert!(figure("idle_percent") < 100.0 && figure("load_before") >= 0.0, "{record}");
        let suspicious: Vec<&str> =
            noise["suspicious"].as_array().unwrap().iter().filter_map(|word| word.as_str()).collect();
        assert!(suspicious.contains(&"other-programs"), "{record}");
    }
    let report = run.report();
    assert!(
        report.contains("**Suspicious trials**") && report.contains("2 of 2 on `lattepanda-a`"),
        "{report}"
    );
    assert!(report.contains("other programs at work in 2"), "{report}");
    assert!(report.contains(" 1/1 !1"), "{report}");
}

#[test]
fn the_work_of_the_command_itself_is_not_taken_for_that_of_others() {
    let spin = "i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done; times";
    let run = Experiment::new(&format!("{CELL}workloads: {{ w: {{ run: \"{spin}\" }} }}")).run(&[]);
    run.assert_ok();
    let stdout = run.directory.as_ref().unwrap().join("output/w/lattepanda-a/native/1/stdout");
    let times = fs::read_to_string(stdout).unwrap();
    // `0m1.310000s 0m0.020000s`: user and system time of the command's shell.
    let user = times.split('s').next().unwrap();
    let (minutes, seconds) = user.split_once('m').unwrap();
    let user = 60.0 * minutes.parse::<f64>().unwrap() + seconds.parse::<f64>().unwrap();
    let record = &run.records[0];
    let elapsed = record["measurements"][0]["value"].as_f64().unwrap();
    let figure = |name: &str| record["noise"][name].as_f64().unwrap();
    // Whatever else this machine does: of its busy time at least half of the command's is told apart.
    let cpus = lab::on("lattepanda-a", "nproc").parse::<f64>().unwrap();
    let busy = cpus * (100.0 - figure("idle_percent"));
    let own = 100.0 * user / elapsed;
    assert!(own > 20.0, "the command has hardly run: {own} %");
    assert!(
        figure("others_cpu_percent") < busy - own / 2.0,
        "{own} % of {busy} % are the command's: {record}"
    );
}

#[test]
fn cool_down_on_a_machine_without_a_sensor_fails_or_leaves_a_mark() {
    let cool = |more: &str| {
        let steps = format!("{{ cool_down: {{ below: 60C, within: 2s{more} }} }}");
        Experiment::new(&format!("{CELL}workloads: {{ w: {{ prepare: {steps}, run: 'true' }} }}")).run(&[])
    };
    if lab::on("lattepanda-a", "cat /sys/class/thermal/thermal_zone*/temp 2>/dev/null; :").is_empty() {
        let reason = "cool_down: `lattepanda-a` has no thermal sensor that can be read";
        cool("").assert_failed("prepare", &[reason]);
        let run = cool(", optional: true");
        run.assert_ok();
        assert_eq!(run.records[0]["warnings"][0], reason);
        assert!(run.report().contains(reason));
    } else {
        // Whatever it is like, it is told.
        let record = &cool("").records[0];
        let is_told = record["waits"][0]["last"].as_f64().is_some_and(|degrees| degrees < 60.0)
            || record["reason"].as_str().is_some_and(|reason| reason.contains("and must be below 60C"));
        assert!(is_told, "{record}");
    }
}
