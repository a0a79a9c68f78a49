//! Which mean of a sample is right, the mean itself, and how far it can be trusted.

use super::descriptive::mean;
use super::interval::{Interval, mean_interval};
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

fn reciprocals(sample: &[f64]) -> Vec<f64> {
    sample.iter().map(|value| value.recip()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::reference::close;

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
