//! Metrics by a rule of the file's own, for tools that have no parser: one kind of rule a file, each a pure
//! function of the bytes. Nothing is guessed: what does not give exactly what the rule says is an error in words.

mod check;
mod csv;
mod histogram;
mod json;
mod lines;
mod number;
mod regex;
mod source;

use std::collections::{BTreeMap, BTreeSet};

use super::{Measurement, Read};
use crate::spec::metric::{Extract, Rule};
use crate::units::{Scale, Unit};

pub(super) use check::check;
pub(super) use histogram::labels as labels_of_tag;
pub(super) use source::output_name;

/// Why a last line without its line feed is not read: whoever wrote it may not have come to its end.
const UNENDED: &str = "stands in a last line without a line feed, which may be cut off (let the output end with one, as \
                       `; echo` does)";

/// The most values of one rule in one trial: more are a log, not results.
const MOST: usize = 1000;

/// A pattern whose `^` and `$` are the ends of a line.
fn multi_line(pattern: &str) -> Result<::regex::Regex, ::regex::Error> {
    ::regex::RegexBuilder::new(pattern).multi_line(true).build()
}

/// A value as it was printed.
#[derive(Debug, Clone, PartialEq)]
struct Value {
    /// Finite, in the unit of the rule.
    value: f64,
    /// What tells it apart from others.
    labels: BTreeMap<String, String>,
}

/// Reads the metric `name` by its rule, in base units. `outputs` and `service` are those of [`super::read`].
///
/// # Errors
/// Why there is no value, with the rule and where it was applied.
pub(super) fn read(
    name: &str,
    extract: &Extract,
    outputs: &BTreeMap<String, &[u8]>,
    service: Option<&str>,
) -> Result<Read, String> {
    let from = extract.from.as_ref().map_or("stdout", |from| from.as_str());
    let bytes = source::bytes(&extract.source(), outputs, service)
        .ok_or_else(|| format!("`{name}` can't be read: there is no file `{from}`"))?;
    let rules = extract.rules();
    if let Some(Rule::Histogram(form)) = rules.first() {
        let found = histogram::read(name, extract, *form, bytes);
        return found.map_err(|reason| format!("`{name}` is no histogram: {reason}, in {from}"));
    }
    let (shown, values) = match rules.first() {
        Some(Rule::Regex(pattern)) => (pattern.as_str(), regex::read(pattern, bytes)),
        Some(Rule::Json(path)) => (path.as_str(), json::read(path, bytes)),
        Some(Rule::Csv(table)) => ("csv", csv::read(table, bytes)),
        Some(Rule::Lines(pattern)) => (pattern.as_str(), lines::read(pattern, bytes)),
        Some(Rule::Histogram(_)) | None => (name, Err("has no rule".to_owned())),
    };
    let values = values.map_err(|reason| format!("`{shown}` of `{name}` {reason}, in {from}"))?;
    let written = extract.unit.as_ref().map(|unit| unit.value.clone()).unwrap_or_default();
    let scale = Scale::named(&written);
    let unit = scale.as_ref().map_or_else(|| Unit::from(written), |(unit, _)| unit.clone());
    let measured = |Value { value, labels }| {
        let value = scale.as_ref().map_or(value, |(_, scale)| scale.to_base(value));
        let (better, fixed) =
            (extract.better.as_ref().map(|b| b.value), extract.fixed.as_ref().map(|f| f.value));
        match value.is_finite() {
            true => {
                Ok(Measurement { name: name.to_owned(), value, unit: unit.clone(), better, fixed, labels })
            }
            false => {
                Err(format!("`{shown}` of `{name}` found a number that is too large for {unit}, in {from}"))
            }
        }
    };
    let measurements = values.into_iter().map(measured).collect::<Result<_, _>>()?;
    Ok(Read { measurements, ..Read::default() })
}

