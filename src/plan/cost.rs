//! What an hour of a cell costs: that of every host that is busy while a trial runs, and of every task. Read [`of_cell`].

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Cell, Plan, task};
use crate::spec::cost::{Cost, Price};
use crate::spec::{Host, Spec};

/// What an hour of a cell costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellCost {
    /// How much.
    pub amount: f64,
    /// Of what; may be empty.
    pub currency: String,
    /// Its hosts of which no cost is given, and that are not counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
}

/// What an hour of `cell` costs; `None` where the costs of its hosts are not given, or have several currencies.
pub fn of_cell(spec: &Spec, cell: &Cell) -> Option<CellCost> {
    let (mut amount, mut currency, mut without) = (0.0, None, Vec::new());
    for name in cell.hosts() {
        let prices = of_host(spec, cell, &name);
        if prices.is_empty() {
            without.push(name);
        }
        for price in prices {
            amount += price.amount;
            if currency.get_or_insert_with(|| price.currency.clone()) != &price.currency {
                return None;
            }
        }
    }
    Some(CellCost { amount, currency: currency?, without })
}

/// What an hour of the host `name` costs in `cell`: on a cluster each task, and else the host once.
fn of_host(spec: &Spec, cell: &Cell, name: &str) -> Vec<Price> {
    let Some(Host { cost: Some(cost), .. }) = spec.hosts.get(name) else { return Vec::new() };
    match &cost.value {
        Cost::Whole(price) if !spec.hosts[name].is_cluster() => vec![price.clone()],
        cost => {
            let services = cell.services.iter().map(|service| (&service.host, &service.environment));
            let places = std::iter::once((&cell.host, &cell.environment)).chain(services);
            places
                .filter(|(host, _)| *host == name)
                .filter_map(|(_, environment)| {
                    let container = spec.environments[environment.as_str()].container.as_ref()?;
                    let (cpus, memory) = task::size(spec, cell, container).ok()?;
                    Some(cost.of_task(cpus, memory))
                })
                .collect()
        }
    }
}

/// What an hour of all `hosts` costs at most, by currency: of a cluster as many tasks count as the dearest cell has.
pub fn hourly(spec: &Spec, plan: &Plan, hosts: &BTreeSet<String>) -> Vec<Price> {
    let sum = |prices: &[Price]| prices.iter().map(|price| price.amount).sum::<f64>();
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    for (name, host) in hosts.iter().filter_map(|name| Some((name, spec.hosts.get(name.as_str())?))) {
        let prices = match host.cost.as_ref().map(|cost| &cost.value) {
            Some(_) if host.is_cluster() => plan
                .cells()
                .map(|cell| of_host(spec, &cell, name))
                .max_by(|one, other| sum(one).total_cmp(&sum(other)))
                .unwrap_or_default(),
            Some(Cost::Whole(price)) => vec![price.clone()],
            _ => Vec::new(),
        };
        for price in prices {
            *sums.entry(price.currency).or_default() += price.amount;
        }
    }
    sums.into_iter().map(|(currency, amount)| Price { amount, currency }).collect()
}
