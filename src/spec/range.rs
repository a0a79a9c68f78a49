//! Ranges on an axis: `{ from: 4KiB, to: 16MiB, times: 2 }` and `{ from: 0.1, to: 1, step: 0.1 }`. The
//! arithmetic is exact (whole numbers of a decimal scale, never floating point), and a value is computed
//! from its index: a long range takes no memory. Read [`Range`] first.

use serde::{Deserialize, Serialize};

use super::located::Text;
use crate::diagnostic::Problem;

/// A family of units and their sizes in bytes, largest first.
type Family = [(&'static str, i128); 5];
const BINARY: Family = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];
/// Every family of units of data.
const FAMILIES: [&Family; 3] = [&BINARY, &DECIMAL, &LETTERS];
/// As `dd`, `fio` and `iozone` take them.
const LETTERS: Family = [("T", 1 << 40), ("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10), ("B", 1)];
const DECIMAL: Family =
    [("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000), ("B", 1)];

/// The keys of a range as they are written.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RangeFields {
    /// The first value.
    pub from: Text,
    /// No value lies beyond it; it need not be hit.
    pub to: Text,
    /// What is added each time; negative to descend.
    pub step: Option<Text>,
    /// What each value is multiplied with: a whole number above 1.
    pub times: Option<Text>,
}

/// A range of values, each with as many decimals as `from` and `step` have, or as an amount of data in the
/// largest unit that is exact.
#[derive(Debug, Clone)]
pub struct Range {
    /// As it is written.
    pub fields: RangeFields,
    progression: Result<Progression, Box<Problem>>,
}

impl Range {
    pub(super) fn new(fields: RangeFields) -> Self {
        let progression = Progression::new(&fields).map_err(Box::new);
        Range { fields, progression }
    }

    /// What is wrong with it; it has no values then.
    pub fn problem(&self) -> Option<&Problem> {
        self.progression.as_ref().err().map(|problem| &**problem)
    }

    /// How many values it has.
    pub fn len(&self) -> usize {
        self.progression.as_ref().map_or(0, |progression| progression.length)
    }

    /// Whether it has no values: it is wrong then.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its value number `index`, from 0.
    pub fn get(&self, index: usize) -> String {
        match &self.progression {
            Ok(progression) => progression.form.text(progression.value(index)),
            Err(_) => String::new(),
        }
    }

    /// The number of the value that is written `text`.
    pub fn position(&self, text: &str) -> Option<usize> {
        let progression = self.progression.as_ref().ok()?;
        let index = progression.index(progression.form.value(Quantity::read(text)?)?)?;
        (self.get(index) == text).then_some(index)
    }
}

/// A range as numbers of its form.
#[derive(Debug, Clone)]
struct Progression {
    first: i128,
    advance: Advance,
    length: usize,
    form: Form,
}

#[derive(Debug, Clone, Copy)]
enum Advance {
    Step(i128),
    Times(i128),
}

impl Progression {
    fn new(fields: &RangeFields) -> Result<Self, Problem> {
        let (from, to) = (quantity(&fields.from)?, quantity(&fields.to)?);
        let (written, is_step) = match (&fields.step, &fields.times) {
            (Some(step), None) => (step, true),
            (None, Some(times)) => (times, false),
            (Some(_), Some(times)) => {
                return Err(Problem::at(times.span, "a range has either `step` or `times`")
                    .label("`step` is written as well")
                    .help("keep one of them"));
            }
            (None, None) => {
                return Err(Problem::at(fields.from.span, "a range needs `step` or `times`")
                    .label("how far is the next value?")
                    .help("add `step: 1` to count, or `times: 2` to double"));
            }
        };
        let by = quantity(written)?;
        let mut all = vec![(&fields.from, from), (&fields.to, to)];
        all.extend(is_step.then_some((written, by)));
        let form = Form::of(&all)?;
        let number = |(text, quantity): (&Text, Quantity)| form.value(quantity).ok_or_else(|| too_fine(text));
        let (first, last) = (number((&fields.from, from))?, number((&fields.to, to))?);
        match is_step {
            true => {
                let step = number((written, by))?;
                let length =
                    steps(first, last, step).map_err(|(message, help)| wrong(written, message, help))?;
                Ok(Progression { first, advance: Advance::Step(step), length, form })
            }
            false => {
                let length =
                    doublings(first, last, by).map_err(|(message, help)| wrong(written, message, help))?;
                Ok(Progression { first, advance: Advance::Times(by.digits), length, form })
            }
        }
    }

    fn value(&self, index: usize) -> i128 {
        match self.advance {
            Advance::Step(step) => self.first + step * index as i128,
            Advance::Times(times) => self.first * times.pow(index as u32),
        }
    }

    /// The index that `value` has if it is one of the range.
    fn index(&self, value: i128) -> Option<usize> {
        let index = match self.advance {
            Advance::Step(step) => usize::try_from((value - self.first) / step).ok()?,
            Advance::Times(_) => (0..self.length).find(|index| self.value(*index) == value)?,
        };
        (index < self.length).then_some(index)
    }
}

fn wrong(text: &Text, message: &str, help: &str) -> Problem {
    Problem::at(text.span, message).help(help)
}

fn too_fine(text: &Text) -> Problem {
    Problem::at(text.span, format!("`{}` is not a whole number of bytes", text.value))
        .help("choose a smaller unit")
}

/// How many values there are from `first` to `last`, or what is wrong and what to do.
fn steps(first: i128, last: i128, step: i128) -> Result<usize, (&'static str, &'static str)> {
    if step == 0 {
        return Err(("a range with a step of 0 never ends", "write how far the next value is"));
    }
    if first != last && (last > first) != (step > 0) {
        return Err((
            "this step leads away from `to`",
            "swap `from` and `to`, or change the sign of the step",
        ));
    }
    usize::try_from((last - first) / step + 1).map_err(|_| ("this range is too long", "write a larger step"))
}

fn doublings(first: i128, last: i128, times: Quantity) -> Result<usize, (&'static str, &'static str)> {
    if times.scale > 0 || !times.suffix.is_empty() || times.digits < 2 {
        return Err(("`times` is a whole number above 1", "write `times: 2` to double each time"));
    }
    if first <= 0 {
        return Err(("a range with `times` starts above 0", "start at 1 or more, or use `step`"));
    }
    if last < first {
        return Err(("`times` leads away from `to`", "swap `from` and `to`"));
    }
    let mut length = 1;
    let mut value = first;
    while let Some(next) = value.checked_mul(times.digits).filter(|next| *next <= last) {
        value = next;
        length += 1;
    }
    Ok(length)
}

/// `digits` divided by 10^`scale`, in a unit.
#[derive(Debug, Clone, Copy)]
struct Quantity<'a> {
    digits: i128,
    scale: u32,
    suffix: &'a str,
}

impl<'a> Quantity<'a> {
    /// The most digits that are read: products of two such numbers and a unit fit 128 bits.
    const DIGITS: usize = 15;

    fn read(text: &'a str) -> Option<Self> {
        let (sign, unsigned) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
        let end_of_digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (whole, rest) = unsigned.split_at(end_of_digits(unsigned));
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(rest) => rest.split_at(end_of_digits(rest)),
            None => ("", rest),
        };
        let is_number = !whole.is_empty()
            && (whole == "0" || !whole.starts_with('0'))
            && (rest.starts_with('.') != fraction.is_empty())
            && !suffix.starts_with('.')
            && whole.len() + fraction.len() <= Self::DIGITS;
        let digits: i128 = is_number.then(|| format!("{whole}{fraction}").parse().ok()).flatten()?;
        Some(Quantity { digits: sign * digits, scale: fraction.len() as u32, suffix })
    }
}

fn quantity(text: &Text) -> Result<Quantity<'_>, Problem> {
    Quantity::read(text).ok_or_else(|| {
        let message = format!("`{}` is not a number that a range can count with", text.value);
        Problem::at(text.span, message)
            .help("write digits with a unit at most, such as `8`, `0.5`, `4KiB` or `10s`")
    })
}

/// How the values of a range are written.
#[derive(Debug, Clone)]
enum Form {
    /// Numbers of 10^-`scale`; `shown` decimals are written, then the suffix.
    Number { scale: u32, shown: u32, suffix: String },
    /// Bytes, in the largest unit of the family that is exact.
    Size(&'static Family),
}

impl Form {
    /// The form that all of `quantities` share; the second is `to`, whose decimals do not count.
    fn of(quantities: &[(&Text, Quantity)]) -> Result<Self, Problem> {
        let suffixes = || quantities.iter().map(|(_, quantity)| quantity.suffix);
        let (text, first) = &quantities[0];
        if suffixes().all(|suffix| suffix == first.suffix)
            && FAMILIES.iter().find_map(|family| unit(family, first)).is_none_or(|bytes| bytes == 1)
        {
            let scales = || quantities.iter().map(|(_, quantity)| quantity.scale);
            let shown = first.scale.max(scales().skip(2).max().unwrap_or_default());
            let scale = scales().max().unwrap_or_default();
            return Ok(Form::Number { scale, shown, suffix: first.suffix.to_owned() });
        }
        for family in &FAMILIES {
            if quantities.iter().all(|(_, quantity)| unit(family, quantity).is_some()) {
                return Ok(Form::Size(family));
            }
        }
        let other = quantities.iter().find(|(_, quantity)| quantity.suffix != first.suffix);
        let (other, _) = other.unwrap_or(&quantities[0]);
        let message = format!("`{}` and `{}` are not of one unit", text.value, other.value);
        Err(Problem::at(other.span, message).help("write all numbers of a range with the same unit"))
    }

    /// A quantity as a number of this form, if it is one.
    fn value(&self, quantity: Quantity) -> Option<i128> {
        match self {
            Form::Number { scale, suffix, .. } => {
                let finer = scale.checked_sub(quantity.scale).filter(|_| quantity.suffix == suffix)?;
                Some(quantity.digits * 10_i128.pow(finer))
            }
            Form::Size(family) => {
                let bytes = quantity.digits * unit(family, &quantity)?;
                let scale = 10_i128.pow(quantity.scale);
                (bytes % scale == 0).then_some(bytes / scale)
            }
        }
    }

    fn text(&self, value: i128) -> String {
        match self {
            Form::Number { scale, shown, suffix } => {
                let digits = value / 10_i128.pow(scale - shown);
                let (sign, digits) = (if digits < 0 { "-" } else { "" }, digits.unsigned_abs());
                let one = 10_u128.pow(*shown);
                let fraction = format!("{:0>width$}", digits % one, width = *shown as usize);
                // As a number is written: `cpus: 1` finds it, and expressions compare it.
                match fraction.trim_end_matches('0') {
                    "" => format!("{sign}{}{suffix}", digits / one),
                    fraction => format!("{sign}{}.{fraction}{suffix}", digits / one),
                }
            }
            Form::Size(family) => {
                let exact = family.iter().find(|(_, bytes)| value != 0 && value % bytes == 0);
                let (name, bytes) = exact.unwrap_or(&family[4]);
                format!("{}{name}", value / bytes)
            }
        }
    }
}

fn unit(family: &Family, quantity: &Quantity) -> Option<i128> {
    family.iter().find(|(name, _)| *name == quantity.suffix).map(|(_, bytes)| *bytes)
}

#[cfg(test)]
mod tests {
    use super::{Range, RangeFields, Text};

    fn range(from: &str, to: &str, step: Option<&str>, times: Option<&str>) -> Range {
        let text = |text: &str| Text::unwritten(text.to_owned());
        Range::new(RangeFields {
            from: text(from),
            to: text(to),
            step: step.map(text),
            times: times.map(text),
        })
    }

    fn step(from: &str, to: &str, by: &str) -> Range {
        range(from, to, Some(by), None)
    }

    fn times(from: &str, to: &str, by: &str) -> Range {
        range(from, to, None, Some(by))
    }

    #[test]
    fn values_are_exact_and_found_again() {
        for (range, values) in [
            (step("1", "8", "1"), "1 2 3 4 5 6 7 8"),
            (step("1M", "2M", "512K"), "1M 1536K 2M"),
            (step("0.1", "1", "0.1"), "0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1"),
            (step("0", "1", "0.25"), "0 0.25 0.5 0.75 1"),
            (step("0", "0.99", "0.5"), "0 0.5"),
            (step("10", "1", "-3"), "10 7 4 1"),
            (step("-1", "1", "1"), "-1 0 1"),
            (step("-0.5", "0.5", "0.5"), "-0.5 0 0.5"),
            (step("1", "8", "3"), "1 4 7"),
            (step("5", "5", "1"), "5"),
            (step("1s", "3s", "1s"), "1s 2s 3s"),
            (step("10%", "30%", "10%"), "10% 20% 30%"),
            (step("0B", "1MiB", "512KiB"), "0B 512KiB 1MiB"),
            (step("0.5MiB", "1.5MiB", "512KiB"), "512KiB 1MiB 1536KiB"),
            (step("900kB", "1.1MB", "100kB"), "900kB 1MB 1100kB"),
            (step("1B", "3B", "1B"), "1B 2B 3B"),
            (
                times("4KiB", "16MiB", "2"),
                "4KiB 8KiB 16KiB 32KiB 64KiB 128KiB 256KiB 512KiB 1MiB 2MiB 4MiB 8MiB 16MiB",
            ),
            (times("512B", "4KiB", "2"), "512B 1KiB 2KiB 4KiB"),
            (times("1", "100", "10"), "1 10 100"),
            (times("1", "99", "10"), "1 10"),
            (times("0.5", "2", "2"), "0.5 1 2"),
            (times("1M", "4M", "2"), "1M 2M 4M"),
        ] {
            assert!(range.problem().is_none(), "{:?}", range.problem());
            let found: Vec<String> = (0..range.len()).map(|index| range.get(index)).collect();
            assert_eq!(found.join(" "), values);
            let again: Vec<_> = found.iter().filter_map(|text| range.position(text)).collect();
            assert_eq!(again, (0..range.len()).collect::<Vec<_>>(), "{values}");
            for other in ["", "x", "999", "0.15", "7KiB", "01"] {
                assert_eq!(range.position(other), None, "{other} in {values}");
            }
        }
    }

    #[test]
    fn a_long_range_is_only_counted() {
        let long = step("1", "1000000000000", "1");
        assert_eq!((long.len(), long.get(999_999_999_999)), (1_000_000_000_000, "1000000000000".into()));
        assert_eq!(long.position("123456789012"), Some(123_456_789_011));
    }

    #[test]
    fn what_never_ends_or_leads_nowhere_is_refused() {
        for (range, words) in [
            (step("1", "8", "0"), "never ends"),
            (step("1", "8", "-1"), "leads away"),
            (step("8", "1", "1"), "leads away"),
            (step("1KiB", "8MB", "1KiB"), "not of one unit"),
            (step("1s", "8", "1s"), "not of one unit"),
            (step("4KiB", "8KiB", "1"), "not of one unit"),
            (step("0.3B", "8KiB", "1KiB"), "whole number of bytes"),
            (step("01", "10", "1"), "not a number"),
            (step("1.", "10", "1"), "not a number"),
            (step("a", "b", "1"), "not a number"),
            (step("1", "9999999999999999999999", "1"), "not a number"),
            (times("1", "8", "1"), "above 1"),
            (times("1", "8", "1.5"), "above 1"),
            (times("0", "8", "2"), "above 0"),
            (times("-8", "8", "2"), "above 0"),
            (times("8", "1", "2"), "leads away"),
            (range("1", "8", None, None), "needs `step` or `times`"),
            (range("1", "8", Some("1"), Some("2")), "either"),
        ] {
            let message = range.problem().map(|problem| problem.message.clone()).unwrap_or_default();
            assert!(message.contains(words), "{message:?} lacks {words:?}");
            assert_eq!(range.len(), 0);
        }
    }
}
