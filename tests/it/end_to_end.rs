//! Both halves together: an experiment runs on fake machines, its events become records on a disk, and a
//! report is made from these alone.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use runner::event::{Event, Status};
use runner::record::{FORMAT_VERSION, Manifest, PlannedCell, RunWriter, read_run};
use runner::transports::fake::Reply;
use serde_json::Value;

use crate::world::{Happened, World, fails, forever, ok, takes};

const YAML: &str = "
hosts: { pi4: { ssh: pi4 }, pi5: { ssh: pi5 }, rack: { ssh: rack } }
environments: { native: {}, shared: { workdir: /mnt/nfs } }
workloads:
  disk:
    prepare: drop_caches
    run: dd if=bench.dat of=/dev/null
    metrics: { tool: dd }
  network:
    services: { server: { host: rack, run: serve, ready: { port: '{{ port }}' } } }
    run: send
    metrics: { extract: { rate: { regex: 'sent (\\d+)', unit: Mbit/s, better: higher } } }
matrix: [{ host: [pi4, pi5] }]
repetitions: 6
warmup: 1
seed: 3
report: { baseline: { environment: native } }
";

/// The disk of pi5 in `shared` fails; everything else works, and `shared` has half the rate.
fn answer(host: &str, command: &str) -> Reply {
    match command {
        "serve" => Reply { stdout: "listening\n".into(), ..forever() },
        "send" => Reply { stdout: "sent 940\n".into(), ..takes(10) },
        _ if host == "pi5" => fails(1, "dd: error reading 'bench.dat': Input/output error\n"),
        _ => Reply {
            stderr: "1024+0 records in\n1024+0 records out\n1073741824 bytes (1.1 GB, 1.0 GiB) copied, 2.0 s, 537 MB/s\n".into(),
            ..takes(2)
        },
    }
}

fn manifest(happened: &Happened) -> Manifest {
    let baseline = &happened.spec.report.baseline;
    Manifest {
        format: FORMAT_VERSION,
        id: "test".into(),
        runner: "0.0.0".into(),
        title: "Two boards".into(),
        experiment: "boards".into(),
        file: "boards.yaml".into(),
        options: BTreeMap::new(),
        digest: "00".into(),
        commit: None,
        seed: happened.plan.seed,
        order: happened.spec.order().as_str().into(),
        started: "2026-11-30T11:45:12Z".into(),
        ended: None,
        interrupted: false,
        stopped: None,
        sittings: Vec::new(),
        hosts: BTreeMap::new(),
        inputs: None,
        cells: happened.plan.cells().map(|cell| PlannedCell::from(&cell)).collect(),
        baseline: baseline.iter().map(|(axis, value)| (axis.value.clone(), value.value.clone())).collect(),
        templates: None,
        units: BTreeMap::new(),
        presentation: Default::default(),
        charts: Vec::new(),
        counts: BTreeMap::new(),
    }
}

/// Writes what happened as `runner run` does; returns where it lies.
fn write(happened: &Happened, results: &Path) -> PathBuf {
    let mut writer =
        RunWriter::create(results, manifest(happened), &happened.spec.to_yaml(), Default::default()).unwrap();
    for (_, event) in &happened.events {
        match event {
            Event::FactsFound { host, facts } => writer.write_host(host, facts).unwrap(),
            Event::TrialFinished(outcome) => {
                let cell = happened.plan.cell(outcome.trial.index);
                writer.write_outcome(outcome, &cell).unwrap();
            }
            _ => {}
        }
    }
    writer.finish("2026-11-30T11:46:12Z", false, None).unwrap().path().to_owned()
}

