//! A value by a pattern that matches the output once.

use super::number::whole_number;
use super::{UNENDED, Value, multi_line};
use crate::metrics::text;

/// Reads the group called `value`, else the first group, else the whole match of `pattern`. The output is
/// cleaned first, so lines end in `\n`.
///
/// # Errors
/// No match, more than one (a pattern that fits twice would choose by luck), no finite number, a part of one, or a
/// match in a last line that does not end.
pub(super) fn read(pattern: &str, output: &[u8]) -> Result<Vec<Value>, String> {
    let pattern = multi_line(pattern).map_err(|error| error.to_string())?;
    let text = text::clean(output);
    let mut matches = pattern.captures_iter(&text);
    let captures = match (matches.next(), matches.count()) {
        (Some(captures), 0) => captures,
        (Some(_), more) => return Err(format!("matches {} times, expected once", more + 1)),
        (None, _) => return Err("matches nothing".to_owned()),
    };
    let has_value = pattern.capture_names().flatten().any(|group| group == "value");
    let found = match (has_value, captures.len()) {
        (true, _) => captures.name("value"),
        (false, 1) => captures.get(0),
        (false, _) => captures.get(1),
    };
    let Some(whole) = captures.get(0) else { return Err("matches nothing".to_owned()) };
    let value = whole_number(&text, whole, found)?;
    let ended = text.rfind('\n').map_or(0, |last| last + 1);
    if whole.end() > ended {
        let found = found.map_or("", |found| found.as_str()).trim();
        return Err(format!("found `{found}`, which {UNENDED}"));
    }
    Ok(vec![Value { value, labels: Default::default() }])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extract(pattern: &str, text: &[u8]) -> Result<f64, String> {
        let found = read(pattern, text)?;
        assert_eq!(found.len(), 1);
        assert!(found[0].labels.is_empty());
        Ok(found[0].value)
    }

    #[test]
    fn one_number_is_read() {
        let cases: &[(&str, &[u8], f64)] = &[
            (r"took (\S+) s", b"it took 1.5e-3 s\n", 1.5e-3),
            (r"\d+", b"only 42\n", 42.0),
            (r"(\w+)=(?<value>\S+)", b"a=-7\n", -7.0),
            (r"(?m)^total: (.+)$", b"total: 9\r\nend", 9.0),
            (r"rate: (\S+)", b"rate: \x1b[32m4.5\x1b[0m \xe4\n", 4.5),
            (r"write,(\d+),", b"write,12,34\n", 12.0),
            (r"took (\d+)", b"It took 12.\n", 12.0),
            (r"took (\S+)ms", b"took 12.5ms\n", 12.5),
            (r"took ([\d.]+)", b"took 12.5parsecs\n", 12.5),
            (r"^(\d+)$", b"one\n12\ntwo\n", 12.0),
            (r"(\d+)", b"12e\n", 12.0),
        ];
        for &(pattern, text, value) in cases {
            assert_eq!(extract(pattern, text), Ok(value), "{pattern}");
        }
    }

    #[test]
    fn anything_else_is_an_error() {
        let part = "which is a part of a longer number (let the pattern take in what stands beside it)";
        let comma = " (what a comma means is not guessed: let it print a decimal point)";
        let cases: &[(&str, &str, String)] = &[
            (r"took (\d+)", "nothing", "matches nothing".into()),
            (r"\d+", "1 2 3", "matches 3 times, expected once".into()),
            (r"v=(\S+)", "v=1,5\n", format!("found `1,5`, which is not a number{comma}")),
            (r"v=(\S+)", "v=nan\n", "found `nan`, which is not a number".into()),
            (r"v=(\S+)", "v=1e999\n", "found `1e999`, which is not a number".into()),
            (r"v=(\d+)?", "v=\n", "found ``, which is not a number".into()),
            (r"v=(\d+)", "v=12.5\n", format!("found `12`, {part}")),
            (
                r"v=([\d.]+)",
                "v=12.5ms\n",
                "found `12.5`, and the unit `ms` right behind it (let the pattern take it in: `(...)ms`)"
                    .into(),
            ),
            (r"v=(\d+)", "v=1,234 MB/s\n", format!("found `1`, {part}")),
            (r"v=([\d.]+)", "v=1.5e3\n", format!("found `1.5`, {part}")),
            (r"v=([\d.]+)", "v=1.5E-3\n", format!("found `1.5`, {part}")),
            (r"(\d+) MB/s", "12.5 MB/s\n", format!("found `5`, {part}")),
            (r"v=(\S+)", "a\nv=12", format!("found `12`, which {UNENDED}")),
            (r"v=(\S+) MB", "v=12 MB/s", format!("found `12`, which {UNENDED}")),
        ];
        for (pattern, text, reason) in cases {
            assert_eq!(extract(pattern, text.as_bytes()), Err(reason.clone()), "{pattern} {text}");
        }
    }
}
