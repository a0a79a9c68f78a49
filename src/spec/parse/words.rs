//! The words of the language and those that people bring from other tools: which section has which key, and
//! how it is written. Nothing here reads a file. Read [`instead_of`] first.

use std::sync::LazyLock;

use serde::de::{Deserialize, Deserializer, Visitor};

use super::mistake::{Mistake, Wanted};
use crate::diagnostic::{nearest, suggest};
use crate::spec::environment::Container;
use crate::spec::expect::Expect;
use crate::spec::metric::{Csv, Extract, Metrics};
use crate::spec::service::{Ready, Service, StopRule};
use crate::spec::{Chart, Environment, Host, Report, Spec, Workload};

/// A kind of section: its type, what it is called, and an example of it.
struct Section {
    name: &'static str,
    called: &'static str,
    example: &'static str,
    keys: &'static [&'static str],
}

/// Sections in the order in which a key is looked for in them.
static SECTIONS: LazyLock<Vec<Section>> = LazyLock::new(|| {
    let section = |name, called, example, keys| Section { name, called, example, keys };
    vec![
        section("Spec", "the experiment", "workloads: { nap: { run: sleep 1 } }", keys::<Spec>()),
        section("Workload", "a workload", "NAME: { run: sleep 1 }", keys::<Workload>()),
        section("Container", "`container`", "container: { image: 'debian:12' }", keys::<Container>()),
        section("Host", "a host", "NAME: { ssh: user@address }", keys::<Host>()),
        section(
            "Environment",
            "an environment",
            "NAME: { container: { image: 'debian:12' } }",
            keys::<Environment>(),
        ),
        section("Service", "a service", "NAME: { run: serve, ready: { log: ready } }", keys::<Service>()),
        section("Ready", "`ready`", "ready: { log: ready }", keys::<Ready>()),
        section("StopRule", "`stop`", "stop: { signal: INT }", keys::<StopRule>()),
        section("Expect", "`expect`", "expect: { exit: [0, 1] }", keys::<Expect>()),
        section("Metrics", "`metrics`", "metrics: { tool: dd }", keys::<Metrics>()),
        section("Extract", "an entry of `extract`", "NAME: { regex: '(\\d+)' }", keys::<Extract>()),
        section("Csv", "`csv`", "csv: { column: rate }", keys::<Csv>()),
        section("Report", "`report`", "report: { baseline: { environment: native } }", keys::<Report>()),
        section("Chart", "a chart", "charts: [{ kind: bars, x: host }]", keys::<Chart>()),
    ]
});

/// Sections that hold named entries, and an entry.
const NAMED: [(&str, &str); 9] = [
    ("hosts", "NAME: { ssh: user@address }"),
    ("environments", "NAME: { container: { image: 'debian:12' } }"),
    ("workloads", "NAME: { run: sleep 1 }"),
    ("services", "NAME: { run: serve, ready: { log: ready } }"),
    ("extract", "NAME: { regex: '(\\d+)' }"),
    ("where", "COLUMN: value"),
    ("parameters", "NAME: value"),
    ("labels", "NAME: value"),
    ("env", "NAME: value"),
];

/// Words of other tools, and ours.
const SYNONYMS: [(&str, &str); 40] = [
    ("reps", "repetitions"),
    ("user", "ssh"),
    ("ansible_host", "ssh"),
    ("host", "address"),
    ("mem_limit", "memory"),
    ("environment", "env"),
    ("command", "run"),
    ("cmd", "run"),
    ("script", "run"),
    ("exec", "run"),
    ("entrypoint", "run"),
    ("params", "parameters"),
    ("variables", "parameters"),
    ("vars", "parameters"),
    ("args", "parameters"),
    ("parameter_lists", "parameters"),
    ("iterations", "repetitions"),
    ("runs", "repetitions"),
    ("count", "repetitions"),
    ("repeat", "repetitions"),
    ("trials", "repetitions"),
    ("env_vars", "env"),
    ("environment_variables", "env"),
    ("docker", "container"),
    ("podman", "container"),
    ("before", "prepare"),
    ("before_script", "prepare"),
    ("after", "conclude"),
    ("after_script", "conclude"),
    ("teardown", "cleanup"),
    ("machines", "hosts"),
    ("nodes", "hosts"),
    ("servers", "hosts"),
    ("benchmarks", "workloads"),
    ("jobs", "workloads"),
    ("steps", "workloads"),
    ("imports", "include"),
    ("strategy", "matrix"),
    ("working_directory", "workdir"),
    ("needs", "services"),
];

/// What a section of this type is called.
pub(super) fn section(name: &str) -> &'static str {
    SECTIONS.iter().find(|section| section.name == name).map_or("this section", |section| section.called)
}

