//! Mistakes of form come all at once: as many as there are, each where it stands, and none that is not there.

use std::path::Path;

use proptest::prelude::*;
use runner::diagnostic::Problems;
use runner::spec::{Fragment, Reader, Spec};
use runner::ui::render_problems;

/// A spec of one file.
fn read(yaml: &str, sets: &[&str]) -> Result<Spec, Problems> {
    let text = |_: &Path| Ok(yaml.to_owned());
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    Reader::new(&text)
        .with_sets(&sets)
        .read(&[(Fragment::Experiment, Path::new("x.yaml"))])
        .map(|(spec, _)| spec)
}

/// The line and the message of every mistake.
fn told(yaml: &str) -> Vec<(usize, String)> {
    let Err(problems) = read(yaml, &[]) else { return Vec::new() };
    let line = |offset: usize| yaml[..offset].matches('\n').count() + 1;
    problems
        .problems
        .into_iter()
        .map(|problem| (line(problem.span.unwrap().offset), problem.message))
        .collect()
}

/// Lines of an experiment: as they should be, and with a mistake where there is one.
const LINES: &[(&str, &str, &str)] = &[
    ("title: x", "tittle: x", "unknown key `tittle`"),
    ("hosts:", "", ""),
    ("  a: { ssh: a }", "  a: a", "a section with keys is wanted here"),
    (
        "  b: { ssh: { address: b, port: 22 } }",
        "  b: { ssh: { address: b, port: ssh } }",
        "`ssh` is not a whole number that fits here",
    ),
    ("  c: { ssh: { address: c } }", "  c: { ssh: { user: c } }", "missing key `address`"),
    ("  d: { ssh: d, sudo: none }", "  d: { ssh: d, sudo: nono }", "unknown value `nono`"),
    ("environments:", "", ""),
    ("  docker:", "", ""),
    ("    container:", "", ""),
    ("      image: x", "      image: [x]", "a text is wanted here"),
    ("      volumes: []", "      volumes: { x: y }", "a text is wanted here"),
    ("      fresh: trial", "      fresch: trial", "unknown key `fresch`"),
    ("workloads:", "", ""),
    ("  w:", "", ""),
    ("    run: x", "    rum: x", "unknown key `rum`"),
    ("    timeout: 5s", "    timeout: 5", "`5` has no unit"),
    ("    prepare:", "", ""),
    ("      - sync", "      - { sleep: 1 }", "`1` has no unit"),
    (
        "      - { run: sync, sudo: true }",
        "      - { run: sync, sudo: yes }",
        "`yes` is neither `true` nor `false`",
    ),
    ("      - { sleep: 1s }", "      - { sleep: 1s, wait: 2s }", "unknown key `wait`"),
    ("  v: { run: [a, b] }", "  v: { run: [a, {{ b }}] }", "braces at the start of a value are YAML's own"),
    ("  u: { run: x }", "  v: { run: x }", "duplicate key `v`, first written in line 21"),
    ("  t: { run: x }", "  t: {}", "missing key `run`"),
    (
        "  s: { run: x, metrics: { keep: [] } }",
        "  s: { run: x, metrics: [dd] }",
        "a section with keys is wanted here",
    ),
    ("repetitions: 3", "repetitions: 3x", "`3x` is not a whole number that fits here"),
    ("order: blocks", "order: random", "unknown value `random`"),
    ("report: { baseline: {} }", "report: { baselines: {} }", "unknown key `baselines`"),
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn every_planted_mistake_is_told_and_no_other(planted in prop::collection::vec(any::<bool>(), LINES.len())) {
        let is_planted = |index: usize| planted[index] && !LINES[index].2.is_empty();
        let lines = LINES.iter().enumerate().map(|(index, (right, wrong, _))| if is_planted(index) { wrong } else { right });
        let yaml: String = lines.map(|line| format!("{line}\n")).collect();
        let expected: Vec<(usize, String)> = (0..LINES.len())
            .filter(|index| is_planted(*index))
            .map(|index| (index + 1, LINES[index].2.to_owned()))
            .collect();
        prop_assert_eq!(told(&yaml), expected, "{}", yaml);
    }
}

#[test]
fn what_follows_from_a_mistake_is_not_told() {
    for (yaml, expected) in [
        ("workloads: { a: { run: { x: y } } }", &["a text is wanted here"][..]),
        ("workloads: { a: { prepare: { run: [x] }, run: x } }", &["a text is wanted here"]),
        ("workloads: { a: { prepare: { cmd: x }, run: x } }", &["unknown key `cmd`"]),
        ("workloads: { a: { script: x } }", &["unknown key `script`"]),
        ("workloads: { a: { other: x } }", &["missing key `run`", "unknown key `other`"]),
        ("workloads: { a: &a { run: x, timeout: 5 }, b: *a, c: *a }", &["`5` has no unit"]),
        ("- a", &["a section with keys is wanted here"]),
    ] {
        let messages: Vec<String> = told(yaml).into_iter().map(|(_, message)| message).collect();
        assert_eq!(messages, expected, "{yaml}");
    }
}

