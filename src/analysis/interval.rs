//! How far a mean or a median can be trusted: 95 % confidence intervals of one sample. No assumption is
//! hidden: the t interval wants a nearly normal mean, the interval of the median nothing but independence.

use super::descriptive::{mean, standard_deviation};
use super::order::quantile_interval;
use super::student::critical;

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
    let (sd, n) = (standard_deviation(sample)?, sample.len() as f64);
    let t = critical(n - 1.0, LEVEL).ok()?;
    let (mean, half) = (mean(sample), t * sd / n.sqrt());
    Some(Interval { low: mean - half, high: mean + half })
}

/// The exact interval of the median between two order statistics of a sample in ascending order: see
/// `quantile_ranks` in `order.rs`; none below 6 values, where no pair of them reaches 95 %.
pub fn median_interval(sorted: &[f64]) -> Option<Interval> {
    quantile_interval(sorted, 0.5, LEVEL).ok()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::analysis::descriptive::describe;
    use crate::analysis::reference::{Checker, samples};
    use crate::analysis::refusal::sorted;

    pub fn reference(check: &mut Checker) {
        for (path, sample) in samples() {
            let t = mean_interval(&sample).unwrap();
            check.list(&format!("{path}/t_ci95_mean"), &[t.low, t.high]);
            let relative = (t.high - t.low) / 2.0 / mean(&sample).abs();
            check.close(&format!("{path}/rel_half_width_t"), relative);
            let freedom = sample.len() as f64 - 1.0;
            check.close(&format!("{path}/t_crit_0.975"), critical(freedom, LEVEL).unwrap());
            let median = median_interval(&sorted(&sample)).unwrap();
            let path = format!("{path}/median_ci95_order_stat_exact/values");
            check.list(&path, &[median.low, median.high]);
        }
    }

    #[test]
    fn the_values_are_those_of_the_reference() {
        Checker::run(reference);
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
