//! Limits on real machines: a deadline, retries and an adaptive cell, with nothing left behind.

use std::fs;

use super::lab::{Experiment, assert_clean};

const NATIVE: &str = "environments: { native: {} }\nmatrix: [{ host: lattepanda-a, environment: native }]\n";

#[test]
fn a_deadline_ends_the_run_with_its_report() {
    let workload = "workloads: { w: { run: sleep 613.1 } }\ndeadline: 3s\n";
    let run = Experiment::new(&format!("{NATIVE}{workload}")).run(&[]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert_eq!(run.records.len(), 1, "what was not begun has no record");
    assert_eq!(run.records[0]["status"], "interrupted");
    assert!(run.report().contains("stopped by its deadline of 3s: 1 of 10 trials"), "{}", run.report());
    assert_clean(&run, "lattepanda-a", "sleep 613.1");
}

#[test]
fn a_service_that_is_not_ready_at_first_is_tried_again() {
    let workload = "
workloads:
  w:
    setup: { run: rm -f /tmp/limits-tried }
    services:
      late:
        run: \"if [ -e /tmp/limits-tried ]; then echo ready; sleep 614.1; else touch /tmp/limits-tried; sleep 614.1; fi\"
        ready: { log: ready, within: 2s }
    run: 'true'
    cleanup: rm -f /tmp/limits-tried
repetitions: 1
";
    let run = Experiment::new(&format!("{NATIVE}{workload}")).run(&[]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let seen: Vec<_> = run.records.iter().map(|record| (&record["attempt"], &record["status"])).collect();
    assert_eq!(format!("{seen:?}"), "[(Number(1), String(\"failed\")), (Number(2), String(\"ok\"))]");
    assert_eq!(run.records[0]["verdicts"]["services"], "failed");
    assert_clean(&run, "lattepanda-a", "sleep 614.1");
}

#[test]
fn a_steady_cell_stops_early_and_the_report_says_so() {
    let workload = "
workloads:
  w: { run: echo rate 7, metrics: { extract: { rate: { regex: 'rate (\\d+)', unit: 1/s } } } }
repetitions: { min: 6, max: 30, until: 1% }
";
    let run = Experiment::new(&format!("{NATIVE}{workload}")).run(&[]);
    run.assert_ok();
    assert_eq!(run.records.len(), 6);
    let report = run.report();
    assert!(report.contains("6 of 6 trials ok"), "{report}");
    assert!(report.contains("from 6 to 30 trials a cell"), "{report}");
    let manifest = fs::read_to_string(run.directory.unwrap().join("manifest.json")).unwrap();
    assert!(manifest.contains("\"until\": \"1%\""), "{manifest}");
}
