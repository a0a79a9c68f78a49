//! `runner plan`, and `run --dry-run`: what would be run, for people and for programs.

use std::fs;
use std::path::Path;

use crate::cli::{folder_with, runner, texts};

const WIDE: &str = "
hosts: { localhost: { local: {} }, 名前: { ssh: pi@192.0.2.7:2222 }, b: { ssh: { address: board, jump: gate } } }
workloads:
  net:
    parameters: { text: x }
    services: { server: { host: b, run: serve, ready: { log: up } } }
    run: get {{ text }}
  nap: { parameters: { length: 1 }, run: 'sleep {{ length }}' }
matrix:
  - { workload: net, host: [localhost, 名前], text: [x, \"two\\nlines, \\\"quoted\\\"\"], repetitions: 3, warmup: 1 }
  - { workload: nap, host: 名前, length: [1, 22] }
seed: 7
";

fn output(folder: &Path, arguments: &[&str]) -> String {
    let output = runner(folder, arguments);
    let (stdout, stderr) = texts(&output);
    assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""), "{arguments:?}");
    stdout
}

#[test]
fn a_table_for_people() {
    let folder = folder_with(WIDE);
    insta::assert_snapshot!("plan-table", output(folder.path(), &["plan", "nap.yaml"]));
}

#[test]
fn an_example_as_it_stands() {
    let arguments = ["plan", "experiments/docker-vs-native.yaml", "--results", "none", "--seed", "7"];
    insta::assert_snapshot!("plan-docker-vs-native", output(Path::new("."), &arguments));
}

#[test]
fn json_lines_and_csv_for_programs() {
    let folder = folder_with(WIDE);
    let json = output(folder.path(), &["plan", "nap.yaml", "--format", "json"]);
    let cells: Vec<serde_json::Value> =
        json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(cells.len(), 6);
    assert_eq!(cells[1]["parameters"]["text"], "two\nlines, \"quoted\"");
    assert!(
        cells[1]["services"].as_object().unwrap().values().any(|service| service["host"] == "b"),
        "{json}"
    );
    let csv = output(folder.path(), &["plan", "nap.yaml", "--format", "csv"]);
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let columns: Vec<_> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    assert_eq!(
        columns,
        [
            "cell",
            "id",
            "workload",
            "host",
            "environment",
            "text",
            "length",
            "repetitions",
            "warmup",
            "min_repetitions"
        ]
    );
    let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 6);
    assert_eq!((&rows[1][0], &rows[1][5]), (cells[1]["cell"].as_str().unwrap(), "two\nlines, \"quoted\""));
    assert_eq!((&rows[5][5], &rows[5][6], &rows[5][7], &rows[5][8]), ("", "22", "10", "0"));
}

#[test]
fn a_dry_run_prints_the_plan_and_does_nothing() {
    let folder = folder_with("workloads: { nap: { run: touch /run-happened } }\n");
    for changes in [&[][..], &["--repetitions", "2", "--seed", "9"]] {
        let plan = output(folder.path(), &[&["plan", "nap.yaml"], changes].concat());
        let dry = output(folder.path(), &[&["run", "nap.yaml", "--dry-run"], changes].concat());
        assert_eq!(plan, dry);
        assert_eq!(plan.contains("seed 9"), !changes.is_empty(), "{plan}");
    }
    assert!(!folder.path().join("results").exists());
}

#[test]
fn the_time_comes_from_the_latest_run_of_these_cells() {
    let folder = folder_with(
        "workloads: { nap: { run: sleep 0.01 }, new: { run: 'true' } }\nmatrix: [{ workload: nap }]\n",
    );
    let path = folder.path();
    let never = output(path, &["plan", "nap.yaml"]);
    assert!(never.ends_with("\nno earlier run of these cells in results/nap\n"), "{never}");
    output_of_run(path);
    let known = output(path, &["plan", "nap.yaml"]);
    let run = fs::read_dir(path.join("results/nap")).unwrap().map(|entry| entry.unwrap());
    let run = run.filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name()).next().unwrap();
    let expected = format!("from the run {}: 1 of 1 cells known\n", run.to_str().unwrap());
    assert!(known.ends_with(&expected), "{known}");
    fs::write(path.join("nap.yaml"), "workloads: { nap: { run: sleep 0.01 }, new: { run: 'true' } }\n")
        .unwrap();
    assert!(output(path, &["plan", "nap.yaml"]).ends_with("1 of 2 cells known\n"));
    fs::write(path.join("nap.yaml"), "workloads: { new: { run: 'true' } }\n").unwrap();
    assert!(output(path, &["plan", "nap.yaml"]).contains("no earlier run of these cells"));
    // What can't be read is no reason to refuse a plan.
    fs::write(path.join("results/nap").join(&run).join("manifest.json"), "{").unwrap();
    output(path, &["plan", "nap.yaml"]);
}

fn output_of_run(folder: &Path) {
    assert_eq!(runner(folder, &["run", "nap.yaml", "--repetitions", "2"]).status.code(), Some(0));
}
