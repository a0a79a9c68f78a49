//! Metrics whose labels tell apart several values of a trial, where each cell has labels of its own: a grid over a small
//! file has no records of the size of a large one.

use std::fs;

use crate::cli::{folder_with, run_directory, runner, texts};

/// Two grids; on `bad` the small one lacks a line and the large one prints nothing.
const GRIDS: &str = r#"
environments: { good: {}, bad: {} }
workloads:
  grid:
    parameters: { file: 1 }
    run: |
      case {{ environment }}{{ file }} in
        good1) echo "size 1 record 1: 10 MB/s"; echo "size 1 record 2: 20 MB/s" ;;
        bad1) echo "size 1 record 1: 10 MB/s" ;;
        good8) echo "size 8 record 4: 40 MB/s"; echo "size 8 record 8: 80 MB/s" ;;
        bad8) exit 1 ;;
      esac
    metrics:
      extract: { rate: { lines: '^size (?<size>\d+) record (?<record>\d+): (?<value>\d+) MB/s$', unit: MB/s } }
matrix: [{ workload: grid, environment: [good, bad], file: [1, 8] }]
repetitions: 2
"#;

#[test]
fn each_cell_has_the_labels_of_cells_with_its_parameters() {
    let folder = folder_with(GRIDS);
    let (_, stderr) = texts(&runner(folder.path(), &["run", "nap.yaml", "--seed", "1"]));
    assert!(stderr.contains("6 of 8 trials ok"), "{stderr}");
    let run = run_directory(folder.path());
    let summary = fs::read_to_string(run.join("summary.csv")).unwrap();
    let mut reader = csv::Reader::from_reader(summary.as_bytes());
    let header = reader.headers().unwrap().clone();
    let place = |name: &str| header.iter().position(|other| other == name).unwrap();
    let wanted = ["environment", "param.file", "label.record", "ok"].map(place);
    let rows = reader.records().map(Result::unwrap).filter(|row| &row[place("metric")] == "rate");
    let rows: Vec<String> = rows.map(|row| wanted.map(|column| row[column].to_owned()).join(" ")).collect();
    let expected = [
        "good 1 1 2",
        "good 1 2 2",
        "good 8 4 2",
        "good 8 8 2",
        "bad 1 1 2",
        "bad 1 2 0",
        "bad 8 4 0",
        "bad 8 8 0",
    ];
    assert_eq!(rows, expected);
    let report = fs::read_to_string(run.join("report.md")).unwrap();
    assert!(
        report.contains(
            "rate{record=2,size=1} was not found in `grid/localhost/bad/file=1`, whose trials are ok."
        ),
        "{report}"
    );
    assert_eq!(report.matches("was not found").count(), 1, "{report}");
}
