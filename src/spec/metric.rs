//! The `metrics:` key of a workload: which tool printed the output, and what else is read out of it.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::located::{List, Located, Text};
use super::schema;
use crate::units::Better;

/// Which metrics a workload has, besides `elapsed`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Metrics {
    /// A known tool, whose standard metrics are read.
    ///
    /// Default: none. Example: `tool: iperf3`
    pub tool: Option<Text>,
    /// The tool's metrics to keep.
    ///
    /// Default: its headline metrics. Example: `keep: [throughput_received]`
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub keep: List,
    /// Further metrics, by name.
    ///
    /// Default: none. Example: `extract: { rate: { regex: "rate: (\\S+)", unit: MB/s, better: higher } }`
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub extract: IndexMap<Text, Extract>,
}

impl Metrics {
    /// Whether nothing is read.
    pub fn is_empty(&self) -> bool {
        self.tool.is_none() && self.keep.is_empty() && self.extract.is_empty()
    }
}

/// A metric read by a rule of the file's own.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Extract {
    /// A regular expression that matches once; the group named `value`, else the first group, else the
    /// whole match is the number.
    ///
    /// Example: `regex: "rate: (\\S+)"`
    pub regex: Text,
    /// The output it is read from: `stdout`, `stderr`, `services.NAME.stdout` or `services.NAME.stderr`.
    ///
    /// Default: `stdout`. Example: `from: stderr`
    #[schemars(with = "Option<schema::Stream>")]
    pub from: Option<Text>,
    /// The unit of the number: `bit/s`, `byte/s`, `s`, `ms`, `MB/s`, … or any text.
    ///
    /// Default: none. Example: `unit: MB/s`
    pub unit: Option<Text>,
    /// Which direction is good: `higher` or `lower`.
    ///
    /// Default: not said. Example: `better: higher`
    pub better: Option<Located<Better>>,
}
