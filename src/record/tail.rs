//! How `records.jsonl` ends: a kill, a full disk or a power cut leaves a line of which only a part is there.
//! Pure; the reader leaves such a line out, and who goes on with the run cuts it off. Read [`Tail`].

use super::Line;

/// The end of `records.jsonl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tail {
    /// The last line is whole.
    Whole,
    /// The last line is a record and lacks only its newline.
    WithoutNewline,
    /// What begins at this byte is a part of a record.
    Torn(usize),
}

/// How the file with these bytes ends.
pub(super) fn tail(bytes: &[u8]) -> Tail {
    let last = bytes.split_inclusive(|byte| *byte == b'\n').next_back().unwrap_or_default();
    match (last.is_empty(), is_torn(last), last.ends_with(b"\n")) {
        (true, ..) | (_, false, true) => Tail::Whole,
        (_, false, false) => Tail::WithoutNewline,
        (_, true, _) => Tail::Torn(bytes.len() - last.len()),
    }
}

/// Whether the last line of a file is a part of a record: its end is missing, or, after a power cut, some
/// of its blocks never came to the disk and are zeros.
pub(super) fn is_torn(line: &[u8]) -> bool {
    let may_be = !line.ends_with(b"\n") || line.contains(&0);
    may_be && serde_json::from_slice::<Line>(line).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_is_recognised() {
        let record = serde_json::json!({
            "v": 1, "trial": "c#1", "cell": "c", "workload": "w", "host": "h", "environment": "n",
            "parameters": {}, "repetition": 1, "attempt": 1, "block": 1, "order": 1, "phase": "measure",
            "status": "ok", "stage": null, "reason": null, "started": "2026-11-30T11:45:12Z",
            "elapsed_s": 1.5, "outputs": [], "measurements": [],
        });
        let line = format!("{record}\n").into_bytes();
        assert_eq!(tail(b""), Tail::Whole);
        assert_eq!(tail(&line), Tail::Whole);
        assert_eq!(tail(&line[..line.len() - 1]), Tail::WithoutNewline);
        for cut in 1..line.len() - 1 {
            let bytes = [&line[..], &line[..cut]].concat();
            assert_eq!(tail(&bytes), Tail::Torn(line.len()), "cut at {cut}");
        }
        let zeros = vec![0; 40];
        assert_eq!(tail(&zeros), Tail::Torn(0));
        assert_eq!(tail(&[&line[..], &zeros].concat()), Tail::Torn(line.len()));
        let hole = [&line[..], &zeros, b"\"measurements\":[]}\n"].concat();
        assert_eq!(tail(&hole), Tail::Torn(line.len()));
        assert_eq!(tail(&[&line[..], b"not a record\n"].concat()), Tail::Whole, "somebody wrote this");
    }
}
