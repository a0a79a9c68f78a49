//! What a template sees of a run, and nothing else: texts, lists and tables, every number already written
//! out. Read [`ReportView`]; `estimates.rs` and `sections.rs` fill in its tables.

use std::hash::Hash;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use super::trials::{CellView, FigureView, OutputView, TrialView};
use super::{distributions, estimates, excluded, findings, markdown, notes, sections, trials};
use crate::analysis::{Summary, open, suspicious_hosts};
use crate::record::{Manifest, Phase, Run, Status};

/// A whole report.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ReportView {
    /// The experiment's title.
    pub title: String,
    /// The workloads, in the order of the file, as are all lists.
    pub workloads: Vec<String>,
    /// The hosts that were measured.
    pub hosts: Vec<String>,
    /// The environments.
    pub environments: Vec<String>,
    /// The start, UTC.
    pub started: String,
    /// The end, UTC; none for a run that goes on or was killed.
    pub ended: Option<String>,
    /// From start to end, e.g. `46 min 28 s`; of more than one sitting, their sum where all ends are known.
    pub duration: Option<String>,
    /// In how many sittings it was done; none for a run that nobody had to go on with.
    pub sittings: Option<String>,
    /// Whether the run was stopped before its end.
    pub interrupted: bool,
    /// How many more trials adaptive cells may need at most, in a run that is not over; none where there are none.
    #[serde(default)]
    pub open: Option<String>,
    /// By what the run was stopped before its last trial; none where it was not.
    pub stopped: Option<String>,
    /// How many measured trials have a record.
    pub tried: String,
    /// How many measured trials are ok.
    pub ok: String,
    /// How many measured trials were planned.
    pub planned: String,
    /// How many planned trials left no record.
    pub missing: String,
    /// How many warm-up trials are left out; none if there are none.
    pub warmups: Option<String>,
    /// `blocks`, `sequential` or `shuffled`.
    pub order: String,
    /// The seed of the order.
    pub seed: String,
    /// What ended adaptive repetitions, and how far they came: a text a rule.
    pub adaptive: Vec<String>,
    /// The version of `runner`.
    pub runner: String,
    /// The experiment file.
    pub file: String,
    /// What the command line changed of it, as options.
    pub options: Vec<String>,
    /// The git commit of the experiment.
    pub commit: Option<String>,
    /// What is to be known first, in whole sentences.
    #[serde(default)]
    pub findings: Vec<String>,
    /// For each host with suspicious trials how many and why.
    pub suspicious: Vec<String>,
    /// One table a workload and metric.
    pub metrics: Vec<MetricTable>,
    /// One table a workload and quantity of which each trial has many values.
    #[serde(default)]
    pub distributions: Vec<DistributionTable>,
    /// The charts, in the order of the file.
    #[serde(default)]
    pub charts: Vec<ChartView>,
    /// How many measured trials are excluded; none for none.
    pub excluded_count: Option<String>,
    /// The trials that are excluded, each with its reason.
    pub excluded: Option<Table>,
    /// The figures of their cells, and of those that are compared with these, without and with them.
    pub excluded_figures: Option<Table>,
    /// Trials, stage and reason of what is not ok.
    pub failures: Option<Table>,
    /// What a reader should know besides.
    pub warnings: Option<Table>,
    /// What the cache drops did.
    pub caches: Option<Table>,
    /// Facts as rows, machines as columns.
    pub machines: Option<Table>,
    /// Every cell with its figures, trials and outputs: what the tables are made of.
    pub cells: Vec<CellView>,
}

/// A picture beside the tables.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ChartView {
    /// What stands above it.
    pub title: String,
    /// The picture, from the run's directory: `charts/NAME.svg`.
    pub file: String,
    /// What it shows, from there: `charts/NAME.csv`.
    pub data: String,
    /// The picture itself, an `<svg>` element with an id of its own, to stand in a page.
    pub svg: String,
    /// What it shows, in words.
    pub alt: String,
    /// The workload after whose tables it stands.
    pub after: String,
    /// The workloads that it shows.
    pub workloads: Vec<String>,
}

