//! What HdrHistogram's libraries write: interval logs, and tables of percentiles as wrk2 prints them. Their
//! values are whole numbers of a unit that neither of them names. Read [`read`] first.
//!
//! Format: HistogramLogWriter of HdrHistogram (Java), log version 1.2 and later with V2 histograms. Counts are
//! taken as they are: what a tool has corrected for coordinated omission, or not, stays so.

use std::collections::BTreeMap;
use std::io::Read;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::serialization::Deserializer;

use super::scale::Scale;
use super::{Bucket, Histogram, combined, percentiles};

/// The first four bytes of a V2 histogram: the counts as they are, and compressed by zlib.
const PLAIN: [u8; 4] = [0x1c, 0x84, 0x93, 0x13];
const COMPRESSED: [u8; 4] = [0x1c, 0x84, 0x93, 0x14];

/// The bytes of a plain histogram before its counts; the length of the counts is in the second four.
const HEADER: usize = 40;

/// No histogram is larger: five digits over 64 bits have 6 million counts of a byte or more.
const LARGEST: u64 = 64 << 20;

/// Buckets of this many intervals are kept before equal ones are added up.
const KEPT: usize = 100_000;

/// The histogram of one tag of a log.
#[derive(Debug, Clone, PartialEq)]
pub struct Tagged {
    /// From `Tag=…`; none for intervals without one, and for a table of percentiles.
    pub tag: Option<String>,
    /// All intervals of that tag.
    pub histogram: Histogram,
}

/// Reads a log, whose intervals are merged for each tag, or the one table of percentiles in a text. A unit of
/// its values is `factor` base units. Untagged intervals come first, then the tags in their order.
///
/// A table is read as ranges: from the value of a row to that of the next lie as many values as `TotalCount`
/// has grown. It must be whole. A log has no end mark: whether intervals are missing at its end is for the
/// caller to know.
///
/// Errors: a line of a log that is not understood, with its number; a histogram that is damaged, or of
/// another version than V2; a last line without a line end; a table that is cut, or several of them; no value.
pub fn read(text: &str, factor: f64) -> Result<Vec<Tagged>, String> {
    let scale = Scale::new(factor)?;
    if let Some(table) = percentiles::read(text, scale) {
        return Ok(vec![Tagged { tag: None, histogram: table? }]);
    }
    let mut tags: BTreeMap<Option<&str>, Vec<Bucket>> = BTreeMap::new();
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let numbered = |error: String| format!("line {number}: {error}");
        let whole =
            line.strip_suffix('\n').ok_or_else(|| numbered("no line end: it may be cut".to_owned()))?;
        let whole = whole.trim();
        if whole.is_empty() || whole.starts_with('#') || whole.starts_with("\"StartTimestamp\"") {
            continue;
        }
        let (tag, blob) = interval(whole).map_err(numbered)?;
        let buckets = tags.entry(tag).or_default();
        buckets.extend(decoded(blob, scale).map_err(numbered)?);
        if buckets.len() > KEPT {
            *buckets = combined(std::mem::take(buckets));
        }
    }
    if tags.is_empty() {
        return Err("neither an interval log nor a table of percentiles of HdrHistogram".to_owned());
    }
    let tagged = tags.into_iter().map(|(tag, buckets)| {
        let tag = tag.map(str::to_owned);
        let of = tag.as_ref().map(|tag| format!("tag `{tag}`: ")).unwrap_or_default();
        let histogram = Histogram::new(buckets).map_err(|error| format!("{of}{error}"))?;
        Ok(Tagged { tag, histogram })
    });
    tagged.collect()
}

/// The tag and the encoded histogram of `[Tag=TAG,]START,LENGTH,MAXIMUM,HISTOGRAM`.
fn interval(line: &str) -> Result<(Option<&str>, &str), String> {
    let unknown = || "not an interval of an HdrHistogram log".to_owned();
    let (tag, fields) = match line.strip_prefix("Tag=") {
        Some(tagged) => tagged.split_once(',').map(|(tag, rest)| (Some(tag), rest)).ok_or_else(unknown)?,
        None => (None, line),
    };
    let fields: Vec<&str> = fields.split(',').map(str::trim).collect();
    let [start, length, maximum, blob] = fields.as_slice() else { return Err(unknown()) };
    let is_number = |text: &&str| text.parse().is_ok_and(|number: f64| number.is_finite() && number >= 0.0);
    if ![start, length, maximum].into_iter().all(is_number) {
        return Err(unknown());
    }
    Ok((tag, blob))
}

/// The buckets of an encoded histogram, in base units.
fn decoded(blob: &str, scale: Scale) -> Result<Vec<Bucket>, String> {
    let damaged = |what: &dyn std::fmt::Display| format!("the histogram is damaged: {what}");
    let bytes = STANDARD.decode(blob).map_err(|error| damaged(&error))?;
    let plain = match bytes.split_first_chunk() {
        Some((&COMPRESSED, rest)) => inflated(rest).map_err(|error| damaged(&error))?,
        Some((&PLAIN, _)) => bytes,
        _ => return Err("not a V2 histogram of whole numbers".to_owned()),
    };
    let length = plain.get(4..8).and_then(|length| length.try_into().ok()).map(u32::from_be_bytes);
    let is_whole = length.is_some_and(|length| plain.len() == HEADER + length as usize);
    if !is_whole || !plain.starts_with(&PLAIN) {
        return Err(damaged(&"it is not as long as it says"));
    }
    let histogram: hdrhistogram::Histogram<u64> =
        Deserializer::new().deserialize(&mut plain.as_slice()).map_err(|error| damaged(&error))?;
    let buckets = histogram.iter_recorded().map(|recorded| {
        let value = recorded.value_iterated_to();
        let [low, high] = [histogram.lowest_equivalent(value), histogram.highest_equivalent(value)]
            .map(|end| scale.apply(end as f64));
        Bucket { low, high, count: recorded.count_at_value() }
    });
    Ok(buckets.collect())
}

/// What lies in a length and as many bytes of zlib. Its checksum is checked: one wrong letter is found.
fn inflated(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let Some((length, compressed)) = bytes.split_first_chunk() else { return Err("no length".to_owned()) };
    if u32::from_be_bytes(*length) as usize != compressed.len() {
        return Err("it is not as long as it says".to_owned());
    }
    let mut decoder = ZlibDecoder::new(compressed);
    let mut plain = Vec::new();
    decoder.by_ref().take(LARGEST).read_to_end(&mut plain).map_err(|error| error.to_string())?;
    if plain.len() as u64 == LARGEST || decoder.total_in() != compressed.len() as u64 {
        return Err("there is more than a histogram".to_owned());
    }
    Ok(plain)
}

#[cfg(test)]
mod tests;
