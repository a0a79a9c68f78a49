//! Files that nobody writes on purpose: each gives a plan or a problem, at once, and never a panic.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use runner::spec::{Fragment, Reader};
use runner::ui::render_problems;

use crate::world::plan;

/// What a user reads; `ok` for a file that is accepted.
fn told(yaml: &str) -> String {
    let start = Instant::now();
    let told = match plan(yaml) {
        Ok(_) => "ok".to_owned(),
        Err(problems) => render_problems(&problems, false, 100),
    };
    let shown: String = yaml.chars().take(60).collect();
    assert!(start.elapsed() < Duration::from_secs(20), "slow: {shown}");
    assert!(told.len() < 20_000, "nobody reads {} bytes: {shown}", told.len());
    told
}

const NAP: &str = "workloads:\n  nap: { run: sleep 1 }\n";

fn repeated(text: &str, times: usize) -> String {
    text.repeat(times)
}

/// Nine levels of nine aliases each.
fn alias_bomb() -> String {
    let mut text = "title: &a0 boom\n".to_owned();
    for level in 1..9 {
        let before = format!("*a{}, ", level - 1).repeat(9);
        text.push_str(&format!("x{level}: &a{level} [{}]\n", before.trim_end_matches(", ")));
    }
    text + NAP
}

/// The same by merge keys, where they are accepted.
fn merge_bomb() -> String {
    let mut text = format!("{NAP}hosts:\n  h0: {{ local: {{}}, labels: &a0 {{ x: y }} }}\n");
    for level in 1..12 {
        let before = format!("*a{}, ", level - 1).repeat(9);
        text.push_str(&format!("  h{level}: {{ local: {{}}, labels: &a{level} {{ <<: [{before}] }} }}\n"));
    }
    text
}

