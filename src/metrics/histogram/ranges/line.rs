//! One line of a table of ranges: a row, a total, an average, or something else. What looks like a row and is not
//! understood is told from other text, for it may not be skipped. Read [`Line`] first.

/// Units of time by the words for them, in seconds.
const TIMES: [(f64, &[&str]); 4] = [
    (1e-9, &["ns", "nsec", "nsecs", "nanosecond", "nanoseconds"]),
    (1e-6, &["us", "usec", "usecs", "microsecond", "microseconds"]),
    (1e-3, &["ms", "msec", "msecs", "millisecond", "milliseconds"]),
    (1.0, &["s", "sec", "secs", "second", "seconds"]),
];

/// Labels of a total.
const TOTALS: [&str; 8] =
    ["total", "count", "total count", "data count", "samples", "values", "messages", "n"];

/// Words for what lies outside of all ranges.
const OUTSIDE: [&str; 7] = ["under", "over", "below", "above", "less", "more", "outlier"];

/// What bars are drawn of.
const BARS: &str = "|@*#=+.-▏▎▍▌▋▊▉█ ";

/// What a line is.
#[derive(Debug, Clone, PartialEq)]
pub enum Line<'a> {
    /// A range and its count.
    Row(Row),
    /// The number of all values.
    Total(u64),
    /// `Latency :A (LOW-HIGH) sec`.
    Mean {
        /// In `unit`.
        value: f64,
        /// The size of its last digit.
        last_digit: f64,
        /// In seconds.
        unit: f64,
    },
    /// A line without digits, and the units of time that it names without doubt.
    Heading(Vec<f64>),
    /// Anything else.
    Text(&'a str),
    /// What looks like a row and is not understood.
    Unknown(&'a str),
}

/// `[range:NUMBER >] LOW - HIGH: COUNT`.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// As numbered in the table, from 1.
    pub number: Option<u64>,
    /// As printed.
    pub low: f64,
    /// As printed.
    pub high: f64,
    /// The units of both ends in seconds.
    pub units: Option<[f64; 2]>,
    /// The number of values.
    pub count: u64,
}

/// A line as the program wrote it: typography of a web page undone, and `?` as the blank that was lost there.
pub fn normalised(line: &str) -> String {
    let plain = line.chars().map(|c| match c {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '?' | '\u{a0}' | '\t' => ' ',
        'µ' | 'μ' => 'u',
        other => other,
    });
    plain.collect()
}

impl<'a> Line<'a> {
    /// Reads a [`normalised`] line that is not blank.
    pub fn read(line: &'a str) -> Self {
        let trimmed = line.trim();
        if let Some(row) = Row::read(trimmed) {
            return Self::Row(row);
        }
        if !trimmed.bytes().any(|byte| byte.is_ascii_digit()) {
            return Self::Heading(units(trimmed));
        }
        total(trimmed).map(Self::Total).or_else(|| mean(trimmed)).unwrap_or_else(|| {
            match looks_like_a_row(trimmed) {
                true => Self::Unknown(line),
                false => Self::Text(line),
            }
        })
    }
}

impl Row {
    fn read(line: &str) -> Option<Self> {
        let (number, line) = numbered(line)?;
        let (line, bar) = line.split_once('|').unwrap_or((line, ""));
        if bar.chars().any(|c| !BARS.contains(c)) {
            return None;
        }
        let opened = line.trim().strip_prefix(['[', '(']);
        let (low, rest) = figure(opened.unwrap_or(line))?;
        let (low_unit, rest) = unit(rest);
        let (high, high_unit, rest) = match rest.strip_prefix(']') {
            Some(rest) if opened.is_some() => (low, low_unit, rest),
            _ => {
                let (high, rest) = figure(separated(rest, opened.is_some())?)?;
                let (high_unit, rest) = unit(rest);
                let rest = if opened.is_some() { rest.strip_prefix([')', ']'])? } else { rest };
                (high, high_unit, rest)
            }
        };
        let (outer_unit, rest) = if high_unit.is_none() { unit(rest) } else { (high_unit, rest) };
        let between = rest.trim_start_matches([':', '=', ' ']);
        if between.len() == rest.len() && !rest.starts_with(' ') && outer_unit.is_none() {
            return None;
        }
        let count = count(between)?;
        let units = match (low_unit, outer_unit) {
            (low, Some(high)) => Some([low.unwrap_or(high), high]),
            (None, None) => None,
            (Some(_), None) => return None,
        };
        let order = |value: f64, end: usize| value * units.map_or(1.0, |units| units[end]);
        (order(low, 0) <= order(high, 1)).then_some(Self { number, low, high, units, count })
    }
}

