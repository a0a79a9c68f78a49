//! The known tools: one file each, a pure function of what the tool printed. A new tool is a file in this
//! folder, a line in [`TOOLS`], and its outputs in `tests/fixtures/samples`.

mod dd;
mod fio;
mod hdparm;
mod ioping;
mod iozone;
mod iperf3;
mod mbw;

use super::MetricParser;

/// All known tools.
pub const TOOLS: &[&dyn MetricParser] = &[
    // In the order of their names.
    &dd::Dd,
    &fio::Fio,
    &hdparm::Hdparm,
    &ioping::Ioping,
    &iozone::Iozone,
    &iperf3::Iperf3,
    &mbw::Mbw,
];

/// The parser for `tool`, if it is known.
pub fn parser(tool: &str) -> Option<&'static dyn MetricParser> {
    TOOLS.iter().copied().find(|parser| parser.tool() == tool)
}
