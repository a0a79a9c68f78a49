//! Cleaning of a tool's text before it is read, and the pieces every parser needs for its reasons. It
//! knows no tool; read [`clean`] first.

use super::{Reading, ToolOutput};
use crate::terminal;

/// How many characters of one line a reason or a warning shows.
const LINE_LIMIT: usize = 300;

/// Text as a user would have seen it in the end: bytes that are not UTF-8 replaced, terminal codes
/// stripped, CRLF made LF, and of a line redrawn with carriage returns only its last state.
pub fn clean(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = terminal::plain(text.trim_start_matches('\u{feff}'));
    let mut cleaned = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        let last_state = line.split('\r').rfind(|state| !state.is_empty()).unwrap_or("");
        cleaned.push_str(last_state);
        cleaned.push_str(end);
    }
    cleaned
}

/// The last `count` lines that are not blank, each cut to a readable length, joined by `; `.
pub fn last_lines(text: &str, count: usize) -> String {
    let mut lines: Vec<String> = text.lines().rev().filter_map(shown).take(count).collect();
    lines.reverse();
    lines.join("; ")
}

/// A line as a reason or warning shows it: trimmed and cut; `None` for a blank one.
pub fn shown(line: &str) -> Option<String> {
    let line = line.trim();
    match line.char_indices().nth(LINE_LIMIT) {
        _ if line.is_empty() => None,
        Some((end, _)) => Some(format!("{}…", &line[..end])),
        None => Some(line.to_owned()),
    }
}

/// Why there is no reading: what went wrong, the exit code when it says something, and the tool's last
/// lines (standard error, or standard output where that is empty).
pub fn reason(what: &str, output: ToolOutput<'_>) -> String {
    let said = match last_lines(&clean(output.stderr), 3) {
        said if said.is_empty() => last_lines(&clean(output.stdout), 3),
        said => said,
    };
    let code = match output.exit_code {
        None | Some(0) => String::new(),
        Some(code) => format!(" (exit code {code})"),
    };
    let said = if said.is_empty() { "no output".to_owned() } else { said };
    format!("{what}{code}: {said}")
}

/// A failed reading with its [`reason`].
pub fn failed(what: &str, output: ToolOutput<'_>) -> Reading {
    Reading::Failed { reason: reason(what, output) }
}

/// A finite number with a decimal point or a decimal comma, as the C library prints it in any locale.
///
/// Digit groups are refused when they show (`1.234,5`), but `1,234` reads as 1.234: use it only where
/// groups are not printed, or where another figure confirms the result.
pub fn decimal(text: &str) -> Option<f64> {
    let looks_right = text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | 'e' | '-' | '+'));
    if !looks_right {
        return None;
    }
    text.replace(',', ".").parse().ok().filter(|value: &f64| value.is_finite())
}

/// The same with a decimal point only.
pub fn plain_decimal(text: &str) -> Option<f64> {
    decimal(text).filter(|_| !text.contains(','))
}

/// The lines that a newline ends: one that was cut off is not among them.
pub fn whole_lines(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cleaned() {
        let cases: &[(&[u8], &str)] = &[
            (b"", ""),
            (b"plain\n", "plain\n"),
            (b"no end", "no end"),
            (b"one\r\ntwo\r\n", "one\ntwo\n"),
            (b"one\r\r\ntwo", "one\ntwo"),
            (b"  0%\r 50%\r100%\x1b[K\nnext", "100%\nnext"),
            (b"redrawn\r", "redrawn"),
            (b"\x1b[?25l\x1b[1mbold\x1b[0m \x1b[32m4816.63\x1b[0m\n\x1b[?25h", "bold 4816.63\n"),
            (b"\x1b]0;title\x07text", "text"),
            (b"\x1b]0;title\x1b\\text", "text"),
            (b"\x1b(Btext\x1b=\x1b>", "text"),
            (b"cut \x1b[3", "cut "),
            (b"cut \x1b", "cut "),
            (b"Datens\xe4tze", "Datens\u{fffd}tze"),
            (b"\xef\xbb\xbf{", "{"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(&clean(bytes), expected, "{:?}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn last_lines_skip_blanks_and_are_cut() {
        assert_eq!(last_lines("a\n\n b \n\nc\n\n", 2), "b; c");
        assert_eq!(last_lines("\n \n", 2), "");
        let long = "é".repeat(LINE_LIMIT + 1);
        assert_eq!(last_lines(&long, 1).chars().count(), LINE_LIMIT + 1);
    }

    #[test]
    fn a_failure_shows_the_exit_code_and_the_last_words() {
        let cases = [
            ("out", "err", Some(255), "cut off (exit code 255): err"),
            ("out", "\n", Some(0), "cut off: out"),
            ("", "", None, "cut off: no output"),
        ];
        for (stdout, stderr, exit_code, expected) in cases {
            let (stdout, stderr) = (stdout.as_bytes(), stderr.as_bytes());
            let reading = failed("cut off", ToolOutput { stdout, stderr, exit_code });
            assert_eq!(reading, Reading::Failed { reason: expected.to_owned() });
        }
    }

    #[test]
    fn a_line_without_its_end_is_not_whole() {
        assert_eq!(whole_lines("a\n\nb").collect::<Vec<_>>(), ["a", ""]);
        assert_eq!(whole_lines("").count(), 0);
    }

    #[test]
    fn plain_decimals_have_a_point() {
        assert_eq!((plain_decimal("1.5"), plain_decimal("1,5")), (Some(1.5), None));
    }

    #[test]
    fn decimals_of_any_locale_are_read_or_refused() {
        let cases = [
            ("12.6394", Some(12.6394)),
            ("12,6394", Some(12.6394)),
            ("7.8767e-05", Some(7.8767e-5)),
            ("7,8767e-05", Some(7.8767e-5)),
            ("3", Some(3.0)),
            ("1.234,5", None),
            ("1,234,567", None),
            ("-1", None),
            ("1e999", None),
            ("inf", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(decimal(text), expected, "{text}");
        }
    }
}
