//! What an experiment says of its report, as its manifest keeps it.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use crate::commands::experiment::Experiment;
use crate::record::{HostCost, Presentation, TableLayout};
use crate::spec::report::Table;
use crate::spec::{List, Text};

/// The presentation of `experiment`.
pub(super) fn presentation(experiment: &Experiment) -> Presentation {
    let spec = &experiment.spec;
    // With their templates: a label may hold what nobody is to read.
    let hosts = || spec.hosts.iter().filter_map(|(name, _)| Some((name, experiment.host(name)?)));
    let labelled = hosts().filter(|(_, host)| !host.labels.is_empty());
    let costs = hosts().filter_map(|(name, host)| Some((name.value.clone(), host.cost.clone()?)));
    Presentation {
        tables: spec.report.tables.iter().map(|table| layout(table)).collect(),
        references: experiment.references.clone(),
        labels: labelled.map(|(name, host)| (name.value.clone(), texts(&host.labels))).collect(),
        costs: costs
            .map(|(name, cost)| (name, HostCost { amount: cost.amount, currency: cost.currency }))
            .collect(),
    }
}

fn layout(table: &Table) -> TableLayout {
    let text = |text: &Option<Text>| text.as_ref().map(|text| text.value.clone());
    TableLayout {
        title: text(&table.title),
        workloads: values(&table.workload),
        condition: text(&table.condition),
        rows: values(&table.rows),
        columns: values(&table.columns),
        metrics: values(&table.metrics),
        units: texts(&table.units),
        baseline: table.baseline.as_ref().map(texts),
    }
}

/// The values of a list, without their places.
pub(super) fn values(list: &List) -> Vec<String> {
    list.values.iter().map(|text| text.value.clone()).collect()
}

/// A map of texts, without their places.
pub(super) fn texts(map: &IndexMap<Text, Text>) -> BTreeMap<String, String> {
    map.iter().map(|(name, value)| (name.value.clone(), value.value.clone())).collect()
}
