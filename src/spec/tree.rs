//! A YAML text as a tree that knows where every key and value stands: no types, no rules. Mistakes are told
//! at its spans, and `--set` edits the text by them. Read [`Node`] first.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_yaml::{DuplicateKeyPolicy, Error, NonFiniteFloatPolicy, Spanned};

use crate::diagnostic::{Problem, Span};

/// A key or a value.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// Its number in the tree.
    pub id: usize,
    /// What it holds.
    pub kind: Kind,
    /// Where it is written (of a list or section, its start); for an alias, at the anchor.
    pub span: Span,
    /// Where it is used: for an alias the place of `*name`, for a merged entry that of the merge.
    pub place: Span,
    /// The byte after it where it is used.
    pub end: usize,
}

/// What a node holds.
#[derive(Debug, Clone)]
pub(super) enum Kind {
    /// Nothing, `~` or `null`.
    Null,
    /// A scalar, with the letters it was written with.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A section, in the order of the file.
    Map(Vec<(Node, Node)>),
}

impl Node {
    /// Whether it stands here itself, and was not brought by an alias or a merge key.
    pub fn is_own(&self) -> bool {
        self.span == self.place
    }

    /// The text of a scalar.
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// What it is, as a person sees it.
    pub fn what(&self) -> &'static str {
        match self.kind {
            Kind::Null => "nothing is written here",
            Kind::Text(_) => "this is text",
            Kind::List(_) => "this is a list",
            Kind::Map(_) => "this is a section",
        }
    }

    /// Whether it is `{{ x }}` without quotes: a section whose only key is a section.
    pub fn is_braces(&self) -> bool {
        self.braces().is_some()
    }

    /// The name in `{{ name }}`.
    pub fn braced(&self) -> Option<&str> {
        self.braces()?.first()?.0.text()
    }

    fn braces(&self) -> Option<&[(Node, Node)]> {
        match &self.kind {
            Kind::Map(entries) => match &entries[..] {
                [(Node { kind: Kind::Map(inner), .. }, Node { kind: Kind::Null, .. })] => Some(inner),
                _ => None,
            },
            _ => None,
        }
    }

    /// The value under `key` of a section.
    pub fn get(&self, key: &str) -> Option<&Node> {
        match &self.kind {
            Kind::Map(entries) => {
                entries.iter().find(|(name, _)| name.text() == Some(key)).map(|(_, value)| value)
            }
            _ => None,
        }
    }
}

/// Reads the whole of `text`, which is file number `file`, and finds keys that are written twice.
///
/// # Errors
/// What is wrong with the YAML.
pub(super) fn read(file: usize, text: &Arc<str>) -> Result<(Node, Vec<Problem>), Error> {
    let mut budget = serde_yaml::budget::Budget::default();
    budget.max_events = 200_000;
    budget.max_nodes = 100_000;
    budget.max_depth = 32;
    let mut limits = serde_yaml::options::AliasLimits::default();
    limits.max_total_replayed_events = 200_000;
    let options = serde_yaml::options! {
        strict_booleans: true,
        with_snippet: false,
        budget: Some(budget),
        alias_limits: limits,
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
    };
    let raw = serde_yaml::from_str_with_options::<Spanned<Raw>>(text, options)?;
    let mut planting = Planting { file, text, nodes: 0, twice: BTreeMap::new() };
    let node = planting.node(raw);
    Ok((node, planting.twice.into_values().collect()))
}

/// A value as the parser gives it.
enum Raw {
    Null,
    /// A plain number or boolean: its letters are in the source.
    Plain,
    Text(String),
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<Raw>, Spanned<Raw>)>),
}

struct Planting<'a> {
    file: usize,
    text: &'a str,
    nodes: usize,
    /// Keys that are written twice, by the place of the second one.
    twice: BTreeMap<usize, Problem>,
}

