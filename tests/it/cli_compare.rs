//! `runner compare` and `runner history` as a user types them, on small runs made by hand.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::cli::{runner, texts};
use crate::small_runs::{about, facts, of, write_run};

const A: &str = "results/naps/2026-11-29T08-00-00Z";
const B: &str = "results/naps/2026-11-30T08-00-00Z";
const C: &str = "results/naps/2026-12-01T08-00-00Z";

/// Three runs: B is worse in one cell and has a broken one, on another kernel; C is A again.
fn three() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let naps = folder.path().join("results/naps");
    let zeros = [Some(0.0); 5];
    let first = || {
        vec![
            about("same", 0.010),
            about("slower", 0.010),
            about("faster", 0.010),
            about("broken", 0.010),
            about("gone", 0.010),
            of("few", &[Some(1.0), Some(1.1), Some(1.2)]),
            of("zero", &zeros),
            of("noisy", &[Some(1.0), Some(2.0), Some(3.0), Some(4.0), Some(5.0)]),
        ]
    };
    write_run(&naps, "2026-11-29T08-00-00Z", &first(), &facts("Linux 6.1"), |_| {});
    let second = [
        about("same", 0.01001),
        about("slower", 0.015),
        about("faster", 0.008),
        of("broken", &[None; 5]),
        about("new | cell", 1.0),
        of("few", &[Some(2.0), Some(2.1), Some(2.2)]),
        of("zero", &zeros),
        of("noisy", &[Some(1.5), Some(2.5), None, Some(4.0), Some(5.0)]),
    ];
    write_run(&naps, "2026-11-30T08-00-00Z", &second, &facts("Linux 6.6"), |manifest| {
        manifest["commit"] = json!("77aa-dirty");
        manifest["digest"] = json!("d2");
        manifest["seed"] = json!(99);
        manifest["cells"][1]["settings"] = json!("4567");
    });
    write_run(&naps, "2026-12-01T08-00-00Z", &first(), &facts("Linux 6.1"), |_| {});
    folder
}

