//! `docs/language.md`: made of `docs/language.in.md` and the tables that the schema gives. Every example in
//! it is planned. `UPDATE_DOCS=1 cargo test --test it fresh` writes it again.

use std::fs;
use std::path::Path;

use regex::Regex;
use runner::plan::Plan;
use runner::spec::{self, Fragment, Reader};
use runner::ui::render_problems;
use serde_json::Value;

use crate::schema::{SCHEMA, assert_fresh, mistakes};

/// Parts of the schema in plain words: what a key of such a type holds.
const WORDS: &[(&str, &str)] = &[
    ("Form", "`values`, `ranges` or `log`"),
    ("Adaptive", "[keys](#adaptive)"),
    ("Amount", "amount of memory"),
    ("Axis", "value, list or range"),
    ("Axes", "map of axes to values"),
    ("Block", "[block](#matrix)"),
    ("Chart", "[chart](#charts)"),
    ("Command", "command line, or list of arguments"),
    ("Container", "[keys](#container)"),
    ("CoolDownFields", "[keys](#steps)"),
    ("Cost", "amount, with or without a currency, or [keys](#ecs-and-fargate)"),
    ("Cpus", "number"),
    ("Csv", "[keys](#csv)"),
    ("DropCaches", "`[guest, host]`, or [keys](#steps)"),
    ("DropCachesFields", "[keys](#steps)"),
    ("Duration", "duration"),
    ("Ec2", "[keys](#ec2)"),
    ("Ecs", "[keys](#ecs-and-fargate)"),
    ("Environment", "[environment](#environments)"),
    ("Exclusion", "[exclusion](#excluded-trials)"),
    ("Exclude", "map of axes to values, or expression"),
    ("ExitCodes", "number or list of numbers"),
    ("Expect", "[keys](#expect)"),
    ("Extract", "[extract](#extract)"),
    ("Files", "[file](#files) or list of files"),
    ("Flag", "`true` or `false`"),
    ("Folder", "path from `/`"),
    ("Host", "[host](#hosts)"),
    ("List", "text or list of text"),
    ("Local", "`{}`"),
    ("Metrics", "[keys](#metrics)"),
    ("Port", "number"),
    ("Price", "amount, with or without a currency"),
    ("Ready", "[keys](#ready)"),
    ("Report", "[keys](#report)"),
    ("Repetitions", "number or [keys](#adaptive)"),
    ("Share", "percentage"),
    ("Service", "[service](#services)"),
    ("Ssh", "text or [keys](#ssh)"),
    ("Steps", "[step](#steps) or list of steps"),
    ("StopRule", "[keys](#stop)"),
    ("SyncedFolder", "[keys](#vagrant)"),
    ("Table", "[table](#tables)"),
    ("Temperature", "temperature"),
    ("Text", "text"),
    ("Upload", "[file](#files)"),
    ("Vagrant", "[keys](#vagrant)"),
    ("Vagrantfile", "text or [keys](#vagrant)"),
    ("WaitIdleFields", "[keys](#steps)"),
    ("Workload", "[workload](#workloads)"),
];

/// A file round an example of each section.
const FRAMES: &str = include_str!("frames.yaml");

/// One row of a table.
struct Key {
    name: String,
    what: String,
    kind: String,
    default: String,
    /// YAML without its backticks.
    example: String,
}

fn definition(name: &str) -> &'static Value {
    let definition = if name == "Experiment" { &*SCHEMA } else { &SCHEMA["$defs"][name] };
    assert!(definition["properties"].is_object(), "the schema has no section `{name}`");
    definition
}

