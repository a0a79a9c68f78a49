//! Templates of a user: found and tried before anything runs, kept by the run, rendered again from its directory
//! alone; and the page that says what they see. `UPDATE_DOCS=1 cargo test --test it fresh` writes that page again.

use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;
use runner::record::{read_run, read_templates};
use runner::report::{Templates, render_with, view::ReportView};
use serde_json::Value;

use crate::cli::{folder_with, runner, texts};
use crate::schema::assert_fresh;

const NAP: &str =
    "workloads: { nap: { run: sleep 0.01 } }\nrepetitions: 2\nreport: { templates: looks/blog }\n";

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = folder_with(NAP);
    put(folder.path(), files);
    folder
}

fn put(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = folder.join("looks").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// Runs the program and asserts how it ends. Returns what it says.
#[track_caller]
fn says(folder: &Path, arguments: &[&str], code: i32) -> String {
    let output = runner(folder, arguments);
    let (_, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {stderr}");
    stderr.lines().filter(|line| !line.contains("is locked by")).map(|line| format!("{line}\n")).collect()
}

fn run_directory(folder: &Path) -> PathBuf {
    let runs = fs::read_dir(folder.join("results/nap")).unwrap().map(|entry| entry.unwrap().path());
    runs.filter(|path| path.is_dir()).max().unwrap()
}

#[test]
fn mistakes_in_templates_are_found_before_anything_runs() {
    let folder = folder(&[]);
    let mut all = says(folder.path(), &["check", "nap.yaml"], 3);
    for (name, text) in [
        ("blog/notes.txt", "no template\n"),
        (
            "blog/blog.md.j2",
            "# {{ title }}\n\n{% for metric in metrics %}\n{{ metric.table | tabel }}\n{% endfor %}\n",
        ),
        ("blog/blog.md.j2", "# {{ title }}\n\nMeasured on {{ host }}.\n"),
        ("blog/blog.md.j2", "{% for metric in metrics %}\n{{ metric.tabel | table }}\n{% endfor %}\n"),
        ("blog/blog.md.j2", "{% for metric in metrics %}\n{{ metric.table | table }}\n"),
        ("blog/blog.md.j2", "{{ failures | table }}\n"),
    ] {
        put(folder.path(), &[(name, text)]);
        all.push_str(&says(folder.path(), &["check", "nap.yaml"], 3));
    }
    insta::assert_snapshot!("mistakes", all);
    says(folder.path(), &["run", "nap.yaml"], 3);
    put(folder.path(), &[("blog/blog.md.j2", "{% if failures %}{{ failures | table }}{% endif %}\n")]);
    says(folder.path(), &["check", "nap.yaml"], 0);
    assert!(!folder.path().join("results").exists(), "nothing was run");
    let help = says(folder.path(), &["run", "nap.yaml", "--templates", "none"], 2);
    assert!(help.contains("could not read `none`: there is no such folder"), "{help}");
}

#[test]
fn a_run_keeps_its_templates_and_is_reported_by_them_again() {
    let blog = "# {{ title }}\n{% include 'parts/table.md.j2' %}\n";
    let part = "{% for metric in metrics %}{{ metric.table | table }}{% endfor %}";
    let folder = folder(&[("blog/blog.md.j2", blog), ("blog/parts/table.md.j2", part), ("blog/x.txt", "")]);
    says(folder.path(), &["run", "nap.yaml"], 0);
    let run = run_directory(folder.path());
    let manifest: Value =
        serde_json::from_str(&fs::read_to_string(run.join("manifest.json")).unwrap()).unwrap();
    assert_eq!(manifest["templates"], "looks/blog");
    let kept = |name: &str| fs::read_to_string(run.join("templates").join(name)).unwrap();
    assert_eq!((kept("blog.md.j2").as_str(), kept("parts/table.md.j2").as_str()), (blog, part));
    assert!(!run.join("templates/x.txt").exists());
    let text = fs::read_to_string(run.join("blog.md")).unwrap();
    assert!(text.starts_with("# nap\n| host      |"), "{text}");
    // From the run's directory alone.
    fs::remove_dir_all(folder.path().join("looks")).unwrap();
    fs::remove_file(run.join("blog.md")).unwrap();
    says(folder.path(), &["report", run.to_str().unwrap()], 0);
    assert_eq!(fs::read_to_string(run.join("blog.md")).unwrap(), text);
    // Once with others; the run's own stay what they are.
    put(folder.path(), &[("other/report.md.j2", "other {{ title }}\n")]);
    says(folder.path(), &["report", run.to_str().unwrap(), "--templates", "looks/other"], 0);
    assert_eq!(fs::read_to_string(run.join("report.md")).unwrap(), "other nap\n");
    says(folder.path(), &["report", run.to_str().unwrap()], 0);
    assert!(fs::read_to_string(run.join("report.md")).unwrap().starts_with("# nap\n\nMeasured"));
    // A bad one leaves the report as it is.
    put(folder.path(), &[("other/report.md.j2", "{{ titel }}\n")]);
    let told = says(folder.path(), &["report", run.to_str().unwrap(), "--templates", "looks/other"], 3);
    assert!(
        told.contains("looks/other/report.md.j2:1:4") && told.contains("did you mean `title`?"),
        "{told}"
    );
    assert!(fs::read_to_string(run.join("report.md")).unwrap().starts_with("# nap\n\nMeasured"));
    fs::remove_dir_all(run.join("templates")).unwrap();
    let told = says(folder.path(), &["report", run.to_str().unwrap()], 4);
    assert!(told.contains("--templates DIR") && told.contains("`looks/blog`"), "{told}");
}

#[test]
fn a_template_that_fails_at_the_end_loses_nothing() {
    // Only a run that has failures sees this part of it.
    let yaml = "workloads: { nap: { run: 'exit 3' } }\nrepetitions: 2\n";
    let folder = folder_with(yaml);
    put(
        folder.path(),
        &[("blog/blog.md.j2", "{% if failures %}{{ failures.columns[9].header }}{% endif %}\n")],
    );
    let told = says(folder.path(), &["run", "nap.yaml", "--templates", "looks/blog"], 3);
    let run = run_directory(folder.path());
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("looks/blog/blog.md.j2:1") || told.contains("templates/blog.md.j2:1"), "{told}");
    assert!(
        told.contains("what was measured is kept") && told.contains("runner report results/nap/"),
        "{told}"
    );
    assert_eq!(fs::read_to_string(run.join("records.jsonl")).unwrap().lines().count(), 2);
    put(folder.path(), &[("blog/blog.md.j2", "{{ failures | table }}\n")]);
    says(folder.path(), &["report", run.to_str().unwrap(), "--templates", "looks/blog"], 0);
    assert!(fs::read_to_string(run.join("blog.md")).unwrap().contains("exit code 3"));
}

#[test]
fn a_resumed_run_has_the_templates_of_its_file_or_those_it_has_kept() {
    let folder = folder(&[("blog/blog.md.j2", "first\n"), ("own/blog.md.j2", "own\n")]);
    says(folder.path(), &["run", "nap.yaml"], 0);
    let run = run_directory(folder.path());
    let resume = |arguments: &[&str]| {
        let again = ["run", "nap.yaml", "--resume", "--accept-changes"];
        says(folder.path(), &[&again[..], arguments].concat(), 0);
        fs::read_to_string(run.join("blog.md")).unwrap()
    };
    put(folder.path(), &[("blog/blog.md.j2", "second\n")]);
    assert_eq!(resume(&["--repetitions", "3"]), "second\n");
    assert_eq!(resume(&["--repetitions", "4", "--templates", "looks/own"]), "own\n");
    fs::remove_dir_all(folder.path().join("looks/own")).unwrap();
    assert_eq!(resume(&["--repetitions", "5"]), "own\n", "what the command line has named stays");
}

/// The committed run, and a template for a blog post of it.
#[test]
fn the_blog_post_is_as_committed() {
    let runs = fs::read_dir("results/docker-vs-native").unwrap().map(|entry| entry.unwrap().path());
    let run = read_run(&runs.filter(|path| path.is_dir()).max().unwrap()).unwrap();
    let templates = Templates::new(read_templates(Path::new("experiments/templates/blog-ko")).unwrap());
    let report = render_with(&run, &templates).unwrap();
    assert_eq!(report.more.len(), 1);
    insta::assert_snapshot!("blog.md", report.more[0].1);
    assert!(!report.more[0].1.contains("\n\n\n"));
}

/// The same template on a run in which much is other: it fails nowhere.
#[test]
fn the_blog_post_of_another_run_is_one_too() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let told = runner(
        folder,
        &["check", "experiments/docker-vs-native.yaml", "--set", "report.templates=templates/blog-ko"],
    );
    assert_eq!(told.status.code(), Some(0), "{}", texts(&told).1);
    let templates = Templates::new(read_templates(Path::new("experiments/templates/blog-ko")).unwrap());
    let mut run = read_run(Path::new("tests/fixtures/run-docker-vs-native")).unwrap();
    render_with(&run, &templates).unwrap();
    run.records.clear();
    run.hosts.clear();
    let nothing = render_with(&run, &templates).unwrap();
    assert!(nothing.more[0].1.contains("결론을 내릴 수 없다"));
}

