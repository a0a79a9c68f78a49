//! A comparison of runs on a terminal: what has changed, the verdicts from the gravest on, and last how many there
//! are of each.

use std::io::{self, Write};

use super::table::{Table, printable};
use super::{BOLD, DIM, PLAIN, RED, YELLOW, show_text, tell};
use crate::analysis::Verdict;
use crate::error::Error;
use crate::record::Run;
use crate::report::view::Table as Rows;
use crate::report::{ComparisonView, List};

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

/// The same as text without colours.
pub fn plain(view: &ComparisonView) -> String {
    let mut out = Vec::new();
    // Nothing refuses bytes in memory.
    let _ = write(&mut out, view);
    anstream::adapter::strip_str(&String::from_utf8_lossy(&out)).to_string()
}

fn write(out: &mut dyn Write, view: &ComparisonView) -> io::Result<()> {
    write_table(out, &view.runs, |_| "")?;
    view.before.iter().try_for_each(|list| write_list(out, list))?;
    if !view.table.rows.is_empty() {
        writeln!(out)?;
        write_table(out, &view.table, |row| colour(view.verdicts[row]))?;
        writeln!(out)?;
        view.note.iter().try_for_each(|line| writeln!(out, "{DIM}{}{PLAIN}", printable(line)))?;
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

pub(super) fn write_list(out: &mut dyn Write, list: &List) -> io::Result<()> {
    writeln!(out, "\n{BOLD}{}{PLAIN}", printable(&list.title))?;
    list.lines.iter().try_for_each(|line| writeln!(out, "  {}", printable(line)))
}

/// A table, numbers flush right, each row in a colour.
pub(super) fn write_table(
    out: &mut dyn Write,
    rows: &Rows,
    colour: impl Fn(usize) -> &'static str,
) -> io::Result<()> {
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
