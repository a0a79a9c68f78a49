//! What one cell does, on standard output: tables of its values, then its commands in their order.

use std::io::{self, Write};

use super::table::{Table, printable};
use super::{BOLD, DIM, PLAIN, show_text, trials, without_secrets};
use crate::error::Error;
use crate::plan::Cell;
use crate::plan::explain::{Action, Entry, Explanation};

/// Prints the name of each cell.
pub fn show_names(cells: impl IntoIterator<Item = Cell>) -> Result<(), Error> {
    show_text(|out| cells.into_iter().try_for_each(|cell| writeln!(out, "{}", cell.name)))
}

/// Prints an explanation.
pub fn show_explanation(explanation: &Explanation) -> Result<(), Error> {
    let Explanation { cell, names, settings, actions, limits } = explanation;
    show_text(|out| {
        let count = trials(cell);
        writeln!(out, "{BOLD}{}{PLAIN}: {count} trial{}", cell.name, if count == "1" { "" } else { "s" })?;
        show_entries(out, "names in its templates", names)?;
        show_entries(out, &format!("environment {}", cell.environment), settings)?;
        title(out, "commands of its first trial, in their order")?;
        for action in actions {
            show_action(out, action)?;
        }
        show_entries(out, "limits and metrics", limits)
    })
}

fn title(out: &mut dyn Write, text: &str) -> io::Result<()> {
    writeln!(out, "\n{BOLD}{text}{PLAIN}")
}

fn show_entries(out: &mut dyn Write, text: &str, entries: &[Entry]) -> io::Result<()> {
    title(out, text)?;
    let row = |entry: &Entry| {
        let raw = entry.raw.as_ref().map(|raw| format!("written {raw}")).unwrap_or_default();
        vec![entry.name.clone(), entry.value.clone(), raw, place(entry.place.as_deref()).to_owned()]
    };
    // A column in which nothing stands would only push the places to the right.
    let has_raw = entries.iter().any(|entry| entry.raw.is_some());
    let mut rows: Vec<Vec<String>> = entries.iter().map(row).collect();
    if !has_raw {
        rows.iter_mut().for_each(|row| drop(row.remove(2)));
    }
    Table::lines(&rows).iter().try_for_each(|line| writeln!(out, "  {line}"))
}

fn show_action(out: &mut dyn Write, action: &Action) -> io::Result<()> {
    let Action { stage, whereabouts, command, raw, .. } = action;
    let place = place(action.place.as_deref());
    writeln!(out, "  {stage}  {DIM}({whereabouts})  {place}{PLAIN}")?;
    show_lines(out, command, "    ")?;
    match raw {
        Some(raw) => show_lines(out, raw, "    written: "),
        None => Ok(()),
    }
}

/// `text` with `start` before its first line, and the other lines below.
fn show_lines(out: &mut dyn Write, text: &str, start: &str) -> io::Result<()> {
    let mut start = start.to_owned();
    let text = &*without_secrets(text);
    for line in text.trim_end().lines() {
        writeln!(out, "{start}{}", printable(line))?;
        start = " ".repeat(start.len());
    }
    Ok(())
}

/// Where something is written.
fn place(place: Option<&str>) -> &str {
    place.unwrap_or("not in a file")
}