/// The part of the schema of a view that is called `name`.
fn part(name: &str) -> Value {
    let schema = schemars::schema_for!(ReportView).to_value();
    match name {
        "ReportView" => schema,
        _ => schema["$defs"][name].clone(),
    }
}

/// A type in plain words.
fn words(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.trim_start_matches("#/$defs/");
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(ways) = schema["anyOf"].as_array() {
        let ways = ways.iter().map(words).collect::<Vec<_>>();
        return ways.join(" or ");
    }
    if let Some(kinds) = schema["type"].as_array() {
        let word = |kind: &Value| words(&serde_json::json!({ "type": kind, "items": schema["items"] }));
        return kinds.iter().map(word).collect::<Vec<_>>().join(" or ");
    }
    match schema["type"].as_str() {
        Some("array") => format!("list of {}", words(&schema["items"])),
        Some("object") => format!("map of names to {}", words(&schema["additionalProperties"])),
        Some("string") => "text".into(),
        Some("integer" | "number") => "number".into(),
        Some("boolean") => "`true` or `false`".into(),
        Some("null") => "none".into(),
        _ => panic!("no words for {schema}"),
    }
}

fn fields(name: &str) -> String {
    let part = part(name);
    let properties = part["properties"].as_object().unwrap_or_else(|| panic!("the view has no {name}"));
    // In a paragraph rustdoc links `[Type::field]`; on the page it is code already.
    let text = |schema: &Value| {
        let text = schema["description"].as_str().unwrap_or_default();
        assert!(!text.is_empty(), "a field of {name} is not described");
        text.replace("\n", " ").replace("[`", "`").replace("`]", "`").replace('|', "\\|")
    };
    let row = |(field, schema): (&String, &Value)| {
        format!("| `{field}` | {} | {} |\n", text(schema), words(schema))
    };
    let rows: String = properties.iter().map(row).collect();
    format!("| field | what it is | type |\n| --- | --- | --- |\n{rows}")
}

