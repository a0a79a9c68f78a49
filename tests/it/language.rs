//! What YAML becomes: text keeps its letters, files are merged by name, and what was read can be written and
//! read again.

use std::collections::BTreeMap;
use std::path::Path;

use runner::diagnostic::{Problems, Sources};
use runner::plan::Plan;
use runner::plan::substitute::Context;
use runner::spec::{self, Fragment, Reader, Spec};
use runner::ui::render_problems;

use crate::world;

/// A spec of several files, the first of which is the experiment; the last replaces hosts when `hosts` says so.
fn read(files: &[(&str, &str)], hosts: Option<&str>) -> Result<(Spec, Sources), Problems> {
    let files: BTreeMap<&str, &str> = files.iter().copied().collect();
    let text = |path: &Path| {
        let name = path.to_str().unwrap();
        files.get(name).map(|text| (*text).to_owned()).ok_or_else(|| "there is no such file".to_owned())
    };
    let mut wanted = vec![(Fragment::Experiment, Path::new("experiments/x.yaml"))];
    wanted.extend(hosts.map(|hosts| (Fragment::Hosts, Path::new(hosts))));
    let (spec, sources) = Reader::new(&text).read(&wanted)?;
    spec::check(spec, &sources, Vec::new()).map(|spec| (spec, sources))
}

fn must_read(files: &[(&str, &str)], hosts: Option<&str>) -> (Spec, Sources) {
    read(files, hosts).unwrap_or_else(|problems| panic!("{}", render_problems(&problems, false, 100)))
}

fn address<'a>(spec: &'a Spec, host: &str) -> &'a str {
    &spec.hosts[host].ssh.as_ref().unwrap().0.address
}

#[test]
fn scalars_keep_the_text_they_were_written_with() {
    let scalars = [
        "no",
        "on",
        "yes",
        "off",
        "y",
        "null-ish",
        "3.10",
        "0123",
        "22:22",
        "1_000",
        "0x10",
        "0o17",
        "1e3",
        "+5",
        ".5",
        "1.0",
        "2024-01-02",
        "4KiB",
        "50%",
        "true",
        "False",
        "-0",
        "00",
        "1.",
        "١",
    ];
    for scalar in scalars {
        let yaml = format!(
            "workloads:\n  a:\n    parameters: {{ p: {scalar} }}\n    run: {scalar}\n    prepare: [{scalar}]\n    conclude: {scalar}\n    cleanup: use {{{{ p }}}}\n\
             matrix:\n  - {{ p: [{scalar}, other] }}\n"
        );
        let (spec, _, plan) = world::plan(&yaml)
            .unwrap_or_else(|problems| panic!("{}", render_problems(&problems, false, 100)));
        let workload = &spec.workloads["a"];
        assert_eq!(workload.parameters["p"].as_str(), scalar);
        assert_eq!(workload.run.words[0].as_str(), scalar);
        assert_eq!(plan.cell(0).parameters["p"], scalar);
        let context = Context::of_cell(&spec, &plan.cell(0));
        assert_eq!(context.render("{{ p }}").unwrap(), scalar, "as a value of a template");
        for steps in [&workload.prepare, &workload.conclude] {
            let runner::spec::step::Step::Run(step) = &steps.0[0].value else { panic!("{scalar}") };
            assert_eq!(step.command.as_str(), scalar);
        }
        let single = yaml.replace(&format!("[{scalar}, other]"), scalar);
        assert_eq!(world::plan(&single).unwrap().2.cell(0).parameters["p"], scalar, "alone on an axis");
    }
}

/// Everything the language has.
const WHOLE: &str = "
title: 'no: 3.10'
hosts:
  pi: { ssh: 'pi@[fe80::1]:2222', peer_address: 192.0.2.7, sudo: none, labels: { board: 007 } }
  rack: { ssh: { address: rack, port: 22, user: bench, identity: ~/.ssh/id, jump: gate, known_hosts: accept-new } }
environments:
  native: { workdir: /mnt/nfs }
  docker:
    container: { image: 'debian:12', network: host, cpus: '{{ cpus }}', memory: 512MiB, volumes: [/a:/b:ro],
                 ports: ['80:80'], user: '1000', fresh: trial }
