//! How far a mean or a median can be trusted: 95 % confidence intervals of one sample. No assumption is
//! hidden: the t interval wants a nearly normal mean, the interval of the median nothing but independence.

use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, StudentsT};

use super::descriptive::{mean, standard_deviation};

/// The confidence of every interval.
pub const LEVEL: f64 = 0.95;

/// From low to high, in the sample's unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Student's t interval of the mean: mean ± t(n - 1) · sd / √n; none below 2 values.
pub fn mean_interval(sample: &[f64]) -> Option<Interval> {
    let sd = standard_deviation(sample)?;
    let n = sample.len() as f64;
    let t = StudentsT::new(0.0, 1.0, n - 1.0).ok()?.inverse_cdf(0.5 + LEVEL / 2.0);
    let (mean, half) = (mean(sample), t * sd / n.sqrt());
    Some(Interval { low: mean - half, high: mean + half })
}

/// The exact interval of the median between two order statistics of a sample in ascending order (Hoefler &
/// Belli 2015, rule 8; Le Boudec 2010, §2.2); none below 6 values, where no pair of them reaches 95 %.
pub fn median_interval(sorted: &[f64]) -> Option<Interval> {
    let (low, high, _) = median_ranks(sorted.len())?;
    Some(Interval { low: sorted[low - 1], high: sorted[high - 1] })
}

/// The ranks (from 1) of that interval and its true coverage: the narrowest symmetric pair with at least 95
/// %, the number of values below the median being Binomial(n, 1/2).
fn median_ranks(n: usize) -> Option<(usize, usize, f64)> {
    let below = Binomial::new(0.5, n as u64).ok()?;
    let coverage = |low: usize| 1.0 - 2.0 * below.cdf(low as u64 - 1);
    let low = (1..=n / 2).take_while(|low| coverage(*low) >= LEVEL).last()?;
    Some((low, n + 1 - low, coverage(low)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::descriptive::{describe, quantile};
    use crate::analysis::reference::{close, number, numbers, reference};

    #[test]
    fn every_sample_of_the_reference_is_described_as_scipy_does() {
        for (name, data) in reference()["datasets"].as_object().unwrap() {
            for side in ["x", "y"] {
                let mut sample = numbers(&data[side]);
                sample.sort_by(f64::total_cmp);
                let (right, got) = (&data[format!("{side}_stats")], describe(&sample).unwrap());
                let (t, median) = (mean_interval(&sample).unwrap(), median_interval(&sample).unwrap());
                let ranks = &right["median_ci95_order_stat_exact"];
                let mut pairs = vec![
                    (got.mean, number(&right["mean"])),
                    (got.median, number(&right["median"])),
                    (got.sd.unwrap(), number(&right["sd_n_minus_1"])),
                    (got.cov.unwrap(), number(&right["cov_sd_over_mean"])),
                    (got.min, number(&right["min"])),
                    (got.max, number(&right["max"])),
                    (t.low, number(&right["t_ci95_mean"][0])),
                    (t.high, number(&right["t_ci95_mean"][1])),
                    (median.low, number(&ranks["values"][0])),
                    (median.high, number(&ranks["values"][1])),
                    (median_ranks(sample.len()).unwrap().2, number(&ranks["actual_coverage"])),
                ];
                for (key, quantiles) in [
                    ("quartiles_type7", &[0.25, 0.5, 0.75][..]),
                    ("percentiles_type7_p5_p90_p95_p99", &[0.05, 0.9, 0.95, 0.99]),
                ] {
                    let got = quantiles.iter().map(|q| quantile(&sample, *q));
                    pairs.extend(got.zip(numbers(&right[key])));
                }
                for (index, (got, right)) in pairs.into_iter().enumerate() {
                    assert!(close(got, right), "{name} {side}, value {index}: {got} is not {right}");
                }
            }
        }
    }

    #[test]
    fn the_critical_values_of_t_are_those_of_scipy() {
        for (degrees, right) in reference()["t_critical_0.975"].as_object().unwrap() {
            // n values -1, 0, …, 0, 1 have mean 0 and sd √(2 / (n - 1)).
            let degrees: usize = degrees.parse().unwrap();
            let mut sample = vec![0.0; degrees + 1];
            (sample[0], sample[degrees]) = (-1.0, 1.0);
            let half = mean_interval(&sample).unwrap().high;
            let t = half * (degrees as f64 * (degrees + 1) as f64 / 2.0).sqrt();
            assert!(close(t, number(right)), "{degrees} degrees: {t} is not {right}");
        }
    }

    #[test]
    fn the_ranks_of_the_median_are_exact() {
        for row in reference()["median_ci_rank_table_95"].as_array().unwrap() {
            let n = row["n"].as_u64().unwrap() as usize;
            match (median_ranks(n), row["exact"].as_array()) {
                (None, None) => {}
                (Some((low, high, coverage)), Some(right)) => {
                    assert_eq!(
                        (Some(low as u64), Some(high as u64)),
                        (right[0].as_u64(), right[1].as_u64()),
                        "n = {n}"
                    );
                    assert!(
                        (coverage - number(&right[2])).abs() < 1e-8,
                        "n = {n}: {coverage} is not {}",
                        right[2]
                    );
                }
                (got, right) => panic!("n = {n}: {got:?} is not {right:?}"),
            }
        }
        let smallest = reference()["median_ci_min_n"]["0.95"].as_u64().unwrap() as usize;
        assert!(median_ranks(smallest - 1).is_none() && median_ranks(smallest).is_some());
        assert!(median_ranks(0).is_none());
    }

    #[test]
    fn the_standard_deviation_survives_numbers_far_from_0() {
        let around = |middle: f64| {
            let steps = [-0.1, 0.1].into_iter().cycle().take(1000);
            std::iter::once(middle).chain(steps.map(|step| middle + step)).collect::<Vec<_>>()
        };
        for (name, sample) in [
            ("NumAcc1", vec![10_000_001.0, 10_000_003.0, 10_000_002.0]),
            ("NumAcc2", around(1.2)),
            ("NumAcc3", around(1_000_000.2)),
            ("NumAcc4", around(10_000_000.2)),
        ] {
            let right = &reference()["nist_numacc"][name];
            assert!(close(mean(&sample), number(&right["certified_mean"])), "{name}");
            let sd = standard_deviation(&sample).unwrap();
            assert!((sd - number(&right["certified_sd"])).abs() < 1e-8, "{name}: {sd}");
        }
    }

    #[test]
    fn small_samples_have_no_interval() {
        assert_eq!(describe(&[]), None);
        let one = describe(&[3.0]).unwrap();
        assert_eq!((one.mean, one.median, one.sd, one.cov), (3.0, 3.0, None, None));
        assert_eq!((mean_interval(&[3.0]), median_interval(&[3.0])), (None, None));
        assert_eq!(mean_interval(&[2.0, 2.0]), Some(Interval { low: 2.0, high: 2.0 }));
        assert_eq!(describe(&[-1.0, 1.0]).unwrap().cov, None, "no variation relative to 0");
    }
}