fn page() -> String {
    let source = fs::read_to_string("docs/templates.in.md").unwrap();
    let mark = Regex::new(r"(?m)^<!-- fields of (\w+) -->\n").unwrap();
    let page = mark.replace_all(&source, |found: &regex::Captures<'_>| fields(&found[1]));
    let note = "<!-- Made of templates.in.md and src/report: UPDATE_DOCS=1 cargo test --test it fresh -->";
    format!("{note}\n{page}")
}

#[test]
fn the_page_on_templates_is_fresh() {
    assert_fresh("docs/templates.md", &page());
}

#[test]
fn every_part_of_a_view_is_on_the_page() {
    let source = fs::read_to_string("docs/templates.in.md").unwrap();
    for name in part("ReportView")["$defs"].as_object().unwrap().keys() {
        assert!(source.contains(&format!("<!-- fields of {name} -->")), "{name} has no table");
    }
}

/// Every example of the page renders, and the ones that say what they give give it.
#[test]
fn the_examples_of_the_page_are_right() {
    let page = fs::read_to_string("docs/templates.in.md").unwrap();
    let file = |name: &str, text: &str| runner::record::TemplateFile {
        name: name.into(),
        path: name.into(),
        text: text.into(),
    };
    let run = read_run(Path::new("tests/fixtures/run-docker-vs-native")).unwrap();
    let render = |files| {
        let report = render_with(&run, &Templates::new(files)).unwrap_or_else(|error| panic!("{error:?}"));
        report.more.into_iter().map(|(_, text)| text).collect::<String>()
    };
    let block = Regex::new(
        r"(?s)`([\w./-]+\.j2)`[^\n]*:\n\n```jinja\n(.*?)```\n(?:\n[^\n]*gives:\n\n```\w*\n(.*?)```)?",
    )
    .unwrap();
    let mut shown = 0;
    for found in block.captures_iter(&page) {
        let text = render(vec![file(&found[1], &found[2])]);
        if let Some(expected) = found.get(3) {
            assert_eq!(text, expected.as_str());
            shown += 1;
        }
    }
    assert!(shown >= 1, "no example says what it gives");
    let row = Regex::new(r"(?m)^\| `(\w+)` \|.*\| `(\{\{.*\}\})` gives `(.*)` \|$").unwrap();
    let rows: Vec<_> = row.captures_iter(&page).collect();
    assert!(rows.len() >= 4);
    for found in rows {
        assert_eq!(render(vec![file("x.md.j2", &found[2].replace("\\|", "|"))]), &found[3]);
    }
}
