//! Raw values, one a line: millions of them in flat memory. Count, minimum, maximum and sum are exact; the
//! values themselves are counted in logarithmic buckets, where there are more than a few different ones. Read
//! [`read`] first.

use std::collections::BTreeMap;
use std::io::{BufRead, ErrorKind};

use memchr::{memchr, memchr_iter, memrchr};

use super::scale::Scale;
use super::sum::Sum;
use super::{Bounds, Bucket, Histogram};

/// Of the 52 bits of a float's mantissa the first 9 tell the bucket: 512 of them from a power of two to the
/// next. The ends of a bucket are at most 1/512 apart, and its middle is at most 1/1024, 0.1 %, from any value in it.
const DROPPED: u32 = 52 - 9;

/// One bucket for each pattern of sign, 11 bits of exponent and 9 of mantissa that is not negative.
const BUCKETS: usize = EXPONENTS << 9;

/// One for each exponent of a float.
const EXPONENTS: usize = 1 << 11;

/// So many different values are kept as they are, and their percentiles are exact.
const FEW: usize = 1000;

/// A line of numbers is not longer; a longer one would fill the memory.
const LONGEST_LINE: usize = 1 << 16;

/// Reads one number a line, in a unit of `factor` base units. Blank lines and those that begin with `#` are
/// skipped. Whether the last values are missing can't be seen in the text, unless it ends within a line.
///
/// Errors name the line: no number, NaN or infinity, a negative value, a size beyond 1e-250 to 1e250, a last
/// line without a line end; or there is no value, or `reader` failed.
pub fn read(mut reader: impl BufRead, factor: f64) -> Result<Histogram, String> {
    let mut counts = Counts::new(Scale::new(factor)?);
    // The begin of a line whose end was not in the buffer.
    let mut begun: Vec<u8> = Vec::new();
    loop {
        let buffer = match reader.fill_buf() {
            Ok(buffer) => buffer,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(format!("after line {}: {error}", counts.line)),
        };
        if buffer.is_empty() {
            break;
        }
        let length = buffer.len();
        let mut rest = buffer;
        if !begun.is_empty()
            && let Some(end) = memchr(b'\n', rest)
        {
            begun.extend_from_slice(&rest[..end]);
            counts.take(&begun)?;
            begun.clear();
            rest = &rest[end + 1..];
        }
        let whole = memrchr(b'\n', rest).map_or(0, |last| last + 1);
        let mut start = 0;
        for end in memchr_iter(b'\n', &rest[..whole]) {
            counts.take(&rest[start..end])?;
            start = end + 1;
        }
        begun.extend_from_slice(&rest[whole..]);
        if begun.len() > LONGEST_LINE {
            return Err(format!("line {} is longer than {LONGEST_LINE} bytes", counts.line + 1));
        }
        reader.consume(length);
    }
    if !begun.is_empty() {
        return Err(format!("line {} has no line end: it may be cut", counts.line + 1));
    }
    counts.histogram()
}

/// What was read so far.
struct Counts {
    scale: Scale,
    line: u64,
    zeros: u64,
    buckets: Vec<u64>,
    min: f64,
    max: f64,
    /// The sum of the mantissas for each exponent: exact, and cheaper than any float that is.
    sums: Vec<u128>,
    /// Each value by its bits, as long as there are few different ones.
    few: Option<BTreeMap<u64, u64>>,
}

impl Counts {
    fn new(scale: Scale) -> Self {
        let (buckets, sums) = (vec![0; BUCKETS], vec![0; EXPONENTS]);
        let few = Some(BTreeMap::new());
        Self { scale, line: 0, zeros: 0, buckets, min: f64::INFINITY, max: 0.0, sums, few }
    }

    /// Takes a line without its end.
    #[inline]
    fn take(&mut self, line: &[u8]) -> Result<(), String> {
        self.line += 1;
        let number = line.trim_ascii();
        let number =
            if self.line == 1 { number.strip_prefix(b"\xef\xbb\xbf").unwrap_or(number) } else { number };
        if number.is_empty() || number[0] == b'#' {
            return Ok(());
        }
        let parsed = std::str::from_utf8(number).ok().and_then(|text| text.parse().ok());
        match parsed.and_then(|value| self.scale.checked(value)) {
            Some(value) => self.add(value),
            None => return Err(refusal(self.line, number, parsed)),
        }
        Ok(())
    }