fn keys(name: &str) -> Vec<Key> {
    let section = definition(name);
    let needed: Vec<&str> =
        section["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let named = section["properties"].as_object().unwrap().iter().map(|(key, schema)| (key.as_str(), schema));
    let free = Some(&section["additionalProperties"]).filter(|schema| schema.is_object());
    named
        .chain(free.map(|schema| ("a parameter", schema)))
        .map(|(key, schema)| {
            let text = schema["description"].as_str().unwrap_or_default();
            let line = |start| text.lines().find_map(|line| line.strip_prefix(start));
            let what: Vec<&str> = text
                .lines()
                .filter(|line| !line.starts_with("Default: ") && !line.starts_with("Example: "))
                .collect();
            assert!(!what.is_empty(), "`{key}` of {name} has no description");
            let example = line("Example: ").unwrap_or_else(|| panic!("`{key}` of {name} has no example"));
            let example = example.strip_prefix('`').and_then(|example| example.strip_suffix('`'));
            let no_default = if needed.contains(&key) { "needed" } else { "–" };
            Key {
                name: if key == "a parameter" { key.to_owned() } else { format!("`{key}`") },
                what: what.join("<br>"),
                kind: words(schema),
                default: line("Default: ").unwrap_or(no_default).to_owned(),
                example: example
                    .unwrap_or_else(|| panic!("`{key}` of {name}: backticks round the example"))
                    .to_owned(),
            }
        })
        .collect()
}

/// A type in plain words.
fn words(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.trim_start_matches("#/$defs/");
        let known = WORDS.iter().find(|(known, _)| *known == name);
        return known.unwrap_or_else(|| panic!("no words for the type {name}")).1.to_owned();
    }
    if let Some(values) = schema["oneOf"].as_array() {
        let names: Vec<String> =
            values.iter().map(|value| format!("`{}`", value["const"].as_str().unwrap())).collect();
        return format!("one of {}", names.join(", "));
    }
    if let Some(ways) = schema["anyOf"].as_array() {
        return match &ways[..] {
            [one, list] if list["items"] == *one => format!("{}; or a list of them", words(one)),
            ways => ways.iter().map(words).collect::<Vec<_>>().join(" or "),
        };
    }
    match schema["type"].as_str() {
        Some("object") => format!("map of names to {}", words(&schema["additionalProperties"])),
        Some("array") => format!("list of {}", words(&schema["items"])),
        Some("integer" | "number") => "number".to_owned(),
        Some("boolean") => "`true` or `false`".to_owned(),
        _ => panic!("no words for {schema}"),
    }
}

fn table(name: &str) -> String {
    let row = |key: Key| {
        let cells = [key.name, key.what, key.kind, key.default, format!("`{}`", key.example)];
        format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).join(" | "))
    };
    let rows: String = keys(name).into_iter().map(row).collect();
    format!("| key | what | type | default | example |\n| --- | --- | --- | --- | --- |\n{rows}")
}

