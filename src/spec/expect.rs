//! `expect`: what must hold for a trial to count, beside an output that is understood.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::located::{List, Located, Text};
use super::schema;

/// What must hold for a trial to count. Each verdict is kept in its record.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// The exit codes that are fine.
    ///
    /// Default: `0`. Example: `exit: [0, 1]`
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "codes")]
    #[schemars(with = "schema::ExitCodes")]
    pub exit: Vec<Located<i32>>,
    /// The metrics that must be there.
    ///
    /// Default: none by name. Example: `metrics: [throughput_received]`
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub metrics: List,
    /// An expression that must be true; it may name the metrics, in their base units (bit/s, byte/s, s).
    ///
    /// Default: none. Example: `when: "throughput_received > 10e6"`
    pub when: Option<Text>,
    /// A regular expression that no line of the output may match, standard error included.
    ///
    /// Default: none. Example: `not: "(?i)retransmit"`
    pub not: Option<Text>,
}

/// One exit code or a list of them.
fn codes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Located<i32>>, D::Error> {
    let List { values, .. } = List::deserialize(deserializer)?;
    let code = |text: Text| match text.value.parse::<i32>().ok().filter(|code| (0..=255).contains(code)) {
        Some(value) => Ok(Located { value, span: text.span }),
        None => {
            let told = format!("`{}` is not an exit code: a whole number from 0 to 255", text.value);
            Err(serde::de::Error::custom(told))
        }
    };
    values.into_iter().map(code).collect()
}
