//! Histograms of every source: what is known of them, their merging, and their form in a record.

use proptest::prelude::*;

use super::*;

fn bucket(low: f64, high: f64, count: u64) -> Bucket {
    Bucket { low, high, count }
}

fn listing() -> Histogram {
    Histogram::new(vec![
        bucket(0.0, 10.0, 90),
        bucket(10.0, 20.0, 8),
        bucket(20.0, 30.0, 0),
        bucket(30.0, 40.0, 2),
    ])
    .unwrap()
}

fn json(histogram: &Histogram) -> String {
    serde_json::to_string(histogram).unwrap()
}

#[test]
fn a_listing_is_known_up_to_its_ranges() {
    let histogram = listing();
    assert_eq!((histogram.count(), histogram.buckets().len()), (100, 3));
    assert_eq!(histogram.min(), Estimate { value: 0.0, bounds: Bounds { low: 0.0, high: 10.0 } });
    assert_eq!(histogram.max(), Estimate { value: 40.0, bounds: Bounds { low: 30.0, high: 40.0 } });
    // (90 · 5 + 8 · 15 + 2 · 35) / 100, and 5 to either side.
    assert_eq!(histogram.mean(), Estimate { value: 6.4, bounds: Bounds { low: 1.4, high: 11.4 } });
    assert_eq!(histogram.quantile(0.9), Estimate { value: 5.0, bounds: Bounds { low: 0.0, high: 10.0 } });
    assert_eq!(histogram.quantile(0.91), Estimate { value: 15.0, bounds: Bounds { low: 10.0, high: 20.0 } });
    // Ranks 84 and 96 of 100.
    assert_eq!(histogram.interval(0.9), Some(Bounds { low: 0.0, high: 20.0 }));
    assert_eq!(histogram.interval(0.99), None, "368 are needed");
    assert!(!histogram.mean().is_exact());
}

#[test]
fn a_range_is_opened_where_its_parts_add_up() {
    let mut histogram = listing();
    histogram.open(0.0, 10.0, &[bucket(0.0, 4.0, 60), bucket(4.0, 10.0, 30)]).unwrap();
    let right =
        vec![bucket(0.0, 4.0, 60), bucket(4.0, 10.0, 30), bucket(10.0, 20.0, 8), bucket(30.0, 40.0, 2)];
    assert_eq!(histogram, Histogram::new(right).unwrap());
    for (low, high, parts, reason) in [
        (0.0, 10.0, vec![bucket(0.0, 10.0, 90)], "there is no range from 0 to 10 to open"),
        (10.0, 20.0, vec![bucket(10.0, 15.0, 7)], "the parts of 10 to 20 hold 7 values, and it holds 8"),
        (10.0, 20.0, vec![bucket(10.0, 25.0, 8)], "10 to 25 is not within 10 to 20"),
        (10.0, 20.0, vec![], "the parts of 10 to 20 hold 0 values, and it holds 8"),
    ] {
        let before = histogram.clone();
        assert_eq!(histogram.open(low, high, &parts).unwrap_err(), reason);
        assert_eq!(histogram, before);
    }
}

#[test]
fn what_holds_no_values_is_no_histogram() {
    for (buckets, reason) in [
        (vec![], "no value was counted"),
        (vec![bucket(1.0, 2.0, 0)], "no value was counted"),
        (vec![bucket(-1.0, 2.0, 1)], "no range of values: -1 to 2"),
        (vec![bucket(2.0, 1.0, 1)], "no range of values: 2 to 1"),
        (vec![bucket(0.0, f64::INFINITY, 1)], "no range of values: 0 to inf"),
        (vec![bucket(f64::NAN, 1.0, 1)], "no range of values: NaN to 1"),
        (
            vec![bucket(0.0, 1.0, u64::MAX), bucket(1.0, 2.0, 1)],
            "more than 9007199254740992 values were counted",
        ),
    ] {
        assert_eq!(Histogram::new(buckets).unwrap_err(), reason);
    }
}

