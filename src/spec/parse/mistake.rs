//! What can be wrong with one node of a file, in serde's terms, and the same in the words of the language.
//! Read [`Mistake`] first.

use std::fmt;

use serde::de::{self, Expected, Unexpected};

use super::words;
use crate::diagnostic::{Problem, Span, suggest};
use crate::spec::tree::{Kind, Node};

/// What is wrong with a node.
#[derive(Debug)]
pub(super) enum Mistake {
    /// It has been told at a node below.
    Told,
    /// `{{ x }}` without quotes, which YAML reads as a section in a section.
    Braces,
    /// A rule of the type says so in its own words.
    Said(String),
    /// A key of the section is missing.
    Missing(&'static str),
    /// The section has no such key.
    UnknownKey { section: &'static str, keys: &'static [&'static str] },
    /// The key has no such value.
    UnknownWord { words: &'static [&'static str] },
    /// Something of another kind is wanted.
    Wanted(Wanted),
}

/// What is wanted in a place.
#[derive(Debug)]
pub(super) enum Wanted {
    Text,
    List,
    Whole,
    Number,
    Boolean,
    OneOf(&'static [&'static str]),
    /// A section; of a struct with its name and keys.
    Section {
        name: &'static str,
        keys: &'static [&'static str],
    },
    /// In the words of a visitor.
    Other(String),
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for Mistake {}

impl de::Error for Mistake {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Mistake::Said(message.to_string())
    }
    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        // serde's own words for a type, in those of the language.
        Mistake::Wanted(match expected.to_string().as_str() {
            "a string" => Wanted::Text,
            "a sequence" => Wanted::List,
            "a whole number" => Wanted::Whole,
            "a map" => Wanted::Section { name: "", keys: &[] },
            other => Wanted::Other(other.to_owned()),
        })
    }
    fn unknown_variant(_: &str, words: &'static [&'static str]) -> Self {
        Mistake::UnknownWord { words }
    }
    fn unknown_field(_: &str, keys: &'static [&'static str]) -> Self {
        Mistake::UnknownKey { section: "", keys }
    }
    fn missing_field(key: &'static str) -> Self {
        Mistake::Missing(key)
    }
}

impl Mistake {
    /// The mistake of `node`, which stands under `key`.
    pub fn problem(&self, node: &Node, key: Option<&Node>) -> Problem {
        let written = node.text().unwrap_or_default();
        let problem = match self {
            _ if node.is_braces() => braces(node),
            Mistake::Told | Mistake::Braces => braces(node),
            Mistake::Said(message) => said(node, message),
            Mistake::Missing(missing) => Problem::at(first_key(node), format!("missing key `{missing}`"))
                .label("needed in the section that begins here")
                .help(format!("add `{missing}: …`")),
            Mistake::UnknownKey { .. } if node.text().is_none() => {
                Problem::at(node.span, "the name of a key is wanted here").label(node.what())
            }
            Mistake::UnknownKey { section, keys } => {
                Problem::at(node.span, format!("unknown key `{written}`"))
                    .label(format!("not a key of {}", words::section(section)))
                    .help(words::instead_of(written, section, keys))
            }
            Mistake::UnknownWord { words } => Problem::at(node.span, format!("unknown value `{written}`"))
                .label("not a value of this key")
                .help(suggest(written, words.iter().copied())),
            Mistake::Wanted(wanted) => wanted.problem(node, key),
        };
        match node.is_own() {
            true => problem,
            false => problem.also(node.place, "used here"),
        }
    }
}

/// A section in lines begins with its first key.
fn first_key(node: &Node) -> Span {
    match &node.kind {
        Kind::Map(entries) => entries
            .first()
            .map(|(key, _)| key.span)
            .filter(|span| span.offset == node.span.offset)
            .unwrap_or(node.span),
        _ => node.span,
    }
}

/// A rule's own words; what stands after `: ` tells the way out.
fn said(node: &Node, message: &str) -> Problem {
    match message.split_once(": write ") {
        Some((message, help)) => Problem::at(node.span, message).help(format!("write {help}")),
        None => Problem::at(node.span, message),
    }
}

