//! Lines that differ from another one of their cell in numbers alone, as most do. They are not parsed: what stands between
//! the numbers is compared byte by byte, and the numbers are read. Read [`Mould`].

use std::str::FromStr;

use serde_json::value::RawValue;

use super::kept::Numbers;
use super::known::Pairs;
use super::{KeptOutput, Record, Started};

/// A line without what tells trials apart: its numbers, and where its outputs lie.
#[derive(Debug)]
pub(super) struct Mould {
    /// What stands before each gap, and what the gap holds.
    parts: Vec<(Box<[u8]>, Gap)>,
    /// What stands behind the last one.
    end: Box<[u8]>,
    /// The record of the line that it was made of.
    record: Record,
}

/// What stands in a gap of a mould.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gap {
    /// The number of the repetition: at the end of the trial's name, and its own.
    Repetition,
    Attempt,
    Started,
    Elapsed,
    Value,
    /// The path of an output.
    Path,
    /// Its size.
    Size,
    /// A whole number that no reader asks for.
    Whole,
    /// Another number that no reader asks for.
    Decimal,
}

impl Mould {
    /// That of `line`, which has been read as `record`; none where it can't be one, since the record has words.
    pub fn new(line: &str, record: &Record) -> Option<Self> {
        if !record.is_plain() || record.started.is_none() {
            return None;
        }
        let mut begin = 0;
        let part = |(text, gap): (&str, Gap)| {
            let place = text.as_ptr() as usize - line.as_ptr() as usize;
            let before = line.as_bytes().get(begin..place)?;
            begin = place + text.len();
            Some((before.into(), gap))
        };
        let parts = gaps(line, record)?.into_iter().map(part).collect::<Option<Vec<_>>>()?;
        let mould = Mould { parts, end: line.as_bytes()[begin..].into(), record: record.clone() };
        // What it makes of its own line is the proof of it.
        (mould.read(line.as_bytes(), record.line)? == *record).then_some(mould)
    }

    /// The record of `line`, which is line `number` of the file; none where it differs in more.
    pub fn read(&self, line: &[u8], number: u32) -> Option<Record> {
        let mut numbers = Numbers { line: number, ..Numbers::default() };
        let (mut rest, mut repetition) = (line, None);
        let mut outputs = self.record.words().outputs.iter();
        for (before, gap) in &self.parts {
            rest = rest.strip_prefix(&**before)?;
            let (text, more) = rest.split_at(rest.iter().position(|byte| !gap.may_hold(*byte))?);
            let text = str::from_utf8(text).ok()?;
            rest = more;
            match gap {
                Gap::Repetition => {
                    numbers.repetition = whole(text)?;
                    if *repetition.get_or_insert(numbers.repetition) != numbers.repetition {
                        return None;
                    }
                }
                Gap::Attempt => numbers.attempt = whole(text)?,
                Gap::Started if Started::is_as_written(text) => numbers.started = Some(Started::read(text)?),
                Gap::Started => return None,
                Gap::Elapsed => numbers.elapsed_s = decimal(text)?,
                Gap::Value => numbers.values.push(decimal(text)?),
                Gap::Path => {
                    numbers.outputs.push(KeptOutput { path: text.to_owned(), ..outputs.next()?.clone() })
                }
                Gap::Size => numbers.outputs.last_mut()?.size = whole(text)?,
                Gap::Whole => drop(whole::<u32>(text)?),
                Gap::Decimal => drop(decimal(text)?),
            }
        }
        (rest == &*self.end).then(|| self.record.with(numbers))
    }
}

impl Gap {
    fn may_hold(self, byte: u8) -> bool {
        match self {
            Gap::Started | Gap::Path => !matches!(byte, b'"' | b'\\' | ..b' '),
            Gap::Elapsed | Gap::Value | Gap::Decimal => {
                matches!(byte, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E')
            }
            Gap::Repetition | Gap::Attempt | Gap::Size | Gap::Whole => byte.is_ascii_digit(),
        }
    }
}

/// What of `line` may be other in the next one, in its order.
fn gaps<'a>(line: &'a str, record: &Record) -> Option<Vec<(&'a str, Gap)>> {
    let within = |text: &'a str| text.strip_prefix('"')?.strip_suffix('"');
    let mut gaps = Vec::new();
    for (key, value) in members(line)? {
        match key {
            "trial" => {
                let name = within(value)?;
                let digits = record.repetition.to_string().len();
                gaps.push((name.get(name.len().checked_sub(digits)?..)?, Gap::Repetition));
            }
            "repetition" => gaps.push((value, Gap::Repetition)),
            "attempt" => gaps.push((value, Gap::Attempt)),
            "block" | "order" => gaps.push((value, Gap::Whole)),
            "started" => gaps.push((within(value)?, Gap::Started)),
            "elapsed_s" => gaps.push((value, Gap::Elapsed)),
            "measurements" => {
                for one in serde_json::from_str::<Vec<&RawValue>>(value).ok()? {
                    let own = members(one.get())?.into_iter().filter(|(key, _)| *key == "value");
                    gaps.extend(own.map(|(_, value)| (value, Gap::Value)));
                }
            }
            "outputs" => {
                for one in serde_json::from_str::<Vec<&RawValue>>(value).ok()? {
                    let [("path", path), ("size", size), ..] = members(one.get())?[..] else { return None };
                    gaps.extend([(within(path)?, Gap::Path), (size, Gap::Size)]);
                }
            }
            "noise" => gaps.extend(numbers(value)?),
            "noise_of_services" => {
                for (_, noise) in members(value)? {
                    gaps.extend(numbers(noise)?);
                }
            }
            _ => {}
        }
    }
    Some(gaps)
}