    #[inline]
    fn add(&mut self, value: f64) {
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        if value == 0.0 {
            self.zeros += 1;
            return;
        }
        let bits = value.to_bits();
        if let Some(few) = &mut self.few {
            *few.entry(bits).or_default() += 1;
            if few.len() > FEW {
                self.few = None;
            }
        }
        self.buckets[(bits >> DROPPED) as usize & (BUCKETS - 1)] += 1;
        let mantissa = bits & ((1 << 52) - 1) | 1 << 52;
        self.sums[(bits >> 52) as usize & (EXPONENTS - 1)] += u128::from(mantissa);
    }

    fn histogram(self) -> Result<Histogram, String> {
        // Where an exponent has no sum, it has no value.
        let used = (0..EXPONENTS).filter(|exponent| self.sums[*exponent] > 0);
        let indexes = used.flat_map(|exponent| (exponent << 9)..(exponent + 1) << 9);
        let counted = indexes.map(|index| (index, self.buckets[index])).filter(|(_, count)| *count > 0);
        let alone = |(bits, count): (&u64, &u64)| {
            let value = f64::from_bits(*bits);
            Bucket { low: value, high: value, count: *count }
        };
        let mut buckets: Vec<Bucket> = match &self.few {
            Some(few) => few.iter().map(alone).collect(),
            None => counted.filter_map(|(index, count)| Some(Bucket { count, ..range_of(index)? })).collect(),
        };
        buckets.push(Bucket { low: 0.0, high: 0.0, count: self.zeros });
        let sum = Sum::of(self.sums.iter().enumerate().flat_map(|(exponent, sum)| terms(exponent, *sum)));
        Histogram::new(buckets)?
            .with_extremes(Bounds::at(self.min + 0.0), Bounds::at(self.max + 0.0))?
            .with_sum(sum.clone(), sum)
    }
}

/// Terms that add up to `sum` mantissas of values with this biased exponent: 52 bits each, and so exact.
fn terms(exponent: usize, sum: u128) -> impl Iterator<Item = f64> {
    let pieces = (0..3).map(move |place| (place, (sum >> (52 * place)) as u64 & ((1 << 52) - 1)));
    // A value is its mantissa, with its leading bit, by 2 to the biased exponent less 1023 and 52.
    let scale = move |place| 2f64.powi(exponent as i32 - 1075 + 52 * place);
    pieces.filter(|(_, bits)| *bits > 0).map(move |(place, bits)| bits as f64 * scale(place))
}

/// The empty bucket of an index; none behind the last finite one.
pub(super) fn range_of(index: usize) -> Option<Bucket> {
    let end = |index: usize| f64::from_bits((index as u64) << DROPPED);
    let is_known = index < 2047 << 9;
    is_known.then(|| Bucket { low: end(index), high: end(index + 1), count: 0 })
}

/// The index whose bucket has these ends, if any has.
pub(super) fn index_of(bucket: &Bucket) -> Option<usize> {
    let index = (bucket.low.to_bits() >> DROPPED) as usize;
    let range = range_of(index)?;
    (bucket.low > 0.0 && range.low == bucket.low && range.high == bucket.high).then_some(index)
}

