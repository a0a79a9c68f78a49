//! The `matrix:` section: which combinations are measured. What they amount to is the business of `plan`.
//! Read [`Block`], then [`Values`].

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

use super::located::{List, Located, Text, one_or_many};
use super::range::{Range, RangeFields};
use super::repetitions::Repetitions;
use super::string_or_map::string_or_map;

/// One block: the product of its axes and zipped groups, without what `exclude` takes out, and with what
/// `include` adds.
#[derive(Debug, Clone, Default)]
pub struct Block {
    /// Axis name (`workload`, `host`, `environment`, or a parameter) and its values.
    pub axes: Axes,
    /// Groups of axes that move in lock-step: each group counts as one axis.
    pub zip: Vec<Located<Axes>>,
    /// Combinations that are added: on the axes that an entry names, its values stand for those of the
    /// block. `exclude` does not apply to them.
    pub include: Vec<Located<Axes>>,
    /// Combinations that are left out.
    pub exclude: Vec<Located<Exclude>>,
    /// Measured trials of each cell of this block.
    pub repetitions: Option<Located<Repetitions>>,
    /// Warm-up trials of each cell of this block.
    pub warmup: Option<Located<u32>>,
}

/// Axes by name, in the order of the file.
#[derive(Debug, Clone, Default)]
pub struct Axes(pub Vec<(Text, Values)>);

impl Axes {
    /// The values of an axis.
    pub fn get(&self, axis: &str) -> Option<&Values> {
        self.0.iter().find(|(name, _)| name.as_str() == axis).map(|(_, values)| values)
    }

    /// Whether an axis is among them.
    pub fn has(&self, axis: &str) -> bool {
        self.get(axis).is_some()
    }

    /// Gives an axis other values, or adds it.
    pub(super) fn set(&mut self, axis: &str, values: Values) {
        match self.0.iter_mut().find(|(name, _)| name.as_str() == axis) {
            Some((_, old)) => *old = values,
            None => self.0.push((Text::unwritten(axis.to_owned()), values)),
        }
    }

    /// The names of the axes.
    pub fn names(&self) -> impl Iterator<Item = &Text> {
        self.0.iter().map(|(name, _)| name)
    }
}

/// The values of one axis: one or more that are written out, or a range.
#[derive(Debug, Clone)]
pub enum Values {
    /// As they are written.
    List(List),
    /// Computed.
    Range(Box<Range>),
}

impl Values {
    /// Values that are written out.
    pub fn list(values: Vec<Text>) -> Self {
        Values::List(List { is_list: values.len() != 1, values })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Values::List(list) => list.values.len(),
            Values::Range(range) => range.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number `index`, from 0; empty beyond the end.
    pub fn get(&self, index: usize) -> Cow<'_, str> {
        match self {
            Values::List(list) => list.values.get(index).map_or("", |text| text.as_str()).into(),
            Values::Range(range) => range.get(index).into(),
        }
    }

    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = Cow<'_, str>> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// The number of the value `text`.
    pub fn position(&self, text: &str) -> Option<usize> {
        match self {
            Values::List(list) => list.values.iter().position(|value| value.as_str() == text),
            Values::Range(range) => range.position(text),
        }
    }

    /// Those that are written out; a range has none.
    pub fn written(&self) -> &[Text] {
        match self {
            Values::List(list) => &list.values,
            Values::Range(_) => &[],
        }
    }
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
                        "zip" => block.zip = map.next_value::<Many<Axes>>()?.0,
                        "include" => block.include = map.next_value::<Many<Axes>>()?.0,
                        "exclude" => block.exclude = map.next_value::<Many<Exclude>>()?.0,
                        "repetitions" => block.repetitions = Some(map.next_value()?),
                        "warmup" => block.warmup = Some(map.next_value()?),
                        _ => block.axes.0.push((key, map.next_value()?)),
                    }
                }
                Ok(block)
            }
        }
        deserializer.deserialize_map(BlockVisitor)
    }
}

impl<'de> Deserialize<'de> for Axes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AxesVisitor;
        impl<'de> Visitor<'de> for AxesVisitor {
            type Value = Axes;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of axes to their values")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Axes, A::Error> {
                let mut axes = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    axes.push(entry);
                }
                Ok(Axes(axes))
            }
        }
        deserializer.deserialize_map(AxesVisitor)
    }
}

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut texts = Vec::new();
        let mut ranges = Vec::new();
        for Located { value, span } in one_or_many(deserializer)? {
            match value {
                Entry::Text(value) => texts.push(Located { value, span }),
                Entry::Range(range) => ranges.push(range),
            }
        }
        match (ranges.pop(), texts.is_empty() && ranges.is_empty()) {
            (None, _) => Ok(Values::list(texts)),
            (Some(range), true) => Ok(Values::Range(range)),
            (Some(_), false) => Err(D::Error::custom(
                "a range stands alone on its axis: write its values out, or write another block",
            )),
        }
    }
}

/// One thing on an axis.
enum Entry {
    Text(String),
    Range(Box<Range>),
}

string_or_map!(Entry, RangeFields, "a value, or a range with `from`, `to` and `step` or `times`");

impl Entry {
    fn from_text(text: &str) -> Result<Self, String> {
        Ok(Entry::Text(text.to_owned()))
    }

    fn from_fields(fields: RangeFields) -> Result<Self, String> {
        Ok(Entry::Range(Box::new(Range::new(fields))))
    }
}

/// One entry or a list of them.
struct Many<T>(Vec<Located<T>>);

impl<'de, T: serde::de::DeserializeOwned> Deserialize<'de> for Many<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        one_or_many(deserializer).map(Many)
    }
}

/// Which combinations are left out.
#[derive(Debug, Clone)]
pub enum Exclude {
    /// Those with one of these values on each named axis.
    Values(Axes),
    /// Those for which this expression is true.
    Expression(String),
}

impl<'de> Deserialize<'de> for Exclude {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ExcludeVisitor;
        impl<'de> Visitor<'de> for ExcludeVisitor {
            type Value = Exclude;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of axes to values, or an expression")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Exclude, E> {
                Ok(Exclude::Expression(text.to_owned()))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Exclude, A::Error> {
                Axes::deserialize(serde::de::value::MapAccessDeserializer::new(map)).map(Exclude::Values)
            }
        }
        deserializer.deserialize_any(ExcludeVisitor)
    }
}
