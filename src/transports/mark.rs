//! The output of one script among those of a kept shell: everything up to the mark that is printed after it.
//! What a shell says later (bash tells of jobs that were killed when it likes) belongs to nobody.

use super::pipe::keep;

/// One stream of a script, piece by piece.
#[derive(Default)]
pub(super) struct UntilMark {
    /// What came before the mark, up to the limit.
    pub kept: Vec<u8>,
    /// All that came before `tail`.
    passed: usize,
    /// The last bytes, in which the mark may have begun.
    tail: Vec<u8>,
    /// What came after the mark.
    rest: Option<Vec<u8>>,
}

impl UntilMark {
    /// Takes the next piece. The mark begins a line; the newline before it is not the script's own.
    pub(super) fn take(&mut self, bytes: &[u8], mark: &str, limit: usize) {
        if let Some(rest) = &mut self.rest {
            rest.extend_from_slice(bytes);
            return;
        }
        keep(&mut self.kept, bytes, limit);
        self.tail.extend_from_slice(bytes);
        let length = mark.len() + 1;
        let begins = |at: &usize| self.tail[*at] == b'\n' && self.tail[at + 1..].starts_with(mark.as_bytes());
        match (0..(self.tail.len() + 1).saturating_sub(length)).find(begins) {
            Some(at) => {
                self.kept.truncate(self.passed + at);
                self.rest = Some(self.tail[at + length..].to_vec());
            }
            None => {
                let over = self.tail.len().saturating_sub(length - 1);
                self.tail.drain(..over);
                self.passed += over;
            }
        }
    }

    /// What stands behind the mark on its line, once that is whole.
    pub(super) fn line(&self) -> Option<&[u8]> {
        let rest = self.rest.as_deref()?;
        Some(&rest[..rest.iter().position(|byte| *byte == b'\n')?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_found_however_it_arrives() {
        let text = b"one\nMAR\n\nMARK 7\n[1]+ Killed\n";
        for size in 1..text.len() {
            let mut heard = UntilMark::default();
            for piece in text.chunks(size) {
                heard.take(piece, "MARK", 1000);
            }
            assert_eq!(
                (heard.kept.as_slice(), heard.line()),
                (&b"one\nMAR\n"[..], Some(&b" 7"[..])),
                "{size}"
            );
        }
    }

    #[test]
    fn what_is_over_the_limit_does_not_hide_it() {
        let mut heard = UntilMark::default();
        heard.take(&[b'x'; 100], "MARK", 10);
        heard.take(b"yyy\nMA", "MARK", 10);
        assert_eq!(heard.line(), None);
        heard.take(b"RK 0\n", "MARK", 10);
        assert_eq!((heard.kept.len(), heard.line()), (10, Some(&b" 0"[..])));
    }
}
