//! Reads a value with the user's own pattern, for tools that have no parser. It guesses nothing: one
//! match, one number, or an error.

use super::{Measurement, text};
use crate::units::{Better, Unit};

/// Reads the metric `name` from text: the group called `value`, else the first group, else the whole
/// match of `pattern`, as a number in `unit`. The text is cleaned first, so lines end in `\n`.
///
/// Errors: no match, more than one (a pattern that fits twice would choose by luck), or no finite number.
pub fn extract_regex(
    name: &str,
    pattern: &::regex::Regex,
    unit: Unit,
    better: Option<Better>,
    text: &[u8],
) -> Result<Vec<Measurement>, String> {
    let text = text::clean(text);
    let matches = pattern.captures_iter(&text).count();
    let captures = match pattern.captures(&text) {
        Some(captures) if matches == 1 => captures,
        Some(_) => {
            return Err(format!("`{pattern}` of `{name}` matches {matches} times, expected once"));
        }
        None => return Err(format!("`{pattern}` of `{name}` matches nothing")),
    };
    let group = if captures.len() > 1 { captures.get(1) } else { captures.get(0) };
    let has_value = pattern.capture_names().flatten().any(|group| group == "value");
    let group = if has_value { captures.name("value") } else { group };
    let found = group.map_or("", |found| found.as_str()).trim();
    match found.parse::<f64>() {
        Ok(value) if value.is_finite() => {
            Ok(vec![Measurement { name: name.to_owned(), value, unit, better, labels: Default::default() }])
        }
        _ => Err(format!("`{pattern}` of `{name}` found `{found}`, which is not a number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extract(pattern: &str, text: &[u8]) -> Result<f64, String> {
        let pattern = ::regex::Regex::new(pattern).unwrap();
        let found = extract_regex("m", &pattern, Unit::Second, Some(Better::Lower), text)?;
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].name.as_str(), &found[0].unit), ("m", &Unit::Second));
        Ok(found[0].value)
    }

    #[test]
    fn one_number_is_read() {
        let cases: &[(&str, &[u8], f64)] = &[
            (r"took (\S+) s", b"it took 1.5e-3 s", 1.5e-3),
            (r"\d+", b"only 42", 42.0),
            (r"(\w+)=(?<value>\S+)", b"a=-7", -7.0),
            (r"(?m)^total: (.+)$", b"total: 9\r\nend\r\n", 9.0),
            (r"rate: (\S+)", b"rate: \x1b[32m4.5\x1b[0m \xe4", 4.5),
        ];
        for &(pattern, text, value) in cases {
            assert_eq!(extract(pattern, text), Ok(value), "{pattern}");
        }
    }

    #[test]
    fn anything_else_is_an_error() {
        let cases: &[(&str, &[u8], &str)] = &[
            (r"took (\d+)", b"nothing", r"`took (\d+)` of `m` matches nothing"),
            (r"\d+", b"1 2 3", r"`\d+` of `m` matches 3 times, expected once"),
            (r"v=(\S+)", b"v=1,5", r"`v=(\S+)` of `m` found `1,5`, which is not a number"),
            (r"v=(\S+)", b"v=nan", r"`v=(\S+)` of `m` found `nan`, which is not a number"),
            (r"v=(\S+)", b"v=1e999", r"`v=(\S+)` of `m` found `1e999`, which is not a number"),
            (r"v=(\d+)?", b"v=", r"`v=(\d+)?` of `m` found ``, which is not a number"),
        ];
        for &(pattern, text, reason) in cases {
            assert_eq!(extract(pattern, text), Err(reason.to_owned()));
        }
    }
}
