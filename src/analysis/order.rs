//! Quantiles by order statistics, and how far they can be trusted: the values need be independent, and nothing else
//! is assumed of them (Hoefler & Belli 2015, rule 8; Le Boudec 2010, §2.2).

use statrs::distribution::{Binomial, DiscreteCDF};

use super::interval::Interval;
use super::refusal::{Refusal, check, check_part};
use crate::metrics::histogram::rank;

/// The value of the `q` quantile (0 to 1) of at least one value in ascending order: the smallest one that at least
/// the part `q` of all values do not exceed, without interpolation (type 1 of Hyndman & Fan 1996).
pub fn nearest_rank(sorted: &[f64], q: f64) -> Result<f64, Refusal> {
    check(sorted, 1)?;
    match (0.0..=1.0).contains(&q) {
        true => Ok(sorted[rank(sorted.len() as u64, q) as usize - 1]),
        false => Err(Refusal::OutOfRange("quantile")),
    }
}

/// Between which order statistics a quantile lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuantileRanks {
    /// The rank of the lower end, from 1; none where no value is surely below.
    pub low: Option<usize>,
    /// The rank of the upper end; none where no value is surely above.
    pub high: Option<usize>,
    /// With which probability the quantile lies between both ends.
    pub coverage: Option<f64>,
}

/// The ranks of the interval of the `q` quantile of `n` values: the largest and the smallest with at most half of
/// 1 − `level` beyond them, the number of values below the quantile being Binomial(n, q).
pub fn quantile_ranks(n: usize, q: f64, level: f64) -> Result<QuantileRanks, Refusal> {
    check_part("quantile", q)?;
    check_part("level", level)?;
    let below = Binomial::new(q, n as u64).map_err(|_| Refusal::OutOfRange("quantile"))?;
    let tail = (1.0 - level) / 2.0;
    // The first rank in 1..=n + 1 of which `is_beyond` is true.
    let first = |is_beyond: &dyn Fn(u64) -> bool| {
        let (mut from, mut to) = (1, n as u64 + 1);
        while from < to {
            let middle = from + (to - from) / 2;
            if is_beyond(middle) { to = middle } else { from = middle + 1 }
        }
        from as usize
    };
    let low = Some(first(&|rank| below.cdf(rank - 1) > tail) - 1).filter(|low| *low >= 1);
    let high = Some(first(&|rank| below.sf(rank - 1) <= tail)).filter(|high| *high <= n);
    let both = low.zip(high);
    let coverage = both.map(|(low, high)| below.cdf(high as u64 - 1) - below.cdf(low as u64 - 1));
    Ok(QuantileRanks { low, high, coverage })
}

/// That interval of a sample in ascending order; refused where there are too few values for both ends.
pub fn quantile_interval(sorted: &[f64], q: f64, level: f64) -> Result<Interval, Refusal> {
    check(sorted, 1)?;
    let ranks = quantile_ranks(sorted.len(), q, level)?;
    match ranks.low.zip(ranks.high) {
        Some((low, high)) => Ok(Interval { low: sorted[low - 1], high: sorted[high - 1] }),
        None => Err(Refusal::TooFew { have: sorted.len(), needed: values_for_quantile(q, level)? }),
    }
}

/// How many values it takes for an interval of the `q` quantile with both ends.
pub fn values_for_quantile(q: f64, level: f64) -> Result<usize, Refusal> {
    check_part("quantile", q)?;
    check_part("level", level)?;
    Ok((((1.0 - level) / 2.0).ln() / q.max(1.0 - q).ln()).ceil() as usize)
}

