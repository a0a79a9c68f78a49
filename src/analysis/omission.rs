//! Coordinated omission: a load that waits for each answer sends nothing while it waits, and so leaves out the
//! requests that would have waited too (Tene 2015, "How NOT to measure latency").

use super::refusal::{Refusal, check};

/// More values than this are not made up.
const MOST: usize = 100_000_000;

/// The latencies with those that were left out of a load of one request every `interval`, in the same unit: each value
/// v is followed by v − interval, v − 2 · interval, … down to the interval (the rule of HdrHistogram's
/// `recordValueWithExpectedInterval`). For a load that was meant to be regular alone. Refused with an interval that is
/// not above 0, negative values, and above 100 million values.
pub fn with_omitted(latencies: &[f64], interval: f64) -> Result<Vec<f64>, Refusal> {
    check(latencies, 0)?;
    if !(interval > 0.0 && interval.is_finite()) {
        return Err(Refusal::OutOfRange("interval"));
    }
    if latencies.iter().any(|latency| *latency < 0.0) {
        return Err(Refusal::OutOfRange("latency"));
    }
    // Those left out of v are v / interval - 1, without what is after the point.
    let counts = latencies.iter().map(|latency| (latency / interval).floor().max(1.0));
    let count: f64 = counts.sum();
    if count > MOST as f64 {
        return Err(Refusal::TooMany { have: count as usize, most: MOST });
    }
    let mut all = Vec::with_capacity(count as usize);
    for latency in latencies {
        all.push(*latency);
        let omitted = (1u32..).map(|step| latency - f64::from(step) * interval);
        all.extend(omitted.take_while(|omitted| *omitted >= interval));
    }
    Ok(all)
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;
    use crate::analysis::descriptive::mean;
    use crate::analysis::order::nearest_rank;
    use crate::analysis::reference::Checker;
    use crate::analysis::refusal::sorted;
    use crate::metrics::histogram::{Bucket, Histogram};

    pub fn reference(check: &mut Checker) {
        let path = "/coordinated_omission";
        for words in ["scenario", "rule", "percentile_rule"] {
            check.input(&format!("{path}/{words}"));
        }
        let raw = [vec![1000.0; 10_000], vec![100_000_000.0]].concat();
        let corrected = with_omitted(&raw, 10_000.0).unwrap();
        for (kind, sample) in [("raw", raw), ("corrected", corrected)] {
            let sample = sorted(&sample);
            for key in check.keys(&format!("{path}/{kind}")) {
                let path = format!("{path}/{kind}/{key}");
                match key.strip_prefix('p') {
                    Some(percent) => {
                        let q = percent.parse::<f64>().unwrap() / 100.0;
                        check.close(&path, nearest_rank(&sample, q).unwrap());
                    }
                    None if key == "count" => check.same(&path, json!(sample.len())),
                    None if key == "mean" => check.close(&path, mean(&sample)),
                    None => check.close(&path, sample[sample.len() - 1]),
                }
            }
        }
        merged(check);
    }

    /// Percentiles of several runs come from the merged counts, and are no means of percentiles.
    fn merged(check: &mut Checker) {
        let path = |name: &str| format!("/nested_histogram_merge/{name}");
        let [run1, run2] = ["run1", "run2"].map(|run| {
            let counts = check.input(&path(run)).as_object().unwrap();
            let bucket = |(value, count): (&String, &serde_json::Value)| {
                let value = value.parse().unwrap();
                Bucket { low: value, high: value, count: count.as_u64().unwrap() }
            };
            Histogram::new(counts.iter().map(bucket).collect()).unwrap()
        });
        let mut both = run1.clone();
        both.merge(&run2);
        for (name, q, of_both) in [("p95", 0.95, "right_p95_of_merged"), ("p99", 0.99, "p99_merged")] {
            let [one, other, right] = [&run1, &run2, &both].map(|run| run.quantile(q).value);
            check.close(&path(&format!("{name}_run1")), one);
            check.close(&path(&format!("{name}_run2")), other);
            check.close(&path(of_both), right);
            check.close(&path(&format!("wrong_mean_of_{name}")), (one + other) / 2.0);
            assert_ne!(right, (one + other) / 2.0);
        }
    }

    #[test]
    fn the_values_are_those_of_the_reference() {
        Checker::run(reference);
    }

    #[test]
    fn what_is_no_load_is_refused() {
        assert_eq!(with_omitted(&[1.0], 0.0), Err(Refusal::OutOfRange("interval")));
        assert_eq!(with_omitted(&[1.0], f64::NAN), Err(Refusal::OutOfRange("interval")));
        assert_eq!(with_omitted(&[-1.0], 1.0), Err(Refusal::OutOfRange("latency")));
        assert_eq!(with_omitted(&[f64::NAN], 1.0), Err(Refusal::NotFinite));
        assert!(matches!(with_omitted(&[1e300], 1.0), Err(Refusal::TooMany { .. })));
        assert_eq!(with_omitted(&[], 1.0), Ok(vec![]));
        assert_eq!(with_omitted(&[0.5, 3.0], 1.0), Ok(vec![0.5, 3.0, 2.0, 1.0]));
    }
}
