//! `expect`: what must hold for a trial to count, beside an output that is understood.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::located::{List, Text};
use super::schema;

/// What must hold for a trial to count. Each verdict is kept in its record.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// The exit codes that are fine.
    ///
    /// Default: `0`. Example: `exit: [0, 1]`
    #[serde(default, skip_serializing_if = "List::is_empty")]
    #[schemars(with = "schema::ExitCodes")]
    pub exit: List,
    /// The metrics that must be there.
    ///
    /// Default: none by name. Example: `metrics: [throughput_received]`
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub metrics: List,
    /// An expression that must be true; it may name the metrics, in their base units (bit/s, byte/s, s) whatever
    /// unit the file gives them.
    ///
    /// Default: none. Example: `when: "throughput_received > 10e6"`
    pub when: Option<Text>,
    /// A regular expression that no line of the output may match, standard error included.
    ///
    /// Default: none. Example: `not: "(?i)retransmit"`
    pub not: Option<Text>,
}

/// The exit code that `text` is.
///
/// # Errors
/// When it is not a whole number from 0 to 255.
pub fn exit_code(text: &str) -> Result<i32, String> {
    let refused = || format!("`{text}` is not an exit code: a whole number from 0 to 255");
    text.parse::<u8>().map(i32::from).map_err(|_| refused())
}
