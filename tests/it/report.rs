//! The reading half as a whole: a run on disk becomes the report that people see. The run in
//! `tests/fixtures/run-docker-vs-native` was made by hand; its numbers follow the study in Korean of 2019.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use runner::event::Status;
use runner::metrics::Measurement;
use runner::record::{
    KeptOutput, Line, Noise, PlannedCell, Record, Run, Suspicion, read_lines, read_run, runs_below,
};
use runner::report::{Report, Templates, check, render, render_with, write, write_samples};

pub fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/run-docker-vs-native")
}

fn fixture_report() -> Report {
    render(&read_run(&fixture()).unwrap()).unwrap()
}

/// What `samples.csv` of `run` holds.
pub fn samples(run: &Run) -> String {
    let mut samples = Vec::new();
    write_samples(run, &mut samples).unwrap();
    String::from_utf8(samples).unwrap()
}

/// Changes the lines that the records of `run` are made of, which are in the order of the report.
pub fn change_lines(run: &mut Run, change: impl FnOnce(&mut Vec<Line>)) {
    let all = read_lines(&run.directory).unwrap();
    let line = |record: &Record| Line { status: record.status, ..all[record.line as usize].clone() };
    let mut lines = run.records.iter().map(line).collect();
    change(&mut lines);
    run.records = lines.into_iter().map(Record::from).collect();
}

/// A copy of the fixture as `FOLDER/EXPERIMENT/START`.
pub fn copy_of_fixture(results: &Path, experiment: &str, start: &str) -> PathBuf {
    let run = results.join(experiment).join(start);
    fs::create_dir_all(run.join("hosts")).unwrap();
    let hosts = ["hosts/lattepanda-a.json", "hosts/lattepanda-b.json"];
    for file in ["manifest.json", "records.jsonl"].into_iter().chain(hosts) {
        fs::copy(fixture().join(file), run.join(file)).unwrap();
    }
    run
}

#[test]
fn the_report_is_as_committed() {
    insta::assert_snapshot!("report.md", fixture_report().markdown);
}

#[test]
fn the_summary_is_as_committed() {
    insta::assert_snapshot!("summary.csv", fixture_report().summary);
}

#[test]
fn the_samples_are_as_committed() {
    insta::assert_snapshot!("samples.csv", samples(&read_run(&fixture()).unwrap()));
}

#[test]
fn the_order_of_lines_on_disk_never_shows() {
    let results = tempfile::tempdir().unwrap();
    let run = copy_of_fixture(results.path(), "docker-vs-native", "2026-11-30T11-45-12Z");
    let records = run.join("records.jsonl");
    let text = fs::read_to_string(&records).unwrap();
    let (whole, torn) = text.rsplit_once('\n').unwrap();
    let mut lines: Vec<_> = whole.lines().collect();
    for turn in [1, 7, 20] {
        lines.reverse();
        lines.rotate_left(turn);
        fs::write(&records, format!("{}\n{torn}", lines.join("\n"))).unwrap();
        assert_eq!(render(&read_run(&run).unwrap()).unwrap(), fixture_report());
    }
}

#[test]
fn writing_twice_leaves_the_same_bytes_and_an_index_of_the_runs() {
    let results = tempfile::tempdir().unwrap();
    let experiment = "docker-vs-native";
    let older = copy_of_fixture(results.path(), experiment, "2026-11-29T08-00-00Z");
    let run = copy_of_fixture(results.path(), experiment, "2026-11-30T11-45-12Z");
    let killed = fs::read_to_string(older.join("manifest.json"))
        .unwrap()
        .replace("\"ended\": \"", "\"ended\": null, \"was\": \"");
    fs::write(older.join("manifest.json"), killed).unwrap();
    fs::create_dir(results.path().join(experiment).join("no-run")).unwrap();

    let read_all = || {
        let written = write(&run).unwrap();
        assert_eq!(written.warnings.len(), 1, "the half-written line");
        written.files.iter().map(|path| fs::read_to_string(path).unwrap()).collect::<Vec<_>>()
    };
    let first = read_all();
    assert_eq!(first, read_all());
    let Report { markdown, summary, .. } = fixture_report();
    assert_eq!(first[..2], [markdown, summary]);
    assert!(first.contains(&samples(&read_run(&fixture()).unwrap())));
    insta::assert_snapshot!(
        "README.md",
        fs::read_to_string(results.path().join(experiment).join("README.md")).unwrap()
    );
}

#[test]
fn a_run_that_was_copied_elsewhere_has_no_index() {
    let results = tempfile::tempdir().unwrap();
    let run = copy_of_fixture(results.path(), "somewhere-else", "run");
    let files = write(&run).unwrap().files;
    assert!(files.iter().all(|file| file.starts_with(&run)), "{files:?}");
    assert!(!results.path().join("somewhere-else/README.md").exists());
}