/// The number of `range:NUMBER >` and what follows it; the whole line where it does not begin so.
fn numbered(line: &str) -> Option<(Option<u64>, &str)> {
    let Some(rest) = line.strip_prefix("range") else { return Some((None, line)) };
    let (number, rest) = rest.split_once('>')?;
    let number = number.trim_start_matches([':', ' ']).trim_end().parse().ok()?;
    Some((Some(number), rest))
}

/// A number with a decimal point at the begin, and what follows it. Refused with a 0 before other digits,
/// which is the rest of a number with a thousands separator.
fn figure(text: &str) -> Option<(f64, &str)> {
    let text = text.trim_start();
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let mut end = digits(0);
    if end == 0 || (end > 1 && text.starts_with('0')) {
        return None;
    }
    if text[end..].starts_with('.') && digits(end + 1) > 0 {
        end += 1 + digits(end + 1);
    }
    if text[end..].starts_with(['e', 'E']) {
        let sign = usize::from(text[end + 1..].starts_with(['+', '-']));
        let exponent = digits(end + 1 + sign);
        end += if exponent > 0 { 1 + sign + exponent } else { 0 };
    }
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// A unit of time at the begin, in seconds, and what follows it; else the text without blanks before it.
fn unit(text: &str) -> (Option<f64>, &str) {
    let begin = text.trim_start();
    let length = begin.bytes().take_while(u8::is_ascii_alphabetic).count();
    match time(&begin[..length]) {
        Some(unit) => (Some(unit), &begin[length..]),
        None => (None, text),
    }
}

fn time(word: &str) -> Option<f64> {
    TIMES.iter().find(|(_, words)| words.contains(&word)).map(|(seconds, _)| *seconds)
}

/// What follows the sign between two ends.
fn separated(text: &str, is_in_brackets: bool) -> Option<&str> {
    let text = text.trim_start();
    let signs: &[&str] =
        if is_in_brackets { &[",", ";", "..", "-"] } else { &["->", "...", "..", "-", "to "] };
    signs.iter().find_map(|sign| text.strip_prefix(sign))
}

/// A count, behind which only percentages and a bar may come.
fn count(text: &str) -> Option<u64> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    let (count, rest) = text.split_at(length);
    let is_known = |word: &str| {
        let percent = word.trim_matches(['(', ')']).strip_suffix('%');
        percent.is_some_and(|percent| figure(percent).is_some_and(|(_, rest)| rest.is_empty()))
            || word.chars().all(|c| BARS.contains(c))
    };
    let is_apart = rest.is_empty() || rest.starts_with(' ');
    if !is_apart || !rest.split_whitespace().all(is_known) {
        return None;
    }
    count.parse().ok()
}

/// The figure of `total: N`, or the sum of `under avg:N over avg:N`.
fn total(line: &str) -> Option<u64> {
    if let Some(rest) = line.strip_prefix("under avg:") {
        let (under, over) = rest.split_once("over avg:")?;
        let [under, over]: [u64; 2] = [under.trim().parse().ok()?, over.trim().parse().ok()?];
        return under.checked_add(over);
    }
    let (label, figure) = line.split_once([':', '='])?;
    if !TOTALS.contains(&label.trim().to_lowercase().as_str()) {
        return None;
    }
    let figure = figure.trim();
    let (digits, rest) = figure.split_once(' ').unwrap_or((figure, ""));
    // `total: 100 usecs` is a sum of times.
    let is_time = time(rest.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or("")).is_some();
    digits.parse().ok().filter(|_| !is_time)
}

/// `Latency :A (LOW-HIGH) sec`.
fn mean(line: &str) -> Option<Line<'static>> {
    let text = line.strip_prefix("Latency")?.trim_start().strip_prefix(':')?.trim_start();
    let (value, rest) = figure(text)?;
    let printed = &text[..text.len() - rest.len()];
    let decimals = printed.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let (low, rest) = figure(rest.trim_start().strip_prefix('(')?)?;
    let (high, rest) = figure(separated(rest, false)?)?;
    let unit = time(rest.trim_start().strip_prefix(')')?.trim())?;
    let is_sound = low <= value && value <= high && printed.bytes().all(|byte| byte != b'e' && byte != b'E');
    is_sound.then_some(Line::Mean { value, last_digit: 0.1f64.powi(decimals as i32), unit })
}

/// The units of time that a heading names: a word such as `usecs` anywhere, and `ms` in brackets, because
/// `us` and `s` are words or parts of words too.
fn units(heading: &str) -> Vec<f64> {
    let is_part = |c: char| !c.is_ascii_alphabetic();
    let words = heading.split(is_part).filter(|word| word.len() > 2);
    let in_brackets = heading.split(['(', '[']).skip(1).filter_map(|rest| rest.split([')', ']']).next());
    words.chain(in_brackets.filter(|word| word.len() <= 2)).filter_map(time).collect()
}

