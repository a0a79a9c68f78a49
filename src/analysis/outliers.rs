//! Values far from all others. They are flagged, and none is left out because of it.

use super::descriptive::quantile;
use super::refusal::{Refusal, check, finite, sorted};
use super::spread::{NORMAL_SCALE, median_absolute_deviation};

/// Fences at so many interquartile ranges from the quartiles: "far out" after Tukey 1977.
pub const FAR_OUT: f64 = 3.0;
/// A distance from the median of so many robust standard deviations is flagged.
pub const FAR: f64 = 10.0;

/// The places, from 0, of the values beyond the fences at `ranges` interquartile ranges from the quartiles (Tukey
/// 1977, §2C; 1.5 and 3 are usual). Refused below 4 values, which have no quartiles of their own, and where the middle
/// half are one value: any other would be beyond.
pub fn beyond_fences(sample: &[f64], ranges: f64) -> Result<Vec<usize>, Refusal> {
    check(sample, 4)?;
    let sorted = sorted(sample);
    let (low, high) = (quantile(&sorted, 0.25), quantile(&sorted, 0.75));
    let room = finite(ranges * (high - low))?;
    if high == low {
        return Err(Refusal::Constant);
    }
    Ok(places(sample, |value| value < low - room || value > high + room))
}

/// The distance of each value from the median in robust standard deviations, the median absolute deviation times
/// 1.4826 (the modified z of Iglewicz & Hoaglin 1993, whose 0.6745 is the inverse). Refused below 3 values and where half
/// of the values are one.
pub fn robust_z(sample: &[f64]) -> Result<Vec<f64>, Refusal> {
    check(sample, 3)?;
    let scale = NORMAL_SCALE * median_absolute_deviation(sample)?;
    if scale == 0.0 {
        return Err(Refusal::Constant);
    }
    let median = quantile(&sorted(sample), 0.5);
    sample.iter().map(|value| finite((value - median) / scale)).collect()
}

/// The places, from 0, of the values to point out: beyond the outer fences, or more than 10 robust standard deviations
/// from the median. Refused where neither rule applies.
pub fn outliers(sample: &[f64]) -> Result<Vec<usize>, Refusal> {
    let z = robust_z(sample);
    let by_z = z.map(|z| places(&z, |z| z.abs() > FAR));
    match (beyond_fences(sample, FAR_OUT), by_z) {
        (Ok(beyond), Ok(far)) => {
            Ok((0..sample.len()).filter(|at| beyond.contains(at) || far.contains(at)).collect())
        }
        (Ok(found), Err(_)) | (Err(_), Ok(found)) => Ok(found),
        (Err(refusal), Err(_)) => Err(refusal),
    }
}

fn places(sample: &[f64], is_out: impl Fn(f64) -> bool) -> Vec<usize> {
    sample.iter().enumerate().filter(|(_, value)| is_out(**value)).map(|(place, _)| place).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;
    use crate::analysis::reference::{Checker, samples};

    pub fn reference(check: &mut Checker) {
        for (path, sample) in samples() {
            let far_out = beyond_fences(&sample, FAR_OUT).unwrap();
            check.same(
                &format!("{path}/tukey_outliers_idx0_1.5iqr"),
                json!(beyond_fences(&sample, 1.5).unwrap()),
            );
            check.same(&format!("{path}/tukey_outliers_idx0_3iqr"), json!(far_out));
            let largest = robust_z(&sample).unwrap().into_iter().fold(0.0, |most: f64, z| most.max(z.abs()));
            check.close(&format!("{path}/modified_z_max_abs_0.6745"), largest);
            assert_eq!(outliers(&sample).unwrap(), far_out, "none is 10 deviations away");
        }
    }

    #[test]
    fn the_values_are_those_of_the_reference() {
        Checker::run(reference);
    }

    #[test]
    fn without_a_scale_nothing_is_flagged() {
        assert_eq!(outliers(&[1.0; 10]), Err(Refusal::Constant));
        assert_eq!(outliers(&[1.0, 2.0]), Err(Refusal::TooFew { have: 2, needed: 4 }));
        assert_eq!(outliers(&[1.0, 2.0, f64::NAN, 4.0]), Err(Refusal::NotFinite));
        assert_eq!(robust_z(&[1.0, 1.0, 1.0, 5.0]), Err(Refusal::Constant));
        assert_eq!(outliers(&[1.0, 1.1, 0.9, 1.05, 0.95, 40.0]), Ok(vec![5]));
    }
}
