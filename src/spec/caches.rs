//! The settings of the step `drop_caches`: whose page cache it is, and whether it must be possible. Read [`DropCaches`].

use std::fmt;

use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Writes the page cache back and empties it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DropCaches {
    /// Whose, in the order in which they are emptied.
    pub of: Vec<Layer>,
    /// Whether a machine where that is not possible gives a warning instead of a failure.
    pub optional: bool,
}

/// A machine with a page cache of its own. What a virtual machine writes back goes into the cache of the machine
/// below, so that the guest's is emptied first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Layer {
    /// The machine of the trial.
    Guest,
    /// The machine that its virtual machine runs on: the one that runs `runner`.
    Host,
}

/// Settings of `drop_caches`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DropCachesFields {
    /// Whose page caches: `guest` is the machine of the trial, `host` the one that a virtual machine of Vagrant runs on.
    ///
    /// Default: `[guest]`. Example: `{ of: [guest, host] }`
    #[serde(default)]
    #[schemars(extend("minItems" = 1, "uniqueItems" = true))]
    of: Option<Vec<Layer>>,
    /// Whether a machine where the page cache can't be dropped gives a warning instead of a failure.
    ///
    /// Default: `false`. Example: `{ optional: true }`
    optional: Option<bool>,
}

impl Default for DropCaches {
    fn default() -> Self {
        DropCaches { of: vec![Layer::Guest], optional: false }
    }
}

impl DropCaches {
    /// Whether the cache of the machine below is dropped.
    pub fn is_of_host(&self) -> bool {
        self.of.contains(&Layer::Host)
    }

    fn new(mut of: Vec<Layer>, optional: bool) -> Result<Self, String> {
        let written = of.len();
        of.sort();
        of.dedup();
        match (of.is_empty(), of.len() == written) {
            (true, _) => Err("whose page cache? write `[guest]`, `[host]` or `[guest, host]`".into()),
            (_, false) => Err("each of `guest` and `host` stands once".into()),
            _ => Ok(DropCaches { of, optional }),
        }
    }
}

impl<'de> Deserialize<'de> for DropCaches {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListOrMap;
        impl<'de> Visitor<'de> for ListOrMap {
            type Value = DropCaches;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of `guest` and `host`, or a section with keys,")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<DropCaches, A::Error> {
                let of = Vec::deserialize(SeqAccessDeserializer::new(list))?;
                DropCaches::new(of, false).map_err(A::Error::custom)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<DropCaches, A::Error> {
                let fields = DropCachesFields::deserialize(MapAccessDeserializer::new(map))?;
                let of = fields.of.unwrap_or_else(|| DropCaches::default().of);
                DropCaches::new(of, fields.optional.unwrap_or(false)).map_err(A::Error::custom)
            }
        }
        deserializer.deserialize_any(ListOrMap)
    }
}

/// As it stands below the step's name.
impl Serialize for DropCaches {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.optional {
            return self.of.serialize(serializer);
        }
        let mut map = serializer.serialize_map(None)?;
        if self.of != DropCaches::default().of {
            map.serialize_entry("of", &self.of)?;
        }
        map.serialize_entry("optional", &true)?;
        map.end()
    }
}
