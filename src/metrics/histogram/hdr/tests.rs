//! `three-intervals.*` hold the same 1,200 values in nanoseconds: raw, as a log and as a table, the latter two
//! written by the Python library (hdrhistogram 0.10).

use super::*;
use crate::metrics::histogram::{Bounds, values};

const LOG: &str = include_str!("../../../../tests/fixtures/histogram/three-intervals.hlog");
const TABLE: &str = include_str!("../../../../tests/fixtures/histogram/three-intervals.percentiles.txt");
const VALUES: &str = include_str!("../../../../tests/fixtures/histogram/three-intervals.values.txt");

fn only(text: &str, factor: f64) -> Histogram {
    let mut tagged = read(text, factor).unwrap();
    assert_eq!((tagged.len(), &tagged[0].tag), (1, &None));
    tagged.remove(0).histogram
}

#[test]
fn a_log_and_a_table_say_the_same_as_the_values() {
    let raw = values::read(VALUES.as_bytes(), 1e-9).unwrap();
    let mut sorted: Vec<f64> = VALUES.lines().map(|line| line.parse().unwrap()).collect();
    sorted.sort_by(f64::total_cmp);
    let (log, table) = (only(LOG, 1e-9), only(TABLE, 1e-6));
    for histogram in [&raw, &log, &table] {
        assert_eq!(histogram.count(), 1200);
        assert!((histogram.min().value - 3174e-9).abs() < 3e-9, "{:?}", histogram.min());
        assert!((histogram.max().value - 181_089e-9).abs() < 60e-9, "{:?}", histogram.max());
        assert!((histogram.mean().value - 25_871.061_67e-9).abs() < 30e-9, "{:?}", histogram.mean());
        for q in [0.0, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0] {
            let right = sorted[super::super::rank::rank(1200, q) as usize - 1] / 1e9;
            let Bounds { low, high } = histogram.quantile(q).bounds;
            // The table rounds to its precision: 0.1 %.
            assert!(low <= right * 1.001 && right <= high * 1.001, "{q}: {right} is not in {low} to {high}");
        }
    }
    for q in [0.1, 0.5, 0.9, 0.99, 0.999] {
        let (raw, log) = (raw.quantile(q).value, log.quantile(q).value);
        assert!((raw - log).abs() <= raw * 0.002, "{q}: {raw} {log}");
    }
    let length = serde_json::to_string(&log).unwrap().len();
    assert!(length < 9_000, "{length}");
}

/// Histograms of whole numbers, written by the Rust library.
fn encoded(values: &[u64]) -> String {
    use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
    let mut histogram = hdrhistogram::Histogram::<u64>::new(3).unwrap();
    values.iter().for_each(|value| histogram.record(*value).unwrap());
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(&histogram, &mut bytes).unwrap();
    STANDARD.encode(bytes)
}

#[test]
fn tags_have_a_histogram_each() {
    let (one, two) = (encoded(&[1, 2, 3]), encoded(&[1000, 2_000_000]));
    let log = format!(
        "#[StartTime: 1.0 (seconds since epoch)]\n\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n\
         Tag=b,0.1,1.0,3.0,{one}\r\n0.1,1.0,2.0,{two}\n\nTag=a,1.1,1.0,2.0,{two}\n1.1,1.0,2.0,{one}\n"
    );
    let tagged = read(&log, 1.0).unwrap();
    let found: Vec<_> = tagged.iter().map(|one| (one.tag.as_deref(), one.histogram.count())).collect();
    assert_eq!(found, [(None, 5), (Some("a"), 2), (Some("b"), 3)]);
    let b = &tagged[2].histogram;
    assert_eq!(
        b.buckets().iter().map(|one| (one.low, one.high)).collect::<Vec<_>>(),
        [(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]
    );
    assert_eq!((b.mean().value, b.mean().is_exact()), (2.0, true), "small whole numbers are known");
    let a = &tagged[1].histogram;
    assert_eq!(a.max().bounds, Bounds { low: 1_999_872.0, high: 2_000_895.0 });
}

#[test]
fn a_log_that_is_damaged_is_refused_with_its_line() {
    let blob = encoded(&[1, 2, 3]);
    let empty = encoded(&[]);
    for (line, reason) in [
        (format!("0.1,1.0,2.0,{blob}"), "line 2: no line end"),
        (format!("0.1,1.0,{blob}\n"), "line 2: not an interval"),
        (format!("0.1,1.0,x,{blob}\n"), "line 2: not an interval"),
        ("Tag=a 0.1\n".to_owned(), "line 2: not an interval"),
        ("hello\n".to_owned(), "line 2: not an interval"),
        ("0.1,1.0,2.0,****\n".to_owned(), "line 2: the histogram is damaged: "),
        (format!("0.1,1.0,2.0,{}\n", &blob[..blob.len() - 4]), "it is not as long as it says"),
        ("0.1,1.0,2.0,HISTEwAA\n".to_owned(), "the histogram is damaged: "),
        ("0.1,1.0,2.0,HISTAAAA\n".to_owned(), "not a V2 histogram"),
        ("0.1,1.0,2.0,DHISTAAA\n".to_owned(), "not a V2 histogram"),
        (format!("Tag=a,0.1,1.0,2.0,{empty}\n"), "tag `a`: no value was counted"),
        (String::new(), "neither an interval log nor a table"),
    ] {
        let error = read(&format!("#[StartTime: 1.0]\n{line}"), 1.0).unwrap_err();
        assert!(error.contains(reason), "{line}: {error}");
    }
}

#[test]
fn one_wrong_letter_is_found() {
    let blob = encoded(&[5, 60, 700, 8000, 90_000]);
    let right = only(&format!("#x\n0,1,1,{blob}\n"), 1.0);
    for place in 0..blob.len() {
        let letter = if &blob[place..=place] == "A" { "B" } else { "A" };
        let text = format!("#x\n0,1,1,{}{letter}{}\n", &blob[..place], &blob[place + 1..]);
        if let Ok(other) = read(&text, 1.0) {
            // Some bits are filled up with and mean nothing.
            assert_eq!(other[0].histogram, right, "letter {place}");
        }
    }
}

#[test]
fn a_log_that_is_cut_within_a_line_is_refused() {
    let ends: Vec<usize> = LOG.match_indices('\n').map(|(place, _)| place + 1).collect();
    for end in 0..LOG.len() {
        assert!(ends.contains(&end) || read(&LOG[..end], 1e-9).is_err(), "cut at {end}");
    }
    let whole = only(TABLE, 1e-6);
    for end in 0..TABLE.len() {
        if let Ok(cut) = read(&TABLE[..end], 1e-6) {
            assert_eq!(cut[0].histogram, whole, "cut at {end}");
        }
    }
}