/// The many values of one quantity of one workload: a row a cell, percentiles as columns.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DistributionTable {
    /// The workload's name.
    pub workload: String,
    /// What was measured many times in each trial, e.g. `latency`.
    pub quantity: String,
    /// The unit of all figures; empty for bare numbers.
    pub unit: String,
    /// The figures, each percentile with its 95 % interval.
    pub table: Table,
}

/// The estimates of one metric of one workload: hosts as rows, environments and varying parameters as
/// columns.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MetricTable {
    /// Its heading, with the unit where there is one for all of it.
    pub title: String,
    /// The names of its workloads.
    pub workload: String,
    /// The names of its metrics.
    pub metric: String,
    /// The unit of the table; empty for bare numbers, and where each column has its own.
    pub unit: String,
    /// `higher` or `lower`.
    pub better: Option<String>,
    /// Whether a cell shows an interval of the median, in `[ ]`.
    pub has_interval: bool,
    /// Whether a cell shows its smallest and largest value, in `( )`.
    pub has_range: bool,
    /// Whether a cell shows how many of its trials are suspicious, as `!n`.
    pub has_suspicious: bool,
    /// Whether the mean of its cells in `summary.csv` is the harmonic one.
    pub is_harmonic: bool,
    /// In what the compared machines and environments differ; empty where they do not.
    pub unlike: Vec<String>,
    /// Whether the table before says the same.
    pub unlike_is_told: bool,
    /// What ratios are to, e.g. `environment=native`; none where there is no ratio.
    pub baseline: Option<String>,
    /// The values.
    pub table: Table,
    /// For each cell that has a baseline the ratio, its interval and the verdict; none where no cell has one.
    pub comparison: Option<Table>,
    /// What the verdicts in that table mean, without the last full stop; empty where it has none.
    pub verdicts: String,
    /// What each value costs, or gives for its cost; none where costs are not known.
    pub price: Option<Table>,
    /// The unit of that table.
    pub price_unit: Option<String>,
    /// The hosts that take part and are in none of its costs, as none is given of them.
    pub price_without: Vec<String>,
    /// The marks of the rows of published figures, each with its source: `†: SOURCE`; empty where there are none.
    pub published: Vec<String>,
}

/// A table of texts, not yet escaped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Table {
    /// From left to right.
    pub columns: Vec<Column>,
    /// From top to bottom, a text for each column.
    pub rows: Vec<Vec<String>>,
    /// Where fields come from, row by row beside `rows`; empty where nothing is known of any.
    #[serde(default)]
    pub origins: Vec<Vec<Option<Origin>>>,
}

/// Where a field of a table comes from: `report.html` opens it to these trials, and sorts by the value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Origin {
    /// The cell's name; empty for a published figure, which has no trials here.
    pub cell: String,
    /// The metric, as `metric` of the figures of `cells` has it.
    pub metric: String,
    /// The number that the field shows first, at full precision; none where it shows none.
    pub value: Option<f64>,
}

impl Table {
    /// A table of texts alone.
    pub fn new(columns: Vec<Column>, rows: Vec<Vec<String>>) -> Self {
        Self { columns, rows, origins: Vec::new() }
    }

    /// It in GitHub's Markdown, without final newline.
    pub fn to_markdown(&self) -> String {
        markdown::table(self)
    }
}

/// One column of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Column {
    /// What stands above it.
    pub header: String,
    /// Whether it is set flush right.
    pub numeric: bool,
}

impl Column {
    /// A column of words.
    pub fn text(header: impl Into<String>) -> Self {
        Self { header: header.into(), numeric: false }
    }

    /// A column of numbers.
    pub fn number(header: impl Into<String>) -> Self {
        Self { header: header.into(), numeric: true }
    }
}