#[test]
fn overlapping_buckets_give_the_bounds_of_all_orders() {
    let mut histogram = Histogram::new(vec![bucket(0.0, 10.0, 2)]).unwrap();
    histogram.merge(&Histogram::new(vec![bucket(4.0, 5.0, 1), bucket(8.0, 30.0, 1)]).unwrap());
    let bounds = |rank| histogram.at_rank(rank);
    assert_eq!(bounds(1), Bounds { low: 0.0, high: 5.0 });
    assert_eq!(bounds(2), Bounds { low: 0.0, high: 10.0 });
    assert_eq!(bounds(3), Bounds { low: 4.0, high: 10.0 });
    assert_eq!(bounds(4), Bounds { low: 8.0, high: 30.0 });
    assert_eq!(histogram.min().bounds, Bounds { low: 0.0, high: 5.0 });
    assert_eq!(histogram.max().bounds, Bounds { low: 8.0, high: 30.0 });
}

#[test]
fn the_json_is_short_and_fixed() {
    assert_eq!(
        json(&listing()),
        r#"{"min":[0.0,10.0],"max":[30.0,40.0],"sum":[140.0],"sum_high":[1140.0],"ranges":[[0.0,10.0,90],[10.0,20.0,8],[30.0,40.0,2]]}"#
    );
    let raw = values::read("0\n1\n1\n1.001\n1.004\n8\n".as_bytes(), 1.0).unwrap();
    // Few different values stand as they are.
    assert_eq!(
        json(&raw),
        r#"{"min":[0.0,0.0],"max":[8.0,8.0],"sum":[12.004999999999999,8.881784197001252e-16],"ranges":[[0.0,0.0,1],[1.0,1.0,2],[1.001,1.001,1],[1.004,1.004,1],[8.0,8.0,1]]}"#
    );
}

