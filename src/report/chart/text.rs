//! How much room words take, without a font to look it up in: an estimate that is rather too large than too small,
//! so that texts do not run into each other.

use unicode_width::UnicodeWidthChar;

/// The size of the small texts in pixels.
pub(super) const SIZE: f64 = 12.0;
/// The size of a title.
pub(super) const TITLE: f64 = 16.0;

/// The width of `text` in pixels at a size of `size` pixels.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(em).sum::<f64>() * size
}

/// The width of a letter in parts of the size; Korean letters are as wide as they are high.
fn em(letter: char) -> f64 {
    match (letter, letter.width().unwrap_or(0)) {
        (_, 0) => 0.0,
        (_, 2) => 1.0,
        ('i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ', _) => 0.32,
        ('f' | 't' | 'r' | '-' | '(' | ')' | '[' | ']' | '/', _) => 0.42,
        ('m' | 'w' | 'M' | 'W' | '@' | '%', _) => 0.95,
        ('A'..='Z', _) => 0.72,
        _ => 0.61,
    }
}

/// `text` in lines of at most `room` pixels, broken at blanks, and between wide letters where need be; at most `most`
/// lines, the last of which ends in `…` where something is left out.
pub(super) fn wrap(text: &str, size: f64, room: f64, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last().cloned().unwrap_or_default();
        let joined = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
        match width(&joined, size) <= room {
            true => lines.pop().map(|_| lines.push(joined)).unwrap_or_default(),
            false => {
                if line.is_empty() {
                    lines.pop();
                }
                lines.extend(broken(word, size, room));
            }
        }
    }
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            *last = shortened(&format!("{last}………"), size, room);
        }
    }
    lines
}

/// A word in pieces that fit.
fn broken(word: &str, size: f64, room: f64) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut used = 0.0;
    for letter in word.chars() {
        let wide = em(letter) * size;
        if used + wide > room && used > 0.0 {
            pieces.push(String::new());
            used = 0.0;
        }
        used += wide;
        if let Some(piece) = pieces.last_mut() {
            piece.push(letter);
        }
    }
    pieces
}

/// `text`, or its begin and end with `…` between where it is wider than `room` pixels: names often differ at their end.
pub(super) fn shortened(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let letters: Vec<char> = text.chars().collect();
    let mut kept = letters.len();
    while kept > 2 {
        kept -= 1;
        let (front, back) = (kept - kept / 2, kept / 2);
        let short: String =
            letters[..front].iter().chain(&['…']).chain(&letters[letters.len() - back..]).collect();
        if width(&short, size) <= room {
            return short;
        }
    }
    "…".to_owned()
}

/// `names`, each at most `room` pixels wide. Where one is wider, what all have in common at the end, then at the begin,
/// becomes `…`: names of machines in one network differ in the middle.
pub(super) fn told_apart(names: &[String], size: f64, room: f64) -> Vec<String> {
    let is_narrow = |names: &[String]| names.iter().all(|name| width(name, size) <= room);
    let mut short = names.to_vec();
    if names.len() > 1 && !is_narrow(&short) {
        let end = common(names.iter().map(|name| name.chars().rev().collect()).collect());
        if end > 1 {
            short = short.iter().map(|name| format!("{}…", without_end(name, end))).collect();
        }
        let begin = common(names.iter().map(|name| name.chars().collect()).collect());
        if begin > 1 && !is_narrow(&short) {
            short = short
                .iter()
                .map(|name| format!("…{}", name.chars().skip(begin).collect::<String>()))
                .collect();
        }
    }
    short.iter().map(|name| shortened(name, size, room)).collect()
}

fn without_end(name: &str, count: usize) -> String {
    name.chars().take(name.chars().count().saturating_sub(count)).collect()
}

/// How many letters all begin with, up to a sign between words: a word is not torn apart.
fn common(names: Vec<Vec<char>>) -> usize {
    let Some((first, others)) = names.split_first() else { return 0 };
    let alike = first
        .iter()
        .enumerate()
        .take_while(|(place, letter)| others.iter().all(|other| other.get(*place) == Some(letter)))
        .count();
    let shortest = names.iter().map(Vec::len).min().unwrap_or_default();
    let is_sign = |place: &usize| !first[*place].is_alphanumeric();
    // Something must be left of each.
    (0..alike.min(shortest.saturating_sub(1))).rev().find(is_sign).map_or(0, |place| place + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_broken_where_they_end_to_fit() {
        let room = 10.0 * SIZE;
        assert_eq!(wrap("one two", SIZE, room, 3), ["one two"]);
        assert_eq!(wrap("", SIZE, room, 3), [""]);
        assert_eq!(wrap("가나다라마바사아자차카타", SIZE, room, 3), ["가나다라마바사아자차", "카타"]);
        assert_eq!(wrap("라떼판다 세 대의 네트워크", SIZE, room, 3), ["라떼판다 세 대의", "네트워크"]);
        let long = wrap(&"word ".repeat(40), SIZE, room, 2);
        assert!(long.len() == 2 && long[1].contains('…'), "{long:?}");
        assert!(long.iter().all(|line| width(line, SIZE) <= room));
    }

    #[test]
    fn names_of_one_network_keep_what_they_differ_in() {
        let names = ["node-01.rack-b.example.net", "node-02.rack-a.example.net"].map(str::to_owned);
        assert_eq!(told_apart(&names, SIZE, 500.0), names);
        assert_eq!(told_apart(&names, SIZE, 120.0), ["node-01.rack-b…", "node-02.rack-a…"]);
        assert_eq!(told_apart(&names, SIZE, 80.0), ["…01.rack-b…", "…02.rack-a…"]);
        let alike = ["a", "a"].map(str::to_owned);
        assert_eq!(told_apart(&alike, SIZE, 1.0), ["…", "…"]);
    }

    #[test]
    fn a_short_name_keeps_both_ends() {
        let name = "a-very-long-name-of-a-machine-7";
        let short = shortened(name, SIZE, 90.0);
        assert!(short.starts_with("a-v") && short.ends_with("-7") && width(&short, SIZE) <= 90.0, "{short}");
        assert_eq!(shortened(name, SIZE, 1.0), "…");
    }
}
