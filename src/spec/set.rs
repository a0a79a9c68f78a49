//! `--set PATH=VALUE`: the text of a file with one value replaced or added, by the places of its tree. The
//! result is read like any file, so that a bad value is told where it now stands. Read [`Set`] first.

mod text;

use std::path::PathBuf;
use std::sync::Arc;

use self::text::{Place, after_colon, append, flow, insert, item_start, replace, scalar};
use super::tree::{self, Kind, Node};
use crate::diagnostic::Problem;

/// One value to set.
#[derive(Debug)]
pub(super) struct Set {
    /// The option as it was given.
    written: String,
    /// Keys, and places in lists counted from 0.
    path: Vec<String>,
    value: Node,
}

/// A file whose text may be edited.
pub(super) struct Document {
    pub path: PathBuf,
    pub text: String,
    pub is_edited: bool,
}

/// Sections whose entries may be declared in several files.
const DECLARATIONS: [&str; 3] = ["hosts", "environments", "workloads"];

impl Set {
    /// Reads `workloads.write.timeout=5s`; a key with dots stands in quotes, the value is YAML.
    pub fn parse(written: &str) -> Result<Self, Problem> {
        let wrong = |reason: &str| {
            Problem::of_file(format!("can't read `--set {written}`: {reason}"))
                .help("write `--set repetitions=3` or `--set 'matrix.0.size=[64, 256]'`")
        };
        let (path, value) = split(written).ok_or_else(|| wrong("it is not PATH=VALUE"))?;
        let read = tree::read(0, &Arc::from(value));
        let (value, twice) = read.map_err(|error| {
            let problem = super::parse::of_syntax(0, value, &error);
            wrong(&format!("the value is no YAML: {}", problem.message)).help("quote the text of the value")
        })?;
        if !twice.is_empty() {
            return Err(wrong("a key of the value is written twice"));
        }
        if value.is_braces() {
            return Err(wrong("the braces need quotes").help("write `PATH='\"{{ … }}\"'`"));
        }
        Ok(Set { written: written.to_owned(), path, value })
    }

    /// Sets the value in the file whose declaration counts. `documents` come in that order, of which number
    /// `experiment` is the experiment.
    pub fn apply(&self, documents: &mut [Document], experiment: usize) -> Result<(), Problem> {
        let declares = |document: &Document| {
            let tree = tree::read(0, &Arc::from(document.text.as_str())).ok()?.0;
            tree.get(&self.path[0])?.get(self.path.get(1)?).map(|_| ())
        };
        let is_declaration = DECLARATIONS.contains(&self.path[0].as_str());
        let declared = documents.iter().position(|document| is_declaration && declares(document).is_some());
        let document = &mut documents[declared.unwrap_or(experiment)];
        let wrong = |reason: String| {
            let file = document.path.display();
            Problem::of_file(format!("can't `--set {}` in `{file}`: {reason}", self.written))
        };
        // A file that is no YAML is told when it is read.
        let Ok((tree, _)) = tree::read(0, &Arc::from(document.text.as_str())) else { return Ok(()) };
        let edited = self.edit(&document.text, &tree);
        let text = edited.map_err(|stop| wrong(stop.reason).help(stop.help))?;
        let result = tree::read(0, &Arc::from(text.as_str())).ok();
        let is_set = result
            .is_some_and(|(tree, _)| find(&tree, &self.path).is_some_and(|node| same(node, &self.value)));
        if !is_set {
            return Err(wrong("the place is written in a way that can't be edited".into())
                .help("change the file by hand"));
        }
        document.text = text;
        document.is_edited = true;
        Ok(())
    }

