//! Listings as programs print them, the one of ZeroM above all; what is not certain, and cuts at every byte.

use super::*;
use crate::metrics::histogram::{Bounds, measurements};
use crate::units::Unit;

const ZEROM: &str = include_str!("../../../../tests/fixtures/histogram/zerom.txt");

#[test]
fn the_listing_of_zerom_is_read_on_both_levels() {
    let histogram = read(ZEROM, None).unwrap();
    assert_eq!(histogram.count(), 10_000_000);
    assert_eq!(histogram.buckets().len(), 19, "10, one of which is opened into 10");
    assert_eq!((histogram.min().value, histogram.max().value), (0.0, 0.000442));
    // 98.39 % lie in the first part of the first range; 99.58 % in the first range.
    for (q, low, high) in [
        (0.5, 0.0, 0.000004),
        (0.9, 0.0, 0.000004),
        (0.98, 0.0, 0.000004),
        (0.99, 0.000018, 0.000022),
        (0.999, 0.000044, 0.000088),
        (0.9999, 0.000265, 0.000309),
        (1.0, 0.000398, 0.000442),
    ] {
        assert_eq!(histogram.quantile(q).bounds, Bounds { low, high }, "{q}");
    }
    let mean = histogram.mean();
    assert!((mean.value - 1e-6).abs() < 1e-12 && !mean.is_exact(), "{mean:?}");
    assert!((mean.bounds.high - 2e-6).abs() < 1e-12, "{mean:?}");
    assert_eq!(read(ZEROM, Some(1.0)).unwrap(), histogram);
    assert!(read(ZEROM, Some(1e-6)).unwrap_err().contains("another unit"));
}

#[test]
fn a_plain_listing_is_the_same_as_that_of_a_web_page() {
    let plain: String = ZEROM
        .chars()
        .map(|c| {
            if c == '?' {
                ' '
            } else if c == '—' {
                '-'
            } else {
                c
            }
        })
        .collect();
    assert_eq!(read(&plain, None), read(ZEROM, None));
}

#[test]
fn figures_of_zerom_that_contradict_each_other_are_refused() {
    for (from, to, reason) in [
        ("32657", "32658", "the total is 10000000"),
        ("26958", "26959", "the parts of 0 to 0.000044 hold 9957936 values, and it holds 9957935"),
        ("over avg:1228649", "over avg:122864", "the total is"),
        (
            "0.000040-? 0.000044: ?? 8033",
            "0.000040-? 0.000045: ?? 8033",
            "there is no range from 0 to 0.000045",
        ),
        ("range:03 > ? 0.000088-? 0.000133: ?? 6092\n", "", "does not follow"),
        ("0.000133: ?? 6092", "0.000133: ?? 6,092", "not understood in a table of ranges: range:03"),
        ("0.000001 (0", "0.000100 (0", "the mean, "),
        ("0.000088-? 0.000133", "0.000087-? 0.000133", "does not follow"),
    ] {
        let text = ZEROM.replacen(from, to, 1);
        assert_ne!(text, ZEROM, "{from}");
        let error = read(&text, None).unwrap_err();
        assert!(error.contains(reason), "{from}: {error}");
    }
}

const TABLES: [&str; 5] = [
    "latency in usecs\n0 - 10: 5\n10 - 20: 0\n20 - 40: 7\ntotal: 12\n",
    "@usecs:\n[0]                   5 |@@@@ |\n[1, 20)               0 |\n[20, 40)              7 |@@@@@@@|\n\n",
    "     usecs               : count     distribution\n         0 -> 1          : 5        |****    |\n         2 -> 40         : 7        |********|\n\navg = 12 usecs\n",
    "took 3 s\n\n0us..10us 5 41.7%\n10us..40us 7 58.3%\ncount: 12\nbye 1\n",
    "time (us)\n0-40: 12\nthe fullest range:\n0-20: 5\n20-40: 7\nsamples = 12",
];

#[test]
fn tables_with_a_unit_and_an_end_are_read() {
    for text in TABLES {
        let histogram = read(text, None).unwrap();
        assert_eq!((histogram.count(), histogram.max().value), (12, 4e-5), "{text}");
        assert_eq!(histogram.buckets().len(), 2, "{text}");
        assert_eq!(read(text, Some(1e-6)).unwrap(), histogram, "{text}");
        assert!(read(text, Some(1.0)).is_err(), "{text}");
    }
    let histogram = read("0 - 10: 5\n10 - 20: 3\ntotal: 8\n", Some(1024.0)).unwrap();
    assert_eq!(histogram.max().value, 20480.0);
    let mean = histogram.mean();
    // (5 · 5 + 3 · 15) / 8 from the middles.
    assert_eq!(
        (mean.value, mean.bounds),
        (8.75 * 1024.0, Bounds { low: 3.75 * 1024.0, high: 13.75 * 1024.0 })
    );
    let got = measurements("latency", &Unit::Second, &histogram);
    assert_eq!(got.iter().find(|one| one.name == "latency_p50").unwrap().value, 5.0 * 1024.0);
}

#[test]
fn what_is_not_certain_is_refused() {
    for (text, reason) in [
        ("", "no table"),
        ("nothing here\n1 2 3\n", "no table"),
        ("0-1: 5\ntotal: 5\n", "the unit of the table of ranges is not known"),
        ("usecs, msecs\n0-1: 5\ntotal: 5\n", "another unit, or several"),
        ("took 10 seconds\n0-1: 5\ntotal: 5\n", "is not known"),
        ("usecs\n0-1: 5\n", "has no end"),
        ("usecs\n0-1: 5\n1-2: 6", "has no end"),
        ("usecs\n0-1: 5\n   ", "has no end"),
        ("usecs\n0-1: 5\nthe fullest:\n\n", "has no end"),
        ("usecs\n0-1: 5\n\n0-1: 6\n\n", "several tables"),
        ("usecs\n0-1: 5\ntotal: 5\n0-1: 5\n", "behind the total"),
        ("usecs\n0-1: 5\ntotal: 6\n", "the total is 6"),
        ("usecs\n0-1: 0\ntotal: 0\n", "no value was counted"),
        ("usecs\n0-2: 5\n1-3: 6\n\n", "does not follow"),
        ("usecs\n1-2: 5\n0-1: 6\n\n", "does not follow"),
        ("usecs\n0-1: 5\n1-2,000: 6\n2000-3000: 1\n\n", "not understood in a table of ranges: 1-2,000: 6"),
        ("usecs\n0-1: 5\n> 1: 6\n\n", "not understood"),
        ("usecs\nunderflow: 3\n0-1: 5\n\n", "not understood"),
        ("usecs\n0-1: 5\ntotal: 1,000\n\n", "not understood"),
        ("0us-1us: 5\n1-2: 6\n\n", "some rows"),
        ("usecs\n0-4: 5\nopened:\n0-2: 5\nagain:\n0-1: 5\n\n", "there is no range"),
        ("usecs\n0-4: 5\nopened:\n0-2: 5\n\n", "there is no range from 0 to"),
    ] {
        let error = read(text, None).unwrap_err();
        assert!(error.contains(reason), "{text:?}: {error}");
    }
}

#[test]
fn a_cut_table_gives_the_same_or_nothing() {
    for text in TABLES.into_iter().chain([ZEROM]) {
        let whole = read(text, None).unwrap();
        let mut read_cuts = 0;
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
            if let Ok(cut) = read(&text[..end], None) {
                assert_eq!(cut, whole, "cut at {end}: {text}");
                read_cuts += 1;
            }
        }
        assert!(read_cuts < 20, "{read_cuts} cuts of {text}");
    }
}