impl ReportView {
    /// Everything that a report of `run` says.
    pub fn new(run: &Run, summaries: &[Summary<'_>]) -> Self {
        let manifest = &run.manifest;
        let count = |phase| run.last_attempts().filter(move |record| record.phase == phase);
        let (measured, warmups) = (count(Phase::Measure).count(), count(Phase::Warmup).count());
        let ok = count(Phase::Measure).filter(|record| record.status == Status::Ok).count();
        let started = manifest.started.parse::<Timestamp>().ok();
        let ended = manifest.ended.as_ref().and_then(|ended| ended.parse::<Timestamp>().ok());
        let sittings = manifest.sittings.len();
        let metrics = estimates::metric_tables(run, summaries);
        let cells = || manifest.cells.iter();
        let excluded_count = count(Phase::Excluded).count();
        let (excluded, excluded_figures) = excluded::tables(run).unzip();
        Self {
            title: manifest.title.clone(),
            workloads: distinct(cells().map(|cell| &cell.workload)),
            hosts: distinct(cells().map(|cell| &cell.host)),
            environments: distinct(cells().map(|cell| &cell.environment)),
            started: started.map_or_else(|| manifest.started.clone(), date_and_time),
            ended: ended.map(date_and_time),
            duration: seconds(manifest).map(duration),
            sittings: (sittings > 1).then(|| sittings.to_string()),
            interrupted: manifest.interrupted,
            open: Some(open(run)).filter(|open| *open > 0).map(|open| open.to_string()),
            stopped: manifest.stopped.clone(),
            tried: measured.to_string(),
            ok: ok.to_string(),
            planned: manifest.planned().to_string(),
            missing: manifest.planned().saturating_sub(measured).to_string(),
            warmups: (warmups > 0).then(|| warmups.to_string()),
            order: manifest.order.clone(),
            seed: manifest.seed.to_string(),
            adaptive: sections::adaptive(manifest, summaries),
            runner: manifest.runner.clone(),
            file: manifest.file.clone(),
            options: manifest.options.iter().map(|(option, value)| format!("{option} {value}")).collect(),
            commit: manifest.commit.clone(),
            suspicious: suspicious_hosts(run).iter().map(notes::suspicious).collect(),
            findings: findings::findings(run, summaries, &metrics),
            metrics,
            distributions: distributions::tables(run),
            charts: Vec::new(),
            excluded_count: (excluded_count > 0).then(|| excluded_count.to_string()),
            excluded,
            excluded_figures,
            failures: sections::failures(run),
            warnings: sections::warnings(run, summaries),
            caches: sections::caches(&run.records),
            machines: sections::machines(&run.hosts),
            cells: trials::cells(run, summaries),
        }
    }
}

/// The names of everything that a view holds, and of what is in it: what somebody may have meant.
pub(super) fn field_names() -> Vec<String> {
    let schema = schemars::schema_for!(ReportView).to_value();
    let of = |schema: &serde_json::Value| {
        let properties = schema["properties"].as_object();
        properties.into_iter().flat_map(|map| map.keys().cloned()).collect::<Vec<_>>()
    };
    let parts = schema["$defs"].as_object().into_iter().flat_map(|map| map.values());
    let mut names = of(&schema);
    names.extend(parts.flat_map(of));
    names
}

/// The different keys, in the order of first appearance.
pub(super) fn distinct<'a, K: Clone + Eq + Hash + 'a>(keys: impl Iterator<Item = &'a K>) -> Vec<K> {
    keys.cloned().collect::<indexmap::IndexSet<_>>().into_iter().collect()
}

pub(super) fn date_and_time(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// How long the run was worked on.
fn seconds(manifest: &Manifest) -> Option<i64> {
    let span = |started: &str, ended: &Option<String>| {
        let (started, ended) =
            (started.parse::<Timestamp>().ok()?, ended.as_ref()?.parse::<Timestamp>().ok()?);
        Some(ended.as_second() - started.as_second())
    };
    match manifest.sittings.len() {
        0 | 1 => span(&manifest.started, &manifest.ended),
        _ => manifest.sittings.iter().map(|sitting| span(&sitting.started, &sitting.ended)).sum(),
    }
}

fn duration(seconds: i64) -> String {
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{rest} s"),
        (0, _) => format!("{minutes} min {rest} s"),
        _ => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_show_their_two_largest_parts() {
        for (seconds, text) in
            [(0, "0 s"), (59, "59 s"), (2788, "46 min 28 s"), (3600, "1 h 0 min"), (90_061, "25 h 1 min")]
        {
            assert_eq!(duration(seconds), text);
        }
    }
}