fn looks_like_a_row(line: &str) -> bool {
    let sign = |c: char| c.is_ascii_digit() || "[(<>=+-≤≥.".contains(c);
    let words = line.to_lowercase();
    line.starts_with(sign)
        || line.starts_with("range")
        || OUTSIDE.iter().any(|word| words.starts_with(word))
        || (OUTSIDE.iter().any(|word| words.contains(word)) && line.ends_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(low: f64, high: f64, count: u64) -> Row {
        Row { number: None, low, high, units: None, count }
    }

    #[test]
    fn rows_of_many_programs_are_read() {
        let (us, ms) = (1e-6, 1e-3);
        for (line, right) in [
            ("0 - 10: 5", row(0.0, 10.0, 5)),
            ("0-10 5", row(0.0, 10.0, 5)),
            ("0..10 5", row(0.0, 10.0, 5)),
            ("0.5...1.5 = 5", row(0.5, 1.5, 5)),
            ("0 to 10 : 5", row(0.0, 10.0, 5)),
            ("[0, 10) 5", row(0.0, 10.0, 5)),
            ("(0;10]: 5", row(0.0, 10.0, 5)),
            ("[3]   5 |@@@  |", row(3.0, 3.0, 5)),
            ("  4 -> 7          : 12       |****      |", row(4.0, 7.0, 12)),
            ("1e-5 - 2.5e-5: 7 ####", row(1e-5, 2.5e-5, 7)),
            ("0 – 10: 5 (50.0%) 50%", row(0.0, 10.0, 5)),
            (
                "range:02 > ? 0.000044-? 0.000088: ? 32657",
                Row { number: Some(2), ..row(0.000044, 0.000088, 32657) },
            ),
            ("0 - 10us: 5", Row { units: Some([us, us]), ..row(0.0, 10.0, 5) }),
            ("10 µs - 20 µs: 5", Row { units: Some([us, us]), ..row(10.0, 20.0, 5) }),
            ("500us - 1ms 5", Row { units: Some([us, ms]), ..row(500.0, 1.0, 5) }),
            ("[10, 20) ms: 5", Row { units: Some([ms, ms]), ..row(10.0, 20.0, 5) }),
        ] {
            assert_eq!(Line::read(&normalised(line)), Line::Row(right), "{line}");
        }
    }

    #[test]
    fn what_looks_like_a_row_is_not_skipped() {
        for line in [
            "0 - 1,000: 5",
            "1,000 - 2,000: 5",
            "[1,000, 2,000) 5",
            "[0, 2,000) 5",
            "0 - 10: 1,000",
            "0 - 10: 1.000",
            "0 - 10: 1 000",
            "[1K, 2K) 5",
            "> 1000: 5",
            "1000+: 5",
            "[1000, inf) 5",
            "(..., 0) 5",
            "-5 - 0: 3",
            "10 - 5: 3",
            "0 - 10: -3",
            "0 - 10: 5.5",
            "10us - 20: 5",
            "1 kB - 2 kB: 5",
            "0 - 10: 5 6",
            "range:01 > x 1",
            "overflow: 5",
            "values above 100: 5",
            "0 - 10:",
            "0 - 10: 5 | 7",
            "99999999999999999999 5",
            "0 - 10: 99999999999999999999",
        ] {
            assert!(matches!(Line::read(line), Line::Unknown(_)), "{line}: {:?}", Line::read(line));
        }
    }

    #[test]
    fn totals_means_and_headings_are_told_from_text() {
        let text = "data read in 14 s";
        for (line, right) in [
            ("total: 100", Line::Total(100)),
            ("Total count = 100", Line::Total(100)),
            ("data count:10000000 msg / 14.982224 sec", Line::Total(10_000_000)),
            ("under avg:8771351  over avg:1228649", Line::Total(10_000_000)),
            ("total: 100 usecs", Line::Text("total: 100 usecs")),
            ("total: 1,000", Line::Text("total: 1,000")),
            (text, Line::Text(text)),
            (
                "Latency   :0.000001 (0.000000-0.000442) sec",
                Line::Mean { value: 1e-6, last_digit: 0.1f64.powi(6), unit: 1.0 },
            ),
            ("Latency :0.5 (0.6-0.7) sec", Line::Text("Latency :0.5 (0.6-0.7) sec")),
            ("     usecs               : count     distribution", Line::Heading(vec![1e-6])),
            ("@usecs:", Line::Heading(vec![1e-6])),
            ("latency [ms]  count", Line::Heading(vec![1e-3])),
            ("it's as slow as us", Line::Heading(vec![])),
            ("----", Line::Heading(vec![])),
        ] {
            assert_eq!(Line::read(line), right, "{line}");
        }
    }
}
