//! One run against another, cell by cell: which cells and metrics both have, and what may be said of each. Two runs
//! share no blocks, so nothing is paired here. Read [`compare_runs`].

use std::collections::HashMap;

use super::changed::changed;
use super::mann_whitney::mann_whitney;
use super::refusal::Refusal;
use super::samples::{CellSamples, Sample, samples};
use super::summary::MetricKey;
use super::verdict::{Comparison, Contrast, Verdict, contrast_of_samples, judge};
use crate::record::{PlannedCell, Run};
use crate::units::Better;

/// What one run is against its baseline.
#[derive(Debug, Clone)]
pub struct Against<'a> {
    /// Whether both are one run.
    pub is_itself: bool,
    /// What has changed around the cells that both have, a line each.
    pub changed: Vec<String>,
    /// Every cell and metric with values in both, in the order of the baseline.
    pub pairs: Vec<Pair<'a>>,
    /// Cells that were ok in the baseline, at least once, and never in this run. They count as worse.
    pub broken: Vec<Uneven<'a>>,
    /// Cells of which a smaller part of the trials is ok than in the baseline, though some are.
    pub failing: Vec<Uneven<'a>>,
    /// Cells that were never ok in the baseline; in this run they may be.
    pub unmeasured: Vec<Uneven<'a>>,
    /// Cells of the baseline alone.
    pub only_before: Vec<&'a PlannedCell>,
    /// Cells of this run alone.
    pub only_now: Vec<&'a PlannedCell>,
    /// Metrics of cells of both that the baseline alone has values of.
    pub metrics_only_before: Vec<(&'a PlannedCell, MetricKey)>,
    /// Metrics of cells of both that this run alone has values of.
    pub metrics_only_now: Vec<(&'a PlannedCell, MetricKey)>,
}

/// A cell that both have, and not both have values of.
#[derive(Debug, Clone)]
pub struct Uneven<'a> {
    /// In the baseline.
    pub before: CellSamples<'a>,
    /// In the other run.
    pub now: CellSamples<'a>,
}

/// The values of one metric of one cell in both runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair<'a> {
    /// The cell as the baseline has it.
    pub cell: &'a PlannedCell,
    /// The cell as the other run has it.
    pub cell_now: &'a PlannedCell,
    /// The metric.
    pub metric: MetricKey,
    /// Which direction is good.
    pub better: Option<Better>,
    /// The values of the baseline, in ascending order.
    pub before: Vec<f64>,
    /// The values of the other run, in ascending order.
    pub now: Vec<f64>,
    /// What may be said; refused where there is no ratio.
    pub outcome: Result<Comparison, Refusal>,
    /// The p-value of the rank test, before other comparisons are thought of; it is there without a ratio too.
    pub rank_p: Option<f64>,
}

impl Pair<'_> {
    /// The verdict, if there is one.
    pub fn verdict(&self) -> Option<Verdict> {
        self.outcome.ok()?.verdict
    }
}

/// Compares `now` with `before`: cells by what they mean, metrics by name, unit and labels. All comparisons with a
/// verdict are one family for Holm's procedure, so that a run that is no other seems worse anywhere in one of twenty
/// comparisons at most. `metric` leaves one metric alone; `margin` is a part, 0.02 for 2 %.
pub fn compare_runs<'a>(
    before: &'a Run,
    now: &'a Run,
    metric: Option<&str>,
    margin: f64,
) -> Result<Against<'a>, Refusal> {
    let mut against = Against {
        is_itself: before.manifest.id == now.manifest.id && before.manifest.started == now.manifest.started,
        changed: changed(before, now),
        pairs: Vec::new(),
        broken: Vec::new(),
        failing: Vec::new(),
        unmeasured: Vec::new(),
        only_before: Vec::new(),
        only_now: Vec::new(),
        metrics_only_before: Vec::new(),
        metrics_only_now: Vec::new(),
    };
    let mut of_now: HashMap<_, CellSamples<'a>> =
        samples(now, metric).into_iter().map(|cell| (meaning(cell.cell), cell)).collect();
    for before in samples(before, metric) {
        match of_now.remove(&meaning(before.cell)) {
            None => against.only_before.push(before.cell),
            Some(now) => against.add(before, now),
        }
    }
    let cells = now.manifest.cells.iter();
    against.only_now = cells.filter(|cell| of_now.contains_key(&meaning(cell))).collect();
    against.judge(margin)?;
    Ok(against)
}

/// What makes a cell of one run the same as one of another.
fn meaning(cell: &PlannedCell) -> (&str, &str, &str, Vec<(&str, &str)>) {
    let parameters = cell.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    (&cell.workload, &cell.host, &cell.environment, parameters)
}

impl<'a> Against<'a> {
    fn add(&mut self, before: CellSamples<'a>, mut now: CellSamples<'a>) {
        match (before.ok, now.ok) {
            (0, _) => return self.unmeasured.push(Uneven { before, now }),
            (_, 0) => return self.broken.push(Uneven { before, now }),
            _ => {}
        }
        let part = |samples: &CellSamples<'_>| samples.ok as f64 / f64::from(samples.cell.planned());
        if part(&now) < part(&before) {
            self.failing.push(Uneven { before: before.clone(), now: now.clone() });
        }
        for Sample { metric, better, values } in before.samples {
            let Some(place) = now.samples.iter().position(|sample| sample.metric == metric) else {
                self.metrics_only_before.push((before.cell, metric));
                continue;
            };
            let other = now.samples.remove(place);
            self.pairs.push(Pair {
                cell: before.cell,
                cell_now: now.cell,
                better: other.better.or(better),
                rank_p: mann_whitney(&other.values, &values).ok().map(|test| test.p()),
                outcome: Err(Refusal::NotPositive),
                before: values,
                now: other.values,
                metric,
            });
        }
        let rest = now.samples.into_iter();
        self.metrics_only_now.extend(rest.map(|sample| (before.cell, sample.metric)));
    }

    fn judge(&mut self, margin: f64) -> Result<(), Refusal> {
        let contrasts: Vec<Result<Contrast, Refusal>> =
            self.pairs.iter().map(|pair| contrast_of_samples(&pair.now, &pair.before)).collect();
        let family: Vec<Contrast> = contrasts.iter().filter_map(|contrast| contrast.ok()).collect();
        let mut judged = judge(&family, None, margin)?.into_iter();
        for (pair, contrast) in self.pairs.iter_mut().zip(contrasts) {
            pair.outcome = match (contrast, pair.better) {
                (Err(refusal), _) => Err(refusal),
                (Ok(_), better) => judged.next().map(|one| one.towards(better)).ok_or(Refusal::NotFinite),
            };
        }
        Ok(())
    }

    /// How many comparisons ended with `verdict`, broken cells among the worse ones.
    pub fn count(&self, verdict: Verdict) -> usize {
        let broken = if verdict == Verdict::Worse { self.broken.len() } else { 0 };
        self.pairs.iter().filter(|pair| pair.verdict() == Some(verdict)).count() + broken
    }

    /// How many comparisons have no verdict: too few trials, or no ratio.
    pub fn without_verdict(&self) -> usize {
        self.pairs.iter().filter(|pair| pair.verdict().is_none()).count()
    }
}
