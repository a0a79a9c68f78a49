//! Student's t (Student 1908): what can be said of an estimate by its standard error and degrees of freedom.
//! The tests of means, differences and logarithms of ratios are all one of these.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::interval::Interval;
use super::refusal::{Refusal, check_part, finite};

/// An estimate of nearly normal error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Its standard error, above 0.
    pub standard_error: f64,
    /// The degrees of freedom of the standard error, above 0; a fraction after Welch.
    pub freedom: f64,
}

impl Estimate {
    /// Refused with a standard error of 0, which tells nothing of chance, and where a number is not finite.
    pub fn new(value: f64, standard_error: f64, freedom: f64) -> Result<Self, Refusal> {
        let (value, standard_error) = (finite(value)?, finite(standard_error)?);
        match standard_error > 0.0 && freedom > 0.0 {
            true => Ok(Self { value, standard_error, freedom: finite(freedom)? }),
            false => Err(Refusal::Constant),
        }
    }

    /// The estimate in standard errors.
    pub fn t(&self) -> f64 {
        self.value / self.standard_error
    }

    /// How often chance alone gives an estimate that is at least so far from 0, on either side.
    pub fn p(&self) -> Result<f64, Refusal> {
        Ok((2.0 * upper_tail(self.t().abs(), self.freedom)?).min(1.0))
    }

    /// The interval of a level (0 to 1): value ± t · standard error.
    pub fn interval(&self, level: f64) -> Result<Interval, Refusal> {
        let half = critical(self.freedom, level)? * self.standard_error;
        Ok(Interval { low: finite(self.value - half)?, high: finite(self.value + half)? })
    }
}

/// How far from 0, on either side, the part `level` of Student's t lies.
pub fn critical(freedom: f64, level: f64) -> Result<f64, Refusal> {
    check_part("level", level)?;
    finite(distribution(freedom)?.inverse_cdf(0.5 + level / 2.0))
}

/// The part of Student's t that is above `t`.
pub(super) fn upper_tail(t: f64, freedom: f64) -> Result<f64, Refusal> {
    finite(distribution(freedom)?.sf(finite(t)?))
}

/// The upper limit below which the next value lies with probability `part`, by the mean and standard deviation of
/// `count` normal values: mean + t · sd · √(1 + 1/n) (Hahn & Meeker 1991, §4.7). It allows for the mean being an
/// estimate too, which mean + t · sd does not.
pub fn prediction_limit(count: usize, mean: f64, sd: f64, part: f64) -> Result<f64, Refusal> {
    check_part("probability", part)?;
    if count < 2 {
        return Err(Refusal::TooFew { have: count, needed: 2 });
    }
    let t = distribution(count as f64 - 1.0)?.inverse_cdf(part);
    finite(mean + t * sd * (1.0 + 1.0 / count as f64).sqrt())
}

fn distribution(freedom: f64) -> Result<StudentsT, Refusal> {
    let freedom = finite(freedom)?;
    StudentsT::new(0.0, 1.0, freedom).map_err(|_| Refusal::OutOfRange("number of degrees of freedom"))
}

#[cfg(test)]
pub(super) mod tests {
    use statrs::distribution::Normal;

    use super::*;
    use crate::analysis::reference::Checker;

    pub fn reference(check: &mut Checker) {
        for degrees in check.keys("/t_critical_0.975") {
            let t = critical(degrees.parse().unwrap(), 0.95).unwrap();
            check.close(&format!("/t_critical_0.975/{degrees}"), t);
        }
        check.close("/normal/ppf_0.975", Normal::standard().inverse_cdf(0.975));
        check.close("/normal/ppf_0.95", Normal::standard().inverse_cdf(0.95));
        check.close("/normal/cdf_1", Normal::standard().cdf(1.0));
        let example = "/cross_checks_against_published/bencher_docs_t_test_example";
        let published = |name: &str| format!("{example}/published/{name}");
        let [n, mean, sd, part] =
            ["n", "mean", "sd", "boundary"].map(|name| check.input(&published(name)).as_f64().unwrap());
        let limit = prediction_limit(n as usize, mean, sd, part).unwrap();
        check.digits(&published("upper_limit"), limit);
        check.digits(&format!("{example}/computed_mean_plus_t_s_sqrt_1_plus_1_over_n"), limit);
        // What is not meant: the limits that forget that the mean, or the deviation, is an estimate.
        let t = distribution(n - 1.0).unwrap().inverse_cdf(part);
        check.digits(&format!("{example}/computed_without_sqrt"), mean + t * sd);
        let normal = mean + Normal::standard().inverse_cdf(part) * sd;
        check.digits(&format!("{example}/computed_normal"), normal);
        assert!(limit > mean + t * sd && limit > normal);
    }

    #[test]
    fn the_values_are_those_of_the_reference() {
        Checker::run(reference);
    }

    #[test]
    fn what_tells_nothing_of_chance_is_refused() {
        assert_eq!(Estimate::new(1.0, 0.0, 5.0), Err(Refusal::Constant));
        assert_eq!(Estimate::new(f64::NAN, 1.0, 5.0), Err(Refusal::NotFinite));
        assert_eq!(Estimate::new(1.0, f64::INFINITY, 5.0), Err(Refusal::NotFinite));
        assert_eq!(Estimate::new(1.0, 1.0, f64::NAN), Err(Refusal::Constant));
        let estimate = Estimate::new(1.0, 1.0, 5.0).unwrap();
        for level in [0.0, 1.0, f64::NAN] {
            assert_eq!(estimate.interval(level), Err(Refusal::OutOfRange("level")));
        }
        assert_eq!(critical(0.0, 0.95), Err(Refusal::OutOfRange("number of degrees of freedom")));
        assert_eq!(prediction_limit(1, 1.0, 1.0, 0.9), Err(Refusal::TooFew { have: 1, needed: 2 }));
        assert_eq!(prediction_limit(5, 1.0, 1.0, 1.0), Err(Refusal::OutOfRange("probability")));
        assert_eq!(prediction_limit(5, f64::NAN, 1.0, 0.9), Err(Refusal::NotFinite));
    }

    #[test]
    fn an_estimate_of_0_says_nothing_against_chance() {
        let p = Estimate::new(0.0, 1.0, 3.0).unwrap().p().unwrap();
        assert!((p - 1.0).abs() < 1e-12);
    }
}
