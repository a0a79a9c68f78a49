//! What stands behind the numbers: every cell with its figures at full precision, its trials, and what they printed.
//! `report.html` opens a number to it, and templates compute with it. Read [`CellView`].

use std::collections::{BTreeMap, BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::view::Origin;
use crate::analysis::Summary;
use crate::record::{self, OutputText, Phase, Record, Run, Status, Suspicion, word};
use crate::terminal;
use crate::units::{Scale, Unit};

/// So many trials a report lists, over all cells: a browser has to hold them.
const LISTED: usize = 5_000;
/// So many bytes of an output stand in `report.html` itself.
pub(super) const BYTES_OF_OUTPUT: u64 = 4 << 10;
/// So many bytes all of them together.
pub(super) const BYTES_OF_OUTPUTS: u64 = 1 << 20;

/// A cell: a workload on a host in an environment with values of its parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellView {
    /// The cell's name, e.g. `disk-read/lattepanda-a/docker`.
    pub cell: String,
    /// The workload's name.
    pub workload: String,
    /// The host's name.
    pub host: String,
    /// The environment's name.
    pub environment: String,
    /// The value of each parameter, as text.
    pub parameters: BTreeMap<String, String>,
    /// How many measured trials were planned.
    pub planned: u32,
    /// Its numbers, one a metric and its labels.
    pub figures: Vec<FigureView>,
    /// Its attempts, warm-up first, then by repetition.
    pub trials: Vec<TrialView>,
    /// How many attempts are not listed: a report lists 5000 at most. All are in `samples.csv`.
    pub unlisted: usize,
}

/// One metric of a cell in numbers, at full precision and in the metric's base unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FigureView {
    /// The metric's name; with labels also those, e.g. `throughput{direction=up}`.
    pub metric: String,
    /// The base unit, e.g. `byte/s`.
    pub unit: String,
    /// The unit that suits the values of all cells of the workload, or that the file asks for, e.g. `MB/s`.
    pub shown_unit: String,
    /// `higher` or `lower`.
    pub better: Option<String>,
    /// How many trials are ok and have the metric.
    pub ok: usize,
    /// How many of them are suspicious.
    pub suspicious: usize,
    /// The median; none where no trial is ok, as all numbers below.
    pub median: Option<f64>,
    /// The lower end of its 95 % interval; none where there are too few trials.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// The mean, which is the harmonic one where the work of a trial is fixed.
    pub mean: Option<f64>,
    /// The standard deviation.
    pub sd: Option<f64>,
    /// The smallest value.
    pub min: Option<f64>,
    /// The largest value.
    pub max: Option<f64>,
    /// The ratio to the baseline; none of the baseline itself, and where there is no baseline.
    pub ratio: Option<f64>,
    /// The lower end of its 95 % interval.
    pub ratio_low: Option<f64>,
    /// The upper end.
    pub ratio_high: Option<f64>,
    /// What may be said of it: `better`, `worse`, `different`, `small`, `equivalent` or `inconclusive`; none below 4
    /// pairs.
    pub verdict: Option<String>,
}

/// One attempt at a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialView {
    /// Its name, e.g. `disk-read/lattepanda-a/docker#3`.
    pub trial: String,
    /// The repetition, from 1.
    pub repetition: u32,
    /// The attempt, from 1.
    pub attempt: u32,
    /// `measure`, `warmup` or `excluded`.
    pub phase: String,
    /// `ok`, `failed`, `invalid` or `interrupted`.
    pub status: String,
    /// Whether it counts in the figures: the last attempt at a measured trial, and ok.
    pub counts: bool,
    /// Where and why it failed, or why it is excluded.
    pub reason: Option<String>,
    /// The start, UTC, as RFC 3339.
    pub started: String,
    /// How long the whole trial took, in seconds.
    pub elapsed_s: f64,
    /// Each value at full precision by the metric's name, in its base unit.
    pub values: BTreeMap<String, f64>,
    /// Why it is suspicious; empty where it is not.
    pub suspicious: Vec<String>,
    /// What is to be known of it besides.
    pub warnings: Vec<String>,
    /// What was kept of what it printed.
    pub outputs: Vec<OutputView>,
}