fn compare(folder: &Path, arguments: &[&str]) -> Output {
    runner(folder, &[&["compare"], arguments].concat())
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

#[test]
fn the_terminal_form_is_as_committed_and_plain() {
    let folder = three();
    let output = compare(folder.path(), &[A, B]);
    let (stdout, stderr) = texts(&output);
    assert_eq!((code(&output), &*stderr), (0, ""));
    assert!(!stdout.contains('\x1b'));
    insta::assert_snapshot!("compare-terminal", stdout);
    let file = folder.path().join("told.txt");
    assert_eq!(texts(&compare(folder.path(), &[A, B, "--output", "told.txt"])), Default::default());
    assert_eq!(fs::read_to_string(file).unwrap(), stdout, "a file holds what is printed");
}

#[test]
fn the_other_forms_are_as_committed() {
    let folder = three();
    for (form, name) in [("markdown", "compare-markdown"), ("csv", "compare-csv")] {
        let (stdout, _) = texts(&compare(folder.path(), &[A, B, "--format", form]));
        insta::assert_snapshot!(name, stdout);
    }
    let (stdout, _) = texts(&compare(folder.path(), &[A, B, C, "--margin", "5%"]));
    insta::assert_snapshot!("compare-three", stdout);
    let (stdout, _) = texts(&compare(folder.path(), &[A, B, C, "--format", "csv"]));
    let mut reader = csv::Reader::from_reader(stdout.as_bytes());
    assert!(reader.records().all(|row| row.is_ok_and(|row| row.len() == 23)));
}

#[test]
fn exit_codes_tell_what_was_asked_for() {
    let folder = three();
    let same = ["--where", "workload == 'same'"];
    let broken = ["--where", "workload == 'broken'"];
    let few = ["--where", "workload == 'few'"];
    for (arguments, right) in [
        (vec![A, B], 0),
        (vec![A, B, "--fail-on", "worse"], 5),
        (vec![A, C, "--fail-on", "worse"], 0),
        (vec![A, C, B, "--fail-on", "worse"], 5),
        (vec![A, C, "--fail-on", "worse,inconclusive"], 5),
        ([&[A, B, "--fail-on", "worse,inconclusive"][..], &same].concat(), 0),
        ([&[A, B, "--fail-on", "worse"][..], &broken].concat(), 5),
        ([&[B, A, "--fail-on", "worse"][..], &broken].concat(), 2),
        ([&[A, B, "--fail-on", "worse"][..], &few].concat(), 0),
        ([&[A, B, "--fail-on", "inconclusive"][..], &few].concat(), 5),
        (vec![A, B, "--fail-on", "worse", "--where", "workload == 'slower'", "--margin", "60%"], 0),
        (vec![A, B, "--fail-on", "better"], 2),
        (vec![A], 2),
        (vec![A, B, "--margin", "5"], 2),
        (vec![A, B, "--metric", "latancy"], 2),
        (vec![A, B, "--where", "workload == 'none'"], 2),
        (vec![A, B, "--where", "size > 1"], 2),
        (vec![A, "results/nothing"], 4),
        (vec![A, "results"], 4),
    ] {
        let output = compare(folder.path(), &arguments);
        assert_eq!(code(&output), right, "{arguments:?}: {:?}", texts(&output));
    }
}

#[test]
fn runs_of_other_experiments_are_compared_where_cells_match() {
    let folder = three();
    let others = folder.path().join("results/others");
    let cells = [about("same", 0.010), about("else", 1.0)];
    write_run(&others, "2026-11-29T09-00-00Z", &cells, &facts("Linux 6.1"), |_| {});
    let (stdout, _) = texts(&compare(folder.path(), &[A, "results/others"]));
    assert!(stdout.contains("experiment: others, was naps"), "{stdout}");
    assert!(stdout.contains("else/m1/native"), "{stdout}");
    assert!(stdout.ends_with("\n1 equivalent\n"), "{stdout}");
    let only = [about("else", 1.0)];
    write_run(&others, "2026-11-29T10-00-00Z", &only, &facts("Linux 6.1"), |_| {});
    let output = compare(folder.path(), &[A, "results/others"]);
    assert_eq!(code(&output), 2);
    assert!(texts(&output).1.contains("have no cell and metric in common"));
}

fn git(folder: &Path, arguments: &[&str]) {
    let mut git = Command::new("git");
    git.current_dir(folder).args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(arguments);
    assert!(git.output().unwrap().status.success(), "{arguments:?}");
}

/// A repository whose branch `main` has the first run, and whose work tree has all.
fn repository() -> tempfile::TempDir {
    let folder = three();
    git(folder.path(), &["init", "--quiet", "--initial-branch=main"]);
    fs::write(folder.path().join(".gitattributes"), "*.jsonl export-ignore\n* text=auto eol=crlf\n").unwrap();
    git(folder.path(), &["add", A, ".gitattributes"]);
    git(folder.path(), &["commit", "--quiet", "--message=first"]);
    git(folder.path(), &["tag", "v1"]);
    folder
}

#[test]
fn runs_are_read_out_of_revisions() {
    let folder = repository();
    let (right, _) = texts(&compare(folder.path(), &[A, B]));
    let body = |text: &str| text.split_once("What has changed").unwrap().1.to_owned();
    let results = folder.path().join("results");
    let here = folder.path();
    for (place, baseline, other) in [
        (here, format!("main:{A}"), B),
        (here, "main:results/naps".to_owned(), B),
        (here, "main:results/naps/".to_owned(), B),
        (here, "v1:./results/naps".to_owned(), B),
        (here, format!("{A}@v1"), B),
        (here, "results/naps@HEAD".to_owned(), B),
        (&results, "main:results/naps".to_owned(), "naps/2026-11-30T08-00-00Z"),
        (&results, "main:./naps".to_owned(), "naps/2026-11-30T08-00-00Z"),
        (&results, "naps@main".to_owned(), "naps/2026-11-30T08-00-00Z"),
        (Path::new("/"), format!("{}/{A}@main", here.display()), &*format!("{}/{B}", here.display())),
    ] {
        let output = compare(place, &[&baseline, other]);
        let (stdout, stderr) = texts(&output);
        assert_eq!((code(&output), &*stderr), (0, ""), "{baseline}");
        assert_eq!(body(&stdout), body(&right), "{baseline}");
    }
    // A run that is gone from the work tree is still in the revision.
    fs::remove_dir_all(folder.path().join("results")).unwrap();
    let output = compare(folder.path(), &[&format!("{A}@v1"), "main:results/naps"]);
    assert!(texts(&output).0.ends_with("(both are the same run)\n"), "{:?}", texts(&output));
    git(folder.path(), &["checkout", "--quiet", "--", "."]);
}

#[test]
fn what_git_has_not_is_told() {
    let folder = repository();
    let nowhere = tempfile::tempdir().unwrap();
    let b = format!("{}/{B}", folder.path().display());
    for (place, text, words) in [
        (folder.path(), "nope:results/naps", "git knows no revision `nope`"),
        (folder.path(), "--help:results/naps", "git knows no revision `--help`"),
        (folder.path(), "main:results/nope", "revision `main` has no folder `results/nope`"),
        (folder.path(), "main:.gitattributes", "has no folder `.gitattributes`"),
        (folder.path(), "main:results", "there is no run in `main:results`"),
        (folder.path(), "results/none@main", "has no folder `./none`"),
        (nowhere.path(), "main:results/naps", "not a git repository"),
        (nowhere.path(), "results/naps", "there is no such folder"),
    ] {
        let output = compare(place, &["--", text, &b]);
        let (stdout, stderr) = texts(&output);
        assert!([2, 4].contains(&code(&output)) && stdout.is_empty(), "{text}");
        assert!(stderr.contains(words), "{text}: {stderr}");
    }
}

/// Runs of `middles`, a day each; the kernel is another one from the fifth on.
fn days(middles: &[f64]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let naps = folder.path().join("results/naps");
    for (day, middle) in (1..).zip(middles) {
        let kernel = if day < 5 { "Linux 6.1" } else { "Linux 6.6" };
        let mut cells = vec![about("nap", *middle), about("same", 1.0 + 0.001 * f64::from(day % 3))];
        if day == 3 {
            cells[0].values = vec![None; 5];
        }
        write_run(&naps, &format!("2026-11-{day:02}T08-00-00Z"), &cells, &facts(kernel), |_| {});
    }
    folder
}

#[test]
fn a_history_finds_the_step_and_marks_what_changed() {
    let folder = days(&[0.010, 0.0101, 0.0099, 0.01005, 0.015, 0.0151, 0.0149, 0.01505, 0.0152, 0.0150]);
    for (form, name) in
        [("terminal", "history-terminal"), ("markdown", "history-markdown"), ("csv", "history-csv")]
    {
        let output = runner(folder.path(), &["history", "naps", "--format", form, "--svg", "naps.svg"]);
        let (stdout, stderr) = texts(&output);
        assert_eq!((code(&output), &*stderr), (0, ""));
        insta::assert_snapshot!(name, stdout);
    }
    let svg = fs::read_to_string(folder.path().join("naps.svg")).unwrap();
    assert!(svg.contains("×1.495") && svg.contains("m1: kernel Linux 6.6, was Linux 6.1"), "{svg}");
    assert_eq!(svg.matches("trials ok").count(), 19, "a point for each run and cell that has one");
}

#[test]
fn a_short_history_says_how_many_runs_are_missing() {
    let folder = days(&[0.010, 0.010, 0.010]);
    let (stdout, _) = texts(&runner(folder.path(), &["history", "results/naps", "--metric", "elapsed"]));
    assert!(stdout.contains("– 2 of 8 runs") && stdout.contains("– 3 of 8 runs"), "{stdout}");
    assert!(
        stdout.contains("3 runs: too few to tell a change of level from chance, which takes 8"),
        "{stdout}"
    );
    write_run(
        &folder.path().join("results/other"),
        "2026-11-01T08-00-00Z",
        &[about("nap", 1.0)],
        &facts("x"),
        |_| {},
    );
    for (arguments, right) in [
        (vec!["history", "nothing"], 4),
        (vec!["history", "results"], 2),
        (vec!["history", "naps", "--metric", "none"], 2),
        (vec!["history", "naps", "--where", "workload == 'none'"], 2),
        (vec!["history", "naps", "--where", "workload == 'nap'"], 0),
    ] {
        let output = runner(folder.path(), &arguments);
        assert_eq!(code(&output), right, "{arguments:?}: {:?}", texts(&output));
    }
}

/// The lines of `docs/github-actions.yml` that call `runner`, run as a forge would.
#[test]
fn the_example_for_a_forge_works_line_by_line() {
    let text = fs::read_to_string("docs/github-actions.yml").unwrap();
    let example: Value = serde_yaml::from_str(&text).unwrap();
    let steps = example["jobs"]["measurements"]["steps"].as_array().unwrap();
    let scripts: Vec<&str> = steps.iter().filter_map(|step| step["run"].as_str()).collect();
    let folder = repository();
    git(folder.path(), &["update-ref", "refs/remotes/origin/main", "main"]);
    fs::create_dir(folder.path().join("experiments")).unwrap();
    fs::write(folder.path().join("experiments/nap.yaml"), "workloads: {nap: {run: sleep 0.01}}\n").unwrap();
    assert_eq!(code(&runner(folder.path(), &["report", "results"])), 0);
    let run = |script: &str| {
        let program = assert_cmd::cargo::cargo_bin("runner");
        let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
        let mut shell = Command::new("bash");
        shell.args(["-e", "-c", &script.replace("NAME", "naps")]).current_dir(folder.path());
        shell.env("PATH", path).env("GITHUB_BASE_REF", "main").env("GITHUB_STEP_SUMMARY", "summary.md");
        code(&shell.output().unwrap())
    };
    let verbs = ["runner check", "runner report --check", "--fail-on worse", "--format markdown"];
    let mut found = verbs.iter().map(|verb| {
        scripts.iter().find(|script| script.contains(verb)).unwrap_or_else(|| panic!("no line with `{verb}`"))
    });
    let [check, report, worse, page] = [(); 4].map(|()| *found.next().unwrap());
    assert_eq!(
        [run(check), run(report), run(worse), run(page)],
        [0; 4],
        "the newest run, C, is as good as A"
    );
    assert!(
        fs::read_to_string(folder.path().join("summary.md")).unwrap().starts_with("# Comparison of runs")
    );
    // What is worse, edited or wrong is found.
    fs::remove_dir_all(folder.path().join(C)).unwrap();
    fs::write(folder.path().join("experiments/nap.yaml"), "workloads: {nap: {rum: sleep 0.01}}\n").unwrap();
    assert_eq!([run(check), run(report), run(worse), run(page)], [3, 1, 5, 0]);
}
