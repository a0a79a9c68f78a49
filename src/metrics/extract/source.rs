//! Where an output lies among those of a trial, and whether `fetch` can bring a file.

use std::collections::BTreeMap;

use crate::spec::metric::Source;

/// The name of an output in what a trial has gathered: `stdout`, `services/NAME/stdout`, `files/PATH`. `service` has
/// the metric, where it is not the workload.
pub(in crate::metrics) fn output_name(source: &Source, service: Option<&str>) -> String {
    match (source, service) {
        (Source::Own(stream), None) => stream.clone(),
        (Source::Own(stream), Some(service)) => format!("services/{service}/{stream}"),
        (Source::Service { service, stream }, _) => format!("services/{service}/{stream}"),
        (Source::File(path), _) => format!("files/{path}"),
    }
}

/// What was printed or fetched; none for a file that is not there. A stream in which nothing was printed is empty.
pub(super) fn bytes<'a>(
    source: &Source,
    outputs: &BTreeMap<String, &'a [u8]>,
    service: Option<&str>,
) -> Option<&'a [u8]> {
    let found = outputs.get(&output_name(source, service)).copied();
    match source {
        Source::File(_) => found,
        _ => Some(found.unwrap_or_default()),
    }
}

/// Whether the `fetch` pattern can bring the file `path`, itself or in a folder. Where it holds a template it may
/// become anything.
pub(super) fn can_bring(pattern: &str, path: &str) -> bool {
    let parts = |path: &str| -> Vec<String> {
        path.split('/').filter(|part| !["", "."].contains(part)).map(str::to_owned).collect()
    };
    let mut plain = String::new();
    let mut rest = pattern;
    while let Some((before, after)) =
        rest.split_once('{').filter(|(_, after)| after.starts_with(['{', '%', '#']))
    {
        // The value of a template may hold slashes.
        if before.contains('/') || after.contains('/') {
            return true;
        }
        plain.push_str(before);
        plain.push('*');
        rest = after.split_once("}").map_or("", |(_, after)| after.trim_start_matches('}'));
    }
    plain.push_str(rest);
    let (patterns, path) = (parts(&plain), parts(path));
    patterns.len() <= path.len() && patterns.iter().zip(&path).all(|(pattern, part)| matches(pattern, part))
}

/// Whether a part of a shell pattern can match a name; a class in brackets is taken for any character.
fn matches(pattern: &str, name: &str) -> bool {
    let mut expression = String::from("^(?s)");
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        let class = rest
            .strip_prefix('[')
            .and_then(|class| Some(class.char_indices().skip(1).find(|(_, c)| *c == ']')?.0 + 2));
        let length = class.unwrap_or(first.len_utf8());
        match (class, first) {
            (Some(_), _) | (None, '?') => expression.push('.'),
            (None, '*') => expression.push_str(".*"),
            (None, letter) => expression.push_str(&::regex::escape(&letter.to_string())),
        }
        rest = &rest[length..];
    }
    expression.push('$');
    ::regex::Regex::new(&expression).is_ok_and(|expression| expression.is_match(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_bring_files_and_folders() {
        for (pattern, path, expected) in [
            ("result.json", "result.json", true),
            ("./result.json", "result.json", true),
            ("result.json", "result.jsonl", false),
            ("*.json", "result.json", true),
            ("*.json", "out/result.json", false),
            ("out", "out/result.json", true),
            ("out/", "out/deep/result.json", true),
            ("out/*.csv", "out/a.csv", true),
            ("out/*.csv", "out", false),
            ("run-?.csv", "run-1.csv", true),
            ("run-[0-9].csv", "run-1.csv", true),
            ("run-[0-9].csv", "run-.csv", false),
            ("a+b", "a+b", true),
            ("a.b", "axb", false),
            ("{{ size }}.csv", "64.csv", true),
            ("{{ size }}.csv", "64.json", false),
            ("{{ trial.name }}/x.csv", "w/h/n/1/x.csv", true),
            (".", "result.json", true),
        ] {
            assert_eq!(can_bring(pattern, path), expected, "{pattern} {path}");
        }
    }
}
