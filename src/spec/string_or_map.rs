//! `Deserialize` for values that are written as a string or as a map. serde's own `untagged` would lose
//! the position of every mistake inside; a hand-written visitor keeps it.

/// Implements `Deserialize` for `$type` through its functions `from_text(&str) -> Result<Self, String>`
/// and `from_fields($fields) -> Result<Self, String>`.
macro_rules! string_or_map {
    ($type:ident, $fields:ty, $expecting:literal) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct TextOrMap;
                impl<'de> serde::de::Visitor<'de> for TextOrMap {
                    type Value = $type;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($expecting)
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$type, E> {
                        $type::from_text(text).map_err(E::custom)
                    }
                    fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<$type, A::Error> {
                        let fields =
                            <$fields>::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
                        $type::from_fields(fields).map_err(serde::de::Error::custom)
                    }
                }
                deserializer.deserialize_any(TextOrMap)
            }
        }
    };
}

pub(super) use string_or_map;
