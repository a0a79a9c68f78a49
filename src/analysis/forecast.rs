//! How long a plan will take, from what its cells took in an earlier run. A guess for people: it knows
//! nothing of images to build or of machines that have changed. Read [`Load`] and [`forecast`].

use std::collections::{BTreeMap, BTreeSet};

use super::descriptive::quantile;
use crate::record::{Record, Status};

/// What one cell asks of its hosts.
#[derive(Debug, Clone)]
pub struct Load {
    /// The cell's name.
    pub cell: String,
    /// Its workload.
    pub workload: String,
    /// Every host that is busy meanwhile.
    pub hosts: BTreeSet<String>,
    /// Its trials, warm-up among them.
    pub trials: u32,
}

/// How long a plan will take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forecast {
    /// The time of the busiest host, in seconds: hosts work side by side.
    pub seconds: f64,
    /// How many cells the earlier run has measured.
    pub known: usize,
    /// How many cells there are.
    pub cells: usize,
}

/// Each trial takes as long as the median whole trial of its cell did in `records`. One of a cell that is
/// not there takes as long as those of its workload; one of an unknown workload counts nothing.
pub fn forecast(loads: impl Iterator<Item = Load>, records: &[Record]) -> Forecast {
    let ok = || records.iter().filter(|record| record.status == Status::Ok);
    let of_cells = medians(ok().map(|record| (record.cell.as_str(), record.elapsed_s)));
    let of_workloads = medians(ok().map(|record| (record.workload.as_str(), record.elapsed_s)));
    let mut hosts: BTreeMap<String, f64> = BTreeMap::new();
    let (mut known, mut cells) = (0, 0);
    for load in loads {
        let own = of_cells.get(&*load.cell);
        cells += 1;
        known += usize::from(own.is_some());
        let Some(median) = own.or_else(|| of_workloads.get(&*load.workload)) else { continue };
        for host in load.hosts {
            *hosts.entry(host).or_default() += median * f64::from(load.trials);
        }
    }
    Forecast { seconds: hosts.into_values().fold(0.0, f64::max), known, cells }
}

fn medians<'a>(values: impl Iterator<Item = (&'a str, f64)>) -> BTreeMap<&'a str, f64> {
    let mut samples: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (name, value) in values {
        samples.entry(name).or_default().push(value);
    }
    let median = |mut sample: Vec<f64>| {
        sample.sort_by(f64::total_cmp);
        quantile(&sample, 0.5)
    };
    samples.into_iter().map(|(name, sample)| (name, median(sample))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(cell: &str, status: &str, elapsed_s: f64) -> Record {
        let workload = cell.split('/').next().unwrap();
        serde_json::from_value(serde_json::json!({
            "v": 1, "trial": format!("{cell}#1"), "cell": cell, "workload": workload, "host": "h",
            "environment": "n", "parameters": {}, "repetition": 1, "attempt": 1, "block": 1, "order": 1,
            "phase": "measure", "status": status, "stage": null, "reason": null,
            "started": "2026-11-30T11:45:12Z", "elapsed_s": elapsed_s, "outputs": [], "measurements": [],
        }))
        .unwrap()
    }

    fn load(cell: &str, hosts: &[&str], trials: u32) -> Load {
        let hosts = hosts.iter().map(|&host| host.to_owned()).collect();
        let workload = cell.split('/').next().unwrap().to_owned();
        Load { cell: cell.to_owned(), workload, hosts, trials }
    }

    #[test]
    fn the_busiest_host_decides() {
        let records = [
            record("read/a", "ok", 1.0),
            record("read/a", "ok", 3.0),
            record("read/a", "ok", 20.0),
            record("read/a", "failed", 500.0),
            record("net/a", "ok", 2.0),
            record("net/b", "ok", 4.0),
        ];
        let cases: [(&str, Vec<Load>, f64, usize); 5] = [
            ("the median of what is ok", vec![load("read/a", &["a"], 10)], 30.0, 1),
            ("side by side", vec![load("read/a", &["a"], 10), load("net/b", &["b"], 10)], 40.0, 2),
            (
                "on a shared server one after the other",
                vec![load("net/a", &["a", "server"], 5), load("net/b", &["b", "server"], 5)],
                30.0,
                2,
            ),
            ("a new cell takes as long as its workload", vec![load("net/c", &["c"], 2)], 6.0, 0),
            ("a new workload is not known", vec![load("write/a", &["a"], 2)], 0.0, 0),
        ];
        for (what, loads, seconds, known) in cases {
            let cells = loads.len();
            assert_eq!(forecast(loads.into_iter(), &records), Forecast { seconds, known, cells }, "{what}");
        }
    }
}
