//! From what a command printed to measurements: `tools/` holds one known tool a file. Nothing here runs a
//! tool; read [`MetricParser`] and [`Reading`] first.

mod check;
mod extract;
pub mod histogram;
mod json;
mod long;
mod plausible;
mod quantity;
mod text;
mod tools;
mod workload;

use std::collections::BTreeMap;
use std::io::BufRead;

use serde::{Deserialize, Serialize};

use crate::units::{Better, Fixed, Unit};
use histogram::Histogram;

pub use check::{ELAPSED, check, names, unit_of};
pub use long::needed;
pub use plausible::read_tool;
pub use text::{clean, reason, shown};
pub use tools::{TOOLS, parser, version_command};
pub use workload::{Read, add_elapsed, read, reads};

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
    /// What the trials hold fixed, for a rate of which it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed: Option<Fixed>,
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

/// What was read: values, or the reason why there are none.
#[derive(Debug, Clone, PartialEq)]
pub enum Reading {
    /// The tool did its work and its output was understood.
    Ok(Values),
    /// The tool failed, or its output was not understood: no value at all.
    Failed {
        /// The tool's own words where it has some, else what was not understood.
        reason: String,
    },
}

/// What a tool's output holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Values {
    /// At least one value, in the order in which a table shows them.
    pub measurements: Vec<Measurement>,
    /// What a user should see beside the values: text around the report, rounding, a counter that can't be true.
    pub warnings: Vec<String>,
    /// The tool's version as its output gives it, e.g. `fio-3.33`; none where the output does not say.
    pub version: Option<String>,
    /// What changes in the course of the trial. No point of it is a sample.
    pub series: Vec<Series>,
    /// Distributions of many values each.
    pub histograms: Vec<Distribution>,
}

/// What is read of a trial besides values.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Details {
    /// The version of each tool, as its output gives it; `SERVICE.TOOL` for the tool of a service.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, String>,
    /// Quantities over the time of the trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<Series>,
    /// Distributions of many values each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub histograms: Vec<Distribution>,
}

impl Details {
    /// Whether nothing was read.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty() && self.series.is_empty() && self.histograms.is_empty()
    }

    /// These and `others`.
    pub fn extend(&mut self, others: Details) {
        self.tools.extend(others.tools);
        self.series.extend(others.series);
        self.histograms.extend(others.histograms);
    }
}

/// The many values of one quantity in one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// The quantity, e.g. `latency`.
    pub name: String,
    /// The base unit of its values.
    pub unit: Unit,
    /// What tells apart several distributions of one quantity.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// How many values lie where.
    pub histogram: Histogram,
}

/// A quantity over the time of one trial, as the tool reports it meanwhile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The quantity, e.g. `throughput`.
    pub name: String,
    /// The base unit of its values.
    pub unit: Unit,
    /// Seconds since the start, and the value up to there; both finite.
    pub points: Vec<(f64, f64)>,
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
    /// What the trials hold fixed, where the tool always does.
    pub fixed: Option<Fixed>,
}

impl Metric {
    /// A metric that is kept only where the file asks for it.
    pub const fn new(name: &'static str, unit: Unit, better: Option<Better>) -> Self {
        Self { name, unit, better, headline: false, fixed: None }
    }

    /// A metric that is kept when the file does not choose.
    pub const fn headline(name: &'static str, unit: Unit, better: Option<Better>) -> Self {
        Self { name, unit, better, headline: true, fixed: None }
    }

    /// The same of a tool whose trials all hold `fixed`.
    pub const fn over(mut self, fixed: Fixed) -> Self {
        self.fixed = Some(fixed);
        self
    }

    /// A measurement of this metric; `value` is in its base unit.
    pub fn measured(&self, value: f64) -> Measurement {
        let (name, unit) = (self.name.to_owned(), self.unit.clone());
        let (better, fixed) = (self.better, self.fixed);
        Measurement { name, value, unit, better, fixed, labels: BTreeMap::new() }
    }
}

impl Measurement {
    /// The same with a label, e.g. `reclen_kB` and `4`.
    #[must_use]
    pub fn labelled(mut self, label: &str, value: impl Into<String>) -> Self {
        self.labels.insert(label.to_owned(), value.into());
        self
    }
}

/// Reads one tool's output. Implementations are pure: same bytes, same reading.
pub trait MetricParser: Sync {
    /// The name in `metrics: { tool: NAME }`.
    fn tool(&self) -> &'static str;
    /// Every metric this tool can give, as far as their names are ours.
    fn metrics(&self) -> Vec<Metric>;
    /// The program that is executed; none where it may be one of several, or the shell itself.
    fn program(&self) -> Option<&'static str> {
        Some(self.tool())
    }
    /// With what option the program tells its version; none where it tells none.
    fn version_option(&self) -> Option<&'static str> {
        Some("--version")
    }
    /// Whether the tool's own names are names of metrics too, as perf's events are.
    fn names_more(&self) -> bool {
        false
    }
    /// Whether a line of a long output says something; one that does not is never kept. The line may be cut.
    fn needs(&self, _line: &[u8]) -> bool {
        true
    }
    /// Reads a standard output that may be longer than memory, where its form allows; none where it is to be read
    /// as a whole, and then nothing was taken from it.
    fn read_long(&self, _reader: &mut dyn BufRead) -> Option<Reading> {
        None
    }
    /// Whether the tool can tell a quantity over the time of the trial.
    fn has_series(&self) -> bool {
        false
    }
    /// Reads a finished tool's output; everything found, not only headline metrics.
    fn read(&self, output: ToolOutput<'_>) -> Reading;
}
