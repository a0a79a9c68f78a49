//! Rules on one entry of `extract`.

use ::regex::Regex;
use serde_json_path::JsonPath;

use super::multi_line;
use super::source::can_bring;
use crate::diagnostic::{Problem, suggest};
use crate::metrics::check::ELAPSED;
use crate::spec::metric::{Csv, Extract, Rule, Source};
use crate::spec::template::is_template;
use crate::spec::{Text, Workload};
use crate::units::Scale;

/// Adds every mistake in the entry `name` of the workload, or of one of its services.
pub(in crate::metrics) fn check(
    workload: &Workload,
    name: &Text,
    extract: &Extract,
    is_of_service: bool,
    problems: &mut Vec<Problem>,
) {
    if name.as_str() == ELAPSED {
        problems.push(Problem::at(name.span, "`elapsed` is always measured").help("choose another name"));
    }
    if let Some(text) = extract.texts().into_iter().find(|text| is_template(text)) {
        problems.push(
            Problem::at(text.span, "a rule of `extract` is the same in every cell")
                .label("braces are not replaced here")
                .help("write two workloads, or match what the braces stand for"),
        );
        return;
    }
    rules(name, extract, problems);
    if let Some(from) = &extract.from {
        source(workload, from, &extract.source(), is_of_service, problems);
    }
    problems.extend(extract.unit.as_ref().and_then(misspelt));
    let is_rate = |unit: &Text| Scale::named(unit).is_some_and(|(unit, _)| unit.is_rate());
    if let Some(fixed) = extract.fixed.as_ref().filter(|_| !extract.unit.as_ref().is_some_and(is_rate)) {
        problems.push(
            Problem::at(fixed.span, "`fixed` chooses the mean of a rate")
                .label("the unit of this metric is no rate that is known")
                .help("add a unit such as `MB/s`, `Mbit/s` or `1/s`, or leave `fixed` away"),
        );
    }
}

/// Other spellings of units that are known: values in them would not be converted, and bits not told from bytes.
const SPELLINGS: [(&str, &str); 24] = [
    ("bps", "bit/s"),
    ("kbps", "kbit/s"),
    ("Kbps", "kbit/s"),
    ("Mbps", "Mbit/s"),
    ("Gbps", "Gbit/s"),
    ("Kbit/s", "kbit/s"),
    ("Kb/s", "kbit/s"),
    ("Mb/s", "Mbit/s"),
    ("Gb/s", "Gbit/s"),
    ("KBps", "kB/s"),
    ("MBps", "MB/s"),
    ("GBps", "GB/s"),
    ("KB/s", "kB/s"),
    ("KB", "kB"),
    ("bytes", "byte"),
    ("sec", "s"),
    ("seconds", "s"),
    ("msec", "ms"),
    ("usec", "us"),
    ("µs", "us"),
    ("μs", "us"),
    ("nsec", "ns"),
    ("percent", "%"),
    ("ops/s", "1/s"),
];

/// A unit in another spelling.
fn misspelt(unit: &Text) -> Option<Problem> {
    let (_, known) = SPELLINGS.iter().find(|(other, _)| *other == unit.as_str())?;
    let help = match unit.starts_with("KB") {
        true => format!(
            "write `{known}` where it is 1000 bytes, or `{}` where it is 1024",
            known.replace("kB", "KiB")
        ),
        false => {
            format!("write `{known}`, so that it is converted; for a unit of your own take another word")
        }
    };
    Some(Problem::at(unit.span, format!("the unit `{}` is written `{known}` here", unit.value)).help(help))
}

fn rules(name: &Text, extract: &Extract, problems: &mut Vec<Problem>) {
    let rules = extract.rules();
    if rules.is_empty() {
        let keys: Vec<String> = Extract::RULES.iter().map(|key| format!("`{key}`")).collect();
        problems.push(
            Problem::at(name.span, format!("nothing says how `{}` is read", name.value))
                .help(format!("add one of {}", keys.join(", "))),
        );
    }
    if let [_, _, ..] = rules[..] {
        let keys: Vec<String> = rules.iter().map(|rule| format!("`{}`", rule.key())).collect();
        problems.push(
            Problem::at(name.span, format!("`{}` is read in {} ways", name.value, keys.len()))
                .help(format!("keep one of {}", keys.join(", "))),
        );
    }
    for rule in rules {
        match rule {
            Rule::Regex(pattern) => drop(compiled(pattern, problems)),
            Rule::Json(path) => json(path, problems),
            Rule::Csv(table) => csv(table, problems),
            Rule::Lines(pattern) => lines(pattern, problems),
            Rule::Histogram(_) => {}
        }
    }
}

