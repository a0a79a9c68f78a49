//! What tools print for a terminal and not for a reader: colours, titles, moves of the cursor.

use std::borrow::Cow;

/// `text` without ANSI control sequences: CSI (colours, cursor), OSC (titles) and two-character escapes
/// (ECMA-48). A sequence ends with its line at the latest.
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\u{1b}' {
            plain.push(c);
            continue;
        }
        match chars.next() {
            // CSI: parameters up to a final character from @ to ~.
            Some('[') => while chars.next_if(|c| !('@'..='~').contains(c) && *c != '\n').is_some() {},
            // OSC: up to BEL or ESC \; the backslash is taken below with the final character.
            Some(']') => while chars.next_if(|c| !matches!(c, '\u{7}' | '\u{1b}' | '\n')).is_some() {},
            // A character set takes one more; any other escape is over.
            Some('(' | ')') => {}
            _ => continue,
        }
        if chars.next_if(|c| *c != '\n') == Some('\u{1b}') {
            chars.next_if_eq(&'\\');
        }
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_is_left() {
        for (text, left) in [
            ("text\n", "text\n"),
            ("\x1b[31mred\x1b[0m", "red"),
            ("\x1b]0;title\x07text", "text"),
            ("\x1b]0;title\x1b\\text", "text"),
            ("\x1b(Btext\x1b=\x1b>", "text"),
            ("cut \x1b[3", "cut "),
            ("line \x1b[3\nnext", "line \nnext"),
        ] {
            assert_eq!(plain(text), left);
        }
    }
}