#[tokio::test(start_paused = true)]
async fn what_was_measured_is_what_is_reported() {
    let happened = World::new(answer).run(YAML).await;
    let results = tempfile::tempdir().unwrap();
    let directory = write(&happened, results.path());

    let run = read_run(&directory).unwrap();
    assert_eq!(run.records.len(), happened.plan.trial_count());
    assert_eq!(run.manifest.counts, [("failed".to_owned(), 12), ("ok".to_owned(), 36)].into());
    for record in &run.records {
        let is_bad = record.cell.starts_with("disk/pi5");
        assert_eq!(record.status == Status::Ok, !is_bad, "{}", record.trial());
        assert_eq!(record.values().is_empty(), is_bad, "{}: a failure is never a value", record.trial());
        let drops = if record.workload == "disk" { 1 } else { 0 };
        assert_eq!(record.words().caches.len(), drops);
        for output in &record.words().outputs {
            assert_eq!(fs::metadata(directory.join(&output.path)).unwrap().len(), output.size);
        }
    }
    let service = directory.join("output/network/pi4/native/1/services/server/stdout");
    assert_eq!(fs::read(service).unwrap(), b"listening\n");

    let written = runner::report::write(&directory).unwrap();
    assert!(written.warnings.is_empty(), "{:?}", written.warnings);
    let report = fs::read_to_string(directory.join("report.md")).unwrap();
    for text in ["Two boards", "Input/output error", "940", "pi4", "shared"] {
        assert!(report.contains(text), "{text} is missing:\n{report}");
    }
    let rows = csv::Reader::from_path(directory.join("summary.csv")).unwrap().into_deserialize();
    let rows: Vec<BTreeMap<String, String>> = rows.map(|row| row.unwrap()).collect();
    let find =
        |cell: &str, metric: &str| rows.iter().find(|row| row["cell"] == cell && row["metric"] == metric);
    let rate = find("network/pi4/shared", "rate").unwrap();
    assert_eq!(
        (rate["median"].as_str(), rate["ok"].as_str(), rate["unit"].as_str()),
        ("940000000", "6", "bit/s")
    );
    let disk = find("disk/pi4/native", "throughput").unwrap();
    assert_eq!(disk["mean"].parse::<f64>().unwrap(), 536_870_912.0);
    assert!(
        find("disk/pi5/native", "throughput").is_none_or(|row| row["median"].is_empty() && row["ok"] == "0")
    );

    let files = ["report.md", "summary.csv", "samples.csv"];
    let before = files.map(|file| fs::read(directory.join(file)).unwrap());
    runner::report::write(&directory).unwrap();
    assert_eq!(files.map(|file| fs::read(directory.join(file)).unwrap()), before);
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_run_has_a_report_of_what_it_measured() {
    let happened = World::new(|host, command| if command == "remove" { ok() } else { answer(host, command) });
    let happened = happened.stop_after(205).run(YAML).await;
    let results = tempfile::tempdir().unwrap();
    let directory = write(&happened, results.path());
    let run = read_run(&directory).unwrap();
    assert!(run.records.len() < happened.plan.trial_count());
    assert!(run.records.iter().any(|record| record.status == Status::Interrupted));
    assert!(run.records.iter().any(|record| record.status == Status::Ok));
    runner::report::write(&directory).unwrap();
    let report = fs::read_to_string(directory.join("report.md")).unwrap();
    assert!(report.contains("940") && report.contains("interrupted"), "{report}");
}

/// What `dd N` and `timed N` print of repetition N of a case.
fn repeated(repetitions: &Value, command: &str) -> Reply {
    let (tool, repetition) = command.split_once(' ').unwrap();
    let repetition = &repetitions[repetition.parse::<usize>().unwrap() - 1];
    let (Some(bytes), Some(seconds)) = (repetition["bytes"].as_f64(), repetition["seconds"].as_f64()) else {
        return fails(1, "connection lost\n");
    };
    let rate = bytes / seconds;
    match tool {
        "dd" => Reply {
            stderr: format!(
                "1024+0 records in\n1024+0 records out\n{bytes} bytes copied, {seconds} s, {:.1} MB/s\n",
                rate / 1e6
            ),
            ..ok()
        },
        _ => Reply { stdout: format!("rate {rate}\n"), ..ok() },
    }
}

/// Case 081: five repetitions of the same work, one of which failed. dd says that its work is fixed; `timed` gives the
/// same rates as of a fixed time.
pub async fn the_mean_of_rates_is_that_of_what_was_fixed(folder: &Path, expected: &Value) {
    let input = fs::read_to_string(folder.join("input.json")).unwrap();
    let input: Value = serde_json::from_str(&input).unwrap();
    let right = |name: &str| {
        let metrics = expected["metrics"].as_array().unwrap();
        metrics.iter().find(|metric| metric["name"] == name).unwrap()["value"].as_f64().unwrap()
    };
    let yaml = "
workloads:
  work: { run: 'dd {{ trial.repetition }}', metrics: { tool: dd } }
  time:
    run: 'timed {{ trial.repetition }}'
    metrics: { extract: { throughput: { regex: 'rate (\\S+)', unit: byte/s, better: higher, fixed: time } } }
repetitions: 5
";
    let happened = World::new(move |_, command| repeated(&input, command)).run(yaml).await;
    let results = tempfile::tempdir().unwrap();
    let directory = write(&happened, results.path());
    runner::report::write(&directory).unwrap();
    let rows = csv::Reader::from_path(directory.join("summary.csv")).unwrap().into_deserialize();
    let rows: Vec<BTreeMap<String, String>> = rows.map(|row| row.unwrap()).collect();
    for (workload, kind, mean) in
        [("work", "harmonic", "rate_total"), ("time", "arithmetic", "rate_arithmetic_mean")]
    {
        let row =
            rows.iter().find(|row| row["workload"] == workload && row["metric"] == "throughput").unwrap();
        let count = |key: &str| expected[key].as_u64().unwrap();
        let (ok, planned) = (count("n_ok"), count("n_ok") + count("n_failed"));
        let counts = [&row["planned"], &row["ok"]].map(|text| text.parse::<u64>().unwrap());
        assert_eq!(counts, [planned, ok], "a failure is no 0");
        assert_eq!(row["mean_kind"], kind);
        for (column, name) in [
            ("mean", mean),
            ("median", "rate_median"),
            ("sd", "rate_stddev_sample"),
            ("min", "rate_min"),
            ("max", "rate_max"),
        ] {
            let (got, right) = (row[column].parse::<f64>().unwrap(), right(name));
            assert!((got - right).abs() <= 1e-9 * right, "{workload} {column}: {got} is not {right}");
        }
        // With such times, of 10 to 40 s, the time of one more may be 0: nothing bounds the rate above.
        assert_eq!(row["mean_low"].is_empty(), kind == "harmonic");
    }
    let report = fs::read_to_string(directory.join("report.md")).unwrap();
    let (work, time) = report.split_once("## time: throughput").unwrap();
    assert!(work.contains("the mean, in `summary.csv`, is the harmonic one"), "{work}");
    assert!(!time.contains("harmonic"), "{time}");
}
