//! Runs held against each other, and the history of an experiment, on a terminal. Last comes what matters most: how many
//! verdicts there are of each kind.

use std::io::{self, Write};

use super::table::{Table, printable};
use super::{BOLD, DIM, PLAIN, RED, YELLOW, show_text, tell};
use crate::analysis::Verdict;
use crate::error::Error;
use crate::record::Run;
use crate::report::view::Table as Rows;
use crate::report::{ComparisonView, HistoryView, List};

const GREEN: &str = "\x1b[32m";

/// Says what a reader should know of the files of a run.
pub fn show_warnings(run: &Run) {
    for warning in &run.warnings {
        tell(&format!("{YELLOW}warning{PLAIN}: {}: {warning}", run.directory.name()));
    }
}

/// Prints a comparison.
pub fn show(view: &ComparisonView) -> Result<(), Error> {
    show_text(|out| write(out, view))
}

/// Prints a history.
pub fn show_history(view: &HistoryView) -> Result<(), Error> {
    show_text(|out| write_history(out, view))
}

/// What `write` writes, without colours.
pub fn plain(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
    let mut out = Vec::new();
    // Nothing refuses bytes in memory.
    let _ = write(&mut out);
    anstream::adapter::strip_str(&String::from_utf8_lossy(&out)).to_string()
}

/// Writes a history with colours.
pub fn write_history(out: &mut dyn Write, view: &HistoryView) -> io::Result<()> {
    write_table(out, &view.runs, |_| "")?;
    if !view.changed.lines.is_empty() {
        write_list(out, &view.changed)?;
    }
    writeln!(out)?;
    write_table(out, &view.table, |row| colour(view.verdicts[row]))?;
    write_note(out, &view.note)?;
    writeln!(out, "\n{BOLD}{}{PLAIN}", printable(&view.summary))
}

/// Writes a comparison with colours.
pub fn write(out: &mut dyn Write, view: &ComparisonView) -> io::Result<()> {
    write_table(out, &view.runs, |_| "")?;
    view.before.iter().try_for_each(|list| write_list(out, list))?;
    if !view.table.rows.is_empty() {
        writeln!(out)?;
        write_table(out, &view.table, |row| colour(view.verdicts[row]))?;
        write_note(out, &view.note)?;
    }
    view.after.iter().try_for_each(|list| write_list(out, list))?;
    writeln!(out)?;
    view.summary.iter().try_for_each(|line| writeln!(out, "{BOLD}{}{PLAIN}", printable(line)))
}

fn colour(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::Worse) => RED,
        Some(Verdict::Better) => GREEN,
        Some(Verdict::Different | Verdict::Inconclusive) => YELLOW,
        Some(Verdict::Small | Verdict::Equivalent) | None => "",
    }
}

fn write_note(out: &mut dyn Write, note: &[String]) -> io::Result<()> {
    writeln!(out)?;
    note.iter().try_for_each(|line| writeln!(out, "{DIM}{}{PLAIN}", printable(line)))
}

fn write_list(out: &mut dyn Write, list: &List) -> io::Result<()> {
    writeln!(out, "\n{BOLD}{}{PLAIN}", printable(&list.title))?;
    list.lines.iter().try_for_each(|line| writeln!(out, "  {}", printable(line)))
}

/// A table, numbers flush right, each row in a colour.
fn write_table(out: &mut dyn Write, rows: &Rows, colour: impl Fn(usize) -> &'static str) -> io::Result<()> {
    let header: Vec<String> = rows.columns.iter().map(|column| column.header.clone()).collect();
    let mut widths = Table::default();
    widths.measure(&header);
    rows.rows.iter().for_each(|row| widths.measure(row));
    let is_right: Vec<bool> = rows.columns.iter().map(|column| column.numeric).collect();
    writeln!(out, "{BOLD}{}{PLAIN}", widths.aligned(&header, &is_right))?;
    for (index, row) in rows.rows.iter().enumerate() {
        let line = widths.aligned(row, &is_right);
        match colour(index) {
            "" => writeln!(out, "{line}")?,
            colour => writeln!(out, "{colour}{line}{PLAIN}")?,
        }
    }
    Ok(())
}
