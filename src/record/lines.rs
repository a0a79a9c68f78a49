//! The lines of `records.jsonl` as records: read piece by piece on all cores, since the file is larger than what is kept
//! of it. Read [`read_records`].

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a run on disk")]

use std::cmp::Ordering;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Mutex;

use memchr::memchr;
use serde::Deserialize;

use super::files::read_file;
use super::known::{Commons, Known};
use super::tail::is_torn;
use super::{FORMAT_VERSION, Line, Record, RecordError, RunDirectory};
use crate::cores::in_order;

/// How many bytes a core reads before it parses them.
const PIECE: u64 = 1 << 20;
/// And how many more at a time to find the end of the last line.
const MORE: usize = 4 << 10;

/// Why a line is no record.
enum Fault {
    /// It is half-written, and the last one.
    Torn,
    /// Its format is one of a newer runner.
    Newer(u32),
    /// Anything else.
    Wrong(serde_json::Error),
}

/// All records in the order of the file. A half-written last line is left out, and told in `warnings`.
///
/// # Errors
/// A line that is no record, or of a newer format.
pub(super) fn read_records(path: &Path, warnings: &mut Vec<String>) -> Result<Vec<Record>, RecordError> {
    let failed = |error| RecordError::new("read", path, error);
    let file = File::open(path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let all = Mutex::default();
    let (mut records, mut lines) = (Vec::new(), 0);
    let read = |reader: &mut Reader<'_>, number: usize| {
        let start = number as u64 * PIECE;
        reader.read(&file, start..start + PIECE, size)
    };
    let take = |piece: io::Result<Parsed>| {
        let Parsed { records: mut found, lines: count, fault } = piece.map_err(failed)?;
        found.iter_mut().for_each(|record: &mut Record| record.line += lines);
        records.append(&mut found);
        lines += count;
        match fault {
            None => Ok(()),
            Some(Fault::Torn) => {
                warnings.push(format!("line {lines} of records.jsonl is half-written and left out"));
                Ok(())
            }
            Some(Fault::Newer(version)) => refuse_newer(version, path),
            Some(Fault::Wrong(error)) => {
                Err(RecordError::new("read", path, format!("line {lines}: {error}"))
                    .with_hint("restore the file, for example from version control"))
            }
        }
    };
    in_order(size.div_ceil(PIECE) as usize, || Reader::new(&all), read, take)?;
    Ok(records)
}

/// Every line of a run whole, in the order of the file and up to the first that is none: [`Record::line`] is a place
/// among them.
pub fn read_lines(directory: &RunDirectory) -> Result<Vec<Line>, RecordError> {
    let bytes = read_file(&directory.records())?;
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    Ok(lines.map_while(|line| serde_json::from_slice(line).ok()).collect())
}

/// What a core keeps from piece to piece.
struct Reader<'a> {
    known: Known<'a>,
    bytes: Vec<u8>,
}

/// The records of a piece, how many lines it has up to the first fault, and that fault.
struct Parsed {
    records: Vec<Record>,
    lines: u32,
    fault: Option<Fault>,
}

impl<'a> Reader<'a> {
    fn new(all: &'a Mutex<Commons>) -> Self {
        Reader { known: Known::new(all), bytes: Vec::new() }
    }

    /// The records of the lines that begin in `piece` of a file with `size` bytes.
    fn read(&mut self, file: &File, piece: Range<u64>, size: u64) -> io::Result<Parsed> {
        let (lines, is_end) = lines_of(file, piece, size, &mut self.bytes)?;
        Ok(parse(lines, is_end, &mut self.known))
    }
}

/// The lines that begin in `piece` of a file with `size` bytes, and whether the last of the file is among them.
fn lines_of<'a>(
    file: &File,
    piece: Range<u64>,
    size: u64,
    bytes: &'a mut Vec<u8>,
) -> io::Result<(&'a [u8], bool)> {
    // The byte before tells whether a line begins with the piece.
    let from = piece.start.saturating_sub(1);
    bytes.clear();
    read_on(file, from, (piece.end.min(size) - from) as usize, bytes)?;
    let begin = match piece.start {
        0 => 0,
        _ => memchr(b'\n', bytes).map_or(bytes.len(), |place| place + 1),
    };
    while begin < bytes.len() && !bytes.ends_with(b"\n") {
        let known = bytes.len();
        read_on(file, from + known as u64, MORE, bytes)?;
        if known == bytes.len() {
            break;
        }
        if let Some(place) = memchr(b'\n', &bytes[known..]) {
            bytes.truncate(known + place + 1);
        }
    }
    let is_last = from + bytes.len() as u64 >= size;
    Ok((&bytes[begin..], is_last))
}

