//! The `report:` section: what the results are compared with, and how they are shown.

mod chart;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::located::{List, Located, Text};
use super::repetitions::Share;
use crate::diagnostic::Span;

pub use chart::{Chart, ChartKind, LogAxes};

/// How the results are shown.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// What the other cells are compared with: axis to value.
    ///
    /// Default: none. Example: `baseline: { environment: native }`
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub baseline: IndexMap<Text, Text>,
    /// Within how much two results count as equal, for the verdicts.
    ///
    /// Default: `2%`. Example: `margin: 5%`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<Located<Share>>,
    /// In which unit tables show a metric. Records and CSV files keep base units.
    ///
    /// Default: the largest in which most values are at least 1. Example: `units: { elapsed: ms }`
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub units: IndexMap<Text, Text>,
    /// Which tables there are, in this order.
    ///
    /// Default: one for each workload and metric, with hosts as rows. Example: `tables: [{ rows: host, columns: [workload, environment], metrics: throughput }]`
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<Located<Table>>,
    /// Published figures that stand beside the measured ones, as CSV files: see below. Statistics leave them out.
    ///
    /// Default: none. Example: `references: references/lattepanda-2019.csv`
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub references: List,
    /// Trials of runs that are there, which count in no figure: see below.
    ///
    /// Default: none. Example: `exclude: [{ run: 2026-11-30T11-45-12Z, trial: nap/pi4/native#3, reason: its power failed }]`
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<Exclusion>,
    /// The pictures.
    ///
    /// Default: of each workload its first metric, as lines where an axis is numeric, else as bars; its distribution
    /// and its series where it has one. Example: `charts: [{ kind: box, x: host }]`
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub charts: Vec<Chart>,
    /// A folder with templates of the report's files, by a path that starts at the folder of this file. A run keeps a
    /// copy of them.
    ///
    /// Default: the built-in ones. Example: `templates: ../templates/blog`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub templates: Option<Text>,
}

impl Report {
    /// Where something stands in it; none where it is empty.
    pub fn first_span(&self) -> Option<Span> {
        let keys = self
            .baseline
            .keys()
            .chain(self.units.keys())
            .chain(&self.references.values)
            .chain(&self.templates)
            .chain(self.exclude.iter().map(|one| &one.run));
        let charts = self.charts.iter().map(|chart| chart.kind.span);
        let margin = self.margin.iter().map(|margin| margin.span);
        keys.map(|key| key.span)
            .chain(margin)
            .chain(self.tables.iter().map(|table| table.span))
            .chain(charts)
            .next()
    }
}

/// Trials of one run that count in no figure, as something was wrong with them that no program could see.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exclusion {
    /// The name of the run's directory.
    ///
    /// Example: `run: 2026-11-30T11-45-12Z`
    pub run: Text,
    /// The trials, as reports name them.
    ///
    /// Example: `trial: nap/pi4/native#3`
    pub trial: List,
    /// What was wrong.
    ///
    /// Example: `reason: its power failed`
    pub reason: Text,
}

/// One table of the report. What its rows and columns do not tell apart, it tells apart by further rows.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Its heading.
    ///
    /// Default: made of workloads and metrics. Example: `title: Disk`
    pub title: Option<Text>,
    /// The workloads whose cells it shows.
    ///
    /// Default: all. Example: `workload: [disk-write, disk-read]`
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub workload: List,
    /// Which cells it shows: an expression. A cell that lacks a name of it is not shown.
    ///
    /// Default: all. Example: `where: environment == 'native' and size|bytes >= 1048576`
    #[serde(rename = "where")]
    pub condition: Option<Text>,
    /// The axes whose values are its rows: `workload`, `host`, `environment`, parameters, `host.labels.NAME`, and
    /// `label.NAME` for what tells apart several values of one trial.
    ///
    /// Default: `host`. Example: `rows: host.labels.board`
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub rows: List,
    /// The axes whose values are its columns, the outermost first.
    ///
    /// Default: `environment` and the parameters that vary. Example: `columns: [environment, server]`
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub columns: List,
    /// The metrics it shows; several are columns beside each other.
    ///
    /// Default: the first of each workload. Example: `metrics: [throughput_sent, throughput_received]`
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub metrics: List,
    /// In which unit it shows a metric.
    ///
    /// Default: that of the report. Example: `units: { throughput: MB/s }`
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub units: IndexMap<Text, Text>,
    /// What its cells are compared with; `{}` for nothing.
    ///
    /// Default: the baseline of the report. Example: `baseline: { host: lattepanda-a }`
    pub baseline: Option<IndexMap<Text, Text>>,
}
