//! Where reports lie, and what is wrong with those that are not as their records say.

use std::io::{self, Write};
use std::path::PathBuf;

use super::table::printable;
use super::{BOLD, PLAIN, RED, YELLOW, inform, note, show_text, tell};
use crate::error::Error;
use crate::record::RunDirectory;
use crate::report::{Checked, Deviation, Fault, Written};

/// So much of a line is shown round the place where it differs.
const WIDTH: usize = 90;

/// Shows where a report lies.
pub fn show_written(written: &Written) {
    for warning in &written.warnings {
        tell(&format!("{YELLOW}warning{PLAIN}: {warning}"));
    }
    if let Some(report) = written.files.first() {
        note(&format!("report: {}", report.display()));
        // A reader that is gone needs no report.
        let _ = writeln!(anstream::stdout(), "{}", report.display());
    }
}

/// That an experiment excludes trials of other runs alone.
pub fn show_nothing_excluded(run: &str) {
    tell(&format!("nothing under `exclude` is for the run {run}"));
}

/// Shows what a check of reports found in the `directories` it was asked of; runs that go on were left out.
pub fn show_checked(
    checked: &Checked,
    directories: &[PathBuf],
    going_on: &[RunDirectory],
) -> Result<(), Error> {
    for run in going_on {
        inform(&format!("{YELLOW}left out{PLAIN}: `{}` goes on", run.path().display()));
    }
    show_text(|out| checked.deviations.iter().try_for_each(|deviation| write(out, deviation)))?;
    let Checked { runs, right, deviations } = checked;
    let (faults, told) = (deviations.len(), |count: usize, one: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {one}s"),
    });
    if faults == 0 {
        inform(&format!("{}, {}: all as the records say", told(*runs, "run"), told(*right, "file")));
        return Ok(());
    }
    tell(&format!("{RED}error{PLAIN}: {} not as the records say, {right} right", told(faults, "file")));
    if deviations.iter().any(|deviation| deviation.fault != Fault::Surplus) {
        let words = directories.iter().map(|path| shell_words::quote(&path.to_string_lossy()).into_owned());
        let words: Vec<String> = words.collect();
        tell(&format!("{BOLD}help{PLAIN}: make them again with `runner report {}`", words.join(" ")));
    }
    Ok(())
}

fn write(out: &mut dyn Write, deviation: &Deviation) -> io::Result<()> {
    let path = printable(&deviation.path.to_string_lossy()).into_owned();
    match &deviation.fault {
        Fault::Missing => writeln!(out, "{BOLD}{path}{PLAIN}: missing"),
        Fault::Surplus => writeln!(out, "{BOLD}{path}{PLAIN}: nothing makes this file any more: remove it"),
        Fault::Differs { line, is, should_be } => {
            writeln!(out, "{BOLD}{path}{PLAIN}: line {line} differs")?;
            let same = common(is.as_deref().unwrap_or_default(), should_be.as_deref().unwrap_or_default());
            let shown = |line: &Option<String>| match line {
                None => "(the file ends)".to_owned(),
                Some(line) => part(line, same),
            };
            writeln!(out, "  is         {}", shown(is))?;
            writeln!(out, "  should be  {}", shown(should_be))
        }
    }
}

/// How many letters both begin with.
fn common(one: &str, other: &str) -> usize {
    one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count()
}

/// `line` round its letter `place`; without its end, unless that is what differs.
fn part(line: &str, place: usize) -> String {
    let start = if place > WIDTH / 2 { place - WIDTH / 3 } else { 0 };
    let whole = line.strip_suffix('\n').unwrap_or(line);
    let shown: String = whole.chars().skip(start).take(WIDTH).collect();
    let before = if start > 0 { "…" } else { "" };
    let after = match whole.chars().count() > start + WIDTH {
        true => "…",
        false if whole.len() == line.len() => " (without end of line)",
        false => "",
    };
    format!("{before}{}{after}", printable(&shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(is: Option<&str>, should_be: Option<&str>) -> String {
        let [is, should_be] = [is, should_be].map(|line| line.map(str::to_owned));
        let fault = Fault::Differs { line: 3, is, should_be };
        let mut out = Vec::new();
        write(&mut out, &Deviation { path: "a/report.md".into(), fault }).unwrap();
        crate::terminal::plain(&String::from_utf8(out).unwrap()).into_owned()
    }

    #[test]
    fn what_differs_is_in_sight() {
        let long = "x".repeat(200);
        assert_eq!(
            told(Some("1\n"), Some("2\n")),
            "a/report.md: line 3 differs\n  is         1\n  should be  2\n"
        );
        let text = told(Some(&format!("{long}1{long}\n")), Some(&format!("{long}2\n")));
        let shown = "x".repeat(30);
        assert!(text.contains(&format!("…{shown}1xxx")), "{text}");
        assert!(text.contains(&format!("…{shown}2\n")), "{text}");
        let text = told(Some("a\r\n"), Some("a\n"));
        assert!(text.contains("is         a\\r\n") && text.contains("should be  a\n"), "{text}");
        assert!(told(Some("a"), Some("a\n")).contains("is         a (without end of line)"));
        assert!(told(None, Some("a\n")).contains("is         (the file ends)"));
    }
}
