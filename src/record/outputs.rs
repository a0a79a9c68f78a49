//! The kept outputs of a run, read back as far as a report can hold them. Read [`read_outputs`].

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a run on disk")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path};

use super::files::read_file;
use super::{KeptOutput, RunDirectory};

/// What a report can show of one kept output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputText {
    /// All that was kept.
    Text(String),
    /// It has more bytes than one output may have.
    TooLarge,
    /// It is none: a picture, an archive.
    NoText,
    /// It does not lie in the run's directory, or can't be read.
    Gone,
    /// The outputs before it have taken all the room.
    NoRoom,
}

/// By its path what can be shown of each of `outputs`: those of at most `each` bytes, in their order, until they
/// have `total` together.
pub fn read_outputs<'a>(
    directory: &RunDirectory,
    outputs: impl Iterator<Item = &'a KeptOutput>,
    each: u64,
    total: u64,
) -> BTreeMap<String, OutputText> {
    let mut left = total;
    let mut read = |output: &KeptOutput| {
        let path = directory.path().join(&output.path);
        let Some(metadata) = fs::metadata(&path).ok().filter(|_| is_below(&output.path)) else {
            return OutputText::Gone;
        };
        match metadata.len() {
            size if size > each => OutputText::TooLarge,
            size if size > left => OutputText::NoRoom,
            _ => match read_file(&path) {
                Ok(bytes) if bytes.contains(&0) => OutputText::NoText,
                Ok(bytes) => {
                    left = left.saturating_sub(bytes.len() as u64);
                    OutputText::Text(String::from_utf8_lossy(&bytes).into_owned())
                }
                Err(_) => OutputText::Gone,
            },
        }
    };
    outputs.map(|output| (output.path.clone(), read(output))).collect()
}

/// Records may come from anywhere: a path leads nowhere but into the run's directory.
fn is_below(path: &str) -> bool {
    Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::write_file;

    #[test]
    fn small_texts_are_read_until_the_room_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let directory = RunDirectory::new(folder.path().join("run"));
        let put = |path: &str, bytes: &[u8]| write_file(&directory.path().join(path), bytes).unwrap();
        put("output/a", b"first\n");
        put("output/large", &[b'x'; 11]);
        put("output/picture", b"PNG\0\x01");
        put("output/latin", b"caf\xe9");
        put("output/last", b"1234567");
        put("../outside", b"secret");
        let paths = ["a", "large", "picture", "latin", "none", "last", "../../outside"];
        let outputs: Vec<_> = paths
            .iter()
            .map(|path| KeptOutput { path: format!("output/{path}"), size: 0, truncated: false })
            .collect();
        let read = read_outputs(&directory, outputs.iter(), 10, 12);
        let found: Vec<_> = outputs.iter().map(|output| read[&output.path].clone()).collect();
        use OutputText::{Gone, NoRoom, NoText, Text, TooLarge};
        let text = |text: &str| Text(text.to_owned());
        assert_eq!(found, [text("first\n"), TooLarge, NoText, text("caf\u{fffd}"), Gone, NoRoom, Gone]);
    }
}
