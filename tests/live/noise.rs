//! Waiting for a machine, and what is told of its noise, with real load: busy loops of our own, ended by
//! their ids. The lab's machines share a kernel with this one, so a loop here is load there.

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
