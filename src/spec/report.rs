//! The `report:` section: what the results are compared with, and how they are shown.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::located::Text;

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
    /// A folder with templates of the report's files, by a path that starts at the folder of this file. A run keeps a
    /// copy of them.
    ///
    /// Default: the built-in ones. Example: `templates: ../templates/blog`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub templates: Option<Text>,
}
