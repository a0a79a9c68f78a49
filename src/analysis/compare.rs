//! One cell against another: which cell is the baseline of which, and how many times as large a value is
//! there. What may be said of that is in `verdict.rs`.

use std::collections::{BTreeMap, HashMap};

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

/// Which cell each one is compared with.
pub struct Baselines<'a, 'b> {
    baseline: &'b BTreeMap<String, String>,
    /// The cells of the baseline by all their other settings.
    exact: HashMap<Settings<'a>, &'a PlannedCell>,
    /// The same by workload and host alone, as far as the baseline leaves these open.
    near: HashMap<Settings<'a>, Vec<&'a PlannedCell>>,
}

type Settings<'a> = BTreeMap<&'a str, &'a str>;

impl<'a, 'b> Baselines<'a, 'b> {
    /// For `cells`, with the settings of `baseline`: axis name to value.
    pub fn new(cells: &'a [PlannedCell], baseline: &'b BTreeMap<String, String>) -> Self {
        let mut found = Baselines { baseline, exact: HashMap::new(), near: HashMap::new() };
        if baseline.is_empty() {
            return found;
        }
        for cell in cells.iter().filter(|cell| is_at(&settings(cell), baseline)) {
            let others = found.others(cell);
            found.near.entry(place(&others)).or_default().push(cell);
            found.exact.entry(others).or_insert(cell);
        }
        found
    }

    /// The cell that `cell` is compared with: the one with the settings of the baseline and otherwise the same.
    /// Where the matrix has no such cell (an excluded combination), the only cell of the same workload and host
    /// with those settings. None for a baseline cell itself, and where it is not clear which one.
    pub fn of(&self, cell: &PlannedCell) -> Option<&'a PlannedCell> {
        if self.baseline.is_empty() || is_at(&settings(cell), self.baseline) {
            return None;
        }
        let others = self.others(cell);
        match (self.exact.get(&others), self.near.get(&place(&others)).map(Vec::as_slice)) {
            (Some(exact), _) => Some(exact),
            (None, Some([only])) => Some(only),
            _ => None,
        }
    }

    /// The settings of a cell that the baseline leaves open.
    fn others<'c>(&self, cell: &'c PlannedCell) -> Settings<'c> {
        settings(cell).into_iter().filter(|(axis, _)| !self.baseline.contains_key(*axis)).collect()
    }
}

fn is_at(settings: &Settings<'_>, baseline: &BTreeMap<String, String>) -> bool {
    baseline.iter().all(|(axis, value)| settings.get(axis.as_str()) == Some(&value.as_str()))
}

/// Workload and host of some settings.
fn place<'a>(settings: &Settings<'a>) -> Settings<'a> {
    let fixed = settings.iter().filter(|(axis, _)| ["workload", "host"].contains(axis));
    fixed.map(|(axis, value)| (*axis, *value)).collect()
}

/// The value of every axis of a cell.
fn settings(cell: &PlannedCell) -> Settings<'_> {
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
            excluded: 0,
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
            let baselines = Baselines::new(&cells, &baseline);
            let found = baselines.of(&cell(cell_name)).map(|found| &*found.cell);
            assert_eq!(found, expected, "{cell_name} against {axis}={value}");
        }
        assert_eq!(Baselines::new(&cells, &BTreeMap::new()).of(&cells[1]), None);
    }
}