    fn edit(&self, text: &str, root: &Node) -> Result<String, Stop> {
        let mut place = Place { node: root, start: root.place.offset, key: "the file" };
        for (depth, step) in self.path.iter().enumerate() {
            if !place.node.is_own() {
                return Err(Stop::new(
                    format!("`{}` is an alias", place.key),
                    "set it whole, or set its anchor",
                ));
            }
            place = match &place.node.kind {
                Kind::Map(entries) => {
                    let own = |(key, _): &&(Node, Node)| key.text() == Some(step) && key.is_own();
                    match entries.iter().find(own) {
                        Some((key, node)) => Place { node, start: after_colon(text, key.end), key: step },
                        None if depth + 1 < self.path.len() && place.node.get(step).is_some() => {
                            let reason = format!("`{step}` comes from a merge key");
                            return Err(Stop::new(reason, "set it whole, or set it where it is written"));
                        }
                        None => return Ok(insert(text, place.node, step, &self.wrapped(depth + 1))),
                    }
                }
                Kind::List(items) => match step.parse::<usize>().ok().filter(|index| *index < items.len()) {
                    Some(index) => Place {
                        node: &items[index],
                        start: item_start(text, place.node, items, index),
                        key: step,
                    },
                    None => {
                        let reason = format!("`{}` is a list without an entry `{step}`", place.key);
                        return Err(Stop::new(reason, &format!("it has {}, counted from 0", items.len())));
                    }
                },
                Kind::Null if depth == 0 => return Ok(append(text, step, &self.wrapped(1))),
                Kind::Null => return Ok(replace(text, &place, &self.wrapped(depth))),
                Kind::Text(_) => {
                    return Err(Stop::new(
                        format!("`{}` is text, and has no `{step}`", place.key),
                        "end the path there",
                    ));
                }
            };
        }
        Ok(replace(text, &place, &flow(&self.value)))
    }

    /// The value in a section for each key from `depth` on.
    fn wrapped(&self, depth: usize) -> String {
        let keys = self.path[depth..].iter().rev();
        keys.fold(flow(&self.value), |value, key| format!("{{ {}: {value} }}", scalar(key)))
    }
}

/// Why a path leads nowhere.
struct Stop {
    reason: String,
    help: String,
}

impl Stop {
    fn new(reason: String, help: &str) -> Self {
        Stop { reason, help: help.to_owned() }
    }
}

/// `a."b.c".0=x` as `[a, b.c, 0]` and `x`.
fn split(written: &str) -> Option<(Vec<String>, &str)> {
    let mut path = vec![String::new()];
    let mut quote = None;
    for (index, letter) in written.char_indices() {
        let last = path.last_mut()?;
        match (letter, quote) {
            (letter, Some(open)) if letter == open => quote = None,
            (letter, Some(_)) => last.push(letter),
            ('"' | '\'', None) if last.is_empty() => quote = Some(letter),
            ('.', None) => path.push(String::new()),
            ('=', None) => {
                let is_whole = path.iter().all(|step| !step.is_empty());
                return is_whole.then(|| (path, &written[index + 1..]));
            }
            (letter, None) => last.push(letter),
        }
    }
    None
}

fn find<'a>(root: &'a Node, path: &[String]) -> Option<&'a Node> {
    path.iter().try_fold(root, |node, step| match &node.kind {
        Kind::List(items) => items.get(step.parse::<usize>().ok()?),
        _ => node.get(step),
    })
}

