//! From what a rule has found to a number: all of it, or none.

use ::regex::Match;

use crate::metrics::text;
use crate::units::Scale;

/// A finite number with a decimal point.
///
/// # Errors
/// Anything else, and that a comma is not guessed at.
pub(super) fn number(found: &str) -> Result<f64, String> {
    let found = found.trim();
    if let Some(value) = found.parse().ok().filter(|value: &f64| value.is_finite()) {
        return Ok(value);
    }
    let shown = text::shown(found).unwrap_or_default();
    let is_grouped = found.contains(',') && found.replace(',', "").parse::<f64>().is_ok();
    let hint =
        if is_grouped { " (what a comma means is not guessed: let it print a decimal point)" } else { "" };
    Err(format!("found `{shown}`, which is not a number{hint}"))
}

/// The number `found` in `text`, by a pattern that matched `whole`.
///
/// # Errors
/// As [`number`], when the pattern has begun or ended inside of a longer number, and when it leaves out a unit that
/// sticks to it: whether that is the unit of the rule is for the file to say.
pub(super) fn whole_number(text: &str, whole: Match<'_>, found: Option<Match<'_>>) -> Result<f64, String> {
    let Some(found) = found else { return number("") };
    let value = number(found.as_str())?;
    // What the pattern itself has taken in beside the number is what its author wants there.
    let is_begun = found.start() > whole.start() || is_begin(&text[..found.start()]);
    let is_ended = found.end() < whole.end() || is_end(found.as_str(), &text[found.end()..]);
    let glued: String = text[found.end()..].chars().take_while(|c| c.is_alphabetic() || *c == '/').collect();
    if found.end() == whole.end() && Scale::named(&glued).is_some() {
        return Err(format!(
            "found `{}`, and the unit `{glued}` right behind it (let the pattern take it in: `(...){glued}`)",
            found.as_str()
        ));
    }
    match is_begun && is_ended {
        true => Ok(value),
        false => Err(format!(
            "found `{}`, which is a part of a longer number (let the pattern take in what stands beside it)",
            found.as_str()
        )),
    }
}

/// What can stand between two digits of one number.
const SEPARATORS: [char; 4] = ['.', ',', '_', '\''];

/// Whether a number can begin behind `before`.
fn is_begin(before: &str) -> bool {
    let mut before = before.chars().rev();
    let last = before.next();
    let other = before.next();
    let is_number = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit() || c == '.');
    match last {
        // `.5` and `1.5`, but not `No.5`.
        Some('.') => other.is_some_and(char::is_alphabetic),
        Some(c) if SEPARATORS.contains(&c) => !is_number(other),
        Some('+' | '-') if matches!(other, Some('e' | 'E')) => !is_number(before.next()),
        // A sign, but not the dash of `read-5`.
        Some('-') => other.is_some_and(char::is_alphanumeric),
        Some('e' | 'E') => !is_number(other),
        last => !is_number(last),
    }
}

/// Whether the number `found` can end before `after`.
fn is_end(found: &str, after: &str) -> bool {
    let mut after = after.chars();
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    match after.next() {
        Some(c) if SEPARATORS.contains(&c) => !is_digit(after.next()),
        Some('e' | 'E') => !is_digit(after.find(|c| !matches!(c, '+' | '-'))),
        Some('x' | 'X') if found == "0" => !after.next().is_some_and(|c| c.is_ascii_hexdigit()),
        first => !is_digit(first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_number_is_no_number() {
        for (text, found, is_whole) in [
            ("12", "12", true),
            ("took 12.", "12", true),
            ("took 12, then", "12", true),
            ("12.5", "12", false),
            ("12.5", "5", false),
            (".5", "5", false),
            ("No.5", "5", true),
            ("1,234", "1", false),
            ("1,234", "234", false),
            ("1_000", "1", false),
            ("1'000", "000", false),
            ("123", "12", false),
            ("123", "23", false),
            ("12e5", "12", false),
            ("12E-5", "12", false),
            ("12e-5", "5", false),
            ("12e5", "5", false),
            ("12every", "12", true),
            ("-5", "5", false),
            ("(-5)", "5", false),
            ("-5", "-5", true),
            ("read-5", "5", true),
            ("10-20", "20", true),
            ("0x1f", "0", false),
            ("4x8", "4", true),
            ("12 MB/s", "12", true),
            ("50%", "50", true),
        ] {
            let pattern = ::regex::Regex::new(&::regex::escape(found)).unwrap();
            let whole = pattern.find_iter(text).last().unwrap();
            assert_eq!(whole_number(text, whole, Some(whole)).is_ok(), is_whole, "{found} of {text}");
        }
    }
}
