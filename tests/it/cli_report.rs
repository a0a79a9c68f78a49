//! `runner report` as a user and a forge's machine type it: many runs at once, and whether what is committed is right.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::cli::{runner, texts};
use crate::report::copy_of_fixture;

const EXPERIMENT: &str = "docker-vs-native";
const OLDER: &str = "2026-11-29T08-00-00Z";
const NEWER: &str = "2026-11-30T11-45-12Z";

/// Two runs with their reports.
fn reported() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for start in [OLDER, NEWER] {
        copy_of_fixture(&folder.path().join("results"), EXPERIMENT, start);
    }
    let output = runner(folder.path(), &["report", "results"]);
    let (stdout, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let right = [OLDER, NEWER].map(|start| format!("results/{EXPERIMENT}/{start}/report.md\n"));
    assert_eq!(stdout, right.concat());
    folder
}

fn in_run(folder: &Path, file: &str) -> PathBuf {
    folder.join("results").join(EXPERIMENT).join(NEWER).join(file)
}

/// Every file below `folder` with its bytes.
fn all(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(all(&path)),
            false => drop(files.insert(path.clone(), fs::read(&path).unwrap())),
        }
    }
    files
}

#[test]
fn what_was_just_made_is_right_however_it_is_named() {
    let folder = reported();
    let run = format!("results/{EXPERIMENT}/{NEWER}");
    let experiment = format!("results/{EXPERIMENT}");
    for (paths, told) in [
        (&["results"][..], "2 runs, 17 files: all as the records say\n"),
        (&[&experiment], "2 runs, 17 files: all as the records say\n"),
        (&[&run], "1 run, 9 files: all as the records say\n"),
        (&[&run, "results", &run], "2 runs, 17 files: all as the records say\n"),
    ] {
        let output = runner(folder.path(), &[&["report", "--check"], paths].concat());
        assert_eq!(output.status.code(), Some(0), "{paths:?}");
        assert_eq!(texts(&output), (String::new(), told.to_owned()), "{paths:?}");
    }
}

#[test]
fn each_deviation_is_told_and_nothing_is_written() {
    let folder = reported();
    let report = in_run(folder.path(), "report.md");
    let changed = fs::read_to_string(&report).unwrap().replacen("94.2", "99.9", 1);
    fs::write(&report, changed).unwrap();
    fs::remove_file(in_run(folder.path(), "summary.csv")).unwrap();
    fs::write(in_run(folder.path(), "series.csv"), "left over\n").unwrap();
    let index = folder.path().join(format!("results/{EXPERIMENT}/README.md"));
    let text = fs::read_to_string(&index).unwrap();
    fs::write(&index, text.strip_suffix('\n').unwrap()).unwrap();
    fs::set_permissions(in_run(folder.path(), ""), Permissions::from_mode(0o555)).unwrap();

    let before = all(folder.path());
    let output = runner(folder.path(), &["report", "--check", "results"]);
    assert_eq!(all(folder.path()), before);
    fs::set_permissions(in_run(folder.path(), ""), Permissions::from_mode(0o755)).unwrap();
    assert_eq!(output.status.code(), Some(1));
    let (stdout, stderr) = texts(&output);
    insta::assert_snapshot!("report-check", format!("{stdout}---\n{stderr}"));

    // The advice helps, but for what nothing makes.
    assert_eq!(runner(folder.path(), &["report", "results"]).status.code(), Some(0));
    let output = runner(folder.path(), &["report", "--check", "results"]);
    let (stdout, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout.lines().count() == 1 && stdout.contains("series.csv: nothing makes"), "{stdout}");
    assert!(!stderr.contains("help"), "{stderr}");
}

#[test]
fn what_is_no_run_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("empty")).unwrap();
    for path in ["empty", "none"] {
        for arguments in [&["report", path][..], &["report", "--check", path]] {
            let output = runner(folder.path(), arguments);
            let (stdout, stderr) = texts(&output);
            assert_eq!((output.status.code(), &*stdout), (Some(4), ""), "{arguments:?}");
            assert!(stderr.contains(&format!("could not find a run in `{path}`")), "{stderr}");
            assert!(stderr.contains("help: give the directory of a run"), "{stderr}");
        }
    }
}

#[test]
fn a_run_that_goes_on_is_not_checked() {
    let folder = reported();
    fs::remove_file(in_run(folder.path(), "report.md")).unwrap();
    let records = fs::File::options().append(true).open(in_run(folder.path(), "records.jsonl")).unwrap();
    records.lock().unwrap();
    let run = format!("results/{EXPERIMENT}/{NEWER}");
    let output = runner(folder.path(), &["report", "--check", &run]);
    assert_eq!(output.status.code(), Some(0));
    assert!(texts(&output).1.starts_with(&format!("left out: `{run}` goes on\n")));
}

