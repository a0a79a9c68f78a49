//! The known tools: one file each, a pure function of what the tool printed. A new tool is a file in this
//! folder, a line in [`TOOLS`], and its outputs in `tests/fixtures/samples`.

mod cyclictest;
mod dd;
mod hyperfine;
mod iperf3;
mod perf;
mod stress_ng;
mod sysbench;
mod time;

use super::MetricParser;

/// All known tools.
pub const TOOLS: &[&dyn MetricParser] = &[
    // In the order of their names.
    &cyclictest::Cyclictest,
    &dd::Dd,
    &hyperfine::Hyperfine,
    &iperf3::Iperf3,
    &perf::Perf,
    &stress_ng::StressNg,
    &sysbench::Sysbench,
    &time::Time,
];

/// The parser for `tool`, if it is known.
pub fn parser(tool: &str) -> Option<&'static dyn MetricParser> {
    TOOLS.iter().copied().find(|parser| parser.tool() == tool)
}
