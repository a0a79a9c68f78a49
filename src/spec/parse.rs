//! One file's text into a [`Spec`], with every mistake of form at once. serde stops at the first mistake; so
//! the tree of the file is read again without the entries that have one, until nothing new is found.

mod comment;
mod mistake;
mod syntax;
mod value;
mod words;

use std::sync::Arc;

use serde::Deserialize;

use self::value::{Reading, Value};
use super::Spec;
use super::tree::{self, Kind, Node};
use crate::diagnostic::Problem;

pub(super) use self::syntax::problem as of_syntax;

/// How many mistakes other than unknown keys are looked for; nobody reads more at once.
const READINGS: usize = 50;

/// Parses one file, number `file` of the sources: what could be read of it, and every mistake of form in the
/// order of the file.
pub(super) fn parse(file: usize, text: &Arc<str>) -> (Option<Spec>, Vec<Problem>) {
    let (node, twice) = match tree::read(file, text) {
        Ok(read) => read,
        Err(error) => return (None, vec![of_syntax(file, text, &error)]),
    };
    if matches!(node.kind, Kind::Null) && node.span.length == 0 {
        return (Some(Spec::default()), Vec::new());
    }
    let node = without_extensions(node);
    let reading = Reading::default();
    let spec = read(&node, &reading);
    let mut problems = reading.problems.into_inner();
    problems.extend(twice);
    comment::find(&node, text, &mut problems);
    for problem in &mut problems {
        make_visible(problem, text);
    }
    problems.sort_by_key(|problem| problem.span.map(|span| span.offset));
    // What an alias repeats has the same mistake at the same place.
    problems.dedup_by(|one, other| one.span == other.span && one.message == other.message);
    (spec, problems)
}

/// Keys that begin with `x-` hold what anchors are put on; nothing reads them.
fn without_extensions(mut node: Node) -> Node {
    if let Kind::Map(entries) = &mut node.kind {
        entries.retain(|(key, _)| !matches!(&key.kind, Kind::Text(name) if name.starts_with("x-")));
    }
    node
}

fn read(node: &Node, reading: &Reading) -> Option<Spec> {
    let root = Value { node, key: None, reading };
    for _ in 0..READINGS {
        if let Ok(spec) = root.settle(Spec::deserialize(root)) {
            return Some(spec);
        }
        if reading.is_told(node) {
            return None;
        }
    }
    None
}

/// At least one whole letter of one line is underlined.
fn make_visible(problem: &mut Problem, text: &str) {
    let Some(span) = &mut problem.span else { return };
    let rest = &text[span.offset.min(text.len())..];
    let line = rest.find('\n').unwrap_or(rest.len());
    span.length = span.length.min(line).max(rest.chars().next().map_or(0, char::len_utf8));
}
