//! How the results of a run are to be shown, as the experiment said it: part of the manifest, so that a report can be
//! made from the run's directory alone. Read [`Presentation`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{CellCost, PlannedCell, Reference};
use crate::plan::substitute::Context;

/// What the file says of the report, and of hosts as it needs them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Presentation {
    /// Its tables, in order; empty for those that every report has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<TableLayout>,
    /// Within how much two results count as equal, where the file says so; 0.02 for 2 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// The trials that count in no figure, each with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub excluded: BTreeMap<String, String>,
    /// Published figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<Reference>,
    /// The labels of each host that has some.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, BTreeMap<String, String>>,
    /// What an hour of each cell costs, by its name, where the file says so.
    #[serde(default, rename = "cell_costs", skip_serializing_if = "BTreeMap::is_empty")]
    pub costs: BTreeMap<String, CellCost>,
}

impl Presentation {
    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        *self == Presentation::default()
    }

    /// Whether an expression over the names of a cell holds for `cell`; not where the cell lacks a name of it.
    pub fn holds(&self, expression: &str, cell: &PlannedCell) -> bool {
        let labels = self.labels.get(&cell.host);
        let point = [cell.workload.as_str(), &cell.host, &cell.environment];
        Context::of_kept(point, labels, &cell.parameters).is_true(expression).unwrap_or(false)
    }
}

/// One table that the file asks for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TableLayout {
    /// Its heading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its workloads; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<String>,
    /// An expression that its cells fulfil.
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// The axes of its rows; empty for the default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<String>,
    /// The axes of its columns, the outermost first; empty for the default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
    /// Its metrics; empty for the first of each workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<String>,
    /// In which unit a metric is shown.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub units: BTreeMap<String, String>,
    /// What its cells are compared with; none for the baseline of the report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<BTreeMap<String, String>>,
}
