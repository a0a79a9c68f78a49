//! Values that remember where in which file they stand. The place comes from the deserializer of
//! `parse/value.rs`; no other knows one. Read [`Located`] first.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ops::Deref;

use serde::de::value::MapAccessDeserializer;
use serde::de::{
    self, Deserialize, DeserializeOwned, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};

use crate::diagnostic::Span;

/// The name under which [`Located`] asks a deserializer of this crate for its place.
pub(super) const LOCATED: &str = "a value with its place";

/// A value and the place it was written at (for an alias: where its anchor is).
#[derive(Debug, Clone, Default)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// Its place.
    pub span: Span,
}

/// Text, with its place. Scalars such as `no`, `3.10` or `22:22` keep the text they were written with.
pub type Text = Located<String>;

impl<T> Located<T> {
    /// A value that stands in no file.
    pub fn unwritten(value: T) -> Self {
        Located { value, span: Span::default() }
    }
}

impl<T> Deref for Located<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: PartialEq> PartialEq for Located<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: Eq> Eq for Located<T> {}

impl<T: Hash> Hash for Located<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.value.hash(state);
    }
}

impl Borrow<str> for Located<String> {
    fn borrow(&self) -> &str {
        &self.value
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Located<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(LOCATED, LocatedVisitor(PhantomData))
    }
}

struct LocatedVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for LocatedVisitor<T> {
    type Value = Located<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }
    /// A deserializer that knows no places.
    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Located<T>, D::Error> {
        T::deserialize(deserializer).map(Located::unwritten)
    }
    /// File, offset and length, then the value.
    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Located<T>, A::Error> {
        let mut number = || parts.next_element::<usize>().map(Option::unwrap_or_default);
        let span = Span { file: number()?, offset: number()?, length: number()? };
        match parts.next_element()? {
            Some(value) => Ok(Located { value, span }),
            None => Err(de::Error::custom("a value is missing")),
        }
    }
}

/// One value, or a list of them: `environment: docker` and `environment: [native, docker]`.
#[derive(Debug, Clone, Default)]
pub struct List {
    /// The values.
    pub values: Vec<Text>,
    /// Whether they were written as a list.
    pub is_list: bool,
}

impl List {
    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

impl<'de> Deserialize<'de> for List {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let found = Located::<OneOrMany<String>>::deserialize(deserializer)?;
        let is_list = matches!(found.value, OneOrMany::Many(_));
        found.into_values().map(|values| List { values, is_list })
    }
}

/// Reads one `T` or a list of them; `T` must accept a string.
pub(super) fn one_or_many<'de, T: DeserializeOwned, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Located<T>>, D::Error> {
    Located::<OneOrMany<T>>::deserialize(deserializer)?.into_values()
}

enum OneOrMany<T> {
    One(T),
    Many(Vec<Located<OneOrMany<T>>>),
}

impl<T: DeserializeOwned> Located<OneOrMany<T>> {
    fn into_values<E: de::Error>(self) -> Result<Vec<Located<T>>, E> {
        let span = self.span;
        Ok(match self.value {
            OneOrMany::Many(list) => {
                let mut values = Vec::new();
                for item in list {
                    if matches!(item.value, OneOrMany::Many(_)) {
                        return Err(E::custom("a list stands in a list"));
                    }
                    values.extend(item.into_values()?);
                }
                values
            }
            OneOrMany::One(value) => vec![Located { value, span }],
        })
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrManyVisitor(PhantomData))
    }
}

struct OneOrManyVisitor<T>(PhantomData<T>);

impl<'de, T: DeserializeOwned> Visitor<'de> for OneOrManyVisitor<T> {
    type Value = OneOrMany<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value or a list of values")
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        T::deserialize(text.into_deserializer()).map(OneOrMany::One)
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(OneOrMany::One)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = seq.next_element()? {
            list.push(item);
        }
        Ok(OneOrMany::Many(list))
    }
}