fn page() -> String {
    let source = fs::read_to_string("docs/language.in.md").unwrap();
    let mark = Regex::new(r"(?m)^<!-- keys of (\w+) -->\n").unwrap();
    let note = "<!-- Made of language.in.md and src/spec: UPDATE_DOCS=1 cargo test --test it fresh -->";
    let page = mark.replace_all(&source, |found: &regex::Captures<'_>| table(&found[1]));
    format!("{note}\n{}", page.replace("<!-- tools -->\n", &tools()))
}

/// The metrics of every known tool, those that are kept by default in bold.
fn tools() -> String {
    let row = |tool: &&dyn runner::metrics::MetricParser| {
        let names = tool.metrics().into_iter().map(|metric| match metric.headline {
            true => format!("**`{}`**", metric.name),
            false => format!("`{}`", metric.name),
        });
        let more = tool.names_more().then(|| "all that it prints, by their own names".to_owned());
        format!("| `{}` | {} |\n", tool.tool(), names.chain(more).collect::<Vec<_>>().join(" "))
    };
    let rows: String = runner::metrics::TOOLS.iter().map(row).collect();
    format!("| tool | metrics |\n| --- | --- |\n{rows}")
}

#[test]
fn the_language_page_is_fresh() {
    assert_fresh("docs/language.md", &page());
}

#[test]
fn every_section_of_the_schema_is_in_the_page() {
    let source = fs::read_to_string("docs/language.in.md").unwrap();
    for (name, definition) in SCHEMA["$defs"].as_object().unwrap() {
        let has_keys = definition["properties"].as_object().is_some_and(|keys| !keys.is_empty());
        assert!(!has_keys || source.contains(&format!("<!-- keys of {name} -->")), "{name} has no table");
    }
}

/// Reads, checks and plans an experiment; any file that it includes declares one host.
fn must_plan(yaml: &str) {
    let read = |path: &Path| match path.ends_with("x.yaml") {
        true => Ok(yaml.to_owned()),
        false => Ok("hosts: { pi: { ssh: pi@192.0.2.9 } }".to_owned()),
    };
    let planned = Reader::new(&read).read(&[(Fragment::Experiment, Path::new("x.yaml"))]).and_then(
        |(spec, sources)| {
            let found = runner::metrics::check(&spec, &sources);
            let spec = spec::check(spec, &sources, found)?;
            Plan::new(&spec, &sources)
        },
    );
    if let Err(problems) = planned {
        panic!("{yaml}\n{}", render_problems(&problems, false, 100));
    }
    let found = mistakes(yaml);
    assert!(found.is_empty(), "the schema refuses {found:#?} in\n{yaml}");
}

fn framed(section: &str, key: &Key) -> String {
    let mut frames = FRAMES.split("--- # ").filter_map(|frame| frame.split_once('\n'));
    let frame = frames.find(|(name, _)| *name == section);
    let (_, frame) = frame.unwrap_or_else(|| panic!("no frame for examples of {section}"));
    let name = key.example.split(':').next().unwrap();
    let stays = |line: &&str| {
        line.split_once(" # unless ").is_none_or(|(_, keys)| keys.split(' ').all(|key| key != name))
    };
    let mut yaml: String = frame.lines().filter(stays).map(|line| line.to_owned() + "\n").collect();
    if !yaml.contains("workloads:") && name != "workloads" {
        yaml.push_str("workloads: { w: { run: x } }\n");
    }
    yaml.replace('@', &key.example)
}

#[test]
fn every_example_of_a_key_is_planned() {
    let source = fs::read_to_string("docs/language.in.md").unwrap();
    for found in Regex::new(r"<!-- keys of (\w+) -->").unwrap().captures_iter(&source) {
        for key in keys(&found[1]) {
            let is_of_key = key.example.contains(&format!("{}: ", key.name.trim_matches('`')));
            assert!(is_of_key || key.name == "a parameter", "{} of {}: {}", key.name, &found[1], key.example);
            must_plan(&framed(&found[1], &key));
        }
    }
}

#[test]
fn every_filter_gives_what_the_page_says() {
    let source = fs::read_to_string("docs/language.in.md").unwrap();
    let row = Regex::new(r"(?m)^\| `(\w+)` \|.*\| `(\{\{.*\}\})` gives `(.*)` \|$").unwrap();
    let mut explained = Vec::new();
    for found in row.captures_iter(&source) {
        let text = spec::template::environment().render_str(&found[2].replace("\\|", "|"), ()).unwrap();
        assert_eq!(text, found[3]);
        explained.push(found[1].to_owned());
    }
    assert_eq!(explained, spec::filters::NAMES);
}

#[test]
fn every_whole_file_of_the_page_is_planned() {
    let source = fs::read_to_string("docs/language.in.md").unwrap();
    let blocks: Vec<_> = Regex::new(r"(?s)```yaml\n(.*?)```")
        .unwrap()
        .captures_iter(&source)
        .map(|found| found[1].to_owned())
        .collect();
    assert!(blocks.len() >= 2);
    blocks.iter().for_each(|yaml| must_plan(yaml));
}

/// The example of a tool is the tool.
#[test]
fn the_example_of_a_tool_is_its_file() {
    let page = fs::read_to_string("CONTRIBUTING.md").unwrap();
    let example = page.split("```rust\n").nth(1).unwrap().split("```").next().unwrap();
    let file = fs::read_to_string("src/metrics/tools/mbw.rs").unwrap();
    let without_blanks =
        |text: &str| text.lines().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
    let file = without_blanks(&file.replace("const MEBIBYTE: f64 = 1_048_576.0;\n", ""));
    assert!(file.contains(&without_blanks(example)), "copy it anew");
}