/// Whether two trees hold the same.
fn same(one: &Node, other: &Node) -> bool {
    match (&one.kind, &other.kind) {
        (Kind::Null, Kind::Null) => true,
        (Kind::Text(one), Kind::Text(other)) => one == other,
        (Kind::List(one), Kind::List(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Kind::Map(one), Kind::Map(other)) => {
            let mut pairs = one.iter().zip(other);
            one.len() == other.len()
                && pairs.all(|(one, other)| same(&one.0, &other.0) && same(&one.1, &other.1))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every way in which a value can stand in a file.
    const WAYS: &str = "# comment
title: 'no: 3.10' # not a key
include: [a.yaml , # first
  \"b.yaml\"]
hosts: # ours
  pi: { ssh: pi@192.0.2.7, labels: { board: 007, é: ü } }
  \"a.b\": {\"ssh\":\"x\",local: }
  empty: {}
workloads:
  nap:
    prepare:
      - sync
      - {sleep: 2s}
      - - déjà
        - été
        -
      -   run: |
            one
            two
          sudo: true
    run: >-
      folded
      text

    conclude: a
      plain one
    timeout:
  other: { run: &run !!str echo, metrics: }
matrix:
- workload: nap
  size: [1, 2,]
-
  size: 3
last: ~
";
    const ALIASED: &str =
        "a: &a { k: v }\nb: *a\nc:\n  <<: *a\n  l: &l\n    - 1\n    - *a\nd: &d |\n  text\ne: [*d, x]\n";
    const FILES: [&str; 4] = [
        WAYS,
        ALIASED,
        include_str!("../../experiments/docker-vs-native.yaml"),
        include_str!("../../experiments/quickstart.yaml"),
    ];

    fn tree(text: &str) -> Node {
        tree::read(0, &Arc::from(text)).unwrap_or_else(|error| panic!("{error}\n{text}")).0
    }

    /// The path of every value that stands in the file itself.
    fn paths(node: &Node, above: &[String], found: &mut Vec<Vec<String>>) {
        let mut below = |step: String, node: &Node| {
            if node.is_own() {
                let path = [above, &[step]].concat();
                // What a merge key takes must stay a section.
                found.extend((path != ["a"]).then(|| path.clone()));
                paths(node, &path, found);
            }
        };
        match &node.kind {
            Kind::List(items) => {
                items.iter().enumerate().for_each(|(index, item)| below(index.to_string(), item))
            }
            Kind::Map(entries) => {
                entries.iter().for_each(|(key, value)| below(key.text().unwrap().to_owned(), value));
            }
            _ => {}
        }
    }

    /// The tree with another value, as text of our own.
    fn changed(node: &Node, path: &[String], value: &Node) -> String {
        let Some((step, rest)) = path.split_first() else { return flow(value) };
        match &node.kind {
            Kind::List(items) => {
                let items = items.iter().enumerate().map(|(index, item)| match index.to_string() == *step {
                    true => changed(item, rest, value),
                    false => flow(item),
                });
                format!("[{}]", items.collect::<Vec<_>>().join(", "))
            }
            Kind::Map(entries) => {
                let entries = entries.iter().map(|(key, item)| match key.text() == Some(step) {
                    true => format!("{}: {}", flow(key), changed(item, rest, value)),
                    false => format!("{}: {}", flow(key), flow(item)),
                });
                format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
            }
            _ => panic!("{path:?}"),
        }
    }

    fn set(path: Vec<String>, value: &str) -> Set {
        Set { written: format!("{path:?}={value}"), path, value: tree(value) }
    }

    fn document(text: &str) -> Document {
        Document { path: PathBuf::from("x.yaml"), text: text.to_owned(), is_edited: false }
    }

    fn sets_only(text: &str, path: &[String], value: &str) {
        let set = set(path.to_vec(), value);
        let mut documents = [document(text)];
        if let Err(problem) = set.apply(&mut documents, 0) {
            panic!(
                "{path:?}={value}: {} {:?}\n{:?}",
                problem.message,
                problem.help,
                set.edit(text, &tree(text)).ok()
            );
        }
        let after = tree(&documents[0].text);
        if !text.contains('*') {
            assert_eq!(flow(&after), changed(&tree(text), path, &set.value), "{}", documents[0].text);
        }
    }

    #[test]
    fn every_value_of_a_file_can_be_set_and_nothing_else_changes() {
        let every = ["3", "'it: is #1'", "[64, {a: b}]", "\"two\\nlines\"", "", "null", "'null'", "{}"];
        let ways = WAYS.replace('\n', "\r\n");
        for (text, values) in [
            (WAYS, &every[..]),
            (ALIASED, &every),
            (&ways, &every[..2]),
            (FILES[2], &every[1..2]),
            (FILES[3], &every),
        ] {
            let mut all = Vec::new();
            paths(&tree(text), &[], &mut all);
            for path in &all {
                values.iter().for_each(|value| sets_only(text, path, value));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn any_text_is_read_back_as_it_was(file in 0..FILES.len(), place: prop::sample::Index, letters in ".{0,12}") {
            let mut all = Vec::new();
            paths(&tree(FILES[file]), &[], &mut all);
            sets_only(FILES[file], &all[place.index(all.len())], &scalar(&letters));
        }
    }

    #[test]
    fn what_is_missing_is_added() {
        for (text, option, expected) in [
            ("", "repetitions=3", "repetitions: 3\n"),
            ("# nothing", "a.b=c", "# nothing\na: { b: c }\n"),
            ("a: 1\r\n", "b=2", "b: 2\r\na: 1\r\n"),
            ("a:\n  b:\n    c: 1\n", "a.b.d=[x]", "a:\n  b:\n    d: [x]\n    c: 1\n"),
            ("a: {}\n", "a.b=1", "a: { b: 1 }\n"),
            ("a: { c: 2 }\n", "a.b=1", "a: { b: 1, c: 2 }\n"),
            ("a: [{c: 2}]\n", "a.0.\"b.x\".y=1", "a: [{ b.x: { y: 1 },c: 2}]\n"),
            ("a:\n  - c: 2\n    d: 3\n", "a.0.b=1", "a:\n  - b: 1\n    c: 2\n    d: 3\n"),
            ("a:\nb: 1\n", "a.x=1GiB", "a: { x: 1GiB }\nb: 1\n"),
            ("a: &a { x: 1 }\nb:\n  <<: *a\n", "b.x=2", "a: &a { x: 1 }\nb:\n  x: 2\n  <<: *a\n"),
            ("a: &a { x: 1 }\nb: *a\n", "b={y: 2}", "a: &a { x: 1 }\nb: { y: 2 }\n"),
            ("a: &a 1\nb: *a\n", "a=2", "a: &a 2\nb: *a\n"),
            ("\u{feff}a: 1\n", "b=2", "\u{feff}b: 2\na: 1\n"),
        ] {
            let mut documents = [document(text)];
            let done = Set::parse(option).and_then(|set| set.apply(&mut documents, 0));
            assert!(done.is_ok(), "{text}{option}: {done:?}");
            assert_eq!(documents[0].text, expected, "{option}");
        }
    }

    #[test]
    fn a_path_that_leads_nowhere_says_where_it_stops() {
        let text = "a: &a { x: 1 }\nb: *a\nl: [1]\nt: text\nm:\n  <<: *a\n";
        for (option, expected) in [
            ("t.x=1", "can't `--set t.x=1` in `x.yaml`: `t` is text, and has no `x`"),
            ("l.1=1", "can't `--set l.1=1` in `x.yaml`: `l` is a list without an entry `1`"),
            ("l.x=1", "can't `--set l.x=1` in `x.yaml`: `l` is a list without an entry `x`"),
            ("b.x=1", "can't `--set b.x=1` in `x.yaml`: `b` is an alias"),
            ("m.x.y=1", "can't `--set m.x.y=1` in `x.yaml`: `x` comes from a merge key"),
            ("a", "can't read `--set a`: it is not PATH=VALUE"),
            ("a..b=1", "can't read `--set a..b=1`: it is not PATH=VALUE"),
            ("=1", "can't read `--set =1`: it is not PATH=VALUE"),
            ("a=[1", "can't read `--set a=[1`: the value is no YAML"),
            ("a={{ x }}", "can't read `--set a={{ x }}`: the braces need quotes"),
        ] {
            let done = Set::parse(option).and_then(|set| set.apply(&mut [document(text)], 0));
            let problem = done.unwrap_err();
            assert!(problem.message.starts_with(expected), "{option}: {}", problem.message);
            assert!(problem.help.is_some(), "{option}");
        }
    }
}