/// Adds `wanted` bytes from byte `from` on, or as many as there are.
fn read_on(file: &File, from: u64, wanted: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
    let known = bytes.len();
    bytes.resize(known + wanted, 0);
    let mut read = 0;
    while read < wanted {
        match file.read_at(&mut bytes[known + read..], from + read as u64) {
            Ok(0) => break,
            Ok(count) => read += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(known + read);
    Ok(())
}

fn parse(bytes: &[u8], is_end: bool, known: &mut Known<'_>) -> Parsed {
    let mut parsed = Parsed { records: Vec::new(), lines: 0, fault: None };
    let mut rest = bytes;
    while !rest.is_empty() {
        let (line, more) = rest.split_at(memchr(b'\n', rest).map_or(rest.len(), |place| place + 1));
        rest = more;
        let read = known.read(line, parsed.lines);
        parsed.lines += 1;
        parsed.fault = match read {
            Ok((version, record)) if version <= FORMAT_VERSION => {
                parsed.records.push(record);
                continue;
            }
            Ok((version, _)) => Some(Fault::Newer(version)),
            Err(error) => Some(match version(line) {
                Some(version) if version > FORMAT_VERSION => Fault::Newer(version),
                _ if is_end && rest.is_empty() && is_torn(line) => Fault::Torn,
                _ => Fault::Wrong(error),
            }),
        };
        break;
    }
    parsed
}

/// The version that a line says it has.
fn version(line: &[u8]) -> Option<u32> {
    #[derive(Deserialize)]
    struct Version {
        v: u32,
    }
    serde_json::from_slice(line).ok().map(|Version { v }| v)
}

/// Refuses a format that this runner does not know.
pub(super) fn refuse_newer(version: u32, path: &Path) -> Result<(), RecordError> {
    match version.cmp(&FORMAT_VERSION) {
        Ordering::Greater => {
            let cause = format!("its format is version {version}, and this runner knows {FORMAT_VERSION}");
            Err(RecordError::new("read", path, cause).with_hint("read this run with a newer runner"))
        }
        Ordering::Equal | Ordering::Less => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_of_one_piece() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        for text in ["", "a\n", "a", "aaaa\nb\ncccccccc\nd", "\n\n\n\n", "abc\ndef\nghi\n"] {
            std::fs::write(&path, text).unwrap();
            let (file, size) = (File::open(&path).unwrap(), text.len() as u64);
            for length in 1..=size + 1 {
                let (mut all, mut ends, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
                for start in (0..size).step_by(length as usize) {
                    let (lines, is_end) = lines_of(&file, start..start + length, size, &mut bytes).unwrap();
                    assert!(
                        is_end || lines.is_empty() || lines.ends_with(b"\n"),
                        "{text:?} {length} {start}"
                    );
                    all.extend_from_slice(lines);
                    ends.extend((!lines.is_empty()).then_some(is_end));
                }
                assert_eq!(all, text.as_bytes(), "{length}");
                assert!(ends.iter().rev().skip(1).all(|is_end| !is_end), "{text:?} {length}");
                assert!(ends.last().is_none_or(|is_end| *is_end), "{text:?} {length}");
            }
        }
    }

    #[test]
    fn a_file_of_several_pieces_is_read_whole_and_its_faults_have_their_lines() {
        let line = |number: usize| {
            let record = serde_json::json!({
                "v": 1, "trial": format!("c#{number}"), "cell": "c", "workload": "w", "host": "h", "environment": "n",
                "parameters": {}, "repetition": number, "attempt": 1, "block": 1, "order": 1, "phase": "measure",
                "status": "ok", "stage": null, "reason": "x".repeat(if number == 9 { 3 * PIECE as usize } else { number * 7919 % 9000 }), "started": "2026-11-30T11:45:12Z",
                "elapsed_s": 1.5, "outputs": [], "measurements": [],
            });
            format!("{record}\n")
        };
        let count = 1000;
        let mut text: String = (1..=count).map(line).collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records.jsonl");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            let mut warnings = Vec::new();
            read_records(&path, &mut warnings).map(|records| (records, warnings))
        };
        let (records, warnings) = read(&text).unwrap();
        assert!(warnings.is_empty() && records.iter().map(|record| record.repetition as usize).eq(1..=count));
        assert!(records.iter().map(|record| record.line as usize).eq(0..count));
        let (records, warnings) = read(&text[..text.len() - 9]).unwrap();
        assert_eq!(
            (records.len(), warnings),
            (count - 1, vec![format!("line {count} of records.jsonl is half-written and left out")])
        );
        text.push_str("{}\n");
        text.push_str(&line(1));
        let error = read(&text).unwrap_err();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.starts_with(&format!("line {}: missing field", count + 1)), "{cause}");
    }
}
