//! Reads ioping: its closing lines, the line of `-batch`, or the document of `-json`. The figures are of
//! the requests themselves; warm-up requests and the pauses between requests are not in them.

mod forms;

use crate::metrics::{Metric, MetricParser, Reading, ToolOutput, text};
use crate::units::{Better, Unit};

/// The ioping parser.
pub struct Ioping;

const LATENCY_AVG: Metric = Metric::headline("latency_avg", Unit::Second, Some(Better::Lower));
const IOPS: Metric = Metric::headline("iops", Unit::PerSecond, Some(Better::Higher));
const THROUGHPUT: Metric = Metric::new("throughput", Unit::BytePerSecond, Some(Better::Higher));
const LATENCY_MIN: Metric = Metric::new("latency_min", Unit::Second, Some(Better::Lower));
const LATENCY_MAX: Metric = Metric::new("latency_max", Unit::Second, Some(Better::Lower));
const LATENCY_MDEV: Metric = Metric::new("latency_mdev", Unit::Second, Some(Better::Lower));
const REQUESTS: Metric = Metric::new("requests", Unit::Count, None);

impl MetricParser for Ioping {
    fn tool(&self) -> &'static str {
        "ioping"
    }

    fn metrics(&self) -> Vec<Metric> {
        vec![LATENCY_AVG, IOPS, THROUGHPUT, LATENCY_MIN, LATENCY_MAX, LATENCY_MDEV, REQUESTS]
    }

    fn read(&self, output: ToolOutput<'_>) -> Reading {
        let stdout = text::clean(output.stdout);
        let stderr = text::clean(output.stderr);
        if let Some(reason) = stderr.lines().find(|line| line.starts_with("ioping: ")).and_then(text::shown) {
            return Reading::Failed { reason };
        }
        if output.exit_code.is_some_and(|code| code != 0) {
            return text::failed("ioping failed", output);
        }
        match forms::read(&stdout) {
            Err(what) => text::failed(&what, output),
            Ok(mut values) => {
                values.warnings.extend(stderr.lines().filter_map(text::shown).take(5));
                Reading::Ok(values)
            }
        }
    }
}
