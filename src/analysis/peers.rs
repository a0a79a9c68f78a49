//! Hosts that are far from their like: the board whose storage is worn. Hosts are never put together, so one of
//! them shows only where somebody holds them against each other. Read [`unlike_hosts`].

use std::collections::BTreeMap;

use indexmap::IndexMap;

use super::descriptive::quantile;
use super::holm::holm;
use super::refusal::sorted;
use super::summary::Summary;
use super::verdict::{Contrast, FEWEST, contrast_of_samples};
use crate::units::{Better, Unit};

/// With fewer hosts nobody can say which of them is the odd one.
const FEWEST_HOSTS: usize = 3;
/// How far, as a logarithm, one has to be from each of the others: 10 %.
const FAR: f64 = 0.095_310_179_804_324_87;
/// How many times as far as the others are from each other.
const TIMES: f64 = 2.0;
const ALPHA: f64 = 0.05;

/// A host that is far from all others in the same direction.
#[derive(Debug, Clone, PartialEq)]
pub struct UnlikeHost<'a> {
    /// Its name.
    pub host: &'a str,
    /// The workload.
    pub workload: &'a str,
    /// The metric.
    pub metric: &'a str,
    /// Which direction is good, where there is one.
    pub better: Option<Better>,
    /// The others.
    pub peers: Vec<&'a str>,
    /// Its median by the median of those of the others, for each surrounding in which it is far from them.
    pub ratios: Vec<f64>,
    /// In how many surroundings the hosts were held against each other.
    pub surroundings: usize,
}

/// All but the host that tells two summaries apart.
type Surrounding<'a> = (&'a str, &'a BTreeMap<String, String>, &'a BTreeMap<String, String>);

/// The hosts that are unlike their peers. In one surrounding (environment, parameters, labels) with at least 3 hosts of 4
/// values each, a host is unlike the others if it differs from each of them surely (Welch on logarithms, Holm
/// over all pairs of hosts of the workload's metric), in one direction, by more than 10 % and by more than twice what
/// any two of the others differ by.
pub fn unlike_hosts<'a>(summaries: &'a [Summary<'a>]) -> Vec<UnlikeHost<'a>> {
    let mut metrics: IndexMap<(&str, &str, &Unit), IndexMap<Surrounding<'a>, Vec<&'a Summary<'a>>>> =
        IndexMap::new();
    for one in summaries.iter().filter(|one| one.values.len() >= FEWEST) {
        let metric = (one.cell.workload.as_str(), one.metric.name.as_str(), &one.metric.unit);
        let surrounding = (one.cell.environment.as_str(), &one.cell.parameters, &one.metric.labels);
        metrics.entry(metric).or_default().entry(surrounding).or_default().push(one);
    }
    let of_metric = |surroundings: IndexMap<Surrounding<'a>, Vec<&'a Summary<'a>>>| {
        let groups: Vec<_> = surroundings.into_values().filter(|group| group.len() >= FEWEST_HOSTS).collect();
        unlike_in(&groups)
    };
    metrics.into_values().flat_map(of_metric).collect()
}

/// The values of one host against those of another.
fn contrast(one: &Summary<'_>, other: &Summary<'_>) -> Option<Contrast> {
    let values = |summary: &Summary<'_>| summary.values.iter().map(|(_, value)| *value).collect::<Vec<_>>();
    contrast_of_samples(&values(one), &values(other)).ok()
}

fn median(one: &Summary<'_>) -> f64 {
    one.sample.map_or(f64::NAN, |sample| sample.median)
}