#[test]
fn suspicious_trials_and_unlike_machines_are_said_above_the_tables() {
    let mut run = read_run(&fixture()).unwrap();
    change_lines(&mut run, |lines| {
        let measured = lines.iter_mut().filter(|line| line.workload == "network");
        for (line, number) in measured.zip(0..) {
            let suspicious = match number % 4 {
                0 => vec![Suspicion::OtherPrograms, Suspicion::Throttled],
                1 => vec![Suspicion::Steal],
                _ => Vec::new(),
            };
            line.noise = Some(Box::new(Noise {
                others_cpu_percent: Some(20.0 + f64::from(number)),
                steal_percent: Some(1.25),
                throttled: Some(number % 4 == 0),
                suspicious,
                ..Noise::default()
            }));
            let of_server = vec![Suspicion::Hot; usize::from(number == 0)];
            let noise = Noise { temperature_c_after: Some(85.0), suspicious: of_server, ..Noise::default() };
            line.noise_of_services = [("gigabit-server".to_owned(), noise)].into();
        }
    });
    for (host, fact, value) in [
        (1, "kernel", "Linux 5.10"),
        (0, "docker: iperf3", "iperf 3.9"),
        (1, "docker: iperf3", "iperf 3.9"),
        (0, "iperf3", "iperf 3.12"),
        (1, "iperf3", "iperf 3.12"),
        (1, "docker: dd", "dd 9.1"),
    ] {
        run.hosts[host].facts.insert(fact.to_owned(), value.to_owned());
    }
    let markdown = render(&run).unwrap().markdown;
    let (tables, _) = markdown.split_once("## nap").unwrap();
    insta::assert_snapshot!("noise.md", tables);
}

#[test]
fn a_run_without_records_or_end_has_a_report_too() {
    let mut run = read_run(&fixture()).unwrap();
    run.records.clear();
    run.hosts.clear();
    run.manifest.ended = None;
    run.manifest.interrupted = false;
    insta::assert_snapshot!("nothing-measured.md", render(&run).unwrap().markdown);
}

/// Text that means something to Markdown or CSV.
const AWKWARD: &str = "[xyz|<>\\\\\n\r\",;`가힣]{1,8}";

/// The fixture with other values, texts and outcomes.
fn any_run() -> impl Strategy<Value = Run> {
    let value =
        prop_oneof![any::<f64>().prop_filter("finite", |value| value.is_finite()), -1e3..1e3, Just(0.0)];
    let status = prop_oneof![3 => Just(Status::Ok), 1 => Just(Status::Failed)];
    let one = (status, value, AWKWARD, 0..3_usize);
    (prop::collection::vec(one, 1..40), AWKWARD).prop_map(|(all, title)| {
        let mut run = read_run(&fixture()).unwrap();
        change_lines(&mut run, |lines| {
            for (line, (status, value, text, count)) in lines.iter_mut().zip(all) {
                line.status = status;
                line.reason = Some(text.clone());
                line.warnings = vec![text.clone()];
                let labels: BTreeMap<_, _> = [("size".to_owned(), text.clone())].into();
                let measurement = Measurement {
                    name: text,
                    value,
                    unit: "s".to_owned().into(),
                    better: None,
                    fixed: None,
                    labels,
                };
                line.measurements.extend(vec![measurement; count]);
                line.measurements.iter_mut().for_each(|measurement| measurement.value = value);
            }
        });
        run.manifest.title = title.clone();
        run.manifest.cells.iter_mut().for_each(|cell| cell.environment.clone_from(&title));
        run.hosts[0].facts[0].clone_from(&title);
        run
    })
}

/// The cells of a table's line, split where GitHub splits them.
fn cells(line: &str) -> usize {
    let (mut cells, mut escaped) = (0, false);
    for character in line.chars() {
        match character {
            '\\' if !escaped => escaped = true,
            '|' if !escaped => cells += 1,
            _ => escaped = false,
        }
    }
    cells - 1
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_table_is_ever_broken(run in any_run()) {
        let report = render(&run).unwrap();
        let mut width = None;
        for line in report.markdown.lines() {
            if line.starts_with('|') {
                prop_assert!(!line.contains("NaN") && !line.contains("inf"), "{line}");
                prop_assert!(!line.replace("<br>", "").contains("<"), "{line}");
                prop_assert_eq!(*width.get_or_insert(cells(line)), cells(line), "{}", line);
            } else {
                width = None;
            }
        }
        for text in [report.summary, samples(&run)] {
            prop_assert!(!text.contains("NaN") && !text.contains("inf"));
            let mut reader = csv::Reader::from_reader(text.as_bytes());
            prop_assert!(reader.records().all(|row| row.is_ok()), "every row has every column");
        }
    }
}

#[test]
fn committed_reports_are_those_of_their_records() {
    let runs = runs_below(Path::new("results")).unwrap();
    let checked = check(&runs).unwrap();
    assert!(checked.deviations.is_empty(), "`runner report results`: {:#?}", checked.deviations);
    assert!(checked.right > 3);
}

