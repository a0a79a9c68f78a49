//! From an experiment to its trials: the plan of every example, and what holds for the order of any plan.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use runner::diagnostic::{Problem, Problems};
use runner::plan::{Cell, Phase, Plan};
use runner::spec::{self, Fragment, Located, Reader, Spec};
use runner::ui::render_problems;

use crate::world;

/// The plan of a file, with the hosts of another.
pub fn plan_of(file: &Path, hosts: Option<&Path>) -> Result<Plan, Problems> {
    let read = |path: &Path| fs::read_to_string(path).map_err(|error| error.to_string());
    let mut files = vec![(Fragment::Experiment, file)];
    files.extend(hosts.map(|hosts| (Fragment::Hosts, hosts)));
    let (spec, sources) = Reader::new(&read).read(&files)?;
    let found = runner::metrics::check(&spec, &sources);
    let mut spec = spec::check(spec, &sources, found)?;
    spec.seed.get_or_insert(Located::unwritten(7));
    Plan::new(&spec, &sources)
}

fn examples() -> Vec<PathBuf> {
    let files = fs::read_dir("experiments").unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|name| name == "yaml")).collect();
    files.sort();
    files
}

#[test]
fn every_example_is_planned_as_it_stands_and_on_the_lab() {
    assert!(examples().len() >= 2);
    for file in examples() {
        for hosts in [None, Some(Path::new("lab/hosts.yaml"))] {
            match plan_of(&file, hosts) {
                Ok(plan) => assert!(plan.trial_count() > 0, "{}", file.display()),
                Err(problems) => panic!("{}", render_problems(&problems, false, 100)),
            }
        }
    }
}

#[test]
fn docker_vs_native_is_planned_as_committed() {
    let plan = plan_of(Path::new("experiments/docker-vs-native.yaml"), None).unwrap();
    let mut text = format!("{} trials of {} cells\n\n", plan.trial_count(), plan.cell_count());
    for cell in plan.cells() {
        let hosts: Vec<_> = cell.hosts().into_iter().collect();
        writeln!(text, "{} x{} on {}", cell.name, cell.repetitions, hosts.join(" and ")).unwrap();
    }
    for trial in plan.trials() {
        let end = if trial.order % 10 == 1 { "\n" } else { "" };
        writeln!(text, "{end}{:>3} {:>2} {}", trial.order, trial.block, trial.id()).unwrap();
    }
    insta::assert_snapshot!("docker-vs-native", text);
}

#[test]
fn a_plan_on_other_machines_keeps_its_names() {
    let file = Path::new("experiments/docker-vs-native.yaml");
    let (own, lab) =
        (plan_of(file, None).unwrap(), plan_of(file, Some(Path::new("lab/hosts.yaml"))).unwrap());
    // The lab has an environment of its own for `docker`, which the digests tell.
    let without_digest =
        |plan: &Plan| -> Vec<Cell> { plan.cells().map(|cell| Cell { id: String::new(), ..cell }).collect() };
    assert_eq!(without_digest(&own), without_digest(&lab));
    assert!(own.trials().eq(lab.trials()));
}

/// Experiments of a few workloads with any repetitions and warm-up, one of them in two blocks.
fn any_experiment() -> impl Strategy<Value = String> {
    let block = (1..5_u32, 0..3_u32, prop::collection::btree_set("[a-z0-9/ =.%-]{1,4}", 1..4));
    prop::collection::vec(block, 1..4).prop_map(|blocks| {
        let mut yaml = "environments: { native: {}, other: { workdir: /tmp } }\nworkloads:\n".to_owned();
        for n in 0..blocks.len() {
            writeln!(yaml, "  w{n}: {{ parameters: {{ p: 1 }}, run: 'x {{{{ p }}}}' }}").unwrap();
        }
        yaml.push_str("matrix:\n");
        for (n, (repetitions, warmup, values)) in blocks.into_iter().enumerate() {
            let values: Vec<String> = values.iter().map(|value| format!("'{value}'")).collect();
            let values = values.join(", ");
            writeln!(
                yaml,
                "  - {{ workload: w{n}, p: [{values}], repetitions: {repetitions}, warmup: {warmup} }}"
            )
            .unwrap();
        }
        yaml
    })
}