#[test]
fn a_value_that_is_set_is_read_like_one_in_the_file() {
    let yaml = "workloads:\n  w: { run: x }\n";
    let sets = ["workloads.w.timeout=5s", "matrix=[{size: 1}]", "matrix.0.size=[64, 256]", "repetitions=3"];
    let spec = read(yaml, &sets).unwrap();
    assert_eq!(spec.workloads["w"].timeout.as_ref().unwrap().value.0.as_secs(), 5);
    assert_eq!(spec.matrix[0].axes.0[0].1.get(1), "256");
    assert_eq!(spec.repetitions.unwrap().value.most(), 3);
    let problems =
        read(yaml, &["workloads.w.timeout=5", "repetitions=x", "a", "workloads.w.run.x=1"]).unwrap_err();
    let text = render_problems(&problems, false, 100);
    for expected in [
        "x.yaml (with --set):1:14",
        "x.yaml (with --set):3:",
        "can't read `--set a`: it is not PATH=VALUE",
        "can't `--set workloads.w.run.x=1` in `x.yaml`: `run` is text, and has no `x`",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn a_declaration_is_set_in_the_file_that_counts() {
    let files = |path: &Path| {
        Ok(match path.to_str().unwrap() {
            "x.yaml" => "include: parts.yaml\nworkloads: { w: { run: x } }\nhosts: { a: { ssh: own }, b: { ssh: own } }\n",
            "parts.yaml" => "hosts: { b: { ssh: part }, c: { ssh: part } }\n",
            _ => "hosts: { a: { ssh: lab } }\n",
        }
        .to_owned())
    };
    let fragments = [(Fragment::Experiment, Path::new("x.yaml")), (Fragment::Hosts, Path::new("lab.yaml"))];
    for name in ["a", "b", "c", "d"] {
        let reader = Reader::new(&files).with_sets(&[format!("hosts.{name}.ssh=new")]);
        let (spec, _) = reader.read(&fragments).unwrap();
        assert_eq!(spec.hosts[name].ssh.as_ref().unwrap().0.address.as_str(), "new", "{name}");
    }
}

/// Case 082.
pub fn scalars_keep_their_letters_and_a_doubled_key_is_refused(folder: &Path, expected: &serde_json::Value) {
    let input = std::fs::read_to_string(folder.join("input.yaml")).unwrap();
    let refused = &expected["as_given"];
    let words: Vec<&str> =
        refused["error_contains"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    let is_meant = |(line, message): &(usize, String)| {
        *line as u64 == refused["line"].as_u64().unwrap() && words.iter().all(|word| message.contains(word))
    };
    assert!(told(&input).iter().any(is_meant), "{:?}", told(&input));
    assert!(told(&input).iter().any(|(_, message)| message.contains("line 20")), "both places are named");

    let values = &expected["without_last_line"]["values"];
    let text = |name: &str| values[name].as_str().unwrap();
    let yaml = "title: no
environments: { docker: { container: { image: x, memory: 64MiB } } }
hosts:
  pi-010:
    ssh: { address: 2001:db8::10, port: 22 }
    labels: { tool_version: 3.10, serial: 0123, owner: on, name: \"null\", ports: 22:22 }
workloads:
  1e3: { run: 'true', timeout: 90s }
repetitions: 5
";
    let doubled = told(&format!("{yaml}repetitions: 3\n"));
    assert_eq!(doubled, [(10, "duplicate key `repetitions`, first written in line 9".to_owned())]);
    let spec = read(yaml, &[]).unwrap();
    let host = &spec.hosts["pi-010"];
    let label = |name: &str| host.labels[name].as_str();
    assert_eq!(spec.title.as_ref().unwrap().as_str(), text("name"));
    assert_eq!(label("tool_version"), text("hosts[0].tool_version"));
    assert_eq!(label("serial"), text("hosts[0].serial"));
    assert_eq!(label("owner"), text("hosts[0].owner"));
    assert_eq!(label("name"), text("hosts[1].name"));
    assert_eq!(label("ports"), text("hosts[1].ports"));
    let container = spec.environments["docker"].container.as_ref().unwrap();
    let memory = runner::spec::environment::memory(container.value.memory.as_ref().unwrap().as_str());
    assert_eq!(memory.ok(), values["workloads[0].size_bytes"].as_u64());
    let ssh = &host.ssh.as_ref().unwrap().0;
    assert_eq!(ssh.address.as_str(), "2001:db8::10");
    assert_eq!(u64::from(ssh.port.as_ref().unwrap().value), values["hosts[0].port"].as_u64().unwrap());
    let timeout = spec.workloads[text("workloads[0].name")].timeout.as_ref().unwrap().value.0;
    assert_eq!(timeout.as_secs(), values["workloads[0].timeout_seconds"].as_u64().unwrap());
    assert_eq!(u64::from(spec.repetitions.unwrap().value.most()), values["repetitions"].as_u64().unwrap());
}