fn braces(node: &Node) -> Problem {
    let name = node.braced().unwrap_or("…");
    Problem::at(node.span, "braces at the start of a value are YAML's own")
        .label("YAML reads this as a section")
        .help(format!("quote the value: \"{{{{ {name} }}}}\""))
}

impl Wanted {
    fn problem(&self, node: &Node, key: Option<&Node>) -> Problem {
        let written = node.text();
        let wanted = |what: &str| Problem::at(node.span, format!("{what} is wanted here")).label(node.what());
        match (self, written) {
            (Wanted::Section { name, keys }, _) => section(name, keys, node, key),
            (Wanted::List, _) => wanted("a list").help(match node.kind {
                Kind::Map(_) => "put `- ` before its first key, and two blanks before the others",
                _ => "write `[one, two]`, or `- one` lines below it",
            }),
            (Wanted::Text, _) => wanted("a text").help(match node.kind {
                Kind::List(_) => "write one value; several are written on an axis, in a block of `matrix`",
                _ => "write one value",
            }),
            (Wanted::Other(what), _) => wanted(what),
            (Wanted::OneOf(words), _) => {
                wanted("a word").help(format!("write one of {}", words::listed(words)))
            }
            (Wanted::Boolean, Some(text)) => {
                let meant = match text.to_lowercase().as_str() {
                    "yes" | "on" | "y" | "1" => "write `true`",
                    "no" | "off" | "n" | "0" => "write `false`",
                    _ => "write one of the two",
                };
                Problem::at(node.span, format!("`{text}` is neither `true` nor `false`")).help(meant)
            }
            (Wanted::Boolean, None) => wanted("`true` or `false`"),
            (Wanted::Whole, Some(text)) => {
                Problem::at(node.span, format!("`{text}` is not a whole number that fits here"))
                    .help(words::digits(text))
            }
            (Wanted::Number, Some(text)) => Problem::at(node.span, format!("`{text}` is not a number"))
                .help("write digits alone, such as `0.5`"),
            (Wanted::Whole, None) => wanted("a whole number"),
            (Wanted::Number, None) => wanted("a number"),
        }
    }
}

/// Something else where a section with keys is wanted.
fn section(name: &str, keys: &[&str], node: &Node, key: Option<&Node>) -> Problem {
    let above = key.and_then(Node::text).unwrap_or_default();
    if let Some(key) = key.filter(|_| keys.contains(&above)) {
        let what = words::section(name);
        return Problem::at(
            key.span,
            format!("`{above}` is a key of {what}, and stands in the place of its name"),
        )
        .label(format!("read as the name of {what}"))
        .help(format!("indent it under the name of {what}"));
    }
    if let (Some(key), true) = (key, words::is_top(above) && !words::is_top_section(name)) {
        return Problem::at(key.span, format!("`{above}` is a key of the experiment"))
            .label("indented too far")
            .help("write it at the start of a line");
    }
    let problem = Problem::at(node.span, "a section with keys is wanted here").label(node.what());
    let example = words::example(name, above);
    problem.help(match (&node.kind, example) {
        (Kind::List(_), Some(example)) => format!("write `{example}`, without `-` and `[…]`"),
        (Kind::Text(text), _) if separator(text, keys).is_some() => separator(text, keys).unwrap_or_default(),
        (_, Some(example)) if name.is_empty() => format!("write `{example}`, or `{{}}` for none"),
        (_, Some(example)) => format!("write `{example}`"),
        (_, None) => "write `key: value` lines below it, or `{}` for none".to_owned(),
    })
}

/// What is meant by `run:x` and `run = x`, where `run` may stand; not by `debian:12`.
fn separator(text: &str, keys: &[&str]) -> Option<String> {
    let (key, value) = text.split_once([':', '='])?;
    let (key, value) = (key.trim(), value.trim());
    let is_key =
        !key.is_empty() && key.chars().all(|letter| letter.is_alphanumeric() || "_-".contains(letter));
    let is_known = keys.is_empty() || keys.contains(&key);
    (is_key && is_known && !value.is_empty() && !text.contains('\n'))
        .then(|| format!("write `{key}: {value}`, with a colon and a blank"))
}