workloads:
  network:
    parameters: { server: native, cpus: 0.50 }
    services:
      server: { host: rack, environment: '{{ server }}', run: [serve, --port, '{{ port }}'], ready: { port: '{{ port }}', within: 5s } }
    setup: [true, { run: id, on: host, sudo: true, timeout: 1m30s }]
    prepare: drop_caches
    run: [send, two words, 0123]
    conclude: { sleep: 250ms }
    cleanup: |
      one
      two
    metrics:
      tool: iperf3
      keep: [throughput_sent]
      extract:
        rate: { regex: 'a\\s(\\d+)', from: stderr, unit: Mbit/s, better: higher }
        iops: { json: '$.iops', from: out/result.json, unit: 1/s, fixed: time }
        cells: { csv: { column: 2, where: { 1: write, 3: '0123' }, labels: [4], delimiter: ;, header: false } }
        lines: { lines: '(?<kind>\\w+) (?<value>\\d+)' }
    fetch: [out]
    timeout: 2h
matrix:
  - host: pi
    environment: [native, docker]
    server: [native, docker]
    exclude: [{ environment: native, server: [docker] }, 'cpus == 1']
    cpus: [0.50, 1, 2]
    repetitions: 3
    warmup: 1
repetitions: 4
order: sequential
seed: 12
timeout: 1h
report: { baseline: { environment: native } }
";

#[test]
fn what_is_written_is_read_again_as_the_same() {
    let (spec, sources, plan) =
        world::plan(WHOLE).unwrap_or_else(|problems| panic!("{}", render_problems(&problems, false, 100)));
    let yaml = spec.to_yaml();
    let (again, other_sources, same) = world::plan(&yaml)
        .unwrap_or_else(|problems| panic!("{}\n{yaml}", render_problems(&problems, false, 100)));
    assert!(same.cells().eq(plan.cells()) && same.trials().eq(plan.trials()));
    assert_eq!(again.to_yaml(), yaml, "and the same text comes out");
    let commands = |spec: &Spec, plan: &Plan| -> Vec<String> {
        let words = &spec.workloads["network"].run.words;
        let command = |cell| {
            let context = Context::of_cell(spec, &cell);
            words.iter().map(|word| context.render(word).unwrap()).collect::<Vec<_>>().join(" ")
        };
        plan.cells().map(command).collect()
    };
    assert_eq!(commands(&again, &same), commands(&spec, &plan));
    assert!(commands(&spec, &plan)[0].contains("two words 0123"));
    assert_eq!(sources.get(1).is_some(), other_sources.get(1).is_some());
    for text in ["fe80::1", "2222", "\"007\"", "accept-new", "1m 30s", "fresh: trial", "sudo: none", "0.50"] {
        assert!(yaml.contains(text), "{text} is missing in\n{yaml}");
    }
}

#[test]
fn the_including_file_wins_and_paths_start_at_their_file() {
    let files = [
        (
            "experiments/x.yaml",
            "include: [parts/hosts.yaml]\nhosts: { b: { ssh: mine } }\nworkloads: { nap: { run: sleep 1 } }\n",
        ),
        (
            "experiments/parts/hosts.yaml",
            "include: [deep/more.yaml]\nhosts: { a: { ssh: theirs }, b: { ssh: theirs } }\n",
        ),
        (
            "experiments/parts/deep/more.yaml",
            "hosts: { a: { ssh: deep }, c: { ssh: deep } }\nenvironments: { docker: { container: { build: image } } }\n",
        ),
    ];
    let (spec, sources) = must_read(&files, None);
    let addresses: Vec<_> = ["a", "b", "c"].iter().map(|host| address(&spec, host)).collect();
    assert_eq!(addresses, ["theirs", "mine", "deep"]);
    let build = spec.environments["docker"].container.as_ref().unwrap().build.as_ref().unwrap();
    assert_eq!(sources.directory(build.span).join(build.as_str()), Path::new("experiments/parts/deep/image"));
}

#[test]
fn a_hosts_file_replaces_what_has_the_same_name() {
    let files = [
        (
            "experiments/x.yaml",
            "hosts: { a: { ssh: pi@a, labels: { board: pi4 } }, b: { ssh: b } }\n\
             environments: { native: {}, docker: { container: { image: debian, memory: 1GiB } } }\n\
             workloads: { nap: { run: sleep 1 } }\n",
        ),
        (
            "lab/hosts.yaml",
            "hosts: { a: { ssh: lab-a }, extra: { ssh: extra } }\nenvironments: { docker: { container: { image: lab } } }\n",
        ),
    ];
    let (spec, _) = must_read(&files, Some("lab/hosts.yaml"));
    assert_eq!((address(&spec, "a"), address(&spec, "b")), ("lab-a", "b"));
    assert!(spec.hosts["a"].labels.is_empty(), "the whole declaration is another");
    let docker = spec.environments["docker"].container.as_ref().unwrap();
    assert_eq!(docker.image.as_ref().unwrap().as_str(), "lab");
    assert!(docker.memory.is_none());
    let problems = read(&files[..1], Some("lab/hosts.yaml")).unwrap_err();
    assert!(
        render_problems(&problems, false, 100).contains("can't read `lab/hosts.yaml`: there is no such file")
    );
}

