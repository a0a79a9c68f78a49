//! When a cell has been measured often enough: the rule of adaptive repetitions. It looks at the width of an
//! interval alone, never at whether two cells differ: stopping when they do would find differences that are
//! not there.

use super::descriptive::quantile;
use super::interval::median_interval;

/// Whether the 95 % order-statistic interval of the median of `sample` (in any order) is at most `until` (a part
/// of 1) of the median wide. Never below 6 values, where there is no interval, nor with a median of 0 unless all
/// of the interval is 0.
pub fn is_precise(sample: &[f64], until: f64) -> bool {
    width(sample).is_some_and(|width| width <= until)
}

/// The width of that interval relative to the median; none where there is no interval.
pub fn width(sample: &[f64]) -> Option<f64> {
    let mut sorted = sample.to_vec();
    sorted.sort_by(f64::total_cmp);
    let interval = median_interval(&sorted)?;
    let wide = interval.high - interval.low;
    match wide == 0.0 {
        true => Some(0.0),
        false => Some(wide / quantile(&sorted, 0.5).abs()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_decides_and_nothing_else() {
        let around = |half: f64, count: usize| -> Vec<f64> {
            (0..count).map(|index| if index % 2 == 0 { 100.0 - half } else { 100.0 + half }).collect()
        };
        for (sample, until, expected) in [
            (around(1.0, 5), 0.5, false),
            (around(1.0, 10), 0.02, true),
            (around(1.0, 10), 0.0199, false),
            (vec![3.0; 6], 0.0, true),
            (vec![0.0; 10], 0.01, true),
            (vec![-1.0, 1.0, -1.0, 1.0, -1.0, 1.0], 10.0, false),
            ([around(0.1, 20), vec![1e9]].concat(), 0.01, true),
        ] {
            assert_eq!(is_precise(&sample, until), expected, "{sample:?} until {until}");
        }
    }
}