fn compiled(pattern: &Text, problems: &mut Vec<Problem>) -> Option<Regex> {
    match multi_line(pattern) {
        Ok(pattern) => Some(pattern),
        Err(error) => {
            let told = error.to_string();
            let last = told.lines().last().unwrap_or_default().trim_start_matches("error: ");
            problems.push(Problem::at(pattern.span, format!("bad regular expression: {last}")));
            None
        }
    }
}

fn lines(pattern: &Text, problems: &mut Vec<Problem>) {
    let Some(compiled) = compiled(pattern, problems) else { return };
    if !compiled.capture_names().flatten().any(|group| group == "value") {
        problems.push(
            Problem::at(pattern.span, "no group of this pattern is called `value`")
                .help("name the group of the number: `(?<value>\\S+)`"),
        );
    }
}

fn json(path: &Text, problems: &mut Vec<Problem>) {
    let Err(error) = JsonPath::parse(path) else { return };
    let told = error.to_string();
    let message = match path.starts_with('$') {
        true => told.lines().next().unwrap_or_default(),
        false => "it does not begin with `$`, the document",
    };
    problems.push(
        Problem::at(path.span, format!("bad JSONPath: {message}"))
            .help("write a path of RFC 9535, such as `$.jobs[0].rate` or `$['key with blanks']`"),
    );
}

fn csv(table: &Csv, problems: &mut Vec<Problem>) {
    if let Some(delimiter) = table.delimiter.as_ref().filter(|_| table.delimiter().is_none()) {
        problems.push(
            Problem::at(delimiter.span, "a delimiter is one character of ASCII, and no quote")
                .help("write `\";\"`, or `\"\\t\"` for a tab"),
        );
    }
    let is_number = |column: &Text| column.trim().parse::<usize>().is_ok_and(|number| number > 0);
    for column in table.columns().filter(|column| !table.has_header() && !is_number(column)) {
        problems.push(
            Problem::at(column.span, format!("no column is called `{}`", column.value))
                .label("without a header, columns are called by their numbers")
                .help("count from 1, or leave `header: false` away"),
        );
    }
}

fn source(
    workload: &Workload,
    from: &Text,
    source: &Source,
    is_of_service: bool,
    problems: &mut Vec<Problem>,
) {
    let mut known = vec!["stdout".to_owned(), "stderr".to_owned()];
    let services = workload.services.keys().map(|name| name.as_str());
    known.extend(
        services.flat_map(|name| ["stdout", "stderr"].map(|stream| format!("services.{name}.{stream}"))),
    );
    let leads_out = |path: &str| path.starts_with('/') || path.split('/').any(|part| part == "..");
    let what_to_do = |path: &str| match leads_out(from) {
        true => "write a path in the directory of the cell, without `..`".to_owned(),
        false => format!("add `{path}` to the `fetch` of the workload"),
    };
    let near = || suggest(from, known.iter().map(String::as_str));
    let is_near = near().starts_with("did you mean");
    let fetched = |path: &str| workload.fetch.values.iter().any(|pattern| can_bring(pattern, path));
    let problem = match source {
        Source::Own(_) => return,
        Source::Service { .. } if known.contains(&from.value) => return,
        Source::Service { .. } => {
            Problem::at(from.span, format!("no output is named `{}`", from.value)).help(near())
        }
        Source::File(_) if is_of_service => {
            Problem::at(from.span, format!("no output is named `{}`", from.value))
                .label("`fetch` brings no files of a service")
                .help(if is_near { near() } else { "let the service print it".to_owned() })
        }
        Source::File(path) if !leads_out(from) && fetched(path) => return,
        Source::File(path) => Problem::at(
            from.span,
            format!("no output is named `{}`, and no `fetch` brings such a file", from.value),
        )
        .help(if is_near { near() } else { what_to_do(path) }),
    };
    problems.push(problem);
}