/// One kept output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutputView {
    /// Its path in the run's directory, e.g. `output/disk-read/lattepanda-a/docker/3/stdout`.
    pub path: String,
    /// How many bytes were printed.
    pub size: u64,
    /// Whether only the first part was kept.
    pub truncated: bool,
    /// The text, where it is small; without codes for a terminal.
    pub text: Option<String>,
    /// Why the text does not stand here.
    pub left_out: Option<String>,
}

/// The name of a metric with its labels, as [`FigureView::metric`] has it.
pub(super) fn metric_name(name: &str, labels: &BTreeMap<String, String>) -> String {
    if labels.is_empty() {
        return name.to_owned();
    }
    let labels = labels.iter().map(|(label, value)| format!("{label}={value}"));
    format!("{name}{{{}}}", labels.collect::<Vec<_>>().join(","))
}

/// The field of a table that shows `summary`.
pub(super) fn origin(summary: &Summary<'_>) -> Origin {
    Origin {
        cell: summary.cell.cell.clone(),
        metric: metric_name(&summary.metric.name, &summary.metric.labels),
        value: summary.sample.map(|sample| sample.median),
    }
}

/// Every cell in the order of the file.
pub(super) fn cells(run: &Run, summaries: &[Summary<'_>]) -> Vec<CellView> {
    let mut figures: HashMap<&str, Vec<FigureView>> = HashMap::new();
    let shown = shown_units(run, summaries);
    for summary in summaries {
        let unit = shown[&quantity(summary)].clone();
        figures.entry(&summary.cell.cell).or_default().push(figure(summary, unit));
    }
    let records = run.by_cell();
    let excluded = &run.manifest.presentation.excluded;
    let (mut left, mut cells_left) = (LISTED, records.len());
    let cells = run.manifest.cells.iter().map(|planned| {
        let own = records.get(planned.cell.as_str()).copied().unwrap_or_default();
        // What one cell does not need is there for the next ones.
        let room = left.checked_div(cells_left).unwrap_or(left).max(1).min(left);
        let listed = own.len().min(room);
        left -= listed;
        cells_left -= usize::from(!own.is_empty());
        CellView {
            cell: planned.cell.clone(),
            workload: planned.workload.clone(),
            host: planned.host.clone(),
            environment: planned.environment.clone(),
            parameters: planned.parameters.clone(),
            planned: planned.planned(),
            figures: figures.remove(planned.cell.as_str()).unwrap_or_default(),
            trials: record::trials(own).flat_map(|all| attempts(all, excluded)).take(listed).collect(),
            unlisted: own.len() - listed,
        }
    });
    cells.collect()
}

type Quantity<'a> = (&'a str, &'a str, &'a Unit);

fn quantity<'a>(summary: &'a Summary<'_>) -> Quantity<'a> {
    (&summary.cell.workload, &summary.metric.name, &summary.metric.unit)
}

