//! Long outputs, read line by line: what a parser has no use for is never kept, so that memory stays flat.

use std::io::{self, BufRead};

use super::MetricParser;

/// Reads what `parser` needs of an output, which may be longer than memory.
///
/// # Errors
/// The reader's own.
pub fn needed(mut reader: impl BufRead, parser: &dyn MetricParser) -> io::Result<Vec<u8>> {
    let (mut kept, mut start) = (Vec::new(), 0);
    while reader.read_until(b'\n', &mut kept)? > 0 {
        match parser.needs(&kept[start..]) {
            true => start = kept.len(),
            false => kept.truncate(start),
        }
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::parser;

    #[test]
    fn lines_without_use_are_never_kept() {
        let stream = b"hello\n{\"event\":\"start\"}\n{\"event\":\"interval\",\"data\":{}}\n{\"event\":\"end\"}\n{\"event\":\"interval\"";
        let kept = needed(&stream[..], parser("iperf3").unwrap()).unwrap();
        assert_eq!(
            String::from_utf8(kept).unwrap(),
            "hello\n{\"event\":\"start\"}\n{\"event\":\"end\"}\n{\"event\":\"interval\""
        );
        let text = b"1+0 records in\nlast";
        assert_eq!(needed(&text[..], parser("dd").unwrap()).unwrap(), text);
    }
}
