//! What has changed from one run to another beside what was measured: the experiment, the way it is measured, the
//! facts of its machines, the versions of its tools. Read [`changed`].

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;

use super::differences::{OF_MACHINES, compared, is_of_kind, versions};
use super::samples::is_same_cell;
use crate::metrics::TOOLS;
use crate::record::{HostFacts, Manifest, PlannedCell, Run, changes};

/// What matters of a place beside the facts of machines: more than within one run, where the machine is one.
const MORE: [&str; 3] = ["os", "image", "file system"];

/// Every change that can explain another result, a line each; of cells and hosts those that both runs have. The seed
/// is none.
pub fn changed(was: &Run, is: &Run) -> Vec<String> {
    let mut lines = of_experiment(&was.manifest, &is.manifest);
    let (mut before, mut now) = (was.manifest.clone(), is.manifest.clone());
    keep_shared(&mut before.cells, &is.manifest.cells);
    keep_shared(&mut now.cells, &was.manifest.cells);
    let hosts: BTreeSet<String> =
        now.cells.iter().chain(&before.cells).map(|cell| cell.host.clone()).collect();
    now.seed = before.seed;
    // Cells of older runs have no digest, which says nothing of their settings.
    forget_unknown(&mut before.cells, &mut now.cells);
    lines.extend(changes(&before, &now));
    lines.extend(of_hosts(&hosts, was, is));
    lines
}

fn of_experiment(was: &Manifest, is: &Manifest) -> Vec<String> {
    let mut lines = Vec::new();
    let mut told = |what: &str, was: &str, is: &str| {
        if was != is {
            lines.push(format!("{what}: {is}, was {was}"));
        }
    };
    told("experiment", &was.experiment, &is.experiment);
    let commit = |manifest: &Manifest| manifest.commit.clone().unwrap_or_else(|| "none".to_owned());
    told("commit of the experiment", &commit(was), &commit(is));
    told("runner", &was.runner, &is.runner);
    if was.digest != is.digest {
        lines.push("the experiment as run, experiment.yaml, is another one".to_owned());
    }
    lines
}

fn keep_shared(cells: &mut Vec<PlannedCell>, others: &[PlannedCell]) {
    cells.retain(|cell| others.iter().any(|other| is_same_cell(cell, other)));
}

fn forget_unknown(before: &mut [PlannedCell], now: &mut [PlannedCell]) {
    for cell in before {
        if let Some(other) = now.iter_mut().find(|other| other.cell == cell.cell)
            && (cell.settings.is_empty() || other.settings.is_empty())
        {
            cell.settings.clear();
            other.settings.clear();
        }
    }
}

/// `a, b: kernel Linux 6.6, was Linux 6.1`: what is other in the same way on several hosts stands in one line.
fn of_hosts(hosts: &BTreeSet<String>, was: &Run, is: &Run) -> Vec<String> {
    let mut found: IndexMap<String, Vec<&str>> = IndexMap::new();
    for host in hosts {
        let (before, now) = (facts(was, host), facts(is, host));
        for (fact, value) in &now {
            if let Some(earlier) = before.get(fact).filter(|earlier| *earlier != value) {
                found.entry(format!("{fact} {value}, was {earlier}")).or_default().push(host);
            }
        }
    }
    found.into_iter().map(|(line, hosts)| format!("{}: {line}", hosts.join(", "))).collect()
}

/// What is known of a host and matters, as it is compared: facts, then versions that outputs of tools have told.
fn facts(run: &Run, host: &str) -> IndexMap<String, String> {
    let known = run.hosts.iter().find(|facts| facts.host == host);
    let mut facts: IndexMap<String, String> = known.map(of_host).unwrap_or_default();
    let told: BTreeMap<_, _> = versions(run).into_iter().filter(|((own, ..), _)| *own == host).collect();
    for ((_, environment, tool), version) in told {
        facts.insert(format!("{environment}: {tool} by its outputs"), version.to_owned());
    }
    facts
}

