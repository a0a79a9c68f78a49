//! An expression as the conditions it is made of, so that each can be evaluated over its own few axes. It
//! knows of the language no more than brackets, quotes and three words.

use minijinja::Value;

/// The conditions of `text`: it is true where, in one of the lists, all are. One list with one condition when
/// it can't be split: `and` and `or` bind weaker than anything in a condition but `if`.
pub(super) fn parts(text: &str) -> Vec<Vec<&str>> {
    match split(text, "if").len() {
        1 => split(text, "or").into_iter().map(|part| split(part, "and")).collect(),
        _ => vec![vec![text]],
    }
}

/// Why a comparison in `text` means nothing: by `<` or `>`, minijinja puts every number before every text.
/// `value` gives what a part of the expression is.
pub(super) fn incomparable(text: &str, value: &dyn Fn(&str) -> Option<Value>) -> Option<String> {
    comparisons(text).into_iter().find_map(|(left, right)| {
        let sides = [(left, value(left)?), (right, value(right)?)];
        let text = sides.iter().find(|(_, value)| value.as_str().is_some())?;
        let number = sides.iter().find(|(_, value)| value.is_number())?;
        let (part, is) = (text.0, &text.1);
        Some(format!("`{part}` is the text `{is}`, and `{}` is a number: neither is more; write `{part}|bytes`, or quote the number", number.0))
    })
}

/// Whether `text` compares by `<` or `>`.
pub(super) fn has_comparison(text: &str) -> bool {
    !comparisons(text).is_empty()
}

/// Both sides of each `<`, `<=`, `>`, `>=` in `text`.
fn comparisons(text: &str) -> Vec<(&str, &str)> {
    let text = bare(text);
    let parts = parts(text);
    if parts.iter().map(Vec::len).sum::<usize>() > 1 {
        return parts.into_iter().flatten().flat_map(comparisons).collect();
    }
    match text.strip_prefix("not").map(bare) {
        Some(rest) if rest.len() < text.len() - 3 || rest.starts_with('(') => comparisons(rest),
        _ => ["<=", ">=", "<", ">"]
            .into_iter()
            .find_map(|operator| match split_at(text, operator, false).as_slice() {
                [left, right] => Some(vec![(left.trim(), right.trim())]),
                _ => None,
            })
            .unwrap_or_default(),
    }
}

/// `text` without blanks and brackets round all of it.
fn bare(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
    match inner {
        // `(a) < (b)` begins and ends with brackets of its own.
        Some(inner) if closes_nothing(inner) => bare(inner),
        _ => text,
    }
}

/// Whether every bracket that closes in `text` was opened there.
fn closes_nothing(text: &str) -> bool {
    let mut depth = 0_i32;
    text.chars().all(|letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        depth >= 0
    })
}

/// `text` at each `word` outside of brackets and quotes.
fn split<'a>(text: &'a str, word: &str) -> Vec<&'a str> {
    split_at(text, word, true)
}

/// `text` at each `word` outside of brackets and quotes; one that `is_word` is no part of another.
fn split_at<'a>(text: &'a str, word: &str, is_word: bool) -> Vec<&'a str> {
    let is_part = |letter: Option<char>| letter.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '.');
    let (mut parts, mut start, mut depth, mut quote) = (Vec::new(), 0, 0_i32, None);
    for (index, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(letter),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth -= 1,
            (None, _) if depth == 0 && index >= start && text[index..].starts_with(word) => {
                let (before, after) = (&text[..index], &text[index + word.len()..]);
                if !is_word || !is_part(before.chars().next_back()) && !is_part(after.chars().next()) {
                    parts.push(&text[start..index]);
                    start = index + word.len();
                }
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::{comparisons, parts};

    #[test]
    fn comparisons_are_found_wherever_they_stand() {
        for (text, expected) in [
            ("a > 1", &[("a", "1")][..]),
            ("not (a >= 1 or b|bytes < c)", &[("a", "1"), ("b|bytes", "c")]),
            ("(a) < (b) and x == '<'", &[("(a)", "(b)")]),
            ("notable == 1", &[]),
            ("((a <= 'x'))", &[("a", "'x'")]),
            ("not a > 2", &[("a", "2")]),
        ] {
            assert_eq!(comparisons(text), expected, "{text}");
        }
    }

    #[test]
    fn an_expression_falls_into_its_conditions() {
        for (text, expected) in [
            ("a == 1", &[&["a == 1"][..]][..]),
            ("a == 1 and b", &[&["a == 1 ", " b"]]),
            ("a or b and not c", &[&["a "], &[" b ", " not c"]]),
            ("(a or b) and c", &[&["(a or b) ", " c"]]),
            ("x == 'a and b' and y", &[&["x == 'a and b' ", " y"]]),
            ("sand == 1 and band", &[&["sand == 1 ", " band"]]),
            ("a and b if c else d", &[&["a and b if c else d"]]),
            ("[a and b]|length and(c)", &[&["[a and b]|length ", "(c)"]]),
        ] {
            assert_eq!(parts(text), expected, "{text}");
        }
    }
}
