//! The known tools: one file each, a pure function of what the tool printed. A new tool is a file in this
//! folder, a line in [`TOOLS`], and its outputs in `tests/fixtures/samples`.

mod cyclictest;
mod dd;
mod fio;
mod hdparm;
mod histogram;
mod hyperfine;
mod ioping;
mod iozone;
mod iperf2;
mod iperf3;
mod mbw;
mod netperf;
mod nuttcp;
mod perf;
mod ping;
mod qperf;
mod sockperf;
mod stress_ng;
mod sysbench;
mod time;
mod wrk;

use super::MetricParser;

/// All known tools.
pub const TOOLS: &[&dyn MetricParser] = &[
    // In the order of their names.
    &cyclictest::Cyclictest,
    &dd::Dd,
    &fio::Fio,
    &hdparm::Hdparm,
    &histogram::Histogram,
    &hyperfine::Hyperfine,
    &ioping::Ioping,
    &iozone::Iozone,
    &iperf2::Iperf2,
    &iperf3::Iperf3,
    &mbw::Mbw,
    &netperf::Netperf,
    &nuttcp::Nuttcp,
    &perf::Perf,
    &ping::Ping,
    &qperf::Qperf,
    &sockperf::Sockperf,
    &stress_ng::StressNg,
    &sysbench::Sysbench,
    &time::Time,
    &wrk::Wrk,
];

/// The command by which `tool` tells its version on its first line, where it does.
pub fn version_command(tool: &str) -> Option<String> {
    let parser = parser(tool)?;
    Some(format!("{} {}", parser.program()?, parser.version_option()?))
}

/// The parser for `tool`, if it is known.
pub fn parser(tool: &str) -> Option<&'static dyn MetricParser> {
    TOOLS.iter().copied().find(|parser| parser.tool() == tool)
}
