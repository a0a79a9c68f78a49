//! One cell against another: which cell is the baseline of which, and how many times as large a value is
//! there. What may be said of that is in `verdict.rs`.

use std::collections::BTreeMap;

use super::interval::Interval;
use crate::record::PlannedCell;

/// How many times the baseline's value a value is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The geometric mean of the ratios of the pairs.
    pub estimate: f64,
    /// Its 95 % interval.
    pub interval: Interval,
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
mod tests {
    use super::*;
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
