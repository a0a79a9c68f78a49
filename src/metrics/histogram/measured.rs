//! From a histogram to the metrics of a trial. Read [`measurements`] first.

use std::collections::BTreeMap;

use super::{Estimate, Histogram, smallest_count};
use crate::metrics::Measurement;
use crate::units::{Better, Unit};

/// The percentiles that are reported, each where its interval exists.
pub const PERCENTILES: [(&str, f64); 6] =
    [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999)];

/// A figure that may be off by more than this part of itself has a warning: the buckets of raw values and
/// of three digits are narrower.
const DOUBT: f64 = 0.002;

/// `NAME_mean`, `NAME_min`, `NAME_max`, the percentiles `NAME_p50` to `NAME_p99.99` that have enough values
/// for a 95 % interval, and `NAME_count`. Lower is better for times; other units have no direction of their own.
pub fn measurements(name: &str, unit: &Unit, histogram: &Histogram) -> Vec<Measurement> {
    let better = (*unit == Unit::Second).then_some(Better::Lower);
    let measured = |figure: &str, value: f64, unit: &Unit, better| Measurement {
        name: of(name, figure),
        value,
        unit: unit.clone(),
        better,
        fixed: None,
        labels: BTreeMap::new(),
    };
    let figures = figures(histogram);
    let mut measurements: Vec<Measurement> =
        figures.iter().map(|(figure, estimate)| measured(figure, estimate.value, unit, better)).collect();
    measurements.push(measured("count", histogram.count() as f64, &Unit::Count, None));
    measurements
}

/// A sentence for each of these figures that the counts leave open.
pub fn warnings(name: &str, unit: &Unit, histogram: &Histogram) -> Vec<String> {
    let open = figures(histogram).into_iter().filter(|(_, estimate)| {
        let bounds = estimate.bounds;
        bounds.high - bounds.low > estimate.value.abs() * DOUBT
    });
    let unit = if unit.as_str().is_empty() { String::new() } else { format!(" {unit}") };
    let sentence = |(figure, Estimate { value, bounds }): (&str, Estimate)| {
        let (low, high) = (bounds.low, bounds.high);
        format!("{} is only known to lie between {low} and {high}{unit}: {value} is taken", of(name, figure))
    };
    open.map(sentence).collect()
}

/// The names of all metrics that a histogram called `name` can give.
pub fn names(name: &str) -> Vec<String> {
    let percentiles = PERCENTILES.iter().map(|(figure, _)| *figure);
    ["mean", "min", "max"]
        .into_iter()
        .chain(percentiles)
        .chain(["count"])
        .map(|figure| of(name, figure))
        .collect()
}

/// The name of a figure; one without a name of its own is called by what it is.
fn of(name: &str, figure: &str) -> String {
    if name.is_empty() { figure.to_owned() } else { format!("{name}_{figure}") }
}

fn figures(histogram: &Histogram) -> Vec<(&'static str, Estimate)> {
    let mut figures = vec![("mean", histogram.mean()), ("min", histogram.min()), ("max", histogram.max())];
    let count = histogram.count();
    let known = PERCENTILES.iter().filter(|(_, q)| count >= smallest_count(*q));
    figures.extend(known.map(|(figure, q)| (*figure, histogram.quantile(*q))));
    figures
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::histogram::values;
    use crate::metrics::plausible::doubts;

    fn counted(count: u64) -> Histogram {
        let text: String = (1..=count).map(|value| format!("{value}\n")).collect();
        values::read(text.as_bytes(), 1e-3).unwrap()
    }

    #[test]
    fn a_percentile_needs_its_number_of_values() {
        for (count, percentiles) in [
            (5, 0),
            (6, 1),
            (35, 1),
            (36, 2),
            (71, 2),
            (72, 3),
            (367, 3),
            (368, 4),
            (3_687, 4),
            (3_688, 5),
            (36_886, 5),
            (36_887, 6),
        ] {
            let histogram = counted(count);
            let got = measurements("latency", &Unit::Second, &histogram);
            let names: Vec<&str> = got.iter().map(|one| one.name.as_str()).collect();
            let mut right = vec!["latency_mean", "latency_min", "latency_max"];
            let all = [
                "latency_p50",
                "latency_p90",
                "latency_p95",
                "latency_p99",
                "latency_p99.9",
                "latency_p99.99",
            ];
            right.extend(&all[..percentiles]);
            right.push("latency_count");
            assert_eq!(names, right, "{count}");
            assert!(doubts(&got).is_empty());
            for (_, q) in &PERCENTILES[..percentiles] {
                assert!(histogram.interval(*q).is_some(), "{count} {q}");
            }
        }
    }

    #[test]
    fn values_have_their_unit_and_direction() {
        let histogram = counted(1000);
        let got = measurements("latency", &Unit::Second, &histogram);
        assert_eq!((got[0].value, got[1].value, got[2].value), (0.5005, 0.001, 1.0));
        assert_eq!((&got[0].unit, got[0].better), (&Unit::Second, Some(Better::Lower)));
        assert!((got[3].value - 0.5).abs() <= 0.0005);
        let count = got.last().unwrap();
        assert_eq!((count.value, &count.unit, count.better), (1000.0, &Unit::Count, None));
        assert_eq!(measurements("size", &Unit::Byte, &histogram)[0].better, None);
        assert_eq!(warnings("latency", &Unit::Second, &histogram), Vec::<String>::new());
    }

    #[test]
    fn what_a_listing_leaves_open_is_said() {
        let text = "(ms)\n0 - 10: 5\n10 - 20: 5\ntotal: 10\n";
        let histogram = crate::metrics::histogram::ranges::read(text, None).unwrap();
        assert_eq!(
            warnings("latency", &Unit::Second, &histogram),
            [
                "latency_mean is only known to lie between 0.005 and 0.015 s: 0.01 is taken",
                "latency_min is only known to lie between 0 and 0.01 s: 0 is taken",
                "latency_max is only known to lie between 0.01 and 0.02 s: 0.02 is taken",
                "latency_p50 is only known to lie between 0 and 0.01 s: 0.005 is taken",
            ]
        );
    }
}
