//! The `metrics:` key of a workload: which tool printed the output, and what else is read out of it.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::located::{Located, Text};
use crate::units::Better;

/// Which metrics a workload has, besides `elapsed`.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Metrics {
    /// A known tool, whose standard metrics are read.
    pub tool: Option<Text>,
    /// The tool's metrics to keep; its headline metrics by default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<Text>,
    /// Further metrics, by name.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub extract: IndexMap<Text, Extract>,
}

/// A metric read by a rule of the file's own.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Extract {
    /// A regular expression; the group named `value`, else the first group, else the whole match is the number.
    pub regex: Text,
    /// `stdout` (the default), `stderr`, or `services.NAME.stdout` and `.stderr`.
    pub from: Option<Text>,
    /// The unit of the number: `bit/s`, `byte/s`, `s`, … or any text.
    pub unit: Option<Text>,
    /// Which direction is good.
    pub better: Option<Located<Better>>,
}