fn plan_with(yaml: &str, order: &str, seed: u64) -> Plan {
    let yaml = format!("{yaml}order: {order}\nseed: {seed}\n");
    match world::plan(&yaml) {
        Ok((.., plan)) => plan,
        Err(problems) => panic!("{}", render_problems(&problems, false, 100)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn blocks_hold_each_cell_once_while_it_has_trials_left(yaml in any_experiment(), seed: u32) {
        let plan = plan_with(&yaml, "blocks", seed.into());
        let trials: Vec<_> = plan.trials().collect();
        let blocks: BTreeSet<u32> = trials.iter().map(|trial| trial.block).collect();
        prop_assert_eq!(blocks.iter().copied().collect::<Vec<_>>(), (1..=blocks.len() as u32).collect::<Vec<_>>());
        prop_assert!(trials.is_sorted_by_key(|trial| trial.block));
        for block in blocks {
            let found = trials.iter().filter(|trial| trial.block == block).map(|trial| trial.cell.clone());
            let mut found: Vec<_> = found.collect();
            let mut expected: Vec<_> = plan
                .cells()
                .filter(|cell| cell.warmup + cell.repetitions >= block)
                .map(|cell| cell.name)
                .collect();
            found.sort();
            expected.sort();
            prop_assert_eq!(found, expected);
        }
        let same = plan_with(&yaml, "blocks", seed.into());
        prop_assert!(same.cells().eq(plan.cells()));
        prop_assert_eq!(same.trials().collect::<Vec<_>>(), trials, "the same seed gives the same order");
    }

    #[test]
    fn every_order_holds_every_trial_once_with_warm_up_first(
        yaml in any_experiment(), order in prop::sample::select(vec!["blocks", "sequential", "shuffled"]), seed: u32
    ) {
        let plan = plan_with(&yaml, order, seed.into());
        let trials: Vec<_> = plan.trials().collect();
        prop_assert_eq!(trials.len(), plan.trial_count());
        let ids: BTreeSet<String> = trials.iter().map(|trial| trial.id()).collect();
        prop_assert_eq!(ids.len(), trials.len(), "no trial twice");
        prop_assert!(trials.iter().zip(1..).all(|(trial, order)| trial.order == order));
        let mut of_cell: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for trial in &trials {
            prop_assert_eq!(&plan.cell(trial.index).name, &trial.cell);
            of_cell.entry(&trial.cell).or_default().push((trial.phase, trial.repetition));
        }
        prop_assert_eq!(of_cell.len(), plan.cell_count(), "names of cells are unique");
        prop_assert_eq!(plan.cells().map(|cell| cell.id).collect::<BTreeSet<_>>().len(), plan.cell_count());
        for cell in plan.cells() {
            let warmup = (1..=cell.warmup).map(|n| (Phase::Warmup, n));
            let expected: Vec<_> = warmup.chain((1..=cell.repetitions).map(|n| (Phase::Measure, n))).collect();
            prop_assert_eq!(&of_cell[&cell.name], &expected);
            let parts: Vec<_> = cell.name.as_str().split('/').collect();
            prop_assert_eq!(parts.len(), 4, "a value never adds a folder");
            prop_assert!(!parts.iter().any(|part| part.is_empty() || *part == "." || *part == ".."));
        }
        if order == "sequential" {
            let mut cells: Vec<_> = trials.iter().map(|trial| trial.cell.clone()).collect();
            cells.dedup();
            prop_assert_eq!(cells, plan.cells().map(|cell| cell.name).collect::<Vec<_>>());
        }
    }

    #[test]
    fn excludes_take_out_what_one_look_at_each_point_would(
        lengths in prop::array::uniform3(1..6_usize), limit in 0..30_usize, pair in (0..5_usize, 0..5_usize)
    ) {
        let list = |length: usize| (0..length).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
        let [a, b, c] = lengths.map(list);
        let (one, other) = pair;
        let whole = format!(
            "workloads: {{ w: {{ parameters: {{ a: 0, b: 0, c: 0, d: '{{{{ a + c }}}}' }}, \
             run: '{{{{ a }}}} {{{{ b }}}} {{{{ c }}}} {{{{ d }}}}' }} }}\n\
             matrix:\n  - a: [{a}]\n    b: [{b}]\n    c: [{c}]\n"
        );
        let excludes =
            [format!("a * b * c > {limit}"), format!("b == {one} and d > {other}"), format!("{{ a: [{one}, 4], c: {other} }}")];
        let is_out = |cell: &[usize; 4]| {
            let [a, b, c, d] = *cell;
            [a * b * c > limit, b == one && d > other, (a == one || a == 4) && c == other]
        };
        let numbers = |cell: Cell| ["a", "b", "c", "d"].map(|name| cell.parameters[name].parse::<usize>().unwrap());
        let all: Vec<[usize; 4]> = plan_with(&whole, "blocks", 1).cells().map(numbers).collect();
        prop_assert_eq!(all.len(), lengths.iter().product::<usize>());
        let acts: Vec<usize> = (0..3).filter(|n| all.iter().any(|cell| is_out(cell)[*n])).collect();
        let left: Vec<_> = all.iter().filter(|cell| acts.iter().all(|n| !is_out(cell)[*n])).copied().collect();
        prop_assume!(!left.is_empty() && !acts.is_empty());
        let written: String = acts.iter().map(|n| format!("      - {}\n", excludes[*n])).collect();
        let yaml = format!("{whole}    exclude:\n{written}");
        let plan = plan_with(&yaml, "blocks", 1);
        prop_assert_eq!(plan.cell_count(), left.len());
        prop_assert_eq!(plan.cells().map(numbers).collect::<Vec<_>>(), left);
    }
}

#[test]
fn another_seed_gives_another_order() {
    let yaml = "workloads: { a: { run: x }, b: { run: x }, c: { run: x }, d: { run: x } }\n";
    let orders: BTreeSet<Vec<String>> = (0..20)
        .map(|seed| plan_with(yaml, "blocks", seed).trials().map(|trial| trial.id()).collect())
        .collect();
    assert_eq!(orders.len(), 20);
}

#[test]
fn a_long_order_is_computed_and_holds_every_trial_once() {
    let yaml = "workloads: { w: { parameters: { a: 1 }, run: '{{ a }}' } }\n\
                matrix: [{ a: { from: 1, to: 5000, step: 1 }, exclude: a % 7 == 0, repetitions: 2, warmup: 1 }]\n";
    for order in ["blocks", "sequential", "shuffled"] {
        let plan = plan_with(yaml, order, 3);
        let mut next = vec![1; plan.cell_count()];
        for turn in plan.turns() {
            let number = if turn.phase == Phase::Warmup { 1 } else { 1 + turn.repetition };
            assert_eq!(number, next[turn.cell], "{order}: a cell's trials keep their order");
            next[turn.cell] += 1;
        }
        assert!(next.iter().all(|number| *number == 4), "{order}");
        assert_eq!(plan.cell_count(), 5000 - 714);
    }
}

#[test]
fn excluded_combinations_are_left_out() {
    let base = "
environments: { native: {}, docker: { container: { image: debian } } }
workloads: { net: { parameters: { server: native, size: 64 }, run: '{{ server }} {{ size }}' } }
matrix:
  - environment: [native, docker]
    server: [native, docker]
    size: [64, 512, 4096]
    exclude: ";
    for (exclude, left) in [
        ("[{ environment: native, server: docker }]", 9),
        ("{ size: [64, 512] }", 4),
        ("size >= 512", 4),
        ("[environment == 'native' and server == 'docker', size == 64]", 6),
        ("[{ environment: docker }, 'server == \"docker\"']", 3),
        ("size != 64 or server != environment", 2),
    ] {
        let cells = plan_with(&format!("{base}{exclude}\n"), "blocks", 1).cell_count();
        assert_eq!(cells, left, "{exclude}");
    }
}

/// The names of the cells without what all of them share.
fn cells(yaml: &str) -> Vec<String> {
    let plan = plan_with(yaml, "blocks", 1);
    plan.cells().map(|cell| cell.name.to_string().replace("/localhost/native", "")).collect()
}

#[test]
fn what_a_block_can_say() {
    let workloads = "workloads:\n  w: { parameters: { a: 1, b: 2, c: '{{ a * 10 }}' }, run: '{{ a }} {{ b }} {{ c }}' }\n  v: { run: x }\nmatrix:\n  - ";
    for (block, expected) in [
        ("workload: w", "w/a=1/b=2/c=10"),
        ("{ workload: w, a: { from: 1, to: 3, step: 1 } }", "w/a=1/b=2/c=10 w/a=2/b=2/c=20 w/a=3/b=2/c=30"),
        (
            "{ workload: w, a: { from: 4KiB, to: 16KiB, times: 2 }, c: x }",
            "w/a=4KiB/b=2/c=x w/a=8KiB/b=2/c=x w/a=16KiB/b=2/c=x",
        ),
        ("{ workload: w, zip: { a: [3, 4], b: [x, y] } }", "w/a=3/b=x/c=30 w/a=4/b=y/c=40"),
        (
            "{ workload: w, zip: [{ a: [3, 4], b: { from: 1, to: 2, step: 1 } }], c: [5, 6] }",
            "w/a=3/b=1/c=5 w/a=3/b=1/c=6 w/a=4/b=2/c=5 w/a=4/b=2/c=6",
        ),
        ("{ workload: [v, w], a: [1, 2] }", "v w/a=1/b=2/c=10 w/a=2/b=2/c=20"),
        (
            "{ workload: w, a: [1, 2], exclude: c == 10, include: { a: [5, 6], b: 7 } }",
            "w/a=2/b=2/c=20 w/a=5/b=7/c=50 w/a=6/b=7/c=60",
        ),
        (
            "{ workload: w, a: [1, 2], exclude: { c: 20 }, include: [{ workload: v }, { b: 3, c: 4 }] }",
            "w/a=1/b=2/c=10 v w/a=1/b=3/c=4 w/a=2/b=3/c=4",
        ),
        (
            "{ workload: w, zip: { a: [3, 4], b: [x, y] }, include: { a: 1, b: 1 } }",
            "w/a=3/b=x/c=30 w/a=4/b=y/c=40 w/a=1/b=1/c=10",
        ),
    ] {
        assert_eq!(cells(&format!("{workloads}{block}\n")).join(" "), expected, "{block}");
    }
}

#[test]
fn how_often_is_said_by_the_nearest() {
    let yaml = "workloads: { a: { run: x, repetitions: 3, warmup: 1 }, b: { run: x } }\nwarmup: 2\nrepetitions: 5\n\
                matrix: [{ environment: native }, { environment: other, repetitions: 7, warmup: 0 }]\n\
                environments: { native: {}, other: { workdir: /tmp } }\n";
    let counts: Vec<_> =
        plan_with(yaml, "blocks", 1).cells().map(|cell| (cell.repetitions, cell.warmup)).collect();
    assert_eq!(counts, [(3, 1), (5, 2), (7, 0), (7, 0)]);
    let (mut spec, sources, _) = world::plan(yaml).unwrap();
    spec.set_repetitions(2);
    let plan = Plan::new(&spec, &sources).unwrap();
    assert!(plan.cells().all(|cell| cell.repetitions == 2));
}

#[test]
fn overlapping_blocks_are_found_by_their_common_values() {
    let workloads = "workloads:\n  w: { parameters: { a: 1, b: 2, c: '{{ a * 10 }}' }, run: '{{ a }} {{ b }} {{ c }}' }\nmatrix:\n";
    for (blocks, twice) in [
        (["{ a: [1, 2] }", "{ a: [3, 2] }"], "w/a=2/b=2/c=20"),
        (["{ a: [1, 2] }", "{ a: [3, 4] }"], ""),
        (["{ a: [1, 2], exclude: a == 2 }", "{ a: [3, 2] }"], ""),
        (["{ a: [1, 2], b: [1, 2], exclude: a == b }", "{ a: [1, 2], b: [1, 2], exclude: a != b }"], ""),
        (
            ["{ a: { from: 1, to: 1000, step: 1 } }", "{ a: { from: 999, to: 1998, step: 1 } }"],
            "w/a=999/b=2/c=9990",
        ),
        (["{ zip: { a: [1, 2], b: [3, 4] } }", "{ a: [1, 2], b: [4] }"], "w/a=2/b=4/c=20"),
        (["{ zip: { a: [1, 2], b: [3, 4] } }", "{ a: [1], b: [4] }"], ""),
        (["{ a: [1, 2], c: [7, 20] }", "{ a: 2 }"], "w/a=2/b=2/c=20"),
        (["{ a: [1, 2], c: [7, 8] }", "{ a: 2 }"], ""),
        (["{ a: [1, 2], include: { a: 2 } }", "{ a: 3 }"], "w/a=2/b=2/c=20"),
    ] {
        let yaml = format!("{workloads}  - {}\n  - {}\n", blocks[0], blocks[1]);
        let told = match world::plan(&yaml) {
            Ok(_) => String::new(),
            Err(problems) => problems.problems[0].message.clone(),
        };
        let name = twice.replace("w/", "w/localhost/native/");
        assert_eq!(
            told.contains(&format!("`{name}` is in the matrix twice")),
            !twice.is_empty(),
            "{blocks:?}: {told}"
        );
        assert_eq!(told.is_empty(), twice.is_empty(), "{blocks:?}: {told}");
    }
}

#[test]
fn a_digest_follows_the_settings() {
    let yaml = "workloads: { w: { parameters: { a: 1 }, run: 'x {{ a }}' } }\nmatrix: [{ a: [1, 2] }]\n";
    let ids = |yaml: &str| plan_with(yaml, "blocks", 1).cells().map(|cell| cell.id).collect::<Vec<_>>();
    let own = ids(yaml);
    assert!(own[0] != own[1] && own[0].len() == 16);
    for same in [
        yaml.replace("[1, 2]", "[1, 2, 3]"),
        yaml.replace("a: 1", "a: 5"),
        format!("{yaml}repetitions: 3\n"),
        yaml.replace("run:", "repetitions: 3, warmup: 1, run:"),
        format!(
            "environments: {{ other: {{ workdir: /tmp }} }}\n{}",
            yaml.replace("a: [1", "environment: native, a: [1")
        ),
    ] {
        assert_eq!(ids(&same)[..2], own, "{same}");
    }
    let served = "environments: { native: {}, box: { workdir: /a } }\n\
                  workloads: { w: { services: { s: { environment: box, run: y, ready: { delay: 1s } } }, run: x } }\n\
                  matrix: [{ environment: native }]\n";
    assert_ne!(ids(served), ids(&served.replace("/a", "/b")), "what a service runs in is a setting too");
    for other in
        [yaml.replace("'x", "'y"), format!("environments: {{ native: {{ workdir: /tmp }} }}\n{yaml}")]
    {
        assert!(ids(&other)[0] != own[0], "{other}");
    }
}

#[test]
fn cells_are_written_as_json_lines() {
    let yaml = "workloads: { w: { parameters: { b: 1, a: '\"', d: '{{ b * 2 }}' }, run: '{{ a }} {{ b }} {{ d }}' } }\n\
                matrix: [{ b: { from: 1, to: 4, step: 1 }, a: ['\"', é/%], exclude: [b == 2], include: [{ a: x }] }]\n";
    let plan = plan_with(yaml, "blocks", 1);
    let mut text = Vec::new();
    plan.write_lines(&mut text).unwrap();
    let expected = plan.cells().map(|cell| {
        format!(
            "{{\"cell\":{},\"id\":\"{}\",\"workload\":\"w\",\"host\":\"localhost\",\"environment\":\"native\",\"parameters\":{},\"repetitions\":10,\"warmup\":0}}\n",
            serde_json::to_string(cell.name.as_str()).unwrap(),
            cell.id,
            serde_json::to_string(&cell.parameters).unwrap(),
        )
    });
    assert_eq!(String::from_utf8(text).unwrap(), expected.collect::<String>());
}

#[test]
fn a_matrix_that_nobody_can_measure_is_refused_at_once() {
    for (axes, sizes) in [
        (
            "a: { from: 1, to: 10000, step: 1 }, b: { from: 1, to: 10000, step: 1 }, c: { from: 1, to: 10000, step: 1 }",
            "a 10000 x b 10000 x c 10000",
        ),
        (
            "a: { from: 1, to: 999999999999999, step: 1 }, b: { from: 1, to: 999999999999999, step: 1 }, c: { from: 1, to: 999999999999999, step: 1 }",
            "a 999999999999999 x ",
        ),
        (
            "zip: { a: { from: 1, to: 10000000, step: 1 }, b: { from: 1, to: 10000000, step: 1 } }, c: [1, 2]",
            "a+b 10000000 x c 2",
        ),
    ] {
        let yaml = format!(
            "workloads: {{ w: {{ parameters: {{ a: 1, b: 1, c: 1 }}, run: '{{{{ a + b + c }}}}' }} }}\nmatrix: [{{ {axes} }}]\n"
        );
        let problems = world::plan(&yaml).unwrap_err().problems;
        assert!(problems[0].message.contains("more than 10000000"), "{problems:?}");
        assert!(problems[0].label.starts_with(sizes), "{problems:?}");
    }
}

/// The plan of an experiment that the command line narrows, and the one of what is kept of it.
fn narrowed(yaml: &str, narrow: impl Fn(&mut Spec) -> Result<(), Problem>) -> Result<Vec<String>, String> {
    let read = |_: &Path| Ok(yaml.to_owned());
    let (mut spec, sources) =
        Reader::new(&read).read(&[(Fragment::Experiment, Path::new("x.yaml"))]).unwrap();
    narrow(&mut spec).map_err(|problem| problem.message)?;
    let mut spec =
        spec::check(spec, &sources, Vec::new()).map_err(|problems| problems.problems[0].message.clone())?;
    runner::plan::settle(&mut spec, &sources).map_err(|problems| problems.problems[0].message.clone())?;
    let names = |plan: Plan| plan.cells().map(|cell| cell.name.to_string()).collect::<Vec<_>>();
    let plan = names(Plan::new(&spec, &sources).unwrap());
    let kept = world::plan(&spec.to_yaml())
        .unwrap_or_else(|problems| panic!("{}", render_problems(&problems, false, 100)));
    assert_eq!(names(kept.2), plan, "the kept experiment is planned as itself");
    Ok(plan.into_iter().map(|name| name.replace("localhost/", "")).collect())
}

#[test]
fn the_command_line_narrows_a_matrix() {
    let yaml = "
environments: { native: {}, docker: { container: { image: x } } }
workloads:
  net: { parameters: { server: native, size: 64 }, run: '{{ server }} {{ size }}' }
  disk: { run: x }
matrix:
  - workload: [net, disk]
    environment: [native, docker]
    server: [native, docker]
    exclude: [{ environment: native, server: docker }, size == 4096]
    size: [64, 4096]
    include: [{ workload: net, environment: native, server: docker, size: 9 }]
report: { baseline: { environment: native } }
";
    let axis = |name: &'static str, values: &'static [&'static str]| {
        let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
        narrowed(yaml, move |spec| spec.replace_axis(name, &values)).map(|cells| cells.join(" "))
    };
    let only = |expression: &'static str| {
        narrowed(yaml, |spec| spec.keep_where(expression)).map(|cells| cells.join(" "))
    };
    for (found, expected) in [
        (axis("workload", &["disk"]), "disk/native disk/docker"),
        (
            axis("environment", &["docker"]),
            "net/docker/server=native/size=64 net/docker/server=docker/size=64 disk/docker",
        ),
        (axis("size", &["9"]), "net/native/server=docker/size=9"),
        (
            axis("size", &["7"]),
            "net/native/server=native/size=7 net/docker/server=native/size=7 net/docker/server=docker/size=7 disk/native disk/docker",
        ),
        (only("size == 9"), "net/native/server=docker/size=9"),
        (only("workload == 'disk'"), "disk/native disk/docker"),
        (only("server == 'docker'"), "net/docker/server=docker/size=64 net/native/server=docker/size=9"),
        (
            only("host.name == 'localhost' and environment == 'docker'"),
            "net/docker/server=native/size=64 net/docker/server=docker/size=64 disk/docker",
        ),
    ] {
        assert_eq!(found, Ok(expected.to_owned()));
    }
    for (found, expected) in [
        (axis("host", &["pi"]), "unknown host `pi`"),
        (only("size == 3"), "no cell is left"),
        (only("siz == 3"), "unknown name `siz`"),
    ] {
        assert_eq!(found, Err(expected.to_owned()));
    }
}
