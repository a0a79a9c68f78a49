//! A picture of the report: what it shows of which cells. What it looks like is the business of `report`. Read
//! [`Chart`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::located::{List, Located, Text};

/// One picture. An axis is `workload`, `host`, `environment`, the name of a parameter, or `label.NAME` for what tells
/// apart several values of one metric in a trial.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Chart {
    /// What stands above it.
    ///
    /// Default: made of the workloads and the metric. Example: `title: Disk throughput`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Text>,
    /// How it is drawn. `bars`: medians with their 95 % intervals; `lines`: the same over an axis of numbers; `box`: all
    /// trials and their quartiles; `ecdf`: which part of the values is below each; `histogram`: how many values lie
    /// where, and the fullest range opened; `heatmap`: medians over two axes, `x` and `series`; `series`: what a tool
    /// tells over the time of each trial.
    ///
    /// Example: `kind: bars`
    pub kind: Located<ChartKind>,
    /// Of which workloads: a name, or a list.
    ///
    /// Default: all. Example: `workload: [disk-write, disk-read]`
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub workload: List,
    /// An expression that chooses cells; it may name what an `exclude` may.
    ///
    /// Default: all cells. Example: `where: "environment == 'docker'"`
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub condition: Option<Text>,
    /// The axis from left to right.
    ///
    /// Default: of lines and heat maps the first axis of numbers, else the hosts. Example: `x: host`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x: Option<Text>,
    /// The metric; of a distribution its quantity, as in `latency`.
    ///
    /// Default: the first metric of each workload. Example: `y: throughput`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub y: Option<Text>,
    /// The axis, or the axes, whose values have a colour each; of a heat map a row each.
    ///
    /// Default: what differs besides. Example: `series: environment`
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub series: List,
    /// The axis whose values have a plot each.
    ///
    /// Default: the workloads, where there are several. Example: `facet: workload`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facet: Option<Text>,
    /// In which unit the values are shown.
    ///
    /// Default: as in the tables. Example: `unit: MiB/s`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Text>,
    /// Which axes are logarithmic: `x`, `y` (of a heat map its colours), `both` or `none`.
    ///
    /// Default: `x` where its numbers span a factor of 8; never `y`. Example: `log: both`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<Located<LogAxes>>,
}

/// How a chart is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ChartKind {
    /// Medians with intervals, from 0.
    Bars,
    /// Medians with intervals over numbers.
    Lines,
    /// Quartiles and all trials.
    Box,
    /// The part of the values up to each value.
    Ecdf,
    /// Counts of values in ranges.
    Histogram,
    /// Medians over two axes as colours.
    Heatmap,
    /// Quantities over the time of trials.
    Series,
}

/// Which axes of a chart are logarithmic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum LogAxes {
    /// The one from left to right.
    X,
    /// The one upwards.
    Y,
    /// Both.
    Both,
    /// Neither.
    None,
}
