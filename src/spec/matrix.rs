//! The `matrix:` section: which combinations are measured.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

use super::located::{List, Located, Text};

/// One block: the product of its axes, without what `exclude` takes out.
#[derive(Debug, Clone, Default)]
pub struct Block {
    /// Axis name (`workload`, `host`, `environment`, or a parameter) and its values.
    pub axes: Vec<(Text, List)>,
    /// Combinations that are left out.
    pub exclude: Vec<Located<Exclude>>,
    /// Measured trials of each cell of this block.
    pub repetitions: Option<Located<u32>>,
    /// Warm-up trials of each cell of this block.
    pub warmup: Option<Located<u32>>,
}

/// Which combinations are left out.
#[derive(Debug, Clone)]
pub enum Exclude {
    /// Those with one of these values on each named axis.
    Values(Vec<(Text, List)>),
    /// Those for which this expression is true.
    Expression(String),
}

impl<'de> Deserialize<'de> for Block {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BlockVisitor;
        impl<'de> Visitor<'de> for BlockVisitor {
            type Value = Block;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of axes to their values")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Block, A::Error> {
                let mut block = Block::default();
                while let Some(key) = map.next_key::<Text>()? {
                    match key.as_str() {
                        "exclude" => block.exclude = map.next_value::<Excludes>()?.0,
                        "repetitions" => block.repetitions = Some(map.next_value()?),
                        "warmup" => block.warmup = Some(map.next_value()?),
                        _ => block.axes.push((key, map.next_value()?)),
                    }
                }
                Ok(block)
            }
        }
        deserializer.deserialize_map(BlockVisitor)
    }
}

/// One entry or a list of them.
struct Excludes(Vec<Located<Exclude>>);

impl<'de> Deserialize<'de> for Excludes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        super::located::one_or_many(deserializer).map(Excludes)
    }
}

impl<'de> Deserialize<'de> for Exclude {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ExcludeVisitor;
        impl<'de> Visitor<'de> for ExcludeVisitor {
            type Value = Exclude;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of axes to values, or an expression")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Exclude, E> {
                Ok(Exclude::Expression(text.to_owned()))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Exclude, A::Error> {
                let mut values = Vec::new();
                while let Some(entry) = map.next_entry::<Text, List>()? {
                    values.push(entry);
                }
                Ok(Exclude::Values(values))
            }
        }
        deserializer.deserialize_any(ExcludeVisitor)
    }
}
