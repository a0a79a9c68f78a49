//! What is read of a trial besides its values, from the output to the report: distributions, series, versions.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::cli::runner;

/// Runs `yaml` to its end, and returns where it lies.
fn run(folder: &Path, yaml: &str) -> PathBuf {
    fs::write(folder.join("x.yaml"), yaml).unwrap();
    let output = runner(folder, &["run", "x.yaml"]);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{stderr}");
    folder.join(String::from_utf8_lossy(&output.stdout).trim()).parent().unwrap().to_owned()
}

fn records(run: &Path) -> Vec<Value> {
    let text = fs::read_to_string(run.join("records.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn fixture(path: &str) -> String {
    format!("{}/tests/fixtures/{path}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_values_of_all_trials_are_one_distribution() {
    let folder = tempfile::tempdir().unwrap();
    // Trial n has 200 values around n * 100 us; none alone has enough of them for a p99.
    let run = run(
        folder.path(),
        "workloads:\n  w:\n    run: 'n={{ trial.repetition }}; i=1; while [ $i -le 200 ]; do echo $((n * 100 + i)); i=$((i+1)); done >values'\n    \
         fetch: [values]\n    metrics: { extract: { latency: { histogram: values, from: values, unit: us } } }\n\
         repetitions: 3\nreport: { units: { latency_p50: us } }\n",
    );
    let records = records(&run);
    for record in &records {
        let names: Vec<_> = record["measurements"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["name"].as_str().unwrap())
            .collect();
        assert!(names.contains(&"latency_p95") && !names.contains(&"latency_p99"), "{names:?}");
        assert_eq!(record["details"]["histograms"][0]["name"], "latency");
    }
    let report = fs::read_to_string(run.join("report.md")).unwrap();
    let table = report.split("all values of latency (us)").nth(1).unwrap();
    let row = table.lines().find(|line| line.contains("native")).unwrap();
    let cells: Vec<_> = row.split('|').map(str::trim).collect();
    // Host, environment, trials, values, mean: 1 to 200 and 100, 200 or 300 more.
    assert_eq!(cells[2..6], ["native", "3", "600", "300.5"], "{row}");
    assert!(cells[6].starts_with("30"), "the median of all: {row}");
    assert!(cells[9].contains('['), "600 values are enough for a p99: {row}");
    assert_eq!(cells[11], "–", "and not for a p99.99: {row}");
    assert!(!report.contains("## w: latency_p95"), "its figures are in that table: {report}");
    assert!(report.contains("## w: latency_p50 (us)"), "{report}");

    let again = runner(folder.path(), &["report", &run.display().to_string()]);
    assert!(again.status.success());
    assert_eq!(
        fs::read_to_string(run.join("report.md")).unwrap(),
        report,
        "merged the same after reading back"
    );
}

#[test]
fn a_listing_and_a_log_are_distributions_too() {
    let folder = tempfile::tempdir().unwrap();
    let run = run(
        folder.path(),
        &format!(
            "workloads:\n  w:\n    run: cat {}\n    metrics: {{ extract: {{ latency: {{ histogram: ranges }} }} }}\nrepetitions: 2\n",
            fixture("histogram/zerom.txt")
        ),
    );
    let report = fs::read_to_string(run.join("report.md")).unwrap();
    assert!(report.contains("20000000"), "{report}");
    assert!(report.contains("latency_p99 is only known to lie between 0.000018 and 0.000022 s"), "{report}");
}

#[test]
fn throughput_over_time_is_kept_where_the_file_asks_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let yaml = |series: &str| {
        format!(
            "workloads:\n  w:\n    run: cat {}\n    metrics: {{ tool: iperf3{series} }}\nrepetitions: 2\n",
            fixture("samples/iperf3/tcp_t2.json")
        )
    };
    let without = run(folder.path(), &yaml(""));
    assert!(!without.join("series.csv").exists());
    let with = run(folder.path(), &yaml(", series: true"));
    let series = fs::read_to_string(with.join("series.csv")).unwrap();
    let rows: Vec<_> = series.lines().collect();
    assert_eq!(rows[0], "trial,cell,workload,host,environment,repetition,phase,series,unit,seconds,value");
    let report: Value =
        serde_json::from_str(&fs::read_to_string(fixture("samples/iperf3/tcp_t2.json")).unwrap()).unwrap();
    let intervals = report["intervals"].as_array().unwrap();
    assert_eq!(rows.len(), 1 + 2 * intervals.len());
    let cells: Vec<_> = rows[1].split(',').collect();
    assert_eq!(cells[7..9], ["throughput", "bit/s"]);
    assert_eq!(cells[9].parse::<f64>().unwrap(), intervals[0]["sum"]["end"].as_f64().unwrap());
    assert_eq!(cells[10].parse::<f64>().unwrap(), intervals[0]["sum"]["bits_per_second"].as_f64().unwrap());
    // No point of it is a sample.
    let record = &records(&with)[0];
    assert_eq!(record["measurements"].as_array().unwrap().len(), 3, "{record}");
    assert_eq!(record["details"]["tools"]["iperf3"], "iperf 3.12");
}

#[test]
fn tools_of_different_versions_are_told_above_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(fixture("samples/iperf3/tcp_t2.json")).unwrap();
    fs::write(folder.path().join("new.json"), text.replace("iperf 3.12", "iperf 3.16")).unwrap();
    fs::write(folder.path().join("old.json"), text).unwrap();
    let path = folder.path().display();
    let run = run(
        folder.path(),
        &format!(
            "environments: {{ old: {{ env: {{ FILE: {path}/old.json }} }}, new: {{ env: {{ FILE: {path}/new.json }} }} }}\n\
             workloads: {{ w: {{ run: 'cat $FILE', metrics: {{ tool: iperf3 }} }} }}\nrepetitions: 2\n"
        ),
    );
    let report = fs::read_to_string(run.join("report.md")).unwrap();
    assert!(report.contains("`old` has iperf 3.12, `new` iperf 3.16"), "{report}");
}

#[test]
fn the_runs_of_hyperfine_are_a_distribution_of_each_command() {
    let folder = tempfile::tempdir().unwrap();
    let run = run(
        folder.path(),
        &format!(
            "workloads:\n  w:\n    run: cat {}\n    metrics: {{ tool: hyperfine }}\nrepetitions: 3\n",
            fixture("samples/hyperfine/two_commands.json")
        ),
    );
    let text = fs::read_to_string(fixture("samples/hyperfine/two_commands.json")).unwrap();
    let result: Value = serde_json::from_str(&text).unwrap();
    let runs = result["results"][0]["times"].as_array().unwrap().len();
    let report = fs::read_to_string(run.join("report.md")).unwrap();
    let table = report.split("all values of run_time").nth(1).unwrap();
    assert!(
        table.contains(&format!("| {} |", 3 * runs)) || table.contains(&format!(" {} ", 3 * runs)),
        "{table}"
    );
    for result in result["results"].as_array().unwrap() {
        assert!(table.contains(result["command"].as_str().unwrap()), "{table}");
    }
}
