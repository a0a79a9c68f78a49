//! What hosts and tasks cost: in the plan, and in the tables of a report.

use std::fs;

use runner::plan::{CellCost, cost_of_cell};
use runner::record::{Run, read_run};
use runner::report::render;

use crate::cli::{folder_with, run_directory, runner, texts};
use crate::report::fixture;
use crate::world;

/// A server and a client on one cluster and on a machine of its own, in two sizes.
const SIZES: &str = "
hosts:
  tasks:
    ecs: { subnets: [subnet-0123456789abcdef0] }
    cost: { cpu: 0.04 USD, memory: 0.004 USD }
  board: { ssh: board }
  client: { ec2: { ami: ami-0123456789abcdef0, instance_type: t3.micro }, cost: 0.5 USD }
environments:
  task: { container: { image: bench, cpus: '{{ cpus }}', memory: '{{ memory }}' } }
workloads:
  memory: { parameters: { cpus: 0.25, memory: 512MiB }, run: sysbench }
  network:
    parameters: { cpus: 0.25, memory: 512MiB }
    services:
      server: { host: tasks, environment: task, run: serve, ready: { port: '{{ port }}' } }
    run: get
matrix:
  - { workload: memory, host: tasks, environment: task, zip: [{ cpus: [0.25, 4], memory: [512MiB, 30GiB] }] }
  - { workload: network, host: tasks, environment: task }
  - { workload: network, host: [client, board], environment: native }
";

#[test]
fn a_cell_costs_what_all_its_hosts_and_tasks_do() {
    let (spec, _, plan) = world::plan(SIZES).unwrap_or_else(|_| panic!("no plan"));
    let costs: Vec<_> = plan.cells().map(|cell| cost_of_cell(&spec, &cell).unwrap()).collect();
    // By hand: CPUs times 0.04 and GiB times 0.004; two tasks; a task and the instance; a task beside a board.
    let amounts = [0.012, 0.28, 0.024, 0.512, 0.012];
    assert_eq!(costs.len(), amounts.len());
    for (cost, amount) in costs.iter().zip(amounts) {
        assert!((cost.amount - amount).abs() < 1e-12, "{costs:?}");
        assert_eq!(cost.currency, "USD");
    }
    assert_eq!(costs.iter().map(|cost| cost.without.len()).collect::<Vec<_>>(), [0, 0, 0, 0, 1]);
    let two_currencies = SIZES.replace("0.5 USD", "0.5 EUR");
    let (spec, _, plan) = world::plan(&two_currencies).unwrap_or_else(|_| panic!("no plan"));
    let known: Vec<_> = plan.cells().map(|cell| cost_of_cell(&spec, &cell).is_some()).collect();
    assert_eq!(known, [true, true, true, false, true]);
}

#[test]
fn a_plan_tells_costs_by_size_and_what_an_hour_is_at_most() {
    let folder = folder_with(SIZES);
    let (stdout, stderr) = texts(&runner(folder.path(), &["plan", "nap.yaml"]));
    assert_eq!(stderr, "");
    assert!(stdout.contains("0.04 USD a CPU and 0.004 USD a GiB of memory an hour of each task"), "{stdout}");
    assert!(stdout.contains("all hosts together: up to 0.78 USD an hour"), "{stdout}");
    let (json, _) = texts(&runner(folder.path(), &["plan", "nap.yaml", "--format", "json"]));
    let made: Vec<serde_json::Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let costs = |name: &str| made.iter().find(|line| line["made"] == name).unwrap();
    assert_eq!(costs("tasks")["cost_per_gib_hour"], 0.004);
    assert_eq!(
        (&costs("client")["cost_per_hour"], &costs("client")["currency"]),
        (&0.5.into(), &"USD".into())
    );
}

fn with_costs(cost: impl Fn(usize) -> Option<CellCost>) -> String {
    let mut run: Run = read_run(&fixture()).unwrap();
    let cells = run.manifest.cells.iter().enumerate();
    let costs = cells.filter_map(|(index, planned)| Some((planned.cell.clone(), cost(index)?)));
    run.manifest.presentation.costs = costs.collect();
    render(&run).unwrap().markdown
}

#[test]
fn values_stand_for_the_cost_of_their_cell() {
    let usd = |amount: f64, without: &[&str]| {
        let without = without.iter().map(|name| (*name).to_owned()).collect();
        Some(CellCost { amount, currency: "USD".to_owned(), without })
    };
    let all = with_costs(|index| usd(0.5 * (index + 1) as f64, &[]));
    let (_, priced) = all.split_once("For its cost (Mbit/s per USD/h):").unwrap();
    insta::assert_snapshot!("costs.md", priced.lines().take(8).collect::<Vec<_>>().join("\n"));
    let without = with_costs(|_| usd(1.0, &["gigabit-server"]));
    assert!(
        without.contains("For its cost (Mbit/s per USD/h), without that of gigabit-server:"),
        "{without}"
    );
    // Sums of unlike things are not compared.
    let unlike = with_costs(|index| usd(1.0, if index == 0 { &[] } else { &["gigabit-server"] }));
    assert!(!unlike.contains("For its cost (Mbit/s per USD/h)"), "{unlike}");
    let unknown = with_costs(|index| usd(1.0, &[]).filter(|_| index > 0));
    assert!(unknown.matches("For its cost").count() < all.matches("For its cost").count(), "{unknown}");
}

#[test]
fn a_later_cost_is_put_into_a_run_but_not_where_the_cell_is_another_one() {
    let yaml = |cost: f64, command: &str| {
        format!(
            "hosts: {{ here: {{ local: {{}}, cost: {cost} USD }} }}\nrepetitions: 1\nworkloads: {{ nap: {{ run: {command} }} }}\n"
        )
    };
    let folder = folder_with(&yaml(1.0, "sleep 0.01"));
    assert_eq!(runner(folder.path(), &["run", "nap.yaml"]).status.code(), Some(0));
    let run = run_directory(folder.path());
    let amount = || {
        let manifest: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(run.join("manifest.json")).unwrap()).unwrap();
        manifest["presentation"]["cell_costs"]["nap/here/native"]["amount"].as_f64()
    };
    assert_eq!(amount(), Some(1.0));
    for (cost, command, expected) in [(2.0, "sleep 0.01", 2.0), (3.0, "sleep 0.02", 2.0)] {
        fs::write(folder.path().join("nap.yaml"), yaml(cost, command)).unwrap();
        let output = runner(folder.path(), &["report", "--experiment", "nap.yaml", run.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(0), "{}", texts(&output).1);
        assert_eq!(amount(), Some(expected));
    }
}