/// How a section is written: of a type, or under the key `above`.
pub(super) fn example(name: &str, above: &str) -> Option<String> {
    let named = NAMED.iter().find(|(key, _)| name.is_empty() && *key == above);
    let section = || SECTIONS.iter().find(|section| section.name == name);
    named
        .map(|(_, example)| (*example).to_owned())
        .or_else(|| Some(section()?.example.replace("NAME", above)))
}

/// Whether `key` is a key of the experiment.
pub(super) fn is_top(key: &str) -> bool {
    SECTIONS.first().is_some_and(|top| top.keys.contains(&key))
}

/// Whether sections of this type stand under a key of the experiment, or are the experiment.
pub(super) fn is_top_section(name: &str) -> bool {
    ["", "Spec", "Report"].contains(&name)
}

/// Whether `written` stands for `key`.
pub(super) fn means(written: &str, key: &str) -> bool {
    written == key || synonym(written) == Some(key) || nearest(written, [key]).is_some()
}

fn synonym(written: &str) -> Option<&'static str> {
    let plain = written.to_lowercase().replace(['-', ' '], "_");
    SYNONYMS.iter().find(|(word, _)| *word == plain).map(|(_, ours)| *ours)
}

/// What to write instead of an unknown key of a section of type `name` with these keys.
pub(super) fn instead_of(written: &str, name: &str, keys: &[&str]) -> String {
    if name == "Workload" && ["host", "environment"].contains(&written) {
        return format!("choose it in a block of `matrix`: `- {written}: [NAME]`");
    }
    let meant = synonym(written);
    if let Some(key) = meant.filter(|key| keys.contains(key)) {
        return format!("it is called `{key}` here");
    }
    let near = nearest(written, keys.iter().copied());
    if let Some((_, key)) = near.filter(|(distance, _)| *distance <= 1) {
        return format!("did you mean `{key}`?");
    }
    if written == "name" && !keys.contains(&"name") {
        return match name {
            "Spec" => "the title of an experiment is `title`".into(),
            _ => "the name is the key itself: `NAME: { … }`".into(),
        };
    }
    let owners: Vec<&str> = SECTIONS
        .iter()
        .filter(|section| section.keys.contains(&meant.unwrap_or(written)))
        .map(|section| section.called)
        .collect();
    match (near, owners.is_empty()) {
        (_, false) => format!("`{}` is a key of {}", meant.unwrap_or(written), owners.join(" and of ")),
        (Some((_, key)), true) => format!("did you mean `{key}`?"),
        (None, true) => suggest(written, keys.iter().copied()),
    }
}

/// "`a`, `b`".
pub(super) fn listed(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// What to write where a whole number is wanted.
pub(super) fn digits(text: &str) -> String {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    let rest = text[digits.len()..].trim();
    match !digits.is_empty() && !rest.is_empty() && rest.chars().all(char::is_alphabetic) {
        true => format!("write `{digits}`, without a unit"),
        false => "write digits alone, such as `10`".into(),
    }
}

/// The keys of a struct, as serde asks for them.
fn keys<'de, T: Deserialize<'de>>() -> &'static [&'static str] {
    match T::deserialize(Asked) {
        Err(Mistake::Wanted(Wanted::Section { keys, .. })) => keys,
        _ => &[],
    }
}

/// Answers a struct with the keys it asks for.
struct Asked;

impl<'de> Deserializer<'de> for Asked {
    type Error = Mistake;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Mistake> {
        Err(Mistake::Told)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        keys: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Mistake> {
        Err(Mistake::Wanted(Wanted::Section { name, keys }))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::{SECTIONS, SYNONYMS, instead_of, means};

    #[test]
    fn every_section_has_its_keys() {
        for section in SECTIONS.iter() {
            assert!(!section.keys.is_empty(), "{}", section.name);
        }
    }

    #[test]
    fn words_of_other_tools_lead_to_ours() {
        assert!(SYNONYMS.iter().all(|(word, ours)| word != ours));
        for (written, section, expected) in [
            ("command", "Workload", "it is called `run` here"),
            ("Environments", "Spec", "did you mean `environments`?"),
            ("parametres", "Workload", "did you mean `parameters`?"),
            ("params", "Workload", "it is called `parameters` here"),
            ("image", "Environment", "`image` is a key of `container`"),
            ("docker", "Environment", "it is called `container` here"),
            ("name", "Workload", "the name is the key itself: `NAME: { … }`"),
            ("name", "Spec", "the title of an experiment is `title`"),
            ("iterations", "Spec", "it is called `repetitions` here"),
            ("matrix", "Workload", "`matrix` is a key of the experiment"),
            ("environment", "Spec", "did you mean `environments`?"),
        ] {
            let keys = SECTIONS.iter().find(|known| known.name == section).unwrap().keys;
            assert_eq!(instead_of(written, section, keys), expected, "{written} in {section}");
        }
        assert!(means("rum", "run") && means("cmd", "run") && !means("timeout", "run"));
    }
}
