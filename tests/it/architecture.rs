//! The floor plan of ARCHITECTURE.md as a test: who may import whom, who may print, who may touch the world.
//! A violation names file and line. Tests at the bottom of a file are not held to it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

/// For each module what it may name of the others: a module, or one item of it. Never the reverse, no circle.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("diagnostic", &[]),
    ("secrets", &[]),
    ("terminal", &[]),
    ("cores", &[]),
    ("spec", &["units", "diagnostic"]),
    ("plan", &["spec", "diagnostic"]),
    ("metrics", &["spec", "units", "diagnostic", "terminal"]),
    ("transports", &["units"]),
    ("hosts", &["spec", "transports", "diagnostic", "units"]),
    ("environments", &["spec", "hosts", "transports", "diagnostic"]),
    ("event", &["plan", "metrics"]),
    ("execution", &["event", "plan", "spec", "metrics", "hosts", "environments", "transports", "diagnostic"]),
    ("monitor", &["event", "plan"]),
    ("record", &["event", "plan", "metrics", "units", "monitor", "secrets", "cores"]),
    ("analysis", &["record", "metrics", "units", "cores"]),
    // A template is a file with mistakes.
    ("report", &["analysis", "record", "units", "terminal", "diagnostic", "cores"]),
    (
        "ui",
        &[
            "event",
            "plan",
            "analysis",
            "diagnostic",
            "error",
            "units",
            "secrets",
            // The kind of a host tells whether a clock may tick on it.
            "spec::Spec",
            // What an hour of a host costs.
            "spec::cost",
            // What was made of runs, and how it is shown elsewhere.
            "report",
            "monitor",
            // The known tools, and what one of them gave.
            "metrics::Measurement",
            "metrics::Reading",
            "metrics::TOOLS",
            // What lies of a run on the disk, and the words of a record, in messages too.
            "record::Record",
            "record::Run",
            "record::RunDirectory",
            "record::word",
            // What was found on a host, and what is missing there.
            "hosts::Clock",
            "hosts::Needs",
            "hosts::Reached",
            // What is left on machines.
            "hosts::Thing",
            "hosts::Fate",
            "hosts::Workdir",
            "transports::TransportError",
        ],
    ),
    ("error", &["diagnostic", "record", "transports", "report::ReportError"]),
    ("cli", &[]),
];

/// Everything may be named here: the stages meet.
const MEETING_PLACES: [&str; 3] = ["commands", "main", "lib"];

/// These are computed from text and values alone.
const PURE: [&str; 11] = [
    "spec",
    "plan",
    "metrics",
    "analysis",
    "report",
    "units",
    "diagnostic",
    "secrets",
    "terminal",
    "event",
    "monitor",
];

/// One source file without its tests and comments, line by line.
struct Source {
    path: PathBuf,
    /// `spec` for src/spec/check/matrix.rs.
    module: String,
    /// 3 for src/spec/check/matrix.rs.
    depth: usize,
    lines: usize,
    code: String,
}

impl Source {
    /// Every match of `pattern` in the code, as `FILE:LINE` and its first group.
    fn find(&self, pattern: &Regex) -> Vec<(String, String)> {
        let place = |offset: usize| {
            format!("{}:{}", self.path.display(), self.code[..offset].matches('\n').count() + 1)
        };
        let matches = pattern.captures_iter(&self.code);
        matches.map(|found| (place(found.get(0).unwrap().start()), found[1].to_owned())).collect()
    }
}

static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| {
    let mut sources = Vec::new();
    let mut folders = vec![PathBuf::from("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => sources.push(source(&path)),
            }
        }
    }
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(sources.len() > 50, "the sources are not found");
    sources
});

fn source(path: &Path) -> Source {
    let text = fs::read_to_string(path).unwrap();
    let code: Vec<&str> = text
        .lines()
        .take_while(|line| *line != "#[cfg(test)]")
        .map(|line| if line.trim_start().starts_with("//") { "" } else { line })
        .collect();
    let parts: Vec<_> =
        path.with_extension("").iter().skip(1).map(|part| part.to_str().unwrap().to_owned()).collect();
    let depth = parts.iter().filter(|part| *part != "mod").count();
    Source {
        path: path.to_owned(),
        module: parts[0].clone(),
        depth,
        lines: text.lines().count(),
        code: code.join("\n"),
    }
}

/// `a::{b, c::d}` as `a::b` and `a::c::d`; one level of braces is enough for this code.
fn paths(import: &str) -> Vec<String> {
    match import.split_once('{') {
        None => vec![import.trim_end_matches(':').to_owned()],
        Some((front, list)) => list
            .trim_end_matches('}')
            .split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
            .map(|item| format!("{front}{item}"))
            .collect(),
    }
}

