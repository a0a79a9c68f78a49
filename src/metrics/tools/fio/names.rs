//! The metrics of fio, per direction of data.

use crate::metrics::Metric;
use crate::units::{Better, Unit};

/// One direction in which jobs move data, with its metrics.
pub struct Direction {
    /// Its key in a job of the JSON report.
    pub key: &'static str,
    pub rate: Metric,
    pub iops: Metric,
    /// Completion latency: from the submission of a request to its end.
    pub clat_mean: Metric,
    /// Completion latency by percentile.
    pub percentiles: [(f64, Metric); 4],
}

macro_rules! direction {
    ($key:literal) => {
        Direction {
            key: $key,
            rate: Metric::headline(concat!($key, "_rate"), Unit::BytePerSecond, Some(Better::Higher)),
            iops: Metric::headline(concat!($key, "_iops"), Unit::PerSecond, Some(Better::Higher)),
            clat_mean: latency(concat!($key, "_clat_mean")),
            percentiles: [
                (50.0, latency(concat!($key, "_clat_p50"))),
                (95.0, latency(concat!($key, "_clat_p95"))),
                (99.0, latency(concat!($key, "_clat_p99"))),
                (99.9, latency(concat!($key, "_clat_p99.9"))),
            ],
        }
    };
}

/// Every direction; `mixed` is what fio calls all of them with `unified_rw_reporting`.
pub static DIRECTIONS: [Direction; 4] =
    [direction!("read"), direction!("write"), direction!("trim"), direction!("mixed")];

const fn latency(name: &'static str) -> Metric {
    Metric::new(name, Unit::Second, Some(Better::Lower))
}

/// Every metric, in the order of a table.
pub fn metrics() -> Vec<Metric> {
    let of_direction = |direction: &Direction| {
        let mut metrics = vec![direction.rate.clone(), direction.iops.clone(), direction.clat_mean.clone()];
        metrics.extend(direction.percentiles.iter().map(|(_, metric)| metric.clone()));
        metrics
    };
    DIRECTIONS.iter().flat_map(of_direction).collect()
}
