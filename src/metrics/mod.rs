//! From a tool's output to measurements: one tool a file, each a pure function of bytes. Nothing here
//! runs a tool or decides what to keep; read [`MetricParser`] and [`Reading`] first.

mod check;
mod dd;
mod iperf3;
mod json;
mod regex;
mod text;
mod workload;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::units::{Better, Unit};

pub use check::{check, names};
pub use regex::extract_regex;
pub use text::{clean, reason, shown};
pub use workload::{elapsed, read, reads};

/// One value of a metric from one trial, in its base unit. Never NaN, never infinite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The metric's name, e.g. `throughput_received`.
    pub name: String,
    /// The value in `unit`.
    pub value: f64,
    /// The base unit of `value`.
    pub unit: Unit,
    /// Which direction is good, where the metric has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better: Option<Better>,
    /// What tells apart several values of one metric (an iozone grid's record size); empty for most.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// What a tool left behind: both outputs as bytes and its exit code.
#[derive(Debug, Clone, Copy, Default)]
pub struct ToolOutput<'a> {
    /// Standard output, bytes as they came.
    pub stdout: &'a [u8],
    /// Standard error, bytes as they came.
    pub stderr: &'a [u8],
    /// The exit code; `None` when it is not known or the tool was killed by a signal.
    pub exit_code: Option<i32>,
}

/// What was read: measurements, or the reason why there are none.
#[derive(Debug, Clone, PartialEq)]
pub enum Reading {
    /// The tool did its work and its output was understood.
    Ok {
        /// At least one value.
        measurements: Vec<Measurement>,
        /// What a user should see beside the values: text around the report, rounding, a counter the
        /// tool printed that can't be true.
        warnings: Vec<String>,
    },
    /// The tool failed, or its output was not understood: no value at all.
    Failed {
        /// The tool's own words where it has some, else what was not understood.
        reason: String,
    },
}

/// A metric that a tool can give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    /// Its name in YAML, records and tables.
    pub name: &'static str,
    /// Its base unit.
    pub unit: Unit,
    /// Which direction is good.
    pub better: Option<Better>,
    /// Whether it is kept when the file does not choose.
    pub headline: bool,
}

/// Reads one tool's output. Implementations are pure: same bytes, same reading.
pub trait MetricParser: Sync {
    /// The name in `metrics: { tool: NAME }`.
    fn tool(&self) -> &'static str;
    /// Every metric this tool can give.
    fn metrics(&self) -> Vec<Metric>;
    /// Reads a finished tool's output; everything found, not only headline metrics.
    fn read(&self, output: ToolOutput<'_>) -> Reading;
}

/// All known tools.
pub const TOOLS: &[&dyn MetricParser] = &[&dd::Dd, &iperf3::Iperf3];

/// The parser for `tool`, if it is known.
pub fn parser(tool: &str) -> Option<&'static dyn MetricParser> {
    TOOLS.iter().copied().find(|parser| parser.tool() == tool)
}