/// An experiment with this `report:` section.
fn write_experiment(folder: &Path, report: &str) {
    let yaml = "environments: { native: {}, docker: { container: { image: debian } } }
workloads:
  network: { parameters: { server: native }, run: 'x {{ server }}', metrics: { tool: iperf3 } }
matrix: [{ environment: [native, docker] }]
report: ";
    fs::write(folder.join("docker-vs-native.yaml"), format!("{yaml}{report}\n")).unwrap();
}

#[test]
fn a_report_section_that_was_changed_later_is_put_into_the_run() {
    let folder = reported();
    let run = format!("results/{EXPERIMENT}/{NEWER}");
    let file = |report: &str| write_experiment(folder.path(), report);
    let report = |arguments: &[&str]| runner(folder.path(), &[&["report"], arguments].concat());
    let text = || fs::read_to_string(in_run(folder.path(), "report.md")).unwrap();
    file(
        "{ baseline: { environment: docker }, tables: [{ title: 속도, workload: network, metrics: throughput_sent }] }",
    );
    let output = report(&[&run, "--experiment", "docker-vs-native.yaml"]);
    assert_eq!(output.status.code(), Some(0), "{}", texts(&output).1);
    assert!(
        text().contains("## 속도 (Mbit/s)") && text().contains("Against `environment=docker`"),
        "{}",
        text()
    );
    assert_eq!(report(&[&run, "--check"]).status.code(), Some(0), "the run has kept it");

    let before = all(folder.path());
    file("{ tables: [{ rows: hosts }] }");
    assert_eq!(report(&[&run, "--experiment", "docker-vs-native.yaml"]).status.code(), Some(3));
    file("{}");
    let many = report(&["results", "--experiment", "docker-vs-native.yaml"]);
    assert_eq!(many.status.code(), Some(2), "{}", texts(&many).1);
    fs::write(
        folder.path().join("docker-vs-native.yaml"),
        &before[&folder.path().join("docker-vs-native.yaml")],
    )
    .unwrap();
    assert_eq!(all(folder.path()), before, "a mistake changes nothing");
}

#[test]
fn each_source_of_published_figures_has_its_own_row() {
    let folder = reported();
    let run = format!("results/{EXPERIMENT}/{NEWER}");
    let report = |arguments: &[&str]| runner(folder.path(), &[&["report"], arguments].concat());
    let text = || fs::read_to_string(in_run(folder.path(), "report.md")).unwrap();
    let references = |figures: &str| {
        let header = "source,workload,metric,value,unit,host,environment\n";
        fs::write(folder.path().join("published.csv"), format!("{header}{figures}")).unwrap();
    };
    write_experiment(folder.path(), "{ references: published.csv }");
    references(
        "A,network,throughput_sent,90,Mbit/s,lattepanda-a,native\nB,network,throughput_sent,91,Mbit/s,lattepanda-a,podman\n",
    );
    assert_eq!(report(&[&run, "--experiment", "docker-vs-native.yaml"]).status.code(), Some(0));
    let row = |name: &str| text().lines().find(|line| line.contains(name)).map(str::to_owned).unwrap();
    let cells = |line: String| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let header = cells(row("| host"));
    for (mark, value, column) in [("†1", "90.00", "native, server=native"), ("†2", "91.00", "podman")] {
        let place = header.iter().position(|name| name == column).unwrap();
        assert_eq!(
            cells(row(&format!("lattepanda-a {mark}")))[place],
            value,
            "each source has its own row: {}",
            text()
        );
    }
    assert!(text().contains("not measured here, †1: A.") && text().contains("not measured here, †2: B."));
    for misfit in ["A,network,throughput_sent,90,ms,a,native\n", "A,network,latency,90,ms,a,native\n"] {
        references(misfit);
        let refused = report(&[&run, "--experiment", "docker-vs-native.yaml"]);
        assert_eq!(refused.status.code(), Some(3), "{misfit}");
    }
}

#[test]
fn a_report_that_can_not_be_made_replaces_no_file() {
    let folder = reported();
    let before = all(folder.path());
    fs::write(in_run(folder.path(), "samples.csv"), "old\n").unwrap();
    let old = all(folder.path());
    assert_ne!(old, before);
    let templates = folder.path().join("templates");
    fs::create_dir(&templates).unwrap();
    fs::write(templates.join("report.md.j2"), "{{ nothing }}\n").unwrap();
    let run = in_run(folder.path(), "");
    let output = runner(folder.path(), &["report", "--templates", "templates", run.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(3), "{}", texts(&output).1);
    fs::remove_dir_all(templates).unwrap();
    assert_eq!(all(folder.path()), old);
}