/// How many values it takes until the largest is above the `q` quantile with the probability `level`.
pub fn values_for_upper_bound(q: f64, level: f64) -> Result<usize, Refusal> {
    check_part("quantile", q)?;
    check_part("level", level)?;
    Ok(((1.0 - level).ln() / q.ln()).ceil() as usize)
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::analysis::reference::{Checker, numbers, reference as file, samples};
    use crate::analysis::refusal::sorted;

    pub fn reference(check: &mut Checker) {
        for (path, sample) in samples() {
            let (n, sample) = (sample.len(), sorted(&sample));
            let nearest = [0.5, 0.9, 0.95, 0.99].map(|q| nearest_rank(&sample, q).unwrap());
            check.list(&format!("{path}/percentiles_nearest_rank_p50_p90_p95_p99"), &nearest);
            let ranks = quantile_ranks(n, 0.5, 0.95).unwrap();
            let exact = format!("{path}/median_ci95_order_stat_exact");
            check.same(&format!("{exact}/ranks_1based"), json!([ranks.low, ranks.high]));
            check.close(&format!("{exact}/actual_coverage"), ranks.coverage.unwrap());
            let approximate = format!("{path}/median_ci95_order_stat_normal_approx_z1.96");
            let (low, high, coverage) = by_normal(n);
            check.same(&format!("{approximate}/ranks_1based"), json!([low, high]));
            check.list(&format!("{approximate}/values"), &[low, high].map(|rank| sample[rank as usize - 1]));
            check.close(&format!("{approximate}/actual_coverage"), coverage);
        }
        for (index, row) in file()["median_ci_rank_table_95"].as_array().unwrap().iter().enumerate() {
            let path = format!("/median_ci_rank_table_95/{index}");
            let n = check.input(&format!("{path}/n")).as_u64().unwrap() as usize;
            let QuantileRanks { low, high, coverage } = quantile_ranks(n, 0.5, 0.95).unwrap();
            match coverage {
                None => check.same(&format!("{path}/exact"), Value::Null),
                Some(coverage) => {
                    check.same(&format!("{path}/exact/0"), json!(low));
                    check.same(&format!("{path}/exact/1"), json!(high));
                    check.digits(&format!("{path}/exact/2"), coverage);
                }
            }
            let (low, high, coverage) = by_normal(n);
            assert_eq!(numbers(&row["normal_z1.96"])[..2], [low as f64, high as f64]);
            check.same(&format!("{path}/normal_z1.96/0"), json!(low));
            check.same(&format!("{path}/normal_z1.96/1"), json!(high));
            check.digits(&format!("{path}/normal_z1.96/2"), coverage);
        }
        quantiles(check);
    }

    fn quantiles(check: &mut Checker) {
        let part = |text: &String| text.parse::<f64>().unwrap();
        for level in check.keys("/median_ci_min_n") {
            let smallest = values_for_quantile(0.5, part(&level)).unwrap();
            check.same(&format!("/median_ci_min_n/{level}"), json!(smallest));
            let is_there = |n| quantile_ranks(n, 0.5, part(&level)).unwrap().coverage.is_some();
            assert!(is_there(smallest) && !is_there(smallest - 1));
        }
        for q in check.keys("/quantile_ci_min_n_95") {
            let smallest = values_for_quantile(part(&q), 0.95).unwrap();
            check.same(&format!("/quantile_ci_min_n_95/{q}"), json!(smallest));
            let is_there = |n| quantile_ranks(n, part(&q), 0.95).unwrap().coverage.is_some();
            assert!(is_there(smallest) && !is_there(smallest - 1), "{q}");
        }
        for q in check.keys("/one_sided_upper_bound_min_n_95") {
            let smallest = values_for_upper_bound(part(&q), 0.95).unwrap();
            check.same(&format!("/one_sided_upper_bound_min_n_95/{q}"), json!(smallest));
        }
        for index in 0..file()["quantile_ci_ranks_95"].as_array().unwrap().len() {
            let path = |name: &str| format!("/quantile_ci_ranks_95/{index}/{name}");
            let n = check.input(&path("n")).as_u64().unwrap() as usize;
            let q = check.input(&path("q")).as_f64().unwrap();
            let ranks = quantile_ranks(n, q, 0.95).unwrap();
            check.same(&path("l"), json!(ranks.low));
            check.same(&path("u"), json!(ranks.high));
            match ranks.coverage {
                Some(coverage) => check.digits(&path("coverage"), coverage),
                None => check.same(&path("coverage"), Value::Null),
            }
        }
    }

    /// The approximate ranks that books give beside the exact ones, and what they cover: more than needed.
    fn by_normal(n: usize) -> (i64, i64, f64) {
        let (middle, half) = (n as f64 / 2.0, 1.96 * (n as f64).sqrt() / 2.0);
        let (low, high) = ((middle - half).floor() as i64, (1.0 + middle + half).ceil() as i64);
        let below = Binomial::new(0.5, n as u64).unwrap();
        let up_to = |rank: i64| if rank < 1 { 0.0 } else { below.cdf(rank as u64 - 1) };
        // Ends beyond the sample are its own ends.
        (low, high, up_to(high.min(n as i64)) - up_to(low.max(1)))
    }

    #[test]
    fn the_values_are_those_of_the_reference() {
        Checker::run(reference);
    }

    #[test]
    fn too_few_values_are_refused() {
        let sample = [1.0, 2.0, 3.0, 4.0, 5.0];
        assert_eq!(quantile_interval(&sample, 0.5, 0.95), Err(Refusal::TooFew { have: 5, needed: 6 }));
        assert_eq!(quantile_interval(&[], 0.5, 0.95), Err(Refusal::TooFew { have: 0, needed: 1 }));
        assert_eq!(quantile_interval(&sample, 1.0, 0.95), Err(Refusal::OutOfRange("quantile")));
        assert_eq!(quantile_interval(&sample, 0.5, f64::NAN), Err(Refusal::OutOfRange("level")));
        assert_eq!(nearest_rank(&sample, 1.5), Err(Refusal::OutOfRange("quantile")));
        assert_eq!(nearest_rank(&[], 0.5), Err(Refusal::TooFew { have: 0, needed: 1 }));
        assert_eq!((nearest_rank(&sample, 0.0), nearest_rank(&sample, 1.0)), (Ok(1.0), Ok(5.0)));
        assert_eq!(quantile_ranks(0, 0.5, 0.95).unwrap().coverage, None);
    }
}
