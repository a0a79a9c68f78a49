//! `runner explain`: every value with its place, every command in its order.

use std::path::Path;

use crate::cli::{folder_with, runner, texts};

const SMALL: &str = r#"hosts:
  localhost: { local: {}, labels: { board: "Pi 5", no name: x } }
  other: { ssh: pi@192.0.2.7 }
environments:
  box:
    workdir: "/mnt/{{ host.labels.board }}"
    container: { image: debian, cpus: "{{ cpus }}", volumes: ["/data:/data:ro"], fresh: trial }
workloads:
  work:
    parameters: { cpus: 1, level: &low '3' }
    services:
      one: { host: other, environment: native, run: [serve, "a b", "{{ port }}"], ready: { log: "^up" } }
      two: { run: "serve {{ port + 1 }}", ready: { command: "test {{ cpus }}", within: 3s } }
    setup:
      - make {{ level }}
      - { run: "prepare {{ cpus }}", on: host, sudo: true, timeout: 90s }
    prepare: [drop_caches, { sleep: 250ms }, wait_idle, { cool_down: { below: 60C, optional: true } }]
    run: |
      first {{ trial.name }}
      second {{ services.one.port }} {{ trial.repetition * 2 }}
    conclude: { run: "fetch", on: other }
    metrics: { extract: { rate: { regex: "(\\d+)", unit: MB/s } } }
matrix:
  - { workload: work, host: localhost, environment: box, cpus: [0.5, 2], level: *low, exclude: "cpus == 2" }
  - { workload: work, host: localhost, environment: box, cpus: 2, repetitions: 1, warmup: 2 }
timeout: 5 min
"#;

fn explained(folder: &Path, arguments: &[&str]) -> String {
    let output = runner(folder, &[&["explain"], arguments].concat());
    let (stdout, stderr) = texts(&output);
    assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""), "{arguments:?}");
    stdout
}

#[test]
fn an_example() {
    let file = "experiments/docker-vs-native.yaml";
    let text = ["network/lattepanda-a/docker/server=docker", "disk-read/lattepanda-b/docker"]
        .map(|cell| explained(Path::new("."), &[file, cell]));
    insta::assert_snapshot!("explain-docker-vs-native", text.join("\n\n"));
}

#[test]
fn a_small_file_with_everything() {
    let folder = folder_with(SMALL);
    let text = ["cpus=2", "cpus=0.5"].map(|cell| explained(folder.path(), &["nap.yaml", cell]));
    insta::assert_snapshot!("explain-small", text.join("\n\n"));
}

#[test]
fn a_cell_is_found_by_a_part_that_is_its_own() {
    let folder = folder_with(
        "workloads: { nap: { parameters: { n: 1 }, run: 'sleep {{ n }}' } }\nmatrix: [{ n: [1, 2, 12] }]\n",
    );
    for (cell, name) in [("n=2", "n=2"), ("nap/localhost/native/n=1", "n=1"), ("=12", "n=12")] {
        let text = explained(folder.path(), &["nap.yaml", cell]);
        assert!(text.starts_with(&format!("nap/localhost/native/{name}: 10 trials\n")), "{cell}: {text}");
    }
    for (cell, expected) in [
        ("n=1", &["part of the names of 2 cells", "`nap/localhost/native/n=1`", "n=12`"][..]),
        ("", &["part of the names of 3 cells"]),
        ("nap/localhost/natvie/n=2", &["no cell is called", "near it are `nap/localhost/native/n=2`"]),
    ] {
        let output = runner(folder.path(), &["explain", "nap.yaml", cell]);
        let (stdout, stderr) = texts(&output);
        assert_eq!((output.status.code(), stdout.as_str()), (Some(2), ""), "{cell}");
        for text in expected {
            assert!(stderr.contains(text), "{cell}: {stderr}");
        }
    }
}
