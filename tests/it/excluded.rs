//! Trials that an experiment excludes afterwards, and the margin of its verdicts: what a report shows of them.

use std::fs;
use std::path::Path;

use crate::cli::{folder_with, run_directory, runner, texts};

/// Ten trials a cell; the value of each is its number, and that of the tenth ten times as much. The fourth of `bad` fails.
const NUMBERS: &str = r#"
environments: { good: {}, bad: {} }
workloads:
  count:
    run: |
      case {{ environment }}{{ trial.repetition }} in bad4) exit 1 ;; *10) echo 100 ;; *) echo {{ trial.repetition }} ;; esac
    metrics: { extract: { number: { regex: '(\d+)' } } }
matrix: [{ workload: count, environment: [good, bad] }]
repetitions: 10
seed: 1
report:
  baseline: { environment: good }
"#;

/// Writes the experiment with `report` behind it, and puts that into its run.
fn present(folder: &Path, report: &str) -> (Option<i32>, String) {
    fs::write(folder.join("nap.yaml"), format!("{NUMBERS}{report}")).unwrap();
    let run = run_directory(folder);
    let output = runner(folder, &["report", "--experiment", "nap.yaml", run.to_str().unwrap()]);
    (output.status.code(), texts(&output).1)
}

fn exclude(run: &str, trial: &str) -> String {
    format!("  exclude: [{{ run: {run}, trial: \"{trial}\", reason: its power failed }}]\n")
}

#[test]
fn an_excluded_trial_counts_nowhere_and_both_results_are_shown() {
    let folder = folder_with(NUMBERS);
    let folder = folder.path();
    assert_eq!(runner(folder, &["run", "nap.yaml"]).status.code(), Some(1));
    let run = run_directory(folder);
    let read = |name: &str| fs::read_to_string(run.join(name)).unwrap();
    let names = ["report.md", "summary.csv", "samples.csv", "records.jsonl", "report.html"];
    let before = names.map(read);
    let name = run.file_name().unwrap().to_str().unwrap();
    let (code, said) = present(folder, &exclude(name, "count/localhost/bad#10"));
    assert_eq!((code, said.as_str()), (Some(0), ""));
    let report = read("report.md");
    let (_, head) = report.split_once("UTC").unwrap();
    let (head, _) = head.split_once("Order").unwrap();
    assert!(head.contains("18 of 19 trials ok, 1 excluded."), "{head}");
    assert!(report.contains("- `count/localhost/bad#10` is excluded by the experiment"), "{report}");
    let (_, section) = report.split_once("## Excluded trials").unwrap();
    let (section, _) = section.split_once("## Failures").unwrap();
    assert!(section.contains("| count/localhost/bad#10 | its power failed |"), "{section}");
    let row = section.lines().find(|line| line.starts_with("| count/localhost/bad ")).unwrap();
    // How many are suspicious is this machine's business.
    let fields: Vec<&str> = row.split('|').map(|field| field.split('!').next().unwrap().trim()).collect();
    assert_eq!(fields[1..5], ["count/localhost/bad", "number", "5.5 [1.0, 9.0] 8/9", "6.0 [2.0, 9.0] 9/10"]);
    assert_eq!(
        (fields[5], fields[6]),
        ("×1.000 [1.000, 1.000] equivalent", "×1.000 [1.000, 1.000] equivalent")
    );
    let summary = read("summary.csv");
    let mut reader = csv::Reader::from_reader(summary.as_bytes());
    let header = reader.headers().unwrap().clone();
    let wanted = ["environment", "planned", "ok", "median", "max"]
        .map(|name| header.iter().position(|other| other == name).unwrap());
    let rows = reader.records().map(Result::unwrap).filter(|row| row.iter().any(|field| field == "number"));
    let rows: Vec<String> = rows.map(|row| wanted.map(|column| row[column].to_owned()).join(" ")).collect();
    // By hand: of 1 to 9 without 4 the median is 5.5.
    assert_eq!(rows, ["good 10 10 5.5 100", "bad 9 8 5.5 9"]);
    let samples = read("samples.csv");
    assert_eq!(samples.matches(",excluded,ok,").count(), samples.matches("bad#10,").count());
    assert!(read("report.html").contains("\"apart\":\"excluded\""));
    assert_eq!(read("records.jsonl"), before[3]);
    assert_eq!(runner(folder, &["report", "--check", "results"]).status.code(), Some(0));
    let path = run.to_str().unwrap();
    let (compared, _) = texts(&runner(folder, &["compare", path, path]));
    assert!(compared.contains("count/localhost/bad#10 is excluded: its power failed"), "{compared}");
    let index = fs::read_to_string(run.parent().unwrap().join("README.md")).unwrap();
    assert!(index.contains("18 of 19 trials ok, 1 excluded") && index.contains("| 18/19 |"), "{index}");
    // The trial is there again once nobody excludes it.
    assert_eq!(present(folder, "").0, Some(0));
    assert_eq!(names.map(read), before);
    // That of another run is no matter of this one.
    let (code, said) = present(folder, &exclude("2026-11-30T11-45-12Z", "count/localhost/bad#10"));
    assert_eq!((code, said), (Some(0), format!("nothing under `exclude` is for the run {name}\n")));
    assert_eq!(names.map(read), before);
}

