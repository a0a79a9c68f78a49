//! Values by a pattern that single lines match.

use std::collections::BTreeMap;

use ::regex::{Captures, Regex};

use super::number::whole_number;
use super::{UNENDED, Value, distinct};
use crate::metrics::text;

/// Reads each line that `pattern` matches: its group `value` is the value, its other named groups are labels. A
/// group that took no part in the match is no label.
///
/// # Errors
/// No such line, two with the same labels, one without a whole number, or a last line that does not end.
pub(super) fn read(pattern: &str, output: &[u8]) -> Result<Vec<Value>, String> {
    let pattern = Regex::new(pattern).map_err(|error| error.to_string())?;
    let text = text::clean(output);
    let mut values = Vec::new();
    for line in text.split_inclusive('\n') {
        let (line, is_ended) = line.strip_suffix('\n').map_or((line, false), |line| (line, true));
        let Some(captures) = pattern.captures(line) else { continue };
        if !is_ended {
            return Err(format!("matches `{}`, which {UNENDED}", text::shown(line).unwrap_or_default()));
        }
        values.push(value(&pattern, line, &captures)?);
    }
    match values.is_empty() {
        true => Err("matches no line".to_owned()),
        false => distinct(values, "lines"),
    }
}

fn value(pattern: &Regex, line: &str, captures: &Captures<'_>) -> Result<Value, String> {
    let Some(whole) = captures.get(0) else { return Err("matches no line".to_owned()) };
    let value = whole_number(line, whole, captures.name("value"))?;
    let groups = pattern.capture_names().flatten().filter(|group| *group != "value");
    let label = |group: &str| Some((group.to_owned(), captures.name(group)?.as_str().trim().to_owned()));
    Ok(Value { value, labels: groups.filter_map(label).collect::<BTreeMap<_, _>>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATES: &str = r"^(?<operation>\w+): (?<value>\S+) MB/s$";

    #[test]
    fn each_line_is_a_value_with_its_labels() {
        let output = b"write: 12.5 MB/s\r\nskipped\n\x1b[1mread: 20 MB/s\x1b[0m\nend";
        let found = read(RATES, output).unwrap();
        let value = |value, operation: &str| Value {
            value,
            labels: BTreeMap::from([("operation".to_owned(), operation.to_owned())]),
        };
        assert_eq!(found, [value(12.5, "write"), value(20.0, "read")]);
        let optional = r"(?:(?<unit>[a-z]+) )?(?<value>\d+)$";
        let found = read(optional, b"ab 1\n2\n").unwrap();
        assert_eq!(found[1], Value { value: 2.0, labels: BTreeMap::new() });
    }

    #[test]
    fn anything_else_is_an_error() {
        for (pattern, output, reason) in [
            (RATES, "", "matches no line".to_owned()),
            (RATES, "write: 12 kB/s\n", "matches no line".to_owned()),
            (RATES, "a: x MB/s\nb: 1 MB/s\n", "found `x`, which is not a number".to_owned()),
            (
                RATES,
                "a: 1 MB/s\nb: 2 MB/s\na: 3 MB/s\n",
                "finds 2 lines with the same labels (operation=a)".to_owned(),
            ),
            (r"(?<value>\d+) s", "1 s\n2 s\n3 s\n", "finds 3 lines, and no label tells them apart".to_owned()),
            (RATES, "a: 1 MB/s\nb: 2 MB/s", format!("matches `b: 2 MB/s`, which {UNENDED}")),
            (
                r"(?<value>\d+)",
                "1.5 s\n",
                "found `1`, which is a part of a longer number (let the pattern take in what stands beside it)"
                    .to_owned(),
            ),
        ] {
            assert_eq!(read(pattern, output.as_bytes()), Err(reason), "{output}");
        }
    }
}
