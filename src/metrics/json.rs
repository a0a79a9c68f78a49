//! Finds JSON documents inside a tool's output: banners, warnings and shell noise may stand round them,
//! and banners have braces too. It does not know what a document means; read [`find`] first.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::text;

/// What is appended to a key that stands in one object a second time. JSON readers keep one value of
/// the two; iperf3 before 3.11 prints two directions under one name, so both are kept.
pub const REPEATED: &str = "#2";

/// The JSON documents of a text and what stands round them.
#[derive(Debug, Default)]
pub struct Found {
    /// Every complete one at the top level, in order: objects, and with [`documents`] arrays too.
    pub objects: Vec<Value>,
    /// The text that is not part of one.
    pub around: String,
    /// The text ends in the middle of one.
    pub cut_off: bool,
}

/// Finds all top-level JSON objects in cleaned text. Each `{` that does not begin valid JSON is taken for
/// text; the search goes on where the JSON stopped being valid, so the work is linear.
pub fn find(text: &str) -> Found {
    find_from(text, &['{'])
}

/// The same with arrays: for tools whose document is a list. `[1]` in a line of text is one too.
pub fn documents(text: &str) -> Found {
    find_from(text, &['{', '['])
}

fn find_from(text: &str, beginnings: &[char]) -> Found {
    let mut found = Found::default();
    let mut rest = text;
    while let Some(start) = rest.find(beginnings) {
        let (before, candidate) = rest.split_at(start);
        found.around.push_str(before);
        let mut stream = serde_json::Deserializer::from_str(candidate).into_iter::<Tree>();
        let used = match stream.next() {
            Some(Ok(_)) if is_nested(before) => stream.byte_offset(),
            Some(Ok(Tree(value))) => {
                found.objects.push(value);
                rest = &candidate[stream.byte_offset()..];
                continue;
            }
            Some(Err(error)) if !error.is_eof() => error_offset(candidate, &error),
            _ => {
                found.cut_off = true;
                candidate.len()
            }
        };
        found.around.push_str(&candidate[..used]);
        rest = &candidate[used..];
    }
    found.around.push_str(rest);
    found
}

impl Found {
    /// The lines round the objects, for warnings; at most five, the first ones.
    pub fn lines_around(&self) -> Vec<String> {
        self.around.lines().filter_map(text::shown).take(5).collect()
    }
}

/// A JSON number; `None` where the tool printed none, or no finite one.
pub fn number(value: &Value) -> Option<f64> {
    value.as_f64().filter(|value| value.is_finite())
}

/// Whether the text before a `{` says that it is part of an object whose beginning was lost.
fn is_nested(before: &str) -> bool {
    before.lines().next_back().is_some_and(|line| line.trim_end().ends_with("\":"))
}

/// The byte where the JSON in `text` stopped being valid; at least 1, always on a character border.
fn error_offset(text: &str, error: &serde_json::Error) -> usize {
    let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
    let mut offset = lines.map(str::len).sum::<usize>() + error.column().saturating_sub(1);
    offset = offset.clamp(1, text.len());
    while !text.is_char_boundary(offset) {
        offset += 1;
    }
    offset
}

/// A JSON value that keeps the first and the last value of a repeated key.
struct Tree(Value);

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor).map(Tree)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(Tree(item)) = items.next_element()? {
            array.push(item);
        }
        Ok(array.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((mut key, Tree(value))) = entries.next_entry::<String, Tree>()? {
            if object.contains_key(&key) {
                key.push_str(REPEATED);
            }
            object.insert(key, value);
        }
        Ok(object.into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_are_found_between_other_text() {
        let cases = [
            ("", vec![], "", false),
            ("no braces", vec![], "no braces", false),
            (r#"{"a":1}"#, vec![json!({"a": 1})], "", false),
            ("warning: x\n{\"a\":1}\nlogout\n", vec![json!({"a": 1})], "warning: x\n\nlogout\n", false),
            (
                "{{ name }} {planned: \"x\"}\n{\"a\":1}",
                vec![json!({"a": 1})],
                "{{ name }} {planned: \"x\"}\n",
                false,
            ),
            ("{\"a\":1}\n{\"b\":2}\n", vec![json!({"a": 1}), json!({"b": 2})], "\n\n", false),
            ("{\"a\":{\"b\":1", vec![], "{\"a\":{\"b\":1", true),
            ("{\"é\" é{\"a\":1}", vec![json!({"a": 1})], "{\"é\" é", false),
            ("{\"line\n\":1} {\"a\":1}", vec![json!({"a": 1})], "{\"line\n\":1} ", false),
            ("\"lost\": {\"a\":1}}", vec![], "\"lost\": {\"a\":1}}", false),
            ("{", vec![], "{", true),
        ];
        for (text, objects, around, cut_off) in cases {
            let found = find(text);
            assert_eq!(found.objects, objects, "{text}");
            assert_eq!(found.around, around, "{text}");
            assert_eq!(found.cut_off, cut_off, "{text}");
        }
    }

    #[test]
    fn a_document_may_be_an_array() {
        let cases = [
            ("[{\"a\":1},{\"a\":2}]\n", vec![json!([{"a": 1}, {"a": 2}])], false),
            ("[INFO] [ 5] {\"a\":[1]}", vec![json!([5]), json!({"a": [1]})], false),
            ("[{\"a\":1},", vec![], true),
            ("[{\"a\":1}, NaN]", vec![], false),
            ("[2026-11-30] [=====>  ]", vec![], false),
        ];
        for (text, documents, cut_off) in cases {
            let found = super::documents(text);
            assert_eq!((found.objects, found.cut_off), (documents, cut_off), "{text}");
        }
        assert!(super::documents(&"[".repeat(200_000)).objects.is_empty());
    }

    #[test]
    fn a_repeated_key_keeps_both_values() {
        let found = find(r#"{"a":1,"a":2,"b":[{"c":null,"c":true}]}"#);
        assert_eq!(found.objects, [json!({"a": 1, "a#2": 2, "b": [{"c": null, "c#2": true}]})]);
    }

    #[test]
    fn many_braces_take_linear_time() {
        assert!(find(&"{".repeat(200_000)).objects.is_empty());
        assert!(find(&"{\"a\":".repeat(200_000)).objects.is_empty());
    }
}