#[test]
fn many_ranges_of_whole_numbers_are_written_as_such() {
    let nanoseconds = |value: u32| f64::from(value) / 1e9;
    let row = |place: u32| bucket(nanoseconds(10 * place + 5), nanoseconds(10 * place + 8), 3);
    let histogram = Histogram::new((0..64).map(row).collect()).unwrap();
    let text = json(&histogram);
    let end = format!(r#""whole":{{"divisor":1000000000,"ranges":[5,3,3{}]}}}}"#, ",7,3,3".repeat(63));
    assert!(text.ends_with(&end), "{text}");
    assert_eq!(serde_json::from_str::<Histogram>(&text).unwrap(), histogram);
    // A third is no whole number of anything.
    let mut other = histogram.clone();
    other.merge(&Histogram::new(vec![bucket(1.0 / 3.0, 1.0, 1)]).unwrap());
    assert!(json(&other).contains(r#""ranges":[[5e-9,8e-9,3],"#));
}

#[test]
fn many_values_take_a_few_a_few_kilobytes() {
    // Normal logarithms, as latencies have: e^(0.3 z) by the sum of 12 uniform numbers.
    let mut state = 1u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let text: String = (0..200_000)
        .map(|_| {
            let z = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
            format!("{:.3}\n", 250.0 * (0.3 * z).exp())
        })
        .collect();
    let histogram = values::read(text.as_bytes(), 1e-6).unwrap();
    let length = json(&histogram).len();
    assert!(length < 8_000, "{length}");
}

#[test]
fn a_record_that_was_changed_is_refused() {
    let whole = json(&listing());
    for (from, to) in [
        ("[0.0,10.0,90]", "[0.0,10.0,0]"),
        ("\"min\":[0.0", "\"min\":[-1.0"),
        ("\"max\":[30.0,40.0]", "\"max\":[30.0,50.0]"),
        ("\"sum\":[140.0]", "\"sum\":[2000.0]"),
        ("\"sum_high\":[1140.0]", "\"sum_high\":[100.0]"),
        ("90]", "-90]"),
        ("90]", "9007199254740992]"),
        ("\"ranges\"", "\"rangs\""),
        ("\"ranges\":[", "\"logarithmic\":[-9223372036854775808,1],\"ranges\":["),
        ("\"ranges\":[", "\"logarithmic\":[-1048064,1],\"ranges\":["),
        (",90],", ",90],[5.0,1.0,1],"),
        ("\"ranges\":[", "\"whole\":{\"divisor\":1,\"ranges\":[1,2]},\"ranges\":["),
        ("\"ranges\":[", "\"whole\":{\"divisor\":1,\"ranges\":[1,-2,3]},\"ranges\":["),
        ("\"ranges\":[", "\"whole\":{\"divisor\":1,\"ranges\":[-1,2,3]},\"ranges\":["),
        ("\"ranges\":[", "\"whole\":{\"divisor\":1,\"ranges\":[1,2,-3]},\"ranges\":["),
        ("\"ranges\":[", "\"whole\":{\"divisor\":0,\"ranges\":[1,2,3]},\"ranges\":["),
    ] {
        let text = whole.replacen(from, to, 1);
        assert_ne!(text, whole, "{from}");
        assert!(serde_json::from_str::<Histogram>(&text).is_err(), "{from} -> {to}");
    }
}

/// Histograms of all sources: raw values, ranges, ranges with a known mean.
fn any_histogram() -> impl Strategy<Value = Histogram> {
    let size = || prop_oneof![Just(0.0), 1e-9..1e-3, 0.0..100.0, 1e3..1e12f64];
    let raw = proptest::collection::vec(size(), 1..60).prop_map(|values| {
        let text: String = values.iter().map(|value| format!("{value}\n")).collect();
        values::read(text.as_bytes(), 1e-3).unwrap()
    });
    let ranges =
        proptest::collection::vec((0u32..200, 0u32..5, 1u64..1_000_000_000_000), 1..150).prop_map(|rows| {
            let scaled = |end: u32| f64::from(end) / 1e6;
            let row = |(low, width, count): (u32, u32, u64)| bucket(scaled(low), scaled(low + width), count);
            Histogram::new(rows.into_iter().map(row).collect()).unwrap()
        });
    prop_oneof![raw, ranges]
}

proptest! {
    #[test]
    fn merging_is_associative_and_commutative_by_bytes(
        a in any_histogram(), b in any_histogram(), c in any_histogram(),
    ) {
        let merged = |one: &Histogram, other: &Histogram| {
            let mut one = one.clone();
            one.merge(other);
            one
        };
        let whole = merged(&merged(&a, &b), &c);
        prop_assert_eq!(json(&whole), json(&merged(&a, &merged(&b, &c))));
        prop_assert_eq!(json(&whole), json(&merged(&merged(&c, &b), &a)));
        prop_assert_eq!(whole.count(), a.count() + b.count() + c.count());
        let back = |one: &Histogram| serde_json::from_str::<Histogram>(&json(one)).unwrap();
        prop_assert_eq!(&back(&whole), &whole);
        prop_assert_eq!(json(&merged(&merged(&back(&a), &back(&b)), &back(&c))), json(&whole));
    }

    #[test]
    fn quantiles_rise_and_lie_between_their_bounds(a in any_histogram(), b in any_histogram()) {
        let mut histogram = a;
        histogram.merge(&b);
        let mut last = histogram.min().value;
        for step in 0..=200 {
            let got = histogram.quantile(f64::from(step) / 200.0);
            prop_assert!(got.value >= last);
            prop_assert!(got.bounds.low <= got.value && got.value <= got.bounds.high);
            if let Some(interval) = histogram.interval(f64::from(step) / 200.0) {
                prop_assert!(interval.low <= got.value && got.value <= interval.high);
            }
            last = got.value;
        }
        prop_assert!(last <= histogram.max().value);
        let mean = histogram.mean();
        prop_assert!(mean.bounds.low <= mean.bounds.high);
        prop_assert!(mean.value >= mean.bounds.low * (1.0 - 1e-12) && mean.value <= mean.bounds.high * (1.0 + 1e-12));
    }

    #[test]
    fn values_read_apart_and_merged_are_those_read_at_once(
        values in proptest::collection::vec(0.0..1e6f64, 2..60), cut in 1usize..59,
    ) {
        let cut = cut.min(values.len() - 1);
        let read = |values: &[f64]| {
            let text: String = values.iter().map(|value| format!("{value}\n")).collect();
            values::read(text.as_bytes(), 1e-6).unwrap()
        };
        let mut parts = read(&values[..cut]);
        parts.merge(&read(&values[cut..]));
        prop_assert_eq!(json(&parts), json(&read(&values)));
    }
}