/// The bytes of the page that are markup, without what a script or a style holds.
fn markup(html: &str) -> String {
    let inside = regex::Regex::new(r"(?s)<(script|style)[^>]*>.*?</(script|style)>").unwrap();
    inside.replace_all(html, "").into_owned()
}

#[test]
fn the_page_is_one_file_that_needs_nothing_else() {
    let run = Path::new("results").join("docker-vs-native").read_dir().unwrap();
    let run = run.map(|entry| entry.unwrap().path()).find(|path| path.is_dir()).unwrap();
    let run = read_run(&run).unwrap();
    let html = render_with(&run, &Templates::default()).unwrap().html;
    assert!(html.len() < 600_000, "{} bytes for {} trials", html.len(), run.records.len());
    let loads = regex::Regex::new(
        r#"(?i)\b(?:src|srcset|action|poster|data)\s*=\s*["'a-z]|@import|url\(|<(?:link|img|iframe|object|embed|base)\b"#,
    );
    assert_eq!(loads.unwrap().find(&markup(&html)).map(|found| found.as_str().to_owned()), None);
    let style = html.split("<style>").nth(1).unwrap().split("</style>").next().unwrap();
    assert!(!style.contains("@import") && !style.contains("url("));
    let links = regex::Regex::new(r#"href="([^"]*)""#).unwrap();
    for link in links.captures_iter(&html) {
        assert!(!link[1].contains(':') && !link[1].starts_with('/'), "{} leads out of the run", &link[1]);
    }
    let script = html.split("<script>").nth(1).unwrap();
    assert!(!script.contains("fetch(") && !script.contains("XMLHttpRequest") && !script.contains("import("));
    // Every field of a metric opens to the trials of its cell.
    assert_eq!(html.matches("class=\"open\"").count(), 48, "30 values and 18 comparisons");
    let data = html.split("id=\"trials\">").nth(1).unwrap().split("</script>").next().unwrap();
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let trials = || data.as_array().unwrap().iter().flat_map(|cell| cell["t"].as_array().unwrap());
    assert_eq!(trials().count(), run.records.len());
    assert!(
        trials()
            .flat_map(|trial| trial["o"].as_array().into_iter().flatten())
            .all(|output| { output["x"].is_string() != output["no"].is_string() })
    );
}

#[test]
fn nothing_that_was_measured_becomes_part_of_the_page() {
    let results = tempfile::tempdir().unwrap();
    let path = copy_of_fixture(results.path(), "x", "run");
    let mut run = read_run(&path).unwrap();
    let evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'`\x1b[31m&";
    run.manifest.title = evil.into();
    run.manifest.hosts.clear();
    for cell in &mut run.manifest.cells {
        cell.host = evil.into();
    }
    let output = path.join("output/a/1/stdout");
    fs::create_dir_all(output.parent().unwrap()).unwrap();
    fs::write(&output, evil).unwrap();
    let kept = KeptOutput { path: "output/a/1/stdout".into(), size: 1, truncated: false };
    change_lines(&mut run, |lines| {
        for line in lines {
            line.warnings = vec![evil.into()];
            line.reason = Some(evil.into());
            line.outputs = vec![kept.clone()];
        }
    });
    let html = render_with(&run, &Templates::default()).unwrap().html;
    assert_eq!(html.matches("<script").count(), 2, "the data, and the program");
    assert_eq!(html.matches("</script").count(), 2);
    assert!(!html.contains("<img") && !html.contains('\x1b'));
    let data = html.split("id=\"trials\">").nth(1).unwrap().split("</script>").next().unwrap();
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!(data[0]["t"][0]["o"][0]["x"], evil.replace("\x1b[31m", ""));
}

#[test]
fn a_page_of_a_hundred_thousand_records_stays_small() {
    let mut run = read_run(&fixture()).unwrap();
    let cell = run.manifest.cells[0].clone();
    let first = run.records.iter().find(|record| record.cell == cell.cell).unwrap().line;
    let line = read_lines(&run.directory).unwrap().swap_remove(first as usize);
    run.manifest.cells = (0..1000)
        .map(|number| PlannedCell {
            cell: format!("c{number}"),
            host: format!("h{number}"),
            repetitions: 100,
            ..cell.clone()
        })
        .collect();
    let of_cell = |cell: &PlannedCell| {
        let trial = |repetition: u32| Line {
            cell: cell.cell.clone(),
            host: cell.host.clone(),
            trial: format!("{}#{repetition}", cell.cell),
            repetition,
            phase: runner::plan::Phase::Measure,
            ..line.clone()
        };
        (1..=100).map(trial).map(Record::from).collect::<Vec<_>>()
    };
    run.records = run.manifest.cells.iter().flat_map(of_cell).collect();
    let html = render(&run).unwrap().html;
    assert!(html.len() < 4_000_000, "{} bytes", html.len());
    assert_eq!(html.matches("\"more\":95").count(), 1000, "each cell lists 5 of its trials");
}