/// Why a line is not counted.
fn refusal(line: u64, number: &[u8], parsed: Option<f64>) -> String {
    let shown: String = String::from_utf8_lossy(number).chars().take(60).collect();
    let what = match parsed {
        None => "is not a number",
        Some(value) if value.is_nan() => "is not a number",
        Some(value) if value < 0.0 => {
            "is negative: a clock may have been set back, or the clocks of two machines differ"
        }
        Some(value) if value.is_infinite() => "is not finite",
        Some(_) => "is of a size that is not measured",
    };
    format!("line {line}: `{shown}` {what}")
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Read};

    use proptest::prelude::*;

    use super::*;

    fn read_text(text: &str) -> Result<Histogram, String> {
        read(text.as_bytes(), 1.0)
    }

    #[test]
    fn count_min_max_and_mean_are_exact() {
        let text = "\u{feff}# latency in us\n\n 12.5\r\n0\n1e1\n+2.5\n  # a comment\n0.0\n-0\n";
        let histogram = read(text.as_bytes(), 1e-6).unwrap();
        assert_eq!(histogram.count(), 6);
        let [min, max, mean] = [histogram.min(), histogram.max(), histogram.mean()];
        assert!(min.is_exact() && max.is_exact() && mean.is_exact());
        assert_eq!((min.value, max.value), (0.0, 12.5e-6));
        assert_eq!(mean.value, 25e-6 / 6.0);
        assert_eq!(histogram.quantile(0.5).value, 0.0);
    }

    #[test]
    fn what_is_no_value_is_refused_with_its_line() {
        for (text, reason) in [
            ("1\n2,5\n", "line 2: `2,5` is not a number"),
            ("1\nlatency\n", "line 2: `latency` is not a number"),
            ("1 2\n", "line 1: `1 2` is not a number"),
            ("5 us\n", "line 1: `5 us` is not a number"),
            ("0x10\n", "line 1: `0x10` is not a number"),
            ("1_000\n", "line 1: `1_000` is not a number"),
            ("\n#\nNaN\n", "line 3: `NaN` is not a number"),
            ("inf\n", "line 1: `inf` is not finite"),
            ("1e999\n", "line 1: `1e999` is not finite"),
            ("1e260\n", "line 1: `1e260` is of a size that is not measured"),
            ("1e-260\n", "line 1: `1e-260` is of a size that is not measured"),
            ("1\n2\n3", "line 3 has no line end: it may be cut"),
            ("1\n2\n# 3", "line 3 has no line end: it may be cut"),
            ("", "no value was counted"),
            ("# nothing\n\n", "no value was counted"),
        ] {
            assert_eq!(read_text(text).unwrap_err(), reason, "{text:?}");
        }
        let negative = read_text("1\n-0.5\n").unwrap_err();
        assert!(negative.starts_with("line 2: `-0.5` is negative"), "{negative}");
        assert!(read_text(&"1".repeat(LONGEST_LINE + 1)).unwrap_err().starts_with("line 1 is longer"));
        assert!(read("caf\u{e9}\n1\n".as_bytes(), 1.0).unwrap_err().contains("is not a number"));
        assert!(read(&b"\xff\n"[..], 1.0).unwrap_err().contains("is not a number"));
        assert!(read(&b"1\n"[..], 0.0).is_err());
    }

    #[test]
    fn a_reader_that_fails_gives_no_number() {
        struct Failing;
        impl Read for Failing {
            fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
                Err(std::io::Error::other("gone"))
            }
        }
        let reader = BufReader::new((&b"1\n2\n"[..]).chain(Failing));
        assert_eq!(read(reader, 1.0).unwrap_err(), "after line 2: gone");
    }

    #[test]
    fn buckets_have_an_index_and_back() {
        for value in [1e-250, 1e-9, 0.999, 1.0, 1.001, 4.4e-5, 1e250] {
            let index = (f64::to_bits(value) >> DROPPED) as usize;
            let range = range_of(index).unwrap();
            assert!(range.low <= value && value <= range.high);
            assert!((range.high - range.low) / range.low <= 1.0 / 512.0);
            assert_eq!(index_of(&range), Some(index));
        }
        assert_eq!(range_of(2047 << 9), None);
        assert_eq!(index_of(&Bucket { low: 1.0, high: 1.5, count: 1 }), None);
        assert_eq!(index_of(&Bucket { low: 0.0, high: 0.0, count: 1 }), None);
    }

    fn lines(values: &[f64]) -> String {
        values.iter().map(|value| format!("{value}\n")).collect()
    }

    proptest! {
        #[test]
        fn quantiles_are_within_a_thousandth_and_the_rest_is_exact(
            mut values in proptest::collection::vec(prop_oneof![Just(0.0), 1e-9..1e-3, 0.5..2.0, 1.0..1e9f64], 1..400),
            size in 1usize..50,
        ) {
            let text = lines(&values);
            let histogram = read(BufReader::with_capacity(size, text.as_bytes()), 1.0).unwrap();
            prop_assert_eq!(&histogram, &read_text(&text).unwrap());
            values.sort_by(f64::total_cmp);
            let count = values.len();
            prop_assert_eq!(histogram.count(), count as u64);
            prop_assert_eq!((histogram.min().value, histogram.max().value), (values[0], values[count - 1]));
            let mean = histogram.mean();
            prop_assert!(mean.is_exact());
            prop_assert_eq!(mean.value, Sum::of(values.iter().copied()).value() / count as f64);
            for q in [0.0, 0.01, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0] {
                let right = values[super::super::rank::rank(count as u64, q) as usize - 1];
                let got = histogram.quantile(q);
                prop_assert!((got.value - right).abs() <= right / 1000.0, "{q}: {got:?} is not {right}");
                prop_assert!(got.bounds.low <= right && right <= got.bounds.high, "{q}: {got:?}, {right}");
            }
        }

        /// Any part of a text that ends with its lines is a text of its own; every other part is refused.
        #[test]
        fn a_cut_within_a_line_is_refused(values in proptest::collection::vec(0.0..1e6f64, 1..20)) {
            let text = lines(&values);
            for end in 0..text.len() {
                let cut = read_text(&text[..end]);
                prop_assert_eq!(cut.is_ok(), end > 0 && text.as_bytes()[end - 1] == b'\n');
            }
        }
    }
}
