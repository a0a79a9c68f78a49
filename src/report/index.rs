//! The page that a forge shows when an experiment's folder is opened: the latest report first, then all
//! runs, newest first.

use jiff::Timestamp;

use super::markdown;
use super::view::{Column, Table, date_and_time};
use crate::record::{ListedRun, Manifest};

/// `results/EXPERIMENT/README.md` for `runs`, given newest first.
pub(super) fn index(runs: &[ListedRun]) -> String {
    let mut known = runs.iter().filter_map(|run| Some((run, run.manifest.as_ref().ok()?)));
    let title = known.clone().next().map(|(_, manifest)| markdown::escape(&manifest.title));
    let latest = known.find(|(run, _)| run.has_report).map(|(run, manifest)| latest(run, manifest));
    let rows = runs.iter().map(|run| match &run.manifest {
        Ok(manifest) => vec![
            link(run),
            started(manifest),
            counts(manifest),
            remark(manifest).unwrap_or_default().to_owned(),
            manifest.commit.clone().unwrap_or_default(),
            manifest.runner.clone(),
        ],
        Err(_) => {
            let mut row = vec![String::new(); 6];
            (row[0], row[3]) = (link(run), "manifest can't be read".to_owned());
            row
        }
    });
    let columns = vec![
        Column::text("run"),
        Column::text("started (UTC)"),
        Column::number("ok"),
        Column::text("remark"),
        Column::text("commit"),
        Column::text("runner"),
    ];
    let table = markdown::table(&Table::new(columns, rows.collect()));
    format!("# {}\n\n{}{table}\n", title.unwrap_or_default(), latest.unwrap_or_default())
}

/// `Latest report: **[TITLE](…)**, 2026-11-30 11:45:12 UTC, 10 of 10 trials ok.`
fn latest(run: &ListedRun, manifest: &Manifest) -> String {
    let excluded = match excluded(manifest) {
        0 => String::new(),
        excluded => format!(", {excluded} excluded"),
    };
    let ok = match ok(manifest) {
        Some(ok) => format!("{ok} of {} trials ok{excluded}", planned(manifest)),
        None => format!("{} trials planned", manifest.planned()),
    };
    let remark = remark(manifest).map(|remark| format!(", {remark}")).unwrap_or_default();
    let target = target(run, "/report.md");
    let title = bracketed(&markdown::escape(&manifest.title));
    format!("Latest report: **[{title}]({target})**, {} UTC, {ok}{remark}.\n\n", started(manifest))
}

fn link(run: &ListedRun) -> String {
    let file = if run.has_report { "/report.md" } else { "/" };
    format!("[{}]({})", bracketed(&run.directory.name()), target(run, file))
}

/// What a relative link to a file of `run` holds.
fn target(run: &ListedRun, file: &str) -> String {
    let name = run.directory.name();
    let letter = |letter: char| match letter {
        ' ' | '(' | ')' | '<' | '>' | '%' | '\\' | '|' => format!("%{:02X}", u32::from(letter)),
        _ => letter.to_string(),
    };
    name.chars().map(letter).collect::<String>() + file
}

/// Text that stands in the brackets of a link.
fn bracketed(text: &str) -> String {
    text.replace('[', "\\[").replace(']', "\\]")
}

fn started(manifest: &Manifest) -> String {
    manifest.started.parse::<Timestamp>().map_or_else(|_| manifest.started.clone(), date_and_time)
}

/// How many trials are ok; none where the run wrote no counts.
fn ok(manifest: &Manifest) -> Option<usize> {
    let ok = || manifest.counts.get("ok").copied().unwrap_or(0);
    manifest.ended.as_ref().map(|_| ok().saturating_sub(excluded(manifest)))
}

fn planned(manifest: &Manifest) -> usize {
    manifest.planned().saturating_sub(excluded(manifest))
}

/// How many trials its report leaves out.
fn excluded(manifest: &Manifest) -> usize {
    manifest.presentation.excluded.len()
}

/// Ok of planned; `–` where the run wrote no counts.
fn counts(manifest: &Manifest) -> String {
    let ok = ok(manifest).map_or_else(|| super::number::NOTHING.to_owned(), |ok| ok.to_string());
    format!("{ok}/{}", planned(manifest))
}

fn remark(manifest: &Manifest) -> Option<&str> {
    match (&manifest.ended, manifest.interrupted, &manifest.stopped) {
        (None, ..) => Some("no end recorded"),
        (Some(_), true, _) => Some("interrupted"),
        (Some(_), false, Some(_)) => Some("stopped before its end"),
        (Some(_), false, None) => None,
    }
}
