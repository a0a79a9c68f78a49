//! serde's view of a [`Node`]: hands the tree to the types of `spec`, and tells each mistake at its node.
//! An entry with a mistake is passed over when the tree is read again. Read [`Reading`] first.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde::de::{
    self, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor,
    value::StrDeserializer,
};

use super::mistake::{Mistake, Wanted};
use crate::diagnostic::Problem;
use crate::spec::located::LOCATED;
use crate::spec::tree::{Kind, Node};

/// How many mistakes of a file are told; nobody reads more at once.
const MOST: usize = 100;

/// What is known of a file after the readings so far.
#[derive(Default)]
pub(super) struct Reading {
    /// Every mistake that was found.
    pub problems: RefCell<Vec<Problem>>,
    /// The nodes that have one; they are passed over.
    told: RefCell<BTreeSet<usize>>,
}

impl Reading {
    /// Whether anything of the file was passed over.
    pub fn is_told(&self, node: &Node) -> bool {
        self.told.borrow().contains(&node.id)
    }

    /// Keeps a mistake once.
    fn tell(&self, node: &Node, problem: impl FnOnce() -> Option<Problem>) {
        if self.told.borrow_mut().insert(node.id) && self.problems.borrow().len() < MOST {
            self.problems.borrow_mut().extend(problem());
        }
    }
}

/// A node as serde reads it.
#[derive(Clone, Copy)]
pub(super) struct Value<'a> {
    pub node: &'a Node,
    /// The key it stands under; that of the list for an item.
    pub key: Option<&'a Node>,
    pub reading: &'a Reading,
}

impl<'a> Value<'a> {
    /// Tells a mistake of this node, unless it comes from what was passed over in it.
    pub fn settle<R>(self, result: Result<R, Mistake>) -> Result<R, Mistake> {
        result.map_err(|mistake| {
            if !matches!(mistake, Mistake::Told) {
                let is_own = !self.is_consequence(&mistake);
                self.reading.tell(self.node, || is_own.then(|| mistake.problem(self.node, self.key)));
            }
            Mistake::Told
        })
    }

    /// Whether the mistake is there only because a part of the node was passed over.
    fn is_consequence(self, mistake: &Mistake) -> bool {
        match (&self.node.kind, mistake) {
            (Kind::Map(entries), Mistake::Missing(wanted)) => {
                let mut told = entries.iter().filter(|(key, value)| self.is_told(key, value));
                told.any(|(key, _)| super::words::means(key.text().unwrap_or_default(), wanted))
            }
            (Kind::Map(entries), _) => entries.iter().any(|(key, value)| self.is_told(key, value)),
            (Kind::List(items), _) => items.iter().any(|item| self.reading.is_told(item)),
            _ => false,
        }
    }

    fn is_told(self, key: &Node, value: &Node) -> bool {
        self.reading.is_told(key) || self.reading.is_told(value)
    }

    fn text(self, wanted: Wanted) -> Result<&'a str, Mistake> {
        self.node.text().ok_or(Mistake::Wanted(wanted))
    }

    fn visit_entries<V: Visitor<'a>>(
        self,
        entries: &'a [(Node, Node)],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        visitor.visit_map(Entries { of: self, entries: entries.iter(), next: None })
    }
}

macro_rules! number {
    ($($method:ident $visit:ident $type:ty, $wanted:ident;)*) => {$(
        fn $method<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Mistake> {
            let number = self.text(Wanted::$wanted)?.parse::<$type>();
            visitor.$visit(number.map_err(|_| Mistake::Wanted(Wanted::$wanted))?)
        }
    )*};
}