#[test]
fn a_cell_of_which_nothing_is_left_is_no_failure() {
    let folder = folder_with(NUMBERS);
    let folder = folder.path();
    runner(folder, &["run", "nap.yaml"]);
    let run = run_directory(folder);
    let name = run.file_name().unwrap().to_str().unwrap();
    let all: Vec<String> =
        [1, 2, 3, 5, 6, 7, 8, 9, 10].map(|number| format!("count/localhost/bad#{number}")).into();
    assert_eq!(
        present(
            folder,
            &exclude(name, &all.join("\", \""))
                .replace("trial: \"", "trial: [\"")
                .replace("\", reason", "\"], reason")
        ),
        (Some(0), String::new())
    );
    let report = fs::read_to_string(run.join("report.md")).unwrap();
    assert!(
        report.contains("Nothing is known of `count/localhost/bad`: all trials that were ok are excluded."),
        "{report}"
    );
    let path = run.to_str().unwrap();
    let compared = runner(folder, &["compare", path, path, "--fail-on", "worse"]);
    let (stdout, stderr) = texts(&compared);
    assert_eq!(compared.status.code(), Some(0), "{stdout}{stderr}");
    assert!(stdout.contains("Not compared: every ok trial is excluded"), "{stdout}");
}

#[test]
fn an_exclusion_goes_with_the_settings_it_was_measured_under() {
    let folder = folder_with(NUMBERS);
    let folder = folder.path();
    runner(folder, &["run", "nap.yaml"]);
    let run = run_directory(folder);
    let name = run.file_name().unwrap().to_str().unwrap();
    assert_eq!(present(folder, &exclude(name, "count/localhost/bad#10")).0, Some(0));
    let excluded = || {
        let manifest = fs::read_to_string(run.join("manifest.json")).unwrap();
        let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
        manifest["presentation"]["excluded"].as_object().map_or(0, serde_json::Map::len)
    };
    runner(folder, &["run", "nap.yaml", "--resume"]);
    assert_eq!(excluded(), 1);
    fs::write(folder.join("nap.yaml"), NUMBERS.replace("echo 100", "echo 50")).unwrap();
    runner(folder, &["run", "nap.yaml", "--resume", "--accept-changes"]);
    assert_eq!(excluded(), 0);
}

#[test]
fn only_trials_that_count_can_be_excluded() {
    let folder = folder_with(NUMBERS);
    let folder = folder.path();
    assert_eq!(runner(folder, &["run", "nap.yaml"]).status.code(), Some(1));
    let run = run_directory(folder);
    let before = fs::read(run.join("manifest.json")).unwrap();
    let name = run.file_name().unwrap().to_str().unwrap();
    for (trial, message) in [
        ("count/localhost/bad#4", "`count/localhost/bad#4` is failed and counts nowhere anyway"),
        ("count/localhost/bad#11", "has no measured trial `count/localhost/bad#11`"),
    ] {
        let (code, said) = present(folder, &exclude(name, trial));
        assert_eq!(code, Some(3), "{said}");
        assert!(said.contains(message) && said.contains("nap.yaml:13:"), "{said}");
        assert_eq!(fs::read(run.join("manifest.json")).unwrap(), before);
    }
}

#[test]
fn the_margin_of_the_file_decides_verdicts_and_stands_in_the_report() {
    let folder = folder_with(
        &NUMBERS.replace("*10) echo 100 ;; *) echo {{ trial.repetition }}", "good*) echo 100 ;; *) echo 104"),
    );
    let folder = folder.path();
    runner(folder, &["run", "nap.yaml"]);
    let report = || fs::read_to_string(run_directory(folder).join("report.md")).unwrap();
    assert!(report().contains("`different`: surely different by more than 2 %"), "{}", report());
    present(folder, "  margin: 5%\n");
    assert!(report().contains("`small`: surely different, and perhaps by less than 5 %"), "{}", report());
    let run = run_directory(folder);
    let run = run.to_str().unwrap();
    for (margin, words) in [(&[][..], "more than 5 %"), (&["--margin", "1%"], "more than 1 %")] {
        let compared = runner(folder, &[&["compare", run, run, "--format", "markdown"], margin].concat());
        let (stdout, stderr) = texts(&compared);
        assert!(stdout.contains(words), "{stdout}{stderr}");
    }
}
