//! Which mean of a sample is right, the mean itself, and how far it can be trusted.

use super::descriptive::mean;
use super::interval::{Interval, mean_interval};
use super::refusal::{Refusal, check_positive, finite};
use crate::units::{Fixed, Unit};

/// A kind of mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mean {
    /// The sum by the number of values: of times and counts, and of rates over a fixed time.
    Arithmetic,
    /// The reciprocal of the mean of reciprocals: of rates over fixed work it is all work by all time (Hoefler & Belli
    /// 2015, rule 3).
    Harmonic,
}

impl Mean {
    /// The mean for a `sample` in `unit` whose trials held `fixed`. It is harmonic only where each trial says that
    /// its work was fixed, and all rates are above 0: records of before say nothing.
    pub fn of(unit: &Unit, fixed: impl IntoIterator<Item = Option<Fixed>>, sample: &[f64]) -> Self {
        let is_of_work = fixed.into_iter().all(|fixed| fixed == Some(Fixed::Work));
        match is_of_work && unit.is_rate() && !sample.is_empty() && sample.iter().all(|rate| *rate > 0.0) {
            true => Mean::Harmonic,
            false => Mean::Arithmetic,
        }
    }

    /// The mean of at least one value.
    pub fn value(self, sample: &[f64]) -> f64 {
        match self {
            Mean::Arithmetic => mean(sample),
            Mean::Harmonic => mean(&reciprocals(sample)).recip(),
        }
    }

    /// Its 95 % interval, none below 2 values: Student's t interval, for a harmonic mean that of the reciprocals (the
    /// times of one unit of work) turned round. Where that one reaches 0 there is none: nothing bounds the rate above.
    pub fn interval(self, sample: &[f64]) -> Option<Interval> {
        match self {
            Mean::Arithmetic => mean_interval(sample),
            Mean::Harmonic => {
                let times = mean_interval(&reciprocals(sample)).filter(|times| times.low > 0.0)?;
                Some(Interval { low: times.high.recip(), high: times.low.recip() })
            }
        }
    }

    /// `arithmetic` or `harmonic`.
    pub fn as_str(self) -> &'static str {
        match self {
            Mean::Arithmetic => "arithmetic",
            Mean::Harmonic => "harmonic",
        }
    }
}

/// The geometric mean, by logarithms: the mean of ratios, for which it is the same both ways round (Fleming & Wallace
/// 1986). Refused without values, and with values that are not above 0.
pub fn geometric_mean(sample: &[f64]) -> Result<f64, Refusal> {
    check_positive(sample, 1)?;
    let logarithms: Vec<f64> = sample.iter().map(|value| value.ln()).collect();
    finite(mean(&logarithms).exp())
}

/// The harmonic mean. Refused without values, and with values that are not above 0.
pub fn harmonic_mean(sample: &[f64]) -> Result<f64, Refusal> {
    check_positive(sample, 1)?;
    finite(Mean::Harmonic.value(sample))
}

fn reciprocals(sample: &[f64]) -> Vec<f64> {
    sample.iter().map(|value| value.recip()).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::Value;

    use super::*;
    use crate::analysis::reference::{Checker, close, numbers, samples};

    pub fn reference(check: &mut Checker) {
        for (path, sample) in samples() {
            for (key, mean) in
                [("geometric_mean", geometric_mean(&sample)), ("harmonic_mean", harmonic_mean(&sample))]
            {
                match mean {
                    Ok(mean) => check.close(&format!("{path}/{key}"), mean),
                    Err(refusal) => {
                        check.same(&format!("{path}/{key}"), Value::Null);
                        assert_eq!(refusal, Refusal::NotPositive);
                    }
                }
            }
        }
        let path = |name: &str| format!("/means_of_rates/{name}");
        let rates = numbers(check.input(&path("two_transfers_same_bytes_MBps")));
        check.close(&path("arithmetic"), Mean::Arithmetic.value(&rates));
        check.close(&path("equal_durations_correct"), Mean::Arithmetic.value(&rates));
        check.close(&path("harmonic_correct_for_equal_bytes"), harmonic_mean(&rates).unwrap());
        let paradox = |name: &str| path(&format!("normalised_ratio_paradox/{name}"));
        let [a, b] = ["A", "B"].map(|name| numbers(check.input(&paradox(name))));
        let ratios = |above: &[f64], below: &[f64]| -> Vec<f64> {
            above.iter().zip(below).map(|(above, below)| above / below).collect()
        };
        check.close(&paradox("mean_B_over_A"), mean(&ratios(&b, &a)));
        check.close(&paradox("mean_A_over_B"), mean(&ratios(&a, &b)));
        check.close(&paradox("geomean_B_over_A"), geometric_mean(&ratios(&b, &a)).unwrap());
    }

    #[test]
    fn the_values_are_those_of_the_reference() {
        Checker::run(reference);
    }

    #[test]
    fn a_mean_of_what_is_not_above_0_is_refused() {
        for mean in [geometric_mean, harmonic_mean] {
            assert_eq!(mean(&[]), Err(Refusal::TooFew { have: 0, needed: 1 }));
            assert_eq!(mean(&[1.0, 0.0]), Err(Refusal::NotPositive));
            assert_eq!(mean(&[1.0, f64::INFINITY]), Err(Refusal::NotFinite));
            assert!(close(mean(&[7.0]).unwrap(), 7.0));
        }
    }

    #[test]
    fn only_rates_over_fixed_work_have_the_harmonic_mean() {
        let (work, time) = (Some(Fixed::Work), Some(Fixed::Time));
        for (unit, fixed, sample, expected) in [
            (Unit::BytePerSecond, [work, work], [1.0, 2.0], Mean::Harmonic),
            (Unit::BitPerSecond, [work, work], [1.0, 2.0], Mean::Harmonic),
            (Unit::PerSecond, [work, work], [1.0, 2.0], Mean::Harmonic),
            (Unit::BytePerSecond, [time, time], [1.0, 2.0], Mean::Arithmetic),
            (Unit::BytePerSecond, [work, None], [1.0, 2.0], Mean::Arithmetic),
            (Unit::BytePerSecond, [work, work], [0.0, 2.0], Mean::Arithmetic),
            (Unit::Second, [work, work], [1.0, 2.0], Mean::Arithmetic),
            (Unit::Other("MFLOPS".into()), [work, work], [1.0, 2.0], Mean::Arithmetic),
        ] {
            assert_eq!(Mean::of(&unit, fixed, &sample), expected, "{unit} {fixed:?} {sample:?}");
        }
        assert_eq!(Mean::of(&Unit::PerSecond, [], &[]), Mean::Arithmetic);
    }

    #[test]
    fn the_interval_of_a_harmonic_mean_is_that_of_the_times() {
        // 60 units of work in 10, 12 and 14 s: 12 s ± t(2) · 2 s / √3.
        let rates = [10.0, 12.0, 14.0].map(|seconds| 60.0 / seconds);
        let half = 4.302_652_729_749_464 * 2.0 / 3.0_f64.sqrt();
        assert!(close(Mean::Harmonic.value(&rates), 5.0));
        let interval = Mean::Harmonic.interval(&rates).unwrap();
        assert!(close(interval.low, 60.0 / (12.0 + half)) && close(interval.high, 60.0 / (12.0 - half)));
        assert_eq!(Mean::Harmonic.interval(&[5.0]), None);
        // 1 s and 100 s: the time may be 0.
        assert_eq!(Mean::Harmonic.interval(&[1.0, 0.01]), None);
        assert_eq!(Mean::Arithmetic.interval(&rates), mean_interval(&rates));
    }
}
