//! The page that a forge shows when an experiment's folder is opened: the latest report in a line, then all
//! runs, newest first.

use super::markdown;
use super::view::{Column, Table};
use crate::record::{ListedRun, Manifest};

/// `results/EXPERIMENT/README.md` for `runs`, given newest first.
pub(super) fn index(runs: &[ListedRun]) -> String {
    let newest = runs.iter().find_map(|run| Some((run, run.manifest.as_ref().ok()?)));
    let title = newest.map(|(_, manifest)| markdown::escape(&manifest.title)).unwrap_or_default();
    let latest = newest.map(|(run, manifest)| {
        format!("Latest run: {}, {} trials ok{}.\n\n", link(run), counts(manifest), remark(manifest, ", "))
    });
    let rows = runs.iter().map(|run| match &run.manifest {
        Ok(manifest) => vec![
            link(run),
            counts(manifest),
            remark(manifest, ""),
            manifest.commit.clone().unwrap_or_default(),
            manifest.runner.clone(),
        ],
        Err(_) => {
            vec![link(run), String::new(), "manifest can't be read".to_owned(), String::new(), String::new()]
        }
    });
    let columns = vec![
        Column::text("run"),
        Column::number("ok"),
        Column::text("remark"),
        Column::text("commit"),
        Column::text("runner"),
    ];
    let table = markdown::table(&Table::new(columns, rows.collect()));
    format!("# {title}\n\n{}{table}\n", latest.unwrap_or_default())
}

fn link(run: &ListedRun) -> String {
    let name = run.directory.name();
    if run.has_report { format!("[{name}]({name}/report.md)") } else { name }
}

/// Ok of planned; `–` where the run wrote no counts.
fn counts(manifest: &Manifest) -> String {
    let ok = match manifest.ended {
        Some(_) => manifest.counts.get("ok").copied().unwrap_or(0).to_string(),
        None => super::number::NOTHING.to_owned(),
    };
    format!("{ok}/{}", manifest.planned())
}

fn remark(manifest: &Manifest, separator: &str) -> String {
    let remark = match (&manifest.ended, manifest.interrupted) {
        (None, _) => "no end recorded",
        (Some(_), true) => "interrupted",
        (Some(_), false) => return String::new(),
    };
    format!("{separator}{remark}")
}
