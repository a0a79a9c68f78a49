//! The lines of `records.jsonl` as records: read piece by piece, since the file may be larger than what is kept of it,
//! and parsed on all cores. Read [`read_records`].

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a run on disk")]

use std::cmp::Ordering;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::thread;

use serde::Deserialize;

use super::tail::is_torn;
use super::{FORMAT_VERSION, Record, RecordError};

/// How many bytes are read before they are parsed.
const PIECE: usize = 4 << 20;

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
    let mut file = File::open(path).map_err(failed)?;
    let (mut records, mut rest, mut lines) = (Vec::new(), Vec::new(), 0);
    loop {
        let is_end = read_piece(&mut file, &mut rest).map_err(failed)?;
        let end = match is_end {
            true => rest.len(),
            false => rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |place| place + 1),
        };
        for part in parse_all(&rest[..end], is_end) {
            let (mut found, count, fault) = part;
            records.append(&mut found);
            lines += count;
            match fault {
                None => {}
                Some(Fault::Torn) => {
                    warnings.push(format!("line {lines} of records.jsonl is half-written and left out"));
                }
                Some(Fault::Newer(version)) => refuse_newer(version, path)?,
                Some(Fault::Wrong(error)) => {
                    return Err(RecordError::new("read", path, format!("line {lines}: {error}"))
                        .with_hint("restore the file, for example from version control"));
                }
            }
        }
        if is_end {
            return Ok(records);
        }
        rest.drain(..end);
    }
}

/// Adds the next piece; true at the end of the file.
fn read_piece(file: &mut File, rest: &mut Vec<u8>) -> io::Result<bool> {
    let wanted = PIECE as u64;
    Ok(file.take(wanted).read_to_end(rest)? < PIECE)
}

/// The records of a part of whole lines, how many lines it has up to the first fault, and that fault.
type Parsed = (Vec<Record>, usize, Option<Fault>);

fn parse_all(bytes: &[u8], is_end: bool) -> Vec<Parsed> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let parts = split(bytes, if bytes.len() < PIECE / 8 { 1 } else { cores });
    if let [part] = parts.as_slice() {
        return vec![parse(part, is_end)];
    }
    let last = parts.len().saturating_sub(1);
    thread::scope(|scope| {
        let running: Vec<_> = parts
            .iter()
            .enumerate()
            .map(|(number, part)| scope.spawn(move || parse(part, is_end && number == last)))
            .collect();
        running.into_iter().filter_map(|thread| thread.join().ok()).collect()
    })
}

/// `bytes` in at most `count` parts that end with a line.
fn split(bytes: &[u8], count: usize) -> Vec<&[u8]> {
    let (mut parts, mut rest) = (Vec::new(), bytes);
    let size = bytes.len().div_ceil(count.max(1));
    while rest.len() > size {
        let Some(end) = rest[size..].iter().position(|byte| *byte == b'\n') else { break };
        let (part, more) = rest.split_at(size + end + 1);
        parts.push(part);
        rest = more;
    }
    parts.push(rest);
    parts
}

fn parse(bytes: &[u8], is_end: bool) -> Parsed {
    let (mut records, mut count) = (Vec::new(), 0);
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').peekable();
    while let Some(line) = lines.next() {
        count += 1;
        match serde_json::from_slice::<Record>(line) {
            Ok(mut record) if record.v <= FORMAT_VERSION => {
                // Room for four is made for the first.
                record.measurements.shrink_to_fit();
                record.outputs.shrink_to_fit();
                records.push(record);
            }
            Ok(record) => return (records, count, Some(Fault::Newer(record.v))),
            Err(error) => {
                let fault = match version(line) {
                    Some(version) if version > FORMAT_VERSION => Fault::Newer(version),
                    _ if is_end && lines.peek().is_none() && is_torn(line) => Fault::Torn,
                    _ => Fault::Wrong(error),
                };
                return (records, count, Some(fault));
            }
        }
    }
    (records, count, None)
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
    fn parts_are_whole_lines_and_nothing_is_lost() {
        for text in ["", "a\n", "a", "aaaa\nb\ncccccccc\nd", "\n\n\n\n", "abc\ndef\nghi\n"] {
            for count in 1..6 {
                let parts = split(text.as_bytes(), count);
                assert_eq!(parts.concat(), text.as_bytes());
                assert!(parts.len() <= count.max(1), "{text:?} {count}");
                assert!(
                    parts[..parts.len() - 1].iter().all(|part| part.ends_with(b"\n")),
                    "{text:?} {count}"
                );
            }
        }
    }

    #[test]
    fn a_file_of_several_pieces_is_read_whole_and_its_faults_have_their_lines() {
        let line = |number: usize| {
            let record = serde_json::json!({
                "v": 1, "trial": format!("c#{number}"), "cell": "c", "workload": "w", "host": "h", "environment": "n",
                "parameters": {}, "repetition": 1, "attempt": 1, "block": 1, "order": number, "phase": "measure",
                "status": "ok", "stage": null, "reason": "x".repeat(1000), "started": "2026-11-30T11:45:12Z",
                "elapsed_s": 1.5, "outputs": [], "measurements": [],
            });
            format!("{record}\n")
        };
        let count = 2 * PIECE / line(0).len() + 7;
        let mut text: String = (1..=count).map(line).collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records.jsonl");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            let mut warnings = Vec::new();
            read_records(&path, &mut warnings).map(|records| (records, warnings))
        };
        let (records, warnings) = read(&text).unwrap();
        assert!(warnings.is_empty() && records.iter().map(|record| record.order).eq(1..=count));
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
