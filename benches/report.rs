//! What a report of many records costs (G17, G18), beside DuckDB on the same file where it can be had from the Python
//! registry, and what bootstrap intervals of as many cells cost (G19). A run of 1,000 cells is made up for it; its
//! values are drawn, its lines are those of a real run.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it measures")]

mod support;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use runner::analysis::{Resampling, bootstrap};
use serde_json::json;

const CELLS: usize = 1_000;
const DUCKDB: &str = "duckdb==2.0.1";
/// The same figures out of the same lines.
const QUERY: &str = "import duckdb, sys
duckdb.sql(f\"copy (select cell, m.name, count(*), avg(m.value), median(m.value), stddev(m.value), min(m.value), max(m.value) \
from (select cell, unnest(measurements) m from read_json('{sys.argv[1]}/records.jsonl', format='newline_delimited') where status = 'ok') \
group by all) to '{sys.argv[1]}/duckdb.csv'\")";

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let python = duckdb(folder.path());
    println!("{:>9} {:>7}  {:<34} {:>8} {:>7}", "records", "MB", "what", "ms p50", "MiB");
    for (count, times) in [(100_000, 5), (1_000_000, 1)] {
        let run = make_run(folder.path(), count);
        let size = fs::metadata(run.join("records.jsonl")).unwrap().len() as f64 / 1e6;
        let row = |what: &str, (time, memory): (f64, f64)| {
            println!("{count:>9} {size:>7.0}  {what:<34} {time:>8.0} {memory:>7.1}");
        };
        let directory = run.display().to_string();
        let runner = Path::new(env!("CARGO_BIN_EXE_runner"));
        row("runner report", support::median(times, runner, &["report".to_owned(), directory.clone()]));
        row(
            "read the file (cat, no work)",
            support::median(times, Path::new("cat"), &[format!("{directory}/records.jsonl")]),
        );
        if let Some(python) = &python {
            let arguments = ["-c", QUERY, &directory].map(str::to_owned);
            row("DuckDB, same figures, one CSV", support::median(times, python, &arguments));
        }
        fs::remove_dir_all(run).unwrap();
    }
    intervals();
}

/// Bootstrap intervals of the mean, 2,000 resamples a cell of 100 values, on all cores.
fn intervals() {
    let mut random = Pcg64::seed_from_u64(1);
    let cells: Vec<Vec<f64>> =
        (0..CELLS).map(|_| (0..100).map(|_| 7.0 + random.random_range(0.0..1.0)).collect()).collect();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for part in cells.chunks(CELLS.div_ceil(cores)) {
            scope.spawn(move || part.iter().for_each(|cell| interval(cell)));
        }
    });
    let elapsed = start.elapsed().as_secs_f64() * 1e3;
    println!(
        "{:>9} {:>7}  {:<34} {elapsed:>8.0}",
        100_000,
        "",
        format!("bootstrap BCa, 2,000 a cell, {cores} cores")
    );
}

fn interval(cell: &[f64]) {
    let mean = |sample: &[f64]| sample.iter().sum::<f64>() / sample.len() as f64;
    bootstrap(cell, mean, Resampling::Random { count: 2_000, seed: 1 }).unwrap();
}

/// A run of `count` records in 1,000 cells.
fn make_run(folder: &Path, count: usize) -> PathBuf {
    let directory = folder.join(format!("made-up/{count}"));
    fs::create_dir_all(&directory).unwrap();
    let repetitions = count / CELLS;
    let cells: Vec<_> = (0..CELLS)
        .map(|number| {
            let (size, threads, kind) = (number % 10, number / 10 % 10, number / 100);
            let parameters = json!({ "size": size.to_string(), "threads": threads.to_string(), "kind": kind.to_string() });
            json!({
                "cell": format!("w/h/native/kind={kind},size={size},threads={threads}"), "workload": "w", "host": "h",
                "environment": "native", "parameters": parameters, "repetitions": repetitions,
                "settings": format!("{number:012x}"),
            })
        })
        .collect();
    let mut random = Pcg64::seed_from_u64(1);
    let mut file = std::io::BufWriter::new(fs::File::create(directory.join("records.jsonl")).unwrap());
    for order in 1..=count {
        let (cell, repetition) = (&cells[(order - 1) % CELLS], (order - 1) / CELLS + 1);
        let value: f64 = random.random_range(5.0..9.0);
        let record = json!({
            "v": 1, "trial": format!("{}#{repetition}", cell["cell"].as_str().unwrap()), "cell": cell["cell"],
            "settings": cell["settings"], "workload": "w", "host": "h", "environment": "native",
            "parameters": cell["parameters"], "repetition": repetition, "attempt": 1, "block": repetition,
            "order": order, "phase": "measure", "status": "ok", "stage": null, "reason": null,
            "started": "2026-11-30T11:45:12.123456789Z", "elapsed_s": value, "outputs": [],
            "measurements": [{ "name": "elapsed", "value": value, "unit": "s", "better": "lower" }],
        });
        writeln!(file, "{record}").unwrap();
    }
    file.flush().unwrap();
    let manifest = json!({
        "format": 1, "id": "0badcafe", "runner": "0.1.0", "title": "made up", "experiment": "made-up", "file": "e.yaml",
        "digest": "", "commit": null, "seed": 1, "order": "blocks", "started": "2026-11-30T11:45:12Z",
        "ended": "2026-11-30T12:45:12Z", "cells": cells, "baseline": {}, "counts": { "ok": count },
    });
    fs::write(directory.join("manifest.json"), manifest.to_string()).unwrap();
    directory
}

/// A Python that has DuckDB; none where it can't be installed, which is said.
fn duckdb(folder: &Path) -> Option<PathBuf> {
    let place = folder.join("python");
    let run = |program: &Path, arguments: &[&str]| {
        let ended =
            Command::new(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
        ended.is_ok_and(|status| status.success())
    };
    let python = place.join("bin/python");
    let is_there = run(Path::new("python3"), &["-m", "venv", &place.display().to_string()])
        && run(&python, &["-m", "pip", "install", "--quiet", DUCKDB]);
    if !is_there {
        println!("{DUCKDB} could not be installed with python3 -m venv and pip: no figures of it");
    }
    is_there.then_some(python)
}
