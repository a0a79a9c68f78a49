//! The lines of `perf stat -x SEPARATOR`: value, unit, event, with `-r` the variance, time counted in ns, share of the time
//! in percent, and a derived figure with its unit (see "CSV FORMAT" in perf-stat(1)). Columns before them tell
//! an interval's time or where was counted.

use std::collections::BTreeMap;

use super::{Counter, Span};
use crate::metrics::text;

/// The separators that are tried. One that is part of an event's name makes lines that are refused.
const SEPARATORS: [char; 10] = [',', ';', '\t', '|', ':', '@', '#', '~', '^', '!'];

/// The number of fields of a counter.
const FIELDS: usize = 7;

/// The counters of cleaned text, with whichever separator it has; none where no line is a counter's.
///
/// Errors: a line looks like a counter's but has another number of fields, as with a decimal comma.
pub fn counters(text: &str) -> Result<Vec<Counter>, String> {
    let read = |separator| text::whole_lines(text).map(|line| Line::of(line, separator)).collect::<Vec<_>>();
    let counted = |lines: &Vec<Line>| lines.iter().filter(|line| !matches!(line, Line::Other)).count();
    let best = SEPARATORS.into_iter().map(read).max_by_key(counted).unwrap_or_default();
    let mut counters = Vec::new();
    for line in best {
        match line {
            Line::Counter(counter) => counters.push(*counter),
            Line::Odd(what) => return Err(what),
            Line::Other => {}
        }
    }
    Ok(counters)
}

/// What a line is.
enum Line {
    Counter(Box<Counter>),
    /// A counter's that can't be read, with why.
    Odd(String),
    /// Of another program, a comment, or only a derived figure.
    Other,
}

impl Line {
    fn of(line: &str, separator: char) -> Self {
        let fields: Vec<&str> = line.split(separator).map(str::trim).collect();
        let mut labels = BTreeMap::new();
        let mut span = Span::Whole;
        let mut rest = fields.as_slice();
        while let [first, after @ ..] = rest {
            if *first == "summary" {
                (span, rest) = (Span::Summary, after);
            } else if is_time(first) && after.len() >= FIELDS {
                (span, rest) = (Span::Interval, after);
            } else if let Some((place, name, skipped)) =
                place(first).filter(|(.., skipped)| after.len() > *skipped)
            {
                labels.insert(place.to_owned(), name.to_owned());
                rest = &after[skipped..];
            } else {
                break;
            }
        }
        let Some(first) =
            rest.first().filter(|first| first.starts_with("<not ") || text::decimal(first).is_some())
        else {
            return Line::Other;
        };
        if let Some(counter) = counter(rest, labels, span) {
            return Line::Counter(Box::new(counter));
        }
        // A counter has at least its time and its share of the time behind its name.
        match rest.len() < FIELDS - 2 || first.is_empty() {
            true => Line::Other,
            false => Line::Odd(format!(
                "a line has {} fields that are not those of a counter: set `LC_ALL=C`, or run `perf stat -x\\;`",
                fields.len()
            )),
        }
    }
}

/// The counter in the fields that begin with its value.
fn counter(fields: &[&str], labels: BTreeMap<String, String>, span: Span) -> Option<Counter> {
    let (value, unit, event, rest) = match fields {
        [value, unit, event, variance, rest @ ..] if variance.ends_with('%') => (value, unit, event, rest),
        [value, unit, event, rest @ ..] => (value, unit, event, rest),
        _ => return None,
    };
    // Before perf 4.3 no derived figure follows.
    let ([time, share] | [time, share, _, _]) = rest else { return None };
    let is_time = !time.is_empty() && time.bytes().all(|byte| byte.is_ascii_digit());
    let is_named = !event.is_empty() && text::decimal(event).is_none() && text::decimal(unit).is_none();
    let running = text::decimal(share).filter(|share| is_time && is_named && *share <= 100.0)?;
    let number = text::decimal(value);
    if number.is_none() && !value.starts_with("<not ") {
        return None;
    }
    let (event, unit, printed) = ((*event).to_owned(), (*unit).to_owned(), (*value).to_owned());
    Some(Counter { event, value: number, printed, unit, running, labels, span })
}

/// Whether a field is the time of an interval: seconds with nine decimals.
fn is_time(field: &str) -> bool {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let parts = field.split_once(['.', ',']);
    parts.is_some_and(|(whole, part)| is_digits(whole) && is_digits(part) && part.len() == 9)
}

/// What a column before the value names (`CPU0`, `S0-D0-C1`, `N0`), its name, and how many fields of it follow:
/// behind all but a processor stands the number of processors.
fn place(field: &str) -> Option<(&'static str, &str, usize)> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(cpu) = field.strip_prefix("CPU").filter(|cpu| is_number(cpu)) {
        return Some(("cpu", cpu, 0));
    }
    let last = field.split('-').map(|part| part.split_at_checked(1).filter(|(_, number)| is_number(number)));
    let last = last.collect::<Option<Vec<_>>>()?.last()?.0;
    let kinds = [("S", "socket"), ("D", "die"), ("C", "core"), ("N", "node")];
    kinds.into_iter().find(|(letter, _)| *letter == last).map(|(_, kind)| (kind, field, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<(String, Option<f64>)>, String> {
        Ok(counters(text)?.into_iter().map(|counter| (counter.event, counter.value)).collect())
    }

    #[test]
    fn counters_are_found_among_other_lines() {
        let text = "# started on a day\n\nwarning, of the program\n1,2\n0.69;msec;task-clock;690350;100.00;0.428;CPUs utilized\n\
                    ;;;;;0.75;insn per cycle\n51;;page-faults;690350;100,00;73,876;K/sec\n";
        let expected = [("task-clock".to_owned(), Some(0.69)), ("page-faults".to_owned(), Some(51.0))];
        assert_eq!(read(text).unwrap(), expected);
        assert_eq!(read("nothing here\n").unwrap(), []);
    }

    #[test]
    fn columns_before_the_value_tell_where_and_when() {
        let cases = [
            ("CPU0,24,,cs,101313582,100.00,,\n", vec![("cpu", "0")], Span::Whole),
            ("S0-D0-C1,1,29,,cs,101695238,100.00,,\n", vec![("core", "S0-D0-C1")], Span::Whole),
            ("N0,2,66,,cs,203555588,100.00,,\n", vec![("node", "N0")], Span::Whole),
            ("     0.100179328,CPU1,66,,cs,203555588,100.00,,\n", vec![("cpu", "1")], Span::Interval),
            ("         summary,S0,2,66,,cs,203555588,100.00,,\n", vec![("socket", "S0")], Span::Summary),
        ];
        for (line, labels, span) in cases {
            let found = counters(line).unwrap();
            let labels = labels.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned()));
            assert_eq!((&found[0].labels, found[0].span), (&labels.collect(), span), "{line}");
        }
    }

    #[test]
    fn another_number_of_fields_is_refused() {
        let lines = [
            "0,69,msec,task-clock,690350,100,00,0,428,CPUs utilized\n",
            "51,,page-faults,690350,100,00,73,876,K/sec\n",
            "5,,cpu/event=1,umask=2/,690350,100.00,,\n",
            "5,,cs,a-cgroup,690350,100.00,,\n",
        ];
        for line in lines {
            assert!(read(line).unwrap_err().contains("fields"), "{line}");
        }
        assert_eq!(read("0.69,msec,task-clock,690350,100.00,0.428,CPUs").unwrap(), [], "cut off");
    }
}
