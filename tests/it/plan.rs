//! From an experiment to its trials: the plan of every example, and what holds for the order of any plan.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use runner::diagnostic::Problems;
use runner::plan::{Phase, Plan};
use runner::spec::{self, Fragment, Located, Reader};
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
                Ok(plan) => assert!(!plan.trials.is_empty(), "{}", file.display()),
                Err(problems) => panic!("{}", render_problems(&problems, false, 100)),
            }
        }
    }
}

#[test]
fn docker_vs_native_is_planned_as_committed() {
    let plan = plan_of(Path::new("experiments/docker-vs-native.yaml"), None).unwrap();
    let mut text = format!("{} trials of {} cells\n\n", plan.trials.len(), plan.cells.len());
    for cell in &plan.cells {
        let hosts: Vec<_> = cell.hosts().into_iter().collect();
        writeln!(text, "{} x{} on {}", cell.name, cell.repetitions, hosts.join(" and ")).unwrap();
    }
    for trial in &plan.trials {
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
    assert_eq!(own, lab);
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
        let blocks: BTreeSet<u32> = plan.trials.iter().map(|trial| trial.block).collect();
        prop_assert_eq!(blocks.iter().copied().collect::<Vec<_>>(), (1..=blocks.len() as u32).collect::<Vec<_>>());
        prop_assert!(plan.trials.is_sorted_by_key(|trial| trial.block));
        for block in blocks {
            let mut found: Vec<_> =
                plan.trials.iter().filter(|trial| trial.block == block).map(|trial| &trial.cell).collect();
            let mut expected: Vec<_> = plan
                .cells
                .iter()
                .filter(|cell| cell.warmup + cell.repetitions >= block)
                .map(|cell| &cell.name)
                .collect();
            found.sort();
            expected.sort();
            prop_assert_eq!(found, expected);
        }
        let same = plan_with(&yaml, "blocks", seed.into());
        prop_assert_eq!(&same, &plan, "the same seed gives the same order");
    }

    #[test]
    fn every_order_holds_every_trial_once_with_warm_up_first(yaml in any_experiment(), is_sequential: bool) {
        let plan = plan_with(&yaml, if is_sequential { "sequential" } else { "blocks" }, 1);
        let ids: BTreeSet<String> = plan.trials.iter().map(|trial| trial.id()).collect();
        prop_assert_eq!(ids.len(), plan.trials.len(), "no trial twice");
        prop_assert!(plan.trials.iter().zip(1..).all(|(trial, order)| trial.order == order));
        let mut of_cell: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for trial in &plan.trials {
            of_cell.entry(&trial.cell).or_default().push((trial.phase, trial.repetition));
        }
        prop_assert_eq!(of_cell.len(), plan.cells.len(), "names of cells are unique");
        for cell in &plan.cells {
            let warmup = (1..=cell.warmup).map(|n| (Phase::Warmup, n));
            let expected: Vec<_> = warmup.chain((1..=cell.repetitions).map(|n| (Phase::Measure, n))).collect();
            prop_assert_eq!(&of_cell[&cell.name], &expected);
            let parts: Vec<_> = cell.name.as_str().split('/').collect();
            prop_assert_eq!(parts.len(), 4, "a value never adds a folder");
            prop_assert!(!parts.iter().any(|part| part.is_empty() || *part == "." || *part == ".."));
        }
        if is_sequential {
            let started: Vec<_> = plan.trials.iter().map(|trial| &trial.cell).collect();
            let mut cells = started.clone();
            cells.dedup();
            prop_assert_eq!(cells, plan.cells.iter().map(|cell| &cell.name).collect::<Vec<_>>());
        }
    }
}

#[test]
fn another_seed_gives_another_order() {
    let yaml = "workloads: { a: { run: x }, b: { run: x }, c: { run: x }, d: { run: x } }\n";
    let orders: BTreeSet<Vec<String>> = (0..20)
        .map(|seed| plan_with(yaml, "blocks", seed).trials.iter().map(|trial| trial.id()).collect())
        .collect();
    assert_eq!(orders.len(), 20);
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
        let cells = plan_with(&format!("{base}{exclude}\n"), "blocks", 1).cells.len();
        assert_eq!(cells, left, "{exclude}");
    }
}