/// In which unit each metric of a workload is shown.
fn shown_units<'a>(run: &Run, summaries: &'a [Summary<'_>]) -> HashMap<Quantity<'a>, String> {
    let mut medians: HashMap<Quantity<'a>, Vec<f64>> = HashMap::new();
    for summary in summaries {
        let median = summary.sample.map(|sample| sample.median);
        medians.entry(quantity(summary)).or_default().extend(median);
    }
    let shown = |(key, medians): (Quantity<'a>, Vec<f64>)| {
        let asked = run.manifest.units.get(key.1).and_then(|unit| Scale::named(unit));
        let asked = asked.filter(|(unit, _)| unit == key.2).map(|(_, scale)| scale);
        (key, asked.unwrap_or_else(|| key.2.scale(&medians)).name)
    };
    medians.into_iter().map(shown).collect()
}

fn figure(summary: &Summary<'_>, shown_unit: String) -> FigureView {
    let Summary { metric, sample, median_interval, .. } = summary;
    let comparison = summary.comparison.and_then(Result::ok);
    let ratio = comparison.map(|comparison| comparison.contrast.ratio);
    FigureView {
        metric: metric_name(&metric.name, &metric.labels),
        unit: metric.unit.to_string(),
        shown_unit,
        better: summary.better.map(|better| word(&better)),
        ok: summary.ok,
        suspicious: summary.suspicious,
        median: sample.map(|sample| sample.median),
        low: median_interval.map(|ends| ends.low),
        high: median_interval.map(|ends| ends.high),
        mean: sample.map(|sample| sample.mean),
        sd: sample.and_then(|sample| sample.sd),
        min: sample.map(|sample| sample.min),
        max: sample.map(|sample| sample.max),
        ratio: ratio.map(|ratio| ratio.estimate),
        ratio_low: ratio.map(|ratio| ratio.interval.low),
        ratio_high: ratio.map(|ratio| ratio.interval.high),
        verdict: comparison.and_then(|one| one.verdict).map(|verdict| verdict.as_str().to_owned()),
    }
}

/// The attempts at one trial.
fn attempts<'a>(
    all: &'a [Record],
    excluded: &'a BTreeMap<String, String>,
) -> impl Iterator<Item = TrialView> + 'a {
    let is_last = |index: usize| index + 1 == all.len();
    all.iter().enumerate().map(move |(index, record)| {
        let is_ok = record.phase == Phase::Measure && record.status == Status::Ok;
        let is_excluded = is_last(index) && record.phase == Phase::Excluded;
        let reason = is_excluded.then(|| excluded.get(&record.trial()).cloned()).flatten();
        let view = trial(record, is_last(index) && is_ok);
        TrialView { reason: reason.or(view.reason), ..view }
    })
}

fn trial(record: &Record, counts: bool) -> TrialView {
    let words = record.words();
    let suspicious: BTreeSet<Suspicion> =
        words.noise.iter().flat_map(|(_, noise)| noise.suspicious.iter().copied()).collect();
    let values = record.measured().map(|(metric, value)| (metric_name(&metric.name, &metric.labels), value));
    let stage = words.stage.map(|stage| format!("{}: ", word(&stage))).unwrap_or_default();
    TrialView {
        trial: record.trial(),
        repetition: record.repetition,
        attempt: record.attempt,
        phase: word(&record.phase),
        status: word(&record.status),
        counts,
        reason: words.reason.as_ref().map(|reason| format!("{stage}{reason}")),
        started: record.start(),
        elapsed_s: record.elapsed_s,
        values: values.collect(),
        suspicious: suspicious.iter().map(|one| word(one).replace('-', " ")).collect(),
        warnings: words.warnings.clone(),
        outputs: words
            .outputs
            .iter()
            .map(|kept| OutputView {
                path: kept.path.clone(),
                size: kept.size,
                truncated: kept.truncated,
                text: None,
                left_out: None,
            })
            .collect(),
    }
}

/// Puts the texts of the outputs where they belong, and says of each other one why it is not there.
pub(super) fn put_texts(cells: &mut [CellView], texts: &BTreeMap<String, OutputText>) {
    let trials = cells.iter_mut().flat_map(|cell| &mut cell.trials);
    for output in trials.flat_map(|trial| &mut trial.outputs) {
        let left_out = |why: &str| Some(why.to_owned());
        match texts.get(&output.path) {
            Some(OutputText::Text(text)) => output.text = Some(terminal::plain(text).into_owned()),
            Some(OutputText::TooLarge) => output.left_out = left_out("larger than 4 KiB"),
            Some(OutputText::NoText) => output.left_out = left_out("not a text"),
            Some(OutputText::NoRoom) => {
                output.left_out = left_out("there is 1 MiB of outputs in this file already")
            }
            Some(OutputText::Gone) => output.left_out = left_out("not in the directory of the run"),
            None => output.left_out = left_out("not looked for"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_part_of_the_name_of_a_metric() {
        let labels = [("direction", "up"), ("stream", "1")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(metric_name("throughput", &labels.into()), "throughput{direction=up,stream=1}");
        assert_eq!(metric_name("throughput", &BTreeMap::new()), "throughput");
    }
}
