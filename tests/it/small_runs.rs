//! Small runs on disk, made by hand: cells of one workload each, with the values that a test asks for.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// One cell, `WORKLOAD/HOST/native`: a value for each trial; none for one that has failed.
pub struct Cell<'a> {
    pub workload: &'a str,
    pub host: &'a str,
    pub values: Vec<Option<f64>>,
}

/// A cell of `m1` whose trials are all ok, five of them about `middle`.
pub fn about<'a>(workload: &'a str, middle: f64) -> Cell<'a> {
    let values = [0.995, 1.002, 1.0045, 0.9985, 1.0].map(|part| Some(part * middle)).to_vec();
    Cell { workload, host: "m1", values }
}

/// A cell of `m1` with other values.
pub fn of<'a>(workload: &'a str, values: &[Option<f64>]) -> Cell<'a> {
    Cell { workload, host: "m1", values: values.to_vec() }
}

/// Facts of `m1`.
pub fn facts(kernel: &str) -> Value {
    json!({"os": "Debian GNU/Linux 12 (bookworm)", "kernel": kernel, "cpus": "4", "memory": "4028764 kB",
        "work directory": "/var/tmp", "file system": "ext4 (rw,relatime)", "sleep": "sleep 9.1"})
}

/// Writes a run as `FOLDER/START` and gives its directory. `edit` changes its manifest.
pub fn write_run(
    folder: &Path,
    start: &str,
    cells: &[Cell<'_>],
    facts: &Value,
    edit: impl FnOnce(&mut Value),
) -> PathBuf {
    let run = folder.join(start);
    fs::create_dir_all(run.join("hosts")).unwrap();
    let name = |cell: &Cell<'_>| format!("{}/{}/native", cell.workload, cell.host);
    let planned = cells.iter().map(|cell| {
        json!({"cell": name(cell), "workload": cell.workload, "host": cell.host, "environment": "native",
            "parameters": {}, "repetitions": cell.values.len(), "settings": "0123"})
    });
    let time = format!("{}T{}", &start[..10], start[11..].replace('-', ":"));
    let ok = cells.iter().flat_map(|cell| &cell.values).filter(|value| value.is_some()).count();
    let mut manifest = json!({
        "format": 1, "id": format!("id{}", start.replace(['-', 'T', 'Z'], "")), "runner": "0.1.0", "title": "Naps",
        "experiment": folder.file_name().unwrap().to_str().unwrap(), "file": "nap.yaml", "digest": "d1",
        "commit": "3f6a1c9b27d4", "seed": 1, "order": "blocks", "started": time, "ended": time,
        "cells": planned.collect::<Vec<_>>(), "baseline": {}, "counts": {"ok": ok},
    });
    edit(&mut manifest);
    fs::write(run.join("manifest.json"), format!("{manifest:#}\n")).unwrap();
    fs::write(run.join("hosts/m1.json"), format!("{:#}\n", json!({"host": "m1", "facts": facts}))).unwrap();
    let mut lines = String::new();
    for cell in cells {
        for (index, value) in cell.values.iter().enumerate() {
            let measured = |value: &f64| {
                json!([{"name": "latency", "value": value, "unit": "s", "better": "lower"},
                    {"name": "elapsed", "value": 1.0 + value, "unit": "s", "better": "lower"}])
            };
            let record = json!({
                "v": 1, "trial": format!("{}#{}", name(cell), index + 1), "cell": name(cell), "settings":
                manifest["cells"].as_array().unwrap().iter().find(|planned| planned["cell"] == name(cell)).unwrap()["settings"],
                "workload": cell.workload, "host": cell.host, "environment": "native", "parameters": {},
                "repetition": index + 1, "attempt": 1, "block": index + 1, "order": index + 1, "phase": "measure",
                "status": if value.is_some() { "ok" } else { "failed" },
                "stage": if value.is_some() { Value::Null } else { json!("run") },
                "reason": if value.is_some() { Value::Null } else { json!("exit code 1\nno such file") },
                "started": time, "elapsed_s": 2.0, "outputs": [],
                "measurements": value.as_ref().map_or(json!([]), measured),
            });
            lines += &format!("{record}\n");
        }
    }
    fs::write(run.join("records.jsonl"), lines).unwrap();
    run
}