impl Planting<'_> {
    fn node(&mut self, raw: Spanned<Raw>) -> Node {
        let span = self.span(&raw.defined);
        let place = self.span(&raw.referenced);
        let kind = match raw.value {
            Raw::Null => Kind::Null,
            Raw::Plain => Kind::Text(self.text.get(span.range()).unwrap_or_default().trim().to_owned()),
            Raw::Text(text) => Kind::Text(text),
            Raw::List(items) => Kind::List(items.into_iter().map(|item| self.node(item)).collect()),
            Raw::Map(entries) => {
                let entries =
                    entries.into_iter().map(|(key, value)| (self.node(key), self.node(value))).collect();
                Kind::Map(self.once(entries))
            }
        };
        self.nodes += 1;
        let end = if span == place { self.end(span, &kind) } else { place.range().end };
        Node { id: self.nodes, kind, span, place, end }
    }

    /// The first entry of each key.
    fn once(&mut self, entries: Vec<(Node, Node)>) -> Vec<(Node, Node)> {
        let mut first: BTreeMap<String, Span> = BTreeMap::new();
        let mut kept = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            let Some(name) = key.text() else {
                kept.push((key, value));
                continue;
            };
            if let Some(other) = first.get(name) {
                let line = self.text[..other.offset].matches('\n').count() + 1;
                let problem =
                    Problem::at(key.span, format!("duplicate key `{name}`, first written in line {line}"))
                        .label("the second one")
                        .also(*other, "the first one")
                        .help("remove or rename one of the two");
                self.twice.insert(key.span.offset, problem);
            } else {
                first.insert(name.to_owned(), key.span);
                kept.push((key, value));
            }
        }
        kept
    }

    fn span(&self, location: &serde_yaml::Location) -> Span {
        let place = location.span();
        let offset = place.byte_offset().unwrap_or_default() as usize;
        let length = place.byte_len().unwrap_or_default() as usize;
        Span { file: self.file, offset, length }
    }

    /// The byte after a node, of which the parser gives the start.
    fn end(&self, start: Span, kind: &Kind) -> usize {
        let last = match kind {
            Kind::List(items) => items.iter().map(|item| item.end).max(),
            Kind::Map(entries) => entries.iter().map(|(key, value)| key.end.max(value.end)).max(),
            // Nothing stands at the sign that it would follow.
            Kind::Null if start.length == 0 => {
                let is_sign = matches!(self.text.as_bytes().get(start.offset), Some(b':' | b'-'));
                return start.offset + usize::from(is_sign);
            }
            Kind::Null | Kind::Text(_) => return start.range().end,
        };
        let inner = last.unwrap_or_default().max(start.offset);
        let close = match self.text.as_bytes().get(start.offset) {
            Some(b'[') => ']',
            Some(b'{') => '}',
            _ => return inner,
        };
        let from = inner.max(start.offset + 1).min(self.text.len());
        closing(&self.text[from..], close).map_or(from, |found| from + found + 1)
    }
}