fn of_host(facts: &HostFacts) -> IndexMap<String, String> {
    let own = |name: &str| name.rsplit_once(": ").map_or(name.to_owned(), |(_, own)| own.to_owned());
    let matters = |name: &str| {
        OF_MACHINES.contains(&name) || MORE.contains(&name) || TOOLS.iter().any(|tool| tool.tool() == name)
    };
    let known = facts.facts.iter().filter(|(name, _)| matters(&own(name)));
    let value = |name: &str, value: &str| match name {
        "file system" => file_system(value),
        _ => compared(name, value),
    };
    known.map(|(name, text)| (name.clone(), value(&own(name), text))).collect()
}

/// Type and options, without those that say where its parts lie.
fn file_system(value: &str) -> String {
    let Some((kind, options)) = value.split_once(" (") else { return value.to_owned() };
    let options = options.trim_end_matches([')', '…']).split(',').filter(|option| is_of_kind(option));
    format!("{kind} ({})", options.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::analysis::runs::tests::run;

    /// A run on `h` with these facts, `FACT = VALUE` each.
    fn on(facts: &[&str]) -> Run {
        let mut run = run(&[("a", "m", vec![1.0; 4])]);
        let facts = facts.iter().filter_map(|line| line.split_once(" = "));
        let facts = facts.map(|(fact, value)| (fact.to_owned(), value.to_owned())).collect();
        run.hosts = vec![HostFacts { host: "h".to_owned(), facts }];
        run
    }

    #[test]
    fn facts_that_matter_are_told_and_others_are_not() {
        for (was, is, told) in [
            ("kernel = 6.1", "kernel = 6.6", "h: kernel 6.6, was 6.1"),
            ("os = Debian 11", "os = Debian 12", "h: os Debian 12, was Debian 11"),
            ("docker: engine = 20", "docker: engine = 28", "h: docker: engine 28, was 20"),
            ("docker: dd = dd 8", "docker: dd = dd 9", "h: docker: dd dd 9, was dd 8"),
            ("governor = powersave", "governor = performance", "h: governor performance, was powersave"),
            ("memory = 4028764 kB", "memory = 8028764 kB", "h: memory 8 GiB, was 4 GiB"),
            ("memory = 4028764 kB", "memory = 4028700 kB", ""),
            ("work directory = /a", "work directory = /b", ""),
            ("file system = ext4 (rw,size=1k)", "file system = ext4 (rw,size=2k)", ""),
            ("file system = ext4 (rw)", "file system = xfs (rw)", "h: file system xfs (rw), was ext4 (rw)"),
            ("kernel = 6.1", "governor = powersave", ""),
        ] {
            assert_eq!(changed(&on(&[was]), &on(&[is])).join("; "), told, "{was} {is}");
        }
    }

    #[test]
    fn the_experiment_is_told_by_what_matters_of_it() {
        let was = on(&[]);
        let edited = |edit: fn(&mut Run)| {
            let mut is = was.clone();
            edit(&mut is);
            changed(&was, &is).join("; ")
        };
        assert_eq!(edited(|is| is.manifest.seed = 99), "");
        assert_eq!(edited(|is| is.manifest.runner = "0.2.0".into()), "runner: 0.2.0, was 0.1.0");
        assert_eq!(
            edited(|is| is.manifest.commit = Some("c".into())),
            "commit of the experiment: c, was none"
        );
        assert_eq!(edited(|is| is.manifest.order = "shuffled".into()), "order: shuffled, was blocks");
        assert_eq!(edited(|is| is.manifest.cells[0].repetitions = 9), "repetitions: 9, were 4: a");
        // Settings that one of them does not know say nothing.
        assert_eq!(edited(|is| is.manifest.cells[0].settings = "x".into()), "");
        let of_other_cells = edited(|is| {
            let mut other = is.manifest.cells[0].clone();
            (other.cell, other.workload) = ("b".into(), "b".into());
            is.manifest.cells.push(other);
        });
        assert_eq!(of_other_cells, "", "cells of one run alone are listed elsewhere");
    }

    #[test]
    fn versions_that_outputs_tell_are_held_against_each_other() {
        let with = |version: &str| {
            let mut run = on(&[]);
            Arc::make_mut(&mut run.records[0].common).tools.insert("iperf3".to_owned(), version.to_owned());
            run
        };
        assert_eq!(changed(&with("3.9"), &with("3.12")), ["h: native: iperf3 by its outputs 3.12, was 3.9"]);
        assert_eq!(changed(&with("3.9"), &with("3.9")), [""; 0]);
    }
}