#[test]
fn a_file_that_two_files_include_counts_once() {
    let files = [
        (
            "experiments/x.yaml",
            "include: [a.yaml, b.yaml, ../experiments/both.yaml]\nworkloads: { nap: { run: sleep 1 } }\n",
        ),
        ("experiments/a.yaml", "include: both.yaml\nhosts: { a: { ssh: a } }\n"),
        ("experiments/b.yaml", "include: both.yaml\nhosts: { b: { ssh: b } }\n"),
        ("experiments/both.yaml", "hosts: { common: { ssh: c } }\n"),
    ];
    let (spec, _) = read(&files, None).unwrap();
    let mut names: Vec<&str> = spec.hosts.keys().map(|name| name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["a", "b", "common"]);
}

#[test]
fn what_a_hosts_file_offers_is_measured_only_where_it_is_named() {
    let lab = ("lab.yaml", "environments: { docker: { container: { image: x } } }\n");
    let nap = "workloads: { nap: { run: sleep 1 } }\n";
    for (experiment, expected) in [
        (nap.to_owned(), ["native"].as_slice()),
        (format!("{nap}matrix: [{{ environment: [docker, native] }}]\n"), &["docker", "native"]),
        (format!("{nap}environments: {{ docker: {{ container: {{ image: y }} }} }}\n"), &["docker"]),
    ] {
        let (spec, sources) = must_read(&[("experiments/x.yaml", &experiment), lab], Some("lab.yaml"));
        let plan = runner::plan::Plan::new(&spec, &sources).unwrap();
        let measured: Vec<String> = plan.cells().map(|cell| cell.environment).collect();
        assert_eq!(measured, expected, "{experiment}");
    }
}

#[test]
fn mistakes_in_several_included_files_come_at_once() {
    let files = [
        ("experiments/x.yaml", "include: [a.yaml, b.yaml]\nworkloads: { nap: { run: sleep 1 } }\n"),
        ("experiments/a.yaml", "hosts: { a: { shh: a } }\n"),
        ("experiments/b.yaml", "hosts: { b: { local: [] } }\n"),
    ];
    let told = render_problems(&read(&files, None).unwrap_err(), false, 100);
    for place in ["experiments/a.yaml:1:15", "experiments/b.yaml:1:22"] {
        assert!(told.contains(place), "{place}: {told}");
    }
}

#[test]
fn anchors_and_merge_keys_work() {
    let (spec, _, plan) = world::plan(
        "
workloads:
  small: &disk
    prepare: [&sync sync, drop_caches]
    run: &run dd if=/dev/zero
    timeout: 10s
  large:
    <<: *disk
    run: dd if=/dev/zero bs=1M
    conclude: [*sync]
  other: { run: *run }
matrix:
  - &block { workload: small, repetitions: 2 }
  - { <<: *block, workload: [large, other] }
",
    )
    .unwrap_or_else(|problems| panic!("{}", render_problems(&problems, false, 100)));
    let large = &spec.workloads["large"];
    assert_eq!(large.run.words[0].as_str(), "dd if=/dev/zero bs=1M", "its own key wins");
    assert_eq!(large.prepare.0.len(), 2);
    assert!(large.timeout.is_some());
    assert_eq!(spec.workloads["other"].run.words[0].as_str(), "dd if=/dev/zero");
    assert_eq!(plan.trial_count(), 6);
}

#[test]
fn names_of_templates_have_their_values() {
    let (spec, _, plan) = world::plan(
        "
hosts: { pi: { ssh: { address: 192.0.2.7 }, labels: { board: pi4 } } }
workloads: { a: { parameters: { size: 512 }, run: '{{ size }}' } }
",
    )
    .unwrap();
    let context = Context::of_cell(&spec, &plan.cell(0));
    for (template, text) in [
        ("{{ host.name }} {{ host.address }} {{ host.labels.board }}", "pi 192.0.2.7 pi4"),
        ("{{ workload }}/{{ environment }}", "a/native"),
        ("{{ size * 2 }} {% if size > 64 %}large{% endif %}", "1024 large"),
        ("no braces, $HOME and {single}", "no braces, $HOME and {single}"),
    ] {
        assert_eq!(context.render(template).as_deref(), Ok(text));
    }
    assert!(context.render("{{ nothing }}").is_err());
}