/// Where the bracket is that closes, beyond blanks, commas and comments.
fn closing(rest: &str, close: char) -> Option<usize> {
    let mut is_comment = false;
    let mut before = ' ';
    for (index, letter) in rest.char_indices() {
        match letter {
            '\n' => is_comment = false,
            '#' if before.is_whitespace() => is_comment = true,
            letter if letter == close && !is_comment => return Some(index),
            _ => {}
        }
        before = letter;
    }
    None
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }
    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }
    fn visit_bool<E>(self, _: bool) -> Result<Raw, E> {
        Ok(Raw::Plain)
    }
    fn visit_i64<E>(self, _: i64) -> Result<Raw, E> {
        Ok(Raw::Plain)
    }
    fn visit_u64<E>(self, _: u64) -> Result<Raw, E> {
        Ok(Raw::Plain)
    }
    fn visit_i128<E>(self, _: i128) -> Result<Raw, E> {
        Ok(Raw::Plain)
    }
    fn visit_u128<E>(self, _: u128) -> Result<Raw, E> {
        Ok(Raw::Plain)
    }
    fn visit_f64<E>(self, _: f64) -> Result<Raw, E> {
        Ok(Raw::Plain)
    }
    fn visit_str<E>(self, text: &str) -> Result<Raw, E> {
        Ok(Raw::Text(text.to_owned()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Raw, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Raw::List(list))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Raw, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Raw::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every node as `kind text-of-its-span [place]`.
    fn listed(node: &Node, text: &str, lines: &mut Vec<String>) {
        let own = &text[if node.is_own() { node.span.offset..node.end } else { node.span.range() }];
        let place = if node.is_own() { String::new() } else { format!(" <- {}", &text[node.place.range()]) };
        match &node.kind {
            Kind::Null => lines.push(format!("null {own:?}{place}")),
            Kind::Text(value) => lines.push(format!("text {value:?} {own:?}{place}")),
            Kind::List(items) => {
                lines.push(format!("list {own:?}{place}"));
                items.iter().for_each(|item| listed(item, text, lines));
            }
            Kind::Map(entries) => {
                lines.push(format!("map {own:?}{place}"));
                entries.iter().for_each(|(key, value)| {
                    listed(key, text, lines);
                    listed(value, text, lines);
                });
            }
        }
    }

    #[test]
    fn every_node_knows_its_text() {
        for (text, expected) in [
            (
                "b: [x, 'y z' , {k: \"v\\n\"} ] # c\nc:\n    - 3.10\n    - ~\n",
                r#"map "b: [x, 'y z' , {k: \"v\\n\"} ] # c\nc:\n    - 3.10\n    - ~"
text "b" "b"
list "[x, 'y z' , {k: \"v\\n\"} ]"
text "x" "x"
text "y z" "'y z'"
map "{k: \"v\\n\"}"
text "k" "k"
text "v\n" "\"v\\n\""
text "c" "c"
list "- 3.10\n    - ~"
text "3.10" "3.10"
null "~""#,
            ),
            (
                "c: &y\n  k: v\nd: *y\ne:\n  <<: *y\n  m: n\n",
                r#"map "c: &y\n  k: v\nd: *y\ne:\n  <<: *y\n  m: n"
text "c" "c"
map "k: v"
text "k" "k"
text "v" "v"
text "d" "d"
map "" <- *y
text "k" "k" <- *y
text "v" "v" <- *y
text "e" "e"
map "<<: *y\n  m: n"
text "m" "m"
text "n" "n"
text "k" "k" <- *y
text "v" "v" <- *y"#,
            ),
            (
                "é: [ü, # ]\n  1.0]\r\n? [x]\n: .inf\r\n1: !!str 5\n",
                r#"map "é: [ü, # ]\n  1.0]\r\n? [x]\n: .inf\r\n1: !!str 5"
text "é" "é"
list "[ü, # ]\n  1.0]"
text "ü" "ü"
text "1.0" "1.0"
list "[x]"
text "x" "x"
text ".inf" ".inf"
text "1" "1"
text "5" "5""#,
            ),
        ] {
            let (node, twice) = read(0, &Arc::from(text)).unwrap();
            let mut lines = Vec::new();
            listed(&node, text, &mut lines);
            assert_eq!(lines.join("\n"), expected);
            assert!(twice.is_empty(), "{twice:?}");
        }
    }

    #[test]
    fn every_key_that_is_written_twice_is_found() {
        let text = "x: { a: 1, a: 2 }\nb: &b { c: 1, c: 2 }\nx: *b\nb: { <<: *b, c: 3 }\n";
        let (node, twice) = read(0, &Arc::from(text)).unwrap();
        let told: Vec<_> = twice.iter().map(|problem| &text[problem.span.unwrap().offset..][..4]).collect();
        assert_eq!(told, ["a: 2", "c: 2", "x: *", "b: {"]);
        assert_eq!(node.get("x").unwrap().get("a").unwrap().text(), Some("1"));
    }
}