#[test]
fn imports_follow_the_floor_plan() {
    let imports = Regex::new(r"\bcrate::((?:\w+::)*(?:\w+|\{[^}]*\}))").unwrap();
    let upwards = Regex::new(r"\b((?:super::)+)").unwrap();
    let mut wrong = Vec::new();
    for source in SOURCES.iter().filter(|source| !MEETING_PLACES.contains(&&*source.module)) {
        let Some((_, allowed)) = MAY_IMPORT.iter().find(|(module, _)| *module == source.module) else {
            wrong.push(format!("{}: module `{}` is not in the table", source.path.display(), source.module));
            continue;
        };
        for (place, import) in source.find(&imports) {
            for path in paths(&import) {
                let is_allowed = |entry: &str| path == entry || path.starts_with(&format!("{entry}::"));
                if !is_allowed(&source.module) && !allowed.iter().copied().any(is_allowed) {
                    wrong.push(format!("{place}: `{}` must not name `crate::{path}`", source.module));
                }
            }
        }
        for (place, supers) in source.find(&upwards) {
            if supers.matches("super").count() >= source.depth {
                wrong.push(format!("{place}: `super` reaches the root of the crate"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn the_table_has_no_circle() {
    let mut done: BTreeSet<&str> = BTreeSet::new();
    loop {
        let module_of = |entry: &str| entry.split("::").next().unwrap_or_default().to_owned();
        let next: Vec<&str> = MAY_IMPORT
            .iter()
            .filter(|(module, allowed)| {
                !done.contains(module) && allowed.iter().all(|entry| done.contains(&*module_of(entry)))
            })
            .map(|(module, _)| *module)
            .collect();
        if next.is_empty() {
            break;
        }
        done.extend(next);
    }
    let all: BTreeSet<&str> = MAY_IMPORT.iter().map(|(module, _)| *module).collect();
    assert_eq!(done, all);
}

/// Asserts that no source that `holds` says has a match of `pattern`.
fn nowhere(what: &str, pattern: &str, is_held: impl Fn(&Source) -> bool) {
    let pattern = Regex::new(pattern).unwrap();
    let found: Vec<String> = SOURCES
        .iter()
        .filter(|source| is_held(source))
        .flat_map(|source| source.find(&pattern))
        .map(|(place, found)| format!("{place}: `{found}`"))
        .collect();
    assert!(found.is_empty(), "{what}:\n{}\n", found.join("\n"));
}

#[test]
fn only_ui_prints() {
    nowhere("only `ui` prints", r"\b(e?print(?:ln)?!|dbg!|io::std(?:out|err)\b)", |source| {
        source.module != "ui"
    });
}

#[test]
fn errors_are_typed() {
    nowhere("no catch-all errors", r"\b(anyhow|eyre)\b", |_| true);
}

#[test]
fn pure_modules_touch_nothing() {
    let world = r"\b(std::fs|std::net|std::process|std::env|std::thread|SystemTime|Instant|Timestamp::now|Zoned::now|tokio)\b";
    nowhere("pure modules touch no file, network, clock or environment", world, |source| {
        PURE.contains(&&*source.module)
    });
}

#[test]
fn execution_and_its_parts_write_no_file() {
    nowhere("results are written by `record`", r"\b(std::fs|tokio::fs)\b", |source| {
        source.module == "execution"
    });
}

#[test]
fn foreign_types_stay_in_their_files() {
    for (library, folder) in [
        ("bollard", "src/transports/docker"),
        ("ssh2", "src/transports/ssh"),
        ("serde_yaml", "src/spec"),
        ("miette", "src/ui"),
        ("clap", "src/cli"),
    ] {
        let pattern = format!(r"\b({library})::");
        nowhere(library, &pattern, |source| !source.path.starts_with(folder) && source.module != "main");
    }
}

#[test]
fn no_file_is_too_long_to_read() {
    let long: Vec<String> = SOURCES
        .iter()
        .filter(|source| source.lines > 500)
        .map(|source| format!("{}: {} lines", source.path.display(), source.lines))
        .collect();
    assert!(long.is_empty(), "split {}", long.join(", "));
}

#[test]
fn every_file_says_what_it_is() {
    let silent: Vec<_> = SOURCES
        .iter()
        .filter(|source| !fs::read_to_string(&source.path).unwrap().starts_with("//!"))
        .map(|source| source.path.display().to_string())
        .collect();
    assert!(silent.is_empty(), "no module comment: {}", silent.join(", "));
}
