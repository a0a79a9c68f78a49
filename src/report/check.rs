//! Whether what was made of runs is still what their records give: nothing is written. Read [`check`].

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::{Indexes, ReportError, make, write_samples};
use crate::record::{RecordError, RunDirectory, optional_files, read_if_there, read_reported};

/// What came of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// How many runs were looked at.
    pub runs: usize,
    /// How many files are right.
    pub right: usize,
    /// Those that are not, run by run.
    pub deviations: Vec<Deviation>,
}

/// A file that is not as the records say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deviation {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// It is not there.
    Missing,
    /// The records give no such file.
    Surplus,
    /// It differs.
    Differs {
        /// The first line that differs, from 1.
        line: usize,
        /// That line; none where the file ends before it.
        is: Option<String>,
        /// As the records give it; none where it would end before it.
        should_be: Option<String>,
    },
}

/// Compares every file that a report is made of, of all `runs` and of the folders of their experiments.
pub fn check(runs: &[RunDirectory]) -> Result<Checked, ReportError> {
    let mut checked = Checked { runs: runs.len(), right: 0, deviations: Vec::new() };
    let mut indexes = Indexes::default();
    for directory in runs {
        let run = read_reported(directory.path())?;
        let report = make(&run, None)?;
        let files = report.files(directory);
        for (path, text) in &files {
            checked.compare(path.clone(), text)?;
        }
        let mut samples = Vec::new();
        write_samples(&run, &mut samples)
            .map_err(|error| RecordError::new("render", &directory.samples(), error))?;
        checked.compare(directory.samples(), &String::from_utf8_lossy(&samples))?;
        drop(samples);
        let samples = directory.samples();
        let known: BTreeSet<&PathBuf> = files.iter().map(|(path, _)| path).chain([&samples]).collect();
        let surplus = optional_files(directory)?.into_iter().filter(|path| !known.contains(path));
        checked.deviations.extend(surplus.map(|path| Deviation { path, fault: Fault::Surplus }));
        indexes.add(&run);
    }
    for (path, text) in indexes.texts()? {
        checked.compare(path, &text)?;
    }
    Ok(checked)
}

impl Checked {
    fn compare(&mut self, path: PathBuf, text: &str) -> Result<(), RecordError> {
        let fault = match read_if_there(&path)? {
            None => Some(Fault::Missing),
            Some(bytes) => difference(&bytes, text),
        };
        match fault {
            None => self.right += 1,
            Some(fault) => self.deviations.push(Deviation { path, fault }),
        }
        Ok(())
    }
}

/// Where `bytes` first differ from `text`.
fn difference(bytes: &[u8], text: &str) -> Option<Fault> {
    if bytes == text.as_bytes() {
        return None;
    }
    let is = bytes.split_inclusive(|byte| *byte == b'\n').map(String::from_utf8_lossy);
    let mut is = is.map(|line| line.into_owned());
    let mut should_be = text.split_inclusive('\n').map(str::to_owned);
    let mut line = 0;
    loop {
        line += 1;
        let (is, should_be) = (is.next(), should_be.next());
        if is != should_be || is.is_none() {
            return Some(Fault::Differs { line, is, should_be });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_differs_is_found() {
        let some = |text: &str| Some(text.to_owned());
        for (bytes, text, line, is, should_be) in [
            ("a\nb\n", "a\nc\n", 2, some("b\n"), some("c\n")),
            ("a\n", "a\nb\n", 2, None, some("b\n")),
            ("a\nb\n", "a\n", 2, some("b\n"), None),
            ("", "a\n", 1, None, some("a\n")),
            ("a\r\n", "a\n", 1, some("a\r\n"), some("a\n")),
            ("a", "a\n", 1, some("a"), some("a\n")),
        ] {
            let right = Some(Fault::Differs { line, is, should_be });
            assert_eq!(difference(bytes.as_bytes(), text), right, "{bytes:?}");
        }
        assert_eq!(difference(b"a\n", "a\n"), None);
        // Not UTF-8: shown as far as it can be, and never taken for the same.
        assert!(matches!(difference(b"\xff\n", "\u{fffd}\n"), Some(Fault::Differs { .. })));
    }
}
