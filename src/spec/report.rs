//! The `report:` section: what the results are compared with, and how they are shown.

mod chart;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::located::Text;

pub use chart::{Chart, ChartKind, LogAxes};

/// How the results are shown.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// What the other cells are compared with: axis to value.
    ///
    /// Default: none. Example: `baseline: { environment: native }`
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub baseline: IndexMap<Text, Text>,
    /// In which unit tables show a metric. Records and CSV files keep base units.
    ///
    /// Default: the largest in which most values are at least 1. Example: `units: { elapsed: ms }`
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub units: IndexMap<Text, Text>,
    /// The pictures.
    ///
    /// Default: of each workload its first metric, as lines where an axis is numeric, else as bars; its distribution
    /// and its series where it has one. Example: `charts: [{ kind: box, x: host }]`
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub charts: Vec<Chart>,
}