/// The numbers of an object.
fn numbers(object: &str) -> Option<impl Iterator<Item = (&str, Gap)>> {
    let numbers = members(object)?.into_iter().map(|(_, value)| value);
    let numbers =
        numbers.filter(|value| value.starts_with(|first: char| first == '-' || first.is_ascii_digit()));
    Some(numbers.map(|value| match value.bytes().all(|byte| byte.is_ascii_digit()) {
        true => (value, Gap::Whole),
        false => (value, Gap::Decimal),
    }))
}

/// The members of an object, each value as it stands there.
fn members(object: &str) -> Option<Vec<(&str, &str)>> {
    let members: Pairs<'_, &RawValue> = serde_json::from_str(object).ok()?;
    Some(members.0.into_iter().map(|(key, value)| (key, value.get())).collect())
}

/// A whole number as JSON has it.
fn whole<N: FromStr>(digits: &str) -> Option<N> {
    if digits.len() > 1 && digits.starts_with('0') { None } else { digits.parse().ok() }
}

/// A number as JSON has it: one digit at least on each side of a point, and no zero before others.
fn decimal(text: &str) -> Option<f64> {
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    let is_plain = matches!(digits, [b'0'] | [b'0', b'.' | b'e' | b'E', ..] | [b'1'..=b'9', ..]);
    let has_ends = digits.last().is_some_and(u8::is_ascii_digit);
    let point = digits.iter().position(|byte| *byte == b'.');
    let has_decimals = point.is_none_or(|place| digits.get(place + 1).is_some_and(u8::is_ascii_digit));
    let value: f64 = text.parse().ok()?;
    (is_plain && has_ends && has_decimals && value.is_finite()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::super::Line;
    use super::*;

    fn line(cell: &str, repetition: u32, more: &str) -> String {
        format!(
            r#"{{"v":1,"trial":"{cell}#{repetition}","cell":"{cell}","workload":"w","host":"h","environment":"n","#
        ) + &format!(
            r#""parameters":{{}},"repetition":{repetition},"attempt":1,"block":3,"order":40,"phase":"measure","status":"ok","#
        ) + &format!(
            r#""stage":null,"reason":null,"started":"2026-11-30T11:45:12.125Z","elapsed_s":1.5,{more}}}"#
        ) + "\n"
    }

    fn parsed(line: &str) -> Option<Record> {
        serde_json::from_str::<Line>(line).ok().map(Record::from)
    }

    const MORE: &str = r#""measurements":[{"name":"m","value":0.25,"unit":"s"},{"name":"n","value":7,"unit":"s"}],
        "noise":{"load_before":0.12,"frequency_limit_khz":2400000,"throttled":false},"noise_of_services":{"s":{"load_after":1.0}},
        "outputs":[{"path":"output/c/1/stdout","size":12},{"path":"output/c/1/stderr","size":0,"truncated":true}]"#;

    #[test]
    fn what_a_mould_reads_is_what_a_parser_reads() {
        let first = line("c", 9, MORE);
        let mould = Mould::new(&first, &parsed(&first).unwrap()).unwrap();
        for (old, new, is_of_mould) in [
            ("", "", true),
            ("0.25", "-1.25e-7", true),
            ("0.25", "123456789012345678901234567890", true),
            ("0.25", "0.1234567890123456", true),
            ("0.25", "01", false),
            ("0.25", ".5", false),
            ("0.25", "1.", false),
            ("0.25", "+1", false),
            ("0.25", "1e999", false),
            ("0.25", "null", false),
            ("12.125Z", "12.5Z", true),
            ("12.125Z", "60Z", false),
            ("12.125Z", "12+00:00", false),
            (r#""repetition":9"#, r#""repetition":8"#, false),
            (r##"#9""##, r##"#09""##, false),
            ("0.12", "5.5", true),
            ("2400000", "1800000", true),
            ("2400000", "1.5", false),
            ("false", "true", false),
            ("c/1/stdout", "c/2/가", true),
            ("c/1/stdout", r"c\n", false),
            (r#""size":12"#, r#""size":99999999999"#, true),
            (r#""size":12"#, r#""size":-1"#, false),
            (r#""attempt":1"#, r#""attempt":2"#, true),
            (r#""order":40"#, r#""order":-4"#, false),
            (r#""status":"ok""#, r#""status":"failed""#, false),
            (r#""reason":null"#, r#""reason":"7""#, false),
            ("\n", "", false),
            ("}\n", "} \n", false),
            ("}\n", "\n", false),
        ] {
            let other = first.replacen(old, new, 1);
            let read = mould.read(other.as_bytes(), 0);
            assert_eq!(read.is_some(), is_of_mould, "{old} {new}");
            if is_of_mould {
                assert_eq!(read, parsed(&other), "{new}");
            }
        }
        assert_eq!(mould.read(line("c", 10, MORE).as_bytes(), 0), parsed(&line("c", 10, MORE)));
        assert_eq!(mould.read(line("d", 9, MORE).as_bytes(), 0), None);
    }

    #[test]
    fn a_record_with_words_makes_none() {
        for more in [r#""warnings":["w"]"#, r#""noise":{"suspicious":["steal"]}"#, r#""repeated":true"#] {
            let line = line("c", 1, &format!(r#"{more},"measurements":[],"outputs":[]"#));
            assert!(Mould::new(&line, &parsed(&line).unwrap()).is_none(), "{more}");
        }
        let named = line("c", 1, MORE).replace("c#1", "x#1");
        assert!(Mould::new(&named, &parsed(&named).unwrap()).is_none());
    }
}
