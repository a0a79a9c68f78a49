//! How often a cell is measured: a number, or until its median is known well enough. Read [`Repetitions`].

use std::fmt;

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// How often each cell is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Repetitions {
    /// So often.
    Fixed(u32),
    /// Until it is known well enough.
    Adaptive(Adaptive),
}

/// Measured trials until the 95 % interval of the median of the workload's first metric is narrow enough.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Adaptive {
    /// Measured trials at least.
    ///
    /// Default: `10`. Example: `min: 20`
    #[serde(default = "default_min")]
    #[schemars(range(min = 6))]
    pub min: u32,
    /// Measured trials at most.
    ///
    /// Example: `max: 50`
    #[schemars(range(min = 7))]
    pub max: u32,
    /// The width of the interval that is narrow enough, in percent of the median.
    ///
    /// Example: `until: 0.5%`
    pub until: Share,
}

fn default_min() -> u32 {
    10
}

/// A part of something in percent: `2%`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Share {
    percent: f64,
}

impl Share {
    /// The part of 1.
    pub fn fraction(self) -> f64 {
        self.percent / 100.0
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.percent)
    }
}

impl Repetitions {
    /// The most trials that a cell may have.
    pub fn most(self) -> u32 {
        match self {
            Repetitions::Fixed(count) => count,
            Repetitions::Adaptive(rule) => rule.max,
        }
    }

    /// The rule that ends it earlier.
    pub fn adaptive(self) -> Option<Adaptive> {
        match self {
            Repetitions::Fixed(_) => None,
            Repetitions::Adaptive(rule) => Some(rule),
        }
    }
}

impl fmt::Display for Repetitions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Repetitions::Fixed(count) => write!(f, "{count}"),
            Repetitions::Adaptive(rule) => write!(f, "{rule}"),
        }
    }
}

impl fmt::Display for Adaptive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}–{} until {}", self.min, self.max, self.until)
    }
}

impl<'de> Deserialize<'de> for Repetitions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberOrMap;
        impl<'de> Visitor<'de> for NumberOrMap {
            type Value = Repetitions;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number, or `{ min, max, until }`")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Repetitions, E> {
                let refused = |_| E::invalid_type(Unexpected::Str(text), &"a whole number");
                text.parse().map(Repetitions::Fixed).map_err(refused)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Repetitions, A::Error> {
                Adaptive::deserialize(MapAccessDeserializer::new(map)).map(Repetitions::Adaptive)
            }
        }
        deserializer.deserialize_any(NumberOrMap)
    }
}

impl Serialize for Repetitions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Repetitions::Fixed(count) => count.serialize(serializer),
            Repetitions::Adaptive(rule) => rule.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let number = text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        match number.filter(|percent| percent.is_finite() && *percent >= 0.0) {
            Some(percent) => Ok(Share { percent }),
            None => Err(D::Error::custom(format!("`{text}` is not a part in percent: write `2%`"))),
        }
    }
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
