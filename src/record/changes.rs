//! What an experiment has that it had not when its run was begun, in words. It decides whether a run may be
//! gone on with, and reads no file. Read [`changes`].

use std::collections::{BTreeMap, BTreeSet};

use super::{Manifest, PlannedCell};

/// How many names are told before only their number is.
const NAMES: usize = 3;

/// Every difference that matters to what is measured, a line each: cells, their settings, how often and in
/// which order they are measured, and the way to each host. What only the report shows is none.
pub fn changes(was: &Manifest, is: &Manifest) -> Vec<String> {
    let (before, now) = (by_name(was), by_name(is));
    let only = |one: &BTreeMap<&str, &PlannedCell>,
                other: &BTreeMap<&str, &PlannedCell>,
                cells: &[PlannedCell]| {
        let in_order = cells.iter().map(|cell| cell.cell.clone());
        list(in_order.filter(|cell| one.contains_key(cell.as_str()) && !other.contains_key(cell.as_str())))
    };
    let both: Vec<_> = is.cells.iter().filter_map(|cell| Some((*before.get(&*cell.cell)?, cell))).collect();
    let other = both.iter().filter(|(was, is)| of_cell(was) != of_cell(is));
    let mut lines = Vec::new();
    lines.extend(only(&now, &before, &is.cells).map(|cells| format!("new cells: {cells}")));
    lines.extend(only(&before, &now, &was.cells).map(|cells| format!("cells that are no more: {cells}")));
    lines.extend(list(other.map(|(_, is)| is.cell.clone())).map(|cells| format!("other settings: {cells}")));
    let fixed: Vec<_> =
        both.iter().filter(|(was, is)| was.adaptive.is_some() == is.adaptive.is_some()).copied().collect();
    lines.extend(counts(&fixed, "repetitions", |cell| cell.repetitions));
    lines.extend(rules(&both));
    lines.extend(counts(&both, "warm-up trials", |cell| cell.warmup));
    if was.order != is.order {
        lines.push(format!("order: {}, was {}", is.order, was.order));
    }
    if was.seed != is.seed {
        lines.push(format!("seed: {}, was {}", is.seed, was.seed));
    }
    let is_moved = both.len() == was.cells.len()
        && both.len() == is.cells.len()
        && was.cells.iter().zip(&is.cells).any(|(was, is)| was.cell != is.cell);
    if is_moved {
        lines.push("the cells come in another order".to_owned());
    }
    let hosts: BTreeSet<_> = was.hosts.keys().collect();
    let mut elsewhere: Vec<String> = hosts
        .into_iter()
        .filter_map(|host| {
            let (was, is) = (was.hosts.get(host)?, is.hosts.get(host)?);
            (was != is).then(|| format!("host {host}: {is}, was {was}"))
        })
        .collect();
    if let (Some(was), Some(is)) = (&was.inputs, &is.inputs) {
        elsewhere.extend(is.changes(was));
    }
    if elsewhere.is_empty() {
        // Of something that a run does not keep in words: a label of a host, or an older runner.
        let other =
            both.iter().filter(|(was, is)| of_cell(was) == of_cell(is) && was.settings != is.settings);
        let cells = list(other.map(|(_, is)| is.cell.clone()));
        elsewhere.extend(cells.map(|cells| format!("other files, variables or hosts: {cells}")));
    }
    lines.extend(elsewhere);
    lines
}

/// The part of the settings that is written in the experiment.
fn of_cell(cell: &PlannedCell) -> &str {
    cell.settings.split_once('-').map_or(&*cell.settings, |(of_cell, _)| of_cell)
}

/// A line for each part of the rules of adaptive repetitions that is another one; the most trials are counted as
/// repetitions.
fn rules(both: &[(&PlannedCell, &PlannedCell)]) -> Vec<String> {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (was, is) in both {
        let mut add = |line: String| groups.entry(line).or_default().push(is.cell.clone());
        match (was.adaptive, is.adaptive) {
            (Some(was), Some(is)) => {
                if was.min != is.min {
                    add(format!("min: {}, was {}", is.min, was.min));
                }
                if was.until != is.until {
                    add(format!("until: {}, was {}", is.until, was.until));
                }
            }
            (None, Some(rule)) => add(format!("repetitions: {rule}, were {}", was.repetitions)),
            (Some(rule), None) => add(format!("repetitions: {}, were {rule}", is.repetitions)),
            (None, None) => {}
        }
    }
    let line = |(line, cells): (String, Vec<String>)| Some(format!("{line}: {}", list(cells.into_iter())?));
    groups.into_iter().filter_map(line).collect()
}

fn by_name(manifest: &Manifest) -> BTreeMap<&str, &PlannedCell> {
    manifest.cells.iter().map(|cell| (cell.cell.as_str(), cell)).collect()
}