fn unlike_in<'a>(groups: &[Vec<&'a Summary<'a>>]) -> Vec<UnlikeHost<'a>> {
    // Whether two hosts of a group, by their numbers, surely differ.
    let mut pairs = Vec::new();
    for (number, group) in groups.iter().enumerate() {
        for one in 0..group.len() {
            for other in one + 1..group.len() {
                let Some(found) = contrast(group[one], group[other]) else { continue };
                pairs.push(((number, one, other), found.p));
            }
        }
    }
    let p_values: Vec<f64> = pairs.iter().map(|(_, p)| *p).collect();
    let Ok(adjusted) = holm(&p_values) else { return Vec::new() };
    let sure: Vec<(usize, usize, usize)> =
        pairs.iter().zip(adjusted).filter(|(_, p)| *p < ALPHA).map(|((place, _), _)| *place).collect();
    let mut found: IndexMap<(&str, bool), UnlikeHost<'a>> = IndexMap::new();
    for (number, group) in groups.iter().enumerate() {
        let is_sure = |one: usize, other: usize| sure.contains(&(number, one.min(other), one.max(other)));
        for (place, one) in group.iter().enumerate() {
            let others: Vec<usize> = (0..group.len()).filter(|other| *other != place).collect();
            if !others.iter().all(|other| is_sure(place, *other)) {
                continue;
            }
            let peers: Vec<&'a Summary<'a>> = others.iter().map(|other| group[*other]).collect();
            let Some(ratio) = far_ratio(one, &peers) else { continue };
            let new = || UnlikeHost {
                host: &one.cell.host,
                workload: &one.cell.workload,
                metric: &one.metric.name,
                better: one.better,
                peers: peers.iter().map(|peer| peer.cell.host.as_str()).collect(),
                ratios: Vec::new(),
                surroundings: groups.len(),
            };
            found.entry((one.cell.host.as_str(), ratio > 1.0)).or_insert_with(new).ratios.push(ratio);
        }
    }
    found.into_values().collect()
}

/// The median of `one` by that of the medians of `peers`, where it is far from all of them in one direction.
fn far_ratio(one: &Summary<'_>, peers: &[&Summary<'_>]) -> Option<f64> {
    let medians = sorted(&peers.iter().map(|peer| median(peer)).collect::<Vec<_>>());
    let (low, high) = (*medians.first()?, *medians.last()?);
    let limit = FAR.max(TIMES * (high / low).ln());
    let distance = if median(one) > high { (median(one) / high).ln() } else { (low / median(one)).ln() };
    (distance > limit).then(|| median(one) / quantile(&medians, 0.5)).filter(|ratio| ratio.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::summary::tests::summary;

    /// Steps of half a percent around `middle`.
    fn around(middle: f64) -> Vec<f64> {
        [-1.0, 0.4, 0.9, -0.3, 0.0].iter().map(|step| middle * (1.0 + 0.005 * step)).collect()
    }

    /// `HOST RATIOS/SURROUNDINGS` of what is found.
    fn told(values: &[(&str, &str, Vec<f64>)]) -> Vec<String> {
        let cells: Vec<_> =
            values.iter().map(|(host, environment, values)| summary(host, environment, values)).collect();
        let summaries: Vec<Summary<'_>> =
            cells.iter().map(|(cell, one)| Summary { cell, ..one.clone() }).collect();
        let text = |one: &UnlikeHost<'_>| {
            let ratios: Vec<String> = one.ratios.iter().map(|ratio| format!("{ratio:.2}")).collect();
            format!("{} {}/{} not {}", one.host, ratios.join(" "), one.surroundings, one.peers.join(" "))
        };
        unlike_hosts(&summaries).iter().map(text).collect()
    }

    #[test]
    fn the_odd_one_of_three_is_found_in_each_surrounding() {
        let worn = [
            ("a", "native", around(100.0)),
            ("b", "native", around(40.0)),
            ("c", "native", around(103.0)),
            ("a", "docker", around(98.0)),
            ("b", "docker", around(39.0)),
            ("c", "docker", around(99.0)),
        ];
        assert_eq!(told(&worn), ["b 0.39 0.40/2 not a c"]);
    }

    #[test]
    fn nobody_is_odd_where_all_differ_or_none_surely_does() {
        let spread = |middle: f64| vec![middle * 0.5, middle * 1.5, middle, middle * 0.7, middle * 1.2];
        for values in [
            vec![("a", "n", around(100.0)), ("b", "n", around(40.0))],
            vec![("a", "n", around(100.0)), ("b", "n", around(200.0)), ("c", "n", around(400.0))],
            vec![("a", "n", around(100.0)), ("b", "n", around(93.0)), ("c", "n", around(100.0))],
            vec![("a", "n", spread(100.0)), ("b", "n", spread(60.0)), ("c", "n", spread(100.0))],
            vec![("a", "n", around(100.0)), ("b", "n", vec![1.0; 3]), ("c", "n", around(100.0))],
        ] {
            assert_eq!(told(&values), [""; 0], "{values:?}");
        }
    }
}