/// `values`, if each has labels of its own and they are not too many; `what` they are: lines, rows.
fn distinct(values: Vec<Value>, what: &str) -> Result<Vec<Value>, String> {
    if values.len() > MOST {
        return Err(format!("finds {} {what}, more than {MOST}", values.len()));
    }
    let mut seen = BTreeSet::new();
    let Some(twin) = values.iter().find(|value| !seen.insert(&value.labels)) else { return Ok(values) };
    let count = values.iter().filter(|value| value.labels == twin.labels).count();
    let labels: Vec<_> = twin.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    Err(match labels.is_empty() {
        true => format!("finds {count} {what}, and no label tells them apart"),
        false => format!("finds {count} {what} with the same labels ({})", labels.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::spec::Text;
    use crate::units::{Better, Fixed};

    #[test]
    fn values_come_in_base_units_with_what_the_rule_says() {
        let text = |text: &str| Some(Text::unwritten(text.to_owned()));
        let extract = Extract {
            regex: text(r"rate (\S+)"),
            from: text("./out/rate.txt"),
            unit: text("MiB/s"),
            better: Some(crate::spec::Located::unwritten(Better::Higher)),
            fixed: Some(crate::spec::Located::unwritten(Fixed::Work)),
            ..Extract::default()
        };
        let outputs = BTreeMap::from([("files/out/rate.txt".to_owned(), &b"rate 1.5\n"[..])]);
        let found = read("rate", &extract, &outputs, None).unwrap().measurements;
        let expected = Measurement {
            name: "rate".into(),
            value: 1_572_864.0,
            unit: Unit::BytePerSecond,
            better: Some(Better::Higher),
            fixed: Some(Fixed::Work),
            labels: BTreeMap::new(),
        };
        assert_eq!(found, [expected]);
        let reason = read("rate", &extract, &BTreeMap::new(), None).unwrap_err();
        assert_eq!(reason, "`rate` can't be read: there is no file `./out/rate.txt`");
        let outputs = BTreeMap::from([("files/out/rate.txt".to_owned(), &b"rate 1e308\n"[..])]);
        let reason = read("rate", &extract, &outputs, None).unwrap_err();
        assert_eq!(
            reason,
            r"`rate (\S+)` of `rate` found a number that is too large for byte/s, in ./out/rate.txt"
        );
    }

    /// Every kind, with an output that it reads.
    fn rules() -> Vec<(Extract, &'static str)> {
        let parsed = |yaml: &str| serde_yaml::from_str::<Extract>(yaml).unwrap();
        vec![
            (parsed(r"regex: 'rate: (\S+) '"), "begin\nrate: 12.5 MB/s\nend\n"),
            (parsed(r"regex: 'rate: (\S+)'"), "12\rrate: 12.5"),
            (parsed(r"regex: 'rate: ([\d.]+)'"), "rate: 12.5e3 MB/s\nrate 7\n"),
            (parsed(r"regex: '(?s)total.*?(\d+)'"), "total\n  123\nrest of it"),
            (parsed("json: $.a[1]"), "[log]\n{\"a\": [1, 23, 4]}\n{\"b\": 12}"),
            (parsed("json: $..v"), "[{\"x\": 1}, {\"v\": 123}]\n"),
            (
                parsed("csv: { column: rate, where: { op: write }, labels: [size] }"),
                "op,size,rate\nread,4,5.5\nwrite,4,12.5\nwrite,16,123\n",
            ),
            (parsed("csv: { column: '1', header: false, delimiter: ';' }"), "12.25;\"a \"\"b\"\"\";c\n"),
            (parsed("csv: { column: '2', header: false, labels: ['1'] }"), "a,12.25\nab,\"345\"\n"),
            (parsed(r"lines: '^(?<op>\w+): (?<value>\S+)'"), "write: 12.5 MB/s\nwriter: 123 MB/s\n- 3"),
            (parsed(r"lines: '(?<value>\d+) (?<threads>\d+)'"), "123 1\n456 12\n789 123\n"),
        ]
    }

    #[test]
    fn an_output_cut_at_any_byte_gives_no_other_value() {
        for (extract, output) in rules() {
            let read = |length: usize| {
                let outputs = BTreeMap::from([("stdout".to_owned(), &output.as_bytes()[..length])]);
                read("m", &extract, &outputs, None).unwrap_or_default().measurements
            };
            let whole = read(output.len());
            for length in 0..output.len() {
                for found in read(length) {
                    assert!(
                        whole.contains(&found),
                        "{:?} cut to {:?}: {found:?}",
                        extract.rules(),
                        &output[..length]
                    );
                }
            }
        }
    }

    #[test]
    fn a_log_is_no_result() {
        let output: String = (0..=MOST).map(|line| format!("line {line} took 5 s\n")).collect();
        let reason = lines::read(r"line (?<line>\d+) took (?<value>\d+) s", output.as_bytes()).unwrap_err();
        assert_eq!(reason, "finds 1001 lines, more than 1000");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 256, ..ProptestConfig::default() })]

        /// Whatever the bytes are, reading ends without a panic and gives only finite values.
        #[test]
        fn any_bytes_are_survived(damage in prop::collection::vec((any::<usize>(), any::<u8>()), 1..8)) {
            for (extract, output) in rules() {
                let mut bytes = output.as_bytes().to_vec();
                let length = bytes.len();
                damage.iter().for_each(|(place, byte)| bytes[place % length] = *byte);
                let outputs = BTreeMap::from([("stdout".to_owned(), &bytes[..])]);
                let found = read("m", &extract, &outputs, None).unwrap_or_default();
                prop_assert!(found.measurements.iter().all(|measurement| measurement.value.is_finite()));
            }
        }
    }
}