/// A name, the file, and a part of what is told.
#[rustfmt::skip]
fn cases() -> Vec<(&'static str, String, &'static str)> {
    let deep = |open: &str, close: &str| {
        format!("title: {}{}\n{NAP}", repeated(open, 100_000), repeated(close, 100_000))
    };
    let long_line =
        format!("{{ title: {}, workloads: {{ nap: {{ rum: sleep 1 }} }} }}", repeated("x", 500_000));
    vec![
        ("most of the language", WHOLE.into(), "ok"),
        ("empty", String::new(), "the experiment has no workload"),
        ("blank", "\n \n".into(), "the experiment has no workload"),
        ("a marker alone", "---\n".into(), "the experiment has no workload"),
        ("no workload in the section", "workloads: {}\n".into(), "the experiment has no workload"),
        ("a marker first", format!("---\n{NAP}"), "ok"),
        ("byte order mark", format!("\u{feff}{NAP}"), "ok"),
        ("carriage returns", NAP.replace('\n', "\r\n"), "ok"),
        ("no newline at the end", NAP.trim_end().into(), "ok"),
        ("block scalars", "workloads:\n  nap:\n    run: |\n      sleep 1\n      sleep 2\n    conclude: >-\n      echo\n      done\n".into(), "ok"),
        ("two documents", format!("{NAP}---\n{NAP}"), "a second document begins here"),
        ("nothing in a section of another script", "workloads:\n  측정: {}\n".into(), "missing key `run`"),
        ("text of another script where a section is wanted", "workloads: { 측정: 크기 }\n".into(), "this is text"),
        ("text", "sleep 1".into(), "a section with keys is wanted here"),
        ("a list", "- sleep 1".into(), "a section with keys is wanted here"),
        ("a number", "42".into(), "a section with keys is wanted here"),
        ("null sections", format!("{NAP}hosts:\n"), "nothing is written here"),
        ("null list", format!("{NAP}matrix:\n"), "nothing is written here"),
        ("null value", format!("{NAP}title:\n"), "ok"),
        ("tilde", "workloads:\n  nap: { run: ~ }\n".into(), "nothing is written here"),
        ("alias bomb", alias_bomb(), "too many values"),
        ("merge bomb", merge_bomb(), "too many values"),
        ("deep list", deep("[", "]"), "too deep in each other at experiment.yaml:1:"),
        ("deep map", deep("{a: ", "}"), "too deep"),
        ("anchors in each other", (1..2000).fold("x0: &a0 [x]\n".into(), |text, n| format!("{text}x{n}: &a{n} [*a{}]\n", n - 1)), "too deep"),
        ("few anchors in each other", (1..62).fold("x0: &a0 [x]\n".into(), |text, n| format!("{text}x{n}: &a{n} [*a{}]\n", n - 1)), "too deep"),
        ("anchors, each deep", (1..30).fold("x0: &a0 [x]\n".into(), |text, n| format!("{text}x{n}: &a{n} [[[[[[*a{}]]]]]]\n", n - 1)), "too deep"),
        ("deep by aliases", (1..60).fold("x0: &a0 [x]\n".into(), |text, n| format!("{text}x{n}: &a{n} {}*a{}{}\n", "[".repeat(29), n - 1, "]".repeat(29))), "too deep"),
        ("never closed", deep("[", ""), "too deep"),
        ("deep where nothing is read", deep("[", "]").replacen("title", "x: &x { drop_caches", 1), "too deep"),
        ("deep in a step", format!("workloads:\n  nap: {{ run: x, prepare: {{ drop_caches: {} }} }}\n", repeated("[", 1000)), "too deep"),
        ("deep by indentation", (0..1000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect(), "too deep"),
        ("two megabytes", format!("# {}\n{NAP}", repeated("x", 2 << 20)), "larger than 1 MiB"),
        ("one long line", long_line, "unknown key `rum`"),
        ("many workloads", (0..3000).fold("workloads:\n".into(), |text, n| format!("{text}  w{n}: {{ run: x }}\n")), "ok"),
        ("many unknown names", format!("{NAP}matrix:\n  - host:\n{}", (0..10_000).map(|n| format!("    - h{n}\n")).collect::<String>()), "and 9980 more"),
        ("many values", format!("{NAP}    parameters: {{ n: 1 }}\nmatrix:\n  - n:\n{}", (0..20_000).map(|n| format!("    - {n}\n")).collect::<String>()).replace("{ run: sleep 1 }\n", "\n    run: sleep {{ n }}\n"), "ok"),
        ("many keys", (0..40_000).map(|n| format!("k{n}: 1\n")).collect(), "and 80 more"),
        ("too many keys", (0..90_000).map(|n| format!("k{n}: 1\n")).collect(), "too many values"),
        ("many wrong values", (0..10_000).fold("workloads:\n".into(), |text, n| format!("{text}  w{n}: x\n")), "and 30 more"),
        ("many blocks", format!("{NAP}matrix:\n{}", "  - { repetitions: 1 }\n".repeat(12_000)), "12000 blocks and entries, more than 1000"),
        ("many environments and workloads", format!("environments:\n{}workloads:\n{}", (0..4000).map(|n| format!("  e{n}: {{ }}\n")).collect::<String>(), (0..4000).map(|n| format!("  w{n}: {{ run: x }}\n")).collect::<String>()), "there are 4001 environments, more than 1000"),
        ("control characters", "workloads:\n  nap: { run: \"sleep \\0 1\" }\n".into(), "ok"),
        ("a zero byte", "workloads:\n  nap: { run: sleep\u{0}1 }\n".into(), "unexpected character"),
        ("a tag", "workloads:\n  nap: { run: !!python/object sleep }\n".into(), "ok"),
        ("a key that is a list", "? [a, b]\n: c\n".into(), "the name of a key is wanted here"),
        ("a merge key of itself", "workloads:\n  nap: &nap\n    <<: *nap\n    run: x\n".into(), "this alias holds itself"),
        ("endless template", "workloads:\n  nap: { run: '{% for i in range(100000000) %}x{% endfor %}' }\n".into(), "unknown name `range`"),
        ("endless exclude", format!("{NAP}matrix: [{{ exclude: \"range(99999)|sum > 1\" }}]"), "unknown name `range`"),
        ("huge repetitions", format!("{NAP}repetitions: 4000000000\n"), "4000000000 trials are more than 1000000"),
        ("huge seed", format!("{NAP}seed: 99999999999999999999999\n"), "not a whole number"),
        ("fraction", format!("{NAP}repetitions: 1.5\n"), "not a whole number"),
        ("huge duration", format!("{NAP}timeout: 99999999999999999999h\n"), "is not a duration"),
    ]
}

#[test]
fn each_gives_a_plan_or_a_problem() {
    let mut wrong = String::new();
    for (name, yaml, expected) in cases() {
        let told = told(&yaml);
        if !told.contains(expected) {
            wrong.push_str(&format!("{name} should tell `{expected}`: {told}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn includes_have_an_end() {
    let number =
        |path: &Path| path.file_stem().unwrap().to_str().unwrap().parse::<usize>().unwrap_or_default();
    let chain = |path: &Path| Ok(format!("include: {}.yaml\n{NAP}", number(path) + 1));
    let crowd = |path: &Path| match number(path) {
        0 => Ok(format!(
            "include: [{}]\n",
            (1..10_000).map(|n| format!("{n}.yaml")).collect::<Vec<_>>().join(",")
        )),
        n => Ok(format!("hosts: {{ h{n}: {{ ssh: h{n} }} }}\n")),
    };
    let everywhere =
        |_: &Path| Ok(format!("include: [{}]\n", ["a.yaml", "./b.yaml", "c/../d.yaml"].join(",")));
    type Read<'a> = &'a dyn Fn(&Path) -> Result<String, String>;
    let cases: [(Read<'_>, &str); 3] = [
        (&chain, "16 one in the other"),
        (&crowd, "more than 256 included files"),
        (&everywhere, "an include loop"),
    ];
    for (read, expected) in cases {
        let problems = Reader::new(read).read(&[(Fragment::Experiment, Path::new("x.yaml"))]).unwrap_err();
        let told = render_problems(&problems, false, 100);
        assert!(told.contains(expected), "{expected}: {told}");
    }
}

/// An experiment with most of the language, words of several bytes a letter among them.
const WHOLE: &str = "
hosts: { pi: { ssh: 'pi@[fe80::1]:22', labels: { 보드: 라떼 } } }
environments:
  docker: { container: { image: debian, cpus: '0.5', memory: 512MiB } }
workloads:
  측정:
    parameters: { 크기: 4KiB }
    services: { server: { run: 'serve {{ port }}', ready: { log: '준비 (\\d+)', within: 5s } } }
    prepare: [drop_caches, { sleep: 2s }, { run: sync, sudo: true }, wait_idle, { cool_down: { below: 60C } }]
    run: 읽기 {{ 크기 }} {{ services.server.port }}
    metrics: { extract: { rate: { regex: '(\\d+)', unit: MB/s } } }
matrix:
  - { workload: 측정, 크기: [1, 2], exclude: \"크기 == 2\", repetitions: 3 }
seed: 1
";

/// A place of the text, how many letters go there, and what comes instead.
fn change() -> impl Strategy<Value = (prop::sample::Index, usize, String)> {
    let letters = "[a-z0-9\\[\\]{}:,'\"&*!|>%@#~?=\n\t \u{ac00}\u{feff}-]{0,3}";
    (any::<prop::sample::Index>(), 0..4_usize, letters)
}

/// Files to start from: examples, and what people get wrong.
static FILES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut files = vec![WHOLE.to_owned()];
    for folder in ["experiments", "tests/problems"] {
        let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
        paths.sort();
        files.extend(paths.iter().map(|path| fs::read_to_string(path).unwrap()));
    }
    files
});

const TOKENS: [&str; 18] = [
    "{{",
    "}}",
    "{{ x }}",
    "<<: *a",
    "&a ",
    "*a",
    "- ",
    "? ",
    ": ",
    "from: 0, to: 1e18",
    "{ from: 1, to: 99999999999, step: 1 }",
    "[]",
    "{}",
    "|\n",
    "!!binary ",
    "---\n",
    "\t",
    "'",
];

/// A line, another line or file, a token, and what is done with them.
fn mutation() -> impl Strategy<Value = (prop::sample::Index, prop::sample::Index, usize, u8)> {
    (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..TOKENS.len(), 0..6_u8)
}

fn mutate(lines: &mut Vec<String>, mutation: &(prop::sample::Index, prop::sample::Index, usize, u8)) {
    let (one, other, token, kind) = mutation;
    if lines.is_empty() {
        lines.push(TOKENS[*token].to_owned());
    }
    let (first, second) = (one.index(lines.len()), other.index(lines.len()));
    match kind {
        0 => lines.insert(second, lines[first].clone()),
        1 => lines.swap(first, second),
        2 => drop(lines.remove(first)),
        3 => {
            let line = &mut lines[first];
            let letters =
                line.char_indices().map(|(offset, _)| offset).chain([line.len()]).collect::<Vec<_>>();
            let place = letters[other.index(letters.len())];
            line.insert_str(place, TOKENS[*token]);
        }
        4 => lines[first].insert_str(0, "  "),
        _ => {
            let file = &FILES[other.index(FILES.len())];
            let spliced: Vec<String> = file.lines().take(5).map(str::to_owned).collect();
            lines.splice(first..first, spliced);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_spoiled_file_is_a_problem_and_no_panic(changes in prop::collection::vec(change(), 1..4)) {
        let mut letters: Vec<char> = WHOLE.chars().collect();
        for (place, removed, added) in changes {
            let start = place.index(letters.len());
            let end = (start + removed).min(letters.len());
            letters.splice(start..end, added.chars());
        }
        told(&letters.into_iter().collect::<String>());
    }
    #[test]
    fn a_mutated_file_is_a_problem_and_no_panic(
        file in any::<prop::sample::Index>(),
        mutations in prop::collection::vec(mutation(), 1..5),
    ) {
        let mut lines: Vec<String> = FILES[file.index(FILES.len())].lines().map(str::to_owned).collect();
        mutations.iter().for_each(|mutation| mutate(&mut lines, mutation));
        told(&lines.join("\n"));
    }
}
