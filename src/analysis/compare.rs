//! One cell against another: which cell is the baseline of which, and how many times as large a value is
//! there. No verdict, only the ratio and its interval.

use std::collections::BTreeMap;

use super::descriptive::mean;
use super::interval::{Interval, mean_interval};
use crate::record::PlannedCell;

/// How many times the baseline's value a value is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The geometric mean of the ratios of the pairs.
    pub estimate: f64,
    /// Its 95 % interval.
    pub interval: Interval,
}

/// The ratio of two samples paired by repetition, that is, by block: the mean of the differences of
/// logarithms with its t interval, `exp` of both (Kalibera & Jones 2013; Georges 2007 for the pairing).
/// Only repetitions in both samples count; none with fewer than 2 of them, or where a value is not above 0.
pub fn paired_ratio(values: &BTreeMap<u32, f64>, baseline: &BTreeMap<u32, f64>) -> Option<Ratio> {
    let pairs = values.iter().filter_map(|(repetition, value)| Some((*value, *baseline.get(repetition)?)));
    let logarithms: Option<Vec<f64>> =
        pairs.map(|(value, base)| (value > 0.0 && base > 0.0).then(|| value.ln() - base.ln())).collect();
    let logarithms = logarithms?;
    let Interval { low, high } = mean_interval(&logarithms)?;
    Some(Ratio { estimate: mean(&logarithms).exp(), interval: Interval { low: low.exp(), high: high.exp() } })
}

/// The cell that `cell` is compared with: the one with the settings of `baseline` and otherwise the same.
/// Where the matrix has no such cell (an excluded combination), the only cell of the same workload and host
/// with those settings. None for a baseline cell itself, and where it is not clear which one.
pub fn baseline_of<'a>(
    cell: &PlannedCell,
    cells: &'a [PlannedCell],
    baseline: &BTreeMap<String, String>,
) -> Option<&'a PlannedCell> {
    let at_baseline = |settings: &BTreeMap<&str, &str>| {
        baseline.iter().all(|(axis, value)| settings.get(axis.as_str()) == Some(&value.as_str()))
    };
    let own = settings(cell);
    if baseline.is_empty() || at_baseline(&own) {
        return None;
    }
    let like_own = |other: &BTreeMap<&str, &str>, axis: &str| {
        baseline.contains_key(axis) || other.get(axis) == own.get(axis)
    };
    let mut candidates = cells.iter().filter(|other| {
        let other = settings(other);
        at_baseline(&other) && like_own(&other, "workload") && like_own(&other, "host")
    });
    let exact = candidates.clone().find(|other| {
        let other = settings(other);
        own.keys().chain(other.keys()).all(|axis| like_own(&other, axis))
    });
    exact.or_else(|| candidates.next().filter(|_| candidates.next().is_none()))
}

/// The value of every axis of a cell.
fn settings(cell: &PlannedCell) -> BTreeMap<&str, &str> {
    let fixed = [("workload", &cell.workload), ("host", &cell.host), ("environment", &cell.environment)];
    let parameters = cell.parameters.iter().map(|(name, value)| (name.as_str(), value));
    fixed.into_iter().chain(parameters).map(|(axis, value)| (axis, value.as_str())).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::analysis::reference::{Checker, close, number, pairs, reference as file};

    pub fn reference(check: &mut Checker) {
        let (path, x, y) = pairs().into_iter().find(|(path, ..)| path.contains("darwin")).unwrap();
        let (x, y) = (by_repetition(&x), by_repetition(&y));
        let ratio = paired_ratio(&y, &x).unwrap();
        check.close(&format!("{path}/paired/geometric_mean_of_paired_ratios_y_over_x"), ratio.estimate);
        let inverse = paired_ratio(&x, &y).unwrap();
        assert!(close(inverse.interval.low, 1.0 / ratio.interval.high), "no direction is favoured");
    }

    fn by_repetition(values: &[f64]) -> BTreeMap<u32, f64> {
        (1..).zip(values.iter().copied()).collect()
    }

    #[test]
    fn the_paired_ratio_is_that_of_the_reference() {
        Checker::run(reference);
    }

    #[test]
    fn pairs_are_made_by_repetition() {
        let e = std::f64::consts::E;
        let base: BTreeMap<_, _> = [(1, 1.0), (2, 1.0), (4, 1.0)].into();
        let ratio = paired_ratio(&[(1, e), (2, e.powi(3)), (3, 100.0)].into(), &base).unwrap();
        assert!(close(ratio.estimate, e * e), "repetitions 1 and 2 are the pairs");
        // Two logarithms 1 and 3: mean 2, half-width t(1) · √2 / √2.
        assert!(close(ratio.interval.high, (2.0 + number(&file()["t_critical_0.975"]["1"])).exp()));
    }

    #[test]
    fn a_ratio_is_refused_where_it_has_no_meaning() {
        let two = by_repetition(&[1.0, 2.0]);
        for values in [&[][..], &[1.0], &[1.0, 0.0], &[1.0, -1.0]] {
            assert_eq!(paired_ratio(&by_repetition(values), &two), None, "{values:?}");
            assert_eq!(paired_ratio(&two, &by_repetition(values)), None, "{values:?}");
        }
    }

    fn cell(text: &str) -> PlannedCell {
        let mut parts = text.split('/').map(str::to_owned);
        let mut next = || parts.next().unwrap();
        PlannedCell {
            cell: text.to_owned(),
            workload: next(),
            host: next(),
            environment: next(),
            parameters: parts
                .map(|part| part.split_once('=').map(|(k, v)| (k.into(), v.into())).unwrap())
                .collect(),
            repetitions: 1,
            warmup: 0,
            settings: String::new(),
            adaptive: None,
            reached: None,
        }
    }

    #[test]
    fn the_baseline_has_the_named_settings_and_is_otherwise_the_same() {
        let cells = [
            "net/a/native/server=native",
            "net/a/docker/server=native",
            "net/a/docker/server=docker",
            "net/b/docker/server=docker",
            "disk/a/native/size=1",
            "disk/a/native/size=2",
            "disk/a/docker/size=2",
            "disk/a/docker/size=3",
        ]
        .map(cell);
        for (axis, value, cell_name, expected) in [
            ("environment", "native", "net/a/native/server=native", None),
            ("environment", "native", "net/a/docker/server=native", Some("net/a/native/server=native")),
            ("environment", "native", "net/a/docker/server=docker", Some("net/a/native/server=native")),
            ("environment", "native", "net/b/docker/server=docker", None),
            ("environment", "native", "disk/a/docker/size=2", Some("disk/a/native/size=2")),
            ("environment", "native", "disk/a/docker/size=3", None),
            ("size", "1", "disk/a/native/size=2", Some("disk/a/native/size=1")),
            ("host", "a", "net/b/docker/server=docker", Some("net/a/docker/server=docker")),
        ] {
            let baseline = [(axis.to_owned(), value.to_owned())].into();
            let found = baseline_of(&cell(cell_name), &cells, &baseline).map(|found| &*found.cell);
            assert_eq!(found, expected, "{cell_name} against {axis}={value}");
        }
        assert_eq!(baseline_of(&cells[1], &cells, &BTreeMap::new()), None);
    }
}