impl<'a> Deserializer<'a> for Value<'a> {
    type Error = Mistake;

    fn deserialize_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match &self.node.kind {
            Kind::Null => visitor.visit_unit(),
            Kind::Text(text) => visitor.visit_str(text),
            Kind::List(items) => visitor.visit_seq(Items { of: self, items: items.iter() }),
            Kind::Map(_) if self.node.is_braces() => Err(Mistake::Braces),
            Kind::Map(entries) => self.visit_entries(entries, visitor),
        }
    }

    fn deserialize_str<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Mistake> {
        visitor.visit_str(self.text(Wanted::Text)?)
    }

    fn deserialize_bool<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match self.text(Wanted::Boolean)? {
            "true" | "True" | "TRUE" => visitor.visit_bool(true),
            "false" | "False" | "FALSE" => visitor.visit_bool(false),
            _ => Err(Mistake::Wanted(Wanted::Boolean)),
        }
    }

    number! {
        deserialize_u8 visit_u8 u8, Whole;
        deserialize_u16 visit_u16 u16, Whole;
        deserialize_u32 visit_u32 u32, Whole;
        deserialize_u64 visit_u64 u64, Whole;
        deserialize_i8 visit_i8 i8, Whole;
        deserialize_i16 visit_i16 i16, Whole;
        deserialize_i32 visit_i32 i32, Whole;
        deserialize_i64 visit_i64 i64, Whole;
        deserialize_f32 visit_f32 f32, Number;
        deserialize_f64 visit_f64 f64, Number;
    }

    fn deserialize_option<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match self.node.kind {
            Kind::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'a>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        match name {
            LOCATED => visitor.visit_seq(Place { of: self, part: 0 }),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_seq<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match self.node.kind {
            Kind::List(_) => self.deserialize_any(visitor),
            _ => Err(Mistake::Wanted(Wanted::List)),
        }
    }

    fn deserialize_map<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match self.node.kind {
            Kind::Map(_) => self.deserialize_any(visitor),
            _ => Err(Mistake::Wanted(Wanted::Section { name: "", keys: &[] })),
        }
    }

    fn deserialize_struct<V: Visitor<'a>>(
        self,
        name: &'static str,
        keys: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        let wanted = || Mistake::Wanted(Wanted::Section { name, keys });
        let Kind::Map(entries) = &self.node.kind else { return Err(wanted()) };
        let is_known = |key: &Node| key.text().is_some_and(|key| keys.contains(&key));
        if self.key.is_some_and(is_known)
            && !entries.is_empty()
            && !entries.iter().any(|(key, _)| is_known(key))
        {
            return Err(wanted());
        }
        if !self.node.is_braces() {
            for (key, _) in entries.iter().filter(|(key, _)| !is_known(key)) {
                let mistake = Mistake::UnknownKey { section: name, keys };
                self.reading.tell(key, || Some(mistake.problem(key, self.key)));
            }
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_enum<V: Visitor<'a>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        let text = self.text(Wanted::OneOf(words))?;
        let word: StrDeserializer<'a, Mistake> = text.into_deserializer();
        visitor.visit_enum(word)
    }

    fn deserialize_ignored_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Mistake> {
        visitor.visit_unit()
    }

    fn deserialize_string<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Mistake> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Mistake> {
        self.deserialize_str(visitor)
    }

    serde::forward_to_deserialize_any! {
        <V: Visitor<'a>>
        i128 u128 char bytes byte_buf unit unit_struct tuple tuple_struct
    }
}

/// The entries of a section without those that have a mistake.
struct Entries<'a> {
    of: Value<'a>,
    entries: std::slice::Iter<'a, (Node, Node)>,
    next: Option<Value<'a>>,
}

impl<'a> MapAccess<'a> for Entries<'a> {
    type Error = Mistake;

    fn next_key_seed<K: DeserializeSeed<'a>>(&mut self, seed: K) -> Result<Option<K::Value>, Mistake> {
        let Some((key, value)) = self.entries.by_ref().find(|(key, value)| !self.of.is_told(key, value))
        else {
            return Ok(None);
        };
        self.next = Some(Value { node: value, key: Some(key), ..self.of });
        let key = Value { node: key, ..self.of };
        key.settle(seed.deserialize(key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, Mistake> {
        let value = self.next.take().ok_or_else(|| de::Error::custom("a value without its key"))?;
        value.settle(seed.deserialize(value))
    }
}

/// The items of a list without those that have a mistake.
struct Items<'a> {
    of: Value<'a>,
    items: std::slice::Iter<'a, Node>,
}

impl<'a> SeqAccess<'a> for Items<'a> {
    type Error = Mistake;

    fn next_element_seed<T: DeserializeSeed<'a>>(&mut self, seed: T) -> Result<Option<T::Value>, Mistake> {
        let Some(node) = self.items.find(|item| !self.of.reading.is_told(item)) else { return Ok(None) };
        let item = Value { node, ..self.of };
        item.settle(seed.deserialize(item)).map(Some)
    }
}

/// What `Located` asks for: file, offset and length, then the value.
struct Place<'a> {
    of: Value<'a>,
    part: usize,
}

impl<'a> SeqAccess<'a> for Place<'a> {
    type Error = Mistake;

    fn next_element_seed<T: DeserializeSeed<'a>>(&mut self, seed: T) -> Result<Option<T::Value>, Mistake> {
        let span = self.of.node.span;
        let numbers = [span.file, span.offset, span.length];
        self.part += 1;
        match numbers.get(self.part - 1) {
            Some(number) => seed.deserialize(number.into_deserializer()).map(Some),
            None => seed.deserialize(self.of).map(Some),
        }
    }
}
