//! An expression as the conditions it is made of, so that each can be evaluated over its own few axes. It
//! knows of the language no more than brackets, quotes and three words.

/// The conditions of `text`: it is true where, in one of the lists, all are. One list with one condition when
/// it can't be split: `and` and `or` bind weaker than anything in a condition but `if`.
pub(super) fn parts(text: &str) -> Vec<Vec<&str>> {
    match split(text, "if").len() {
        1 => split(text, "or").into_iter().map(|part| split(part, "and")).collect(),
        _ => vec![vec![text]],
    }
}

/// `text` at each `word` outside of brackets and quotes.
fn split<'a>(text: &'a str, word: &str) -> Vec<&'a str> {
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
                if !is_part(before.chars().next_back()) && !is_part(after.chars().next()) {
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
    use super::parts;

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
