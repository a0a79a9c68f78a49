//! The known tools: one file each, a pure function of what the tool printed. A new tool is a file in this
//! folder, a line in [`TOOLS`], and its outputs in `tests/fixtures/samples`.

mod dd;
mod iperf2;
mod iperf3;
mod netperf;
mod nuttcp;
mod ping;
mod qperf;
mod sockperf;
mod wrk;

use super::MetricParser;

/// All known tools.
pub const TOOLS: &[&dyn MetricParser] = &[
    // In the order of their names.
    &dd::Dd,
    &iperf2::Iperf2,
    &iperf3::Iperf3,
    &netperf::Netperf,
    &nuttcp::Nuttcp,
    &ping::Ping,
    &qperf::Qperf,
    &sockperf::Sockperf,
    &wrk::Wrk,
];

/// The parser for `tool`, if it is known.
pub fn parser(tool: &str) -> Option<&'static dyn MetricParser> {
    TOOLS.iter().copied().find(|parser| parser.tool() == tool)
}