/// A line for each pair of counts that differ.
fn counts(
    both: &[(&PlannedCell, &PlannedCell)],
    what: &str,
    count: impl Fn(&PlannedCell) -> u32,
) -> Vec<String> {
    let mut groups: BTreeMap<(u32, u32), Vec<String>> = BTreeMap::new();
    for (was, is) in both.iter().filter(|(was, is)| count(was) != count(is)) {
        groups.entry((count(is), count(was))).or_default().push(is.cell.clone());
    }
    let line = |((is, was), cells): ((u32, u32), Vec<String>)| {
        Some(format!("{what}: {is}, were {was}: {}", list(cells.into_iter())?))
    };
    groups.into_iter().filter_map(line).collect()
}

/// `a, b, c and 4 more`; nothing for no names.
fn list(names: impl Iterator<Item = String>) -> Option<String> {
    let names: Vec<String> = names.collect();
    let (told, rest) = names.split_at(names.len().min(NAMES));
    let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
    (!told.is_empty()).then(|| format!("{}{more}", told.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Inputs;

    fn manifest(cells: &[(&str, &str, u32, u32)]) -> Manifest {
        let cell = |(name, settings, repetitions, warmup): &(&str, &str, u32, u32)| {
            serde_json::json!({
                "cell": name, "workload": "w", "host": "h", "environment": "n", "parameters": {},
                "settings": settings, "repetitions": repetitions, "warmup": warmup,
            })
        };
        serde_json::from_value(serde_json::json!({
            "format": 1, "id": "0badcafe", "runner": "0.1.0", "title": "t", "experiment": "e", "file": "e.yaml",
            "digest": "", "commit": null, "seed": 1, "order": "blocks", "started": "2026-11-30T11:45:12Z",
            "ended": null, "cells": cells.iter().map(cell).collect::<Vec<_>>(), "baseline": {}, "counts": {},
            "hosts": { "h": "this machine" },
        }))
        .unwrap()
    }

    #[test]
    fn each_difference_is_told_once() {
        let was = manifest(&[("a", "1", 10, 0), ("b", "2", 10, 0)]);
        let mut other_order = Manifest { order: "sequential".into(), seed: 2, ..was.clone() };
        other_order.hosts.insert("h".into(), "ssh h".into());
        for (is, lines) in [
            (was.clone(), &[][..]),
            (Manifest { title: "other".into(), digest: "1".into(), ..was.clone() }, &[]),
            (
                manifest(&[("a", "1", 10, 0), ("c", "3", 10, 0)]),
                &["new cells: c", "cells that are no more: b"],
            ),
            (manifest(&[("a", "9", 10, 0), ("b", "2", 10, 0)]), &["other settings: a"]),
            (
                manifest(&[("a", "1", 20, 1), ("b", "2", 20, 0)]),
                &["repetitions: 20, were 10: a, b", "warm-up trials: 1, were 0: a"],
            ),
            (manifest(&[("b", "2", 10, 0), ("a", "1", 10, 0)]), &["the cells come in another order"]),
            (
                other_order,
                &["order: sequential, was blocks", "seed: 2, was 1", "host h: ssh h, was this machine"],
            ),
        ] {
            assert_eq!(changes(&was, &is), lines);
        }
    }

    #[test]
    fn what_is_taken_from_elsewhere_is_told_by_name() {
        let mut was = manifest(&[("a", "1-1", 20, 0)]);
        let inputs = |script: &str, tag: &str, salt: &str| Inputs {
            salt: salt.into(),
            files: [("s.sh".to_owned(), script.to_owned())].into(),
            variables: [("TAG".to_owned(), tag.to_owned())].into(),
        };
        was.inputs = Some(inputs("1", "1", "salt"));
        was.cells[0].adaptive =
            serde_json::from_str(r#"{ "min": 6, "max": 20, "until": "0.001%" }"#).unwrap();
        assert_eq!(changes(&was, &was), [""; 0]);
        let mut is = Manifest { inputs: Some(inputs("2", "2", "salt")), ..was.clone() };
        is.cells[0].settings = "1-2".into();
        assert_eq!(changes(&was, &is), ["files: `s.sh` has other contents", "`env.TAG` has another value"]);
        is.inputs = Some(inputs("1", "2", "other salt"));
        assert_eq!(changes(&was, &is), ["other files, variables or hosts: a"]);
        let mut is = was.clone();
        is.cells[0].adaptive = serde_json::from_str(r#"{ "min": 7, "max": 20, "until": "50%" }"#).unwrap();
        assert_eq!(changes(&was, &is), ["min: 7, was 6: a", "until: 50%, was 0.001%: a"]);
        is.cells[0].adaptive = None;
        assert_eq!(changes(&was, &is), ["repetitions: 20, were 6–20 until 0.001%: a"]);
    }

    #[test]
    fn many_names_are_counted() {
        let names: Vec<String> = (0..9).map(|number| number.to_string()).collect();
        let cells: Vec<_> = names.iter().map(|name| (name.as_str(), "1", 1, 0)).collect();
        assert_eq!(changes(&manifest(&[]), &manifest(&cells)), ["new cells: 0, 1, 2 and 6 more"]);
    }
}
