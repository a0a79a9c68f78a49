//! One run against another, cell by cell: which cells and metrics both have, and what may be said of each. Two runs
//! share no blocks, so nothing is paired here. Read [`compare_runs`].

use std::collections::HashMap;

use super::changed::changed;
use super::holm::holm;
use super::mann_whitney::mann_whitney;
use super::refusal::Refusal;
use super::samples::{CellSamples, Sample, samples};
use super::summary::MetricKey;
use super::verdict::{ALPHA, Comparison, Contrast, FEWEST, Verdict, contrast_of_samples, judge};
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
    /// Cells all of whose ok trials are excluded in one of the runs.
    pub excluded: Vec<Uneven<'a>>,
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
    /// Where there is no ratio, as with errors that were 0: whether the values have surely moved to one side, by ranks,
    /// over all such pairs together. By how much, nothing says.
    pub by_ranks: Option<Verdict>,
}

impl Pair<'_> {
    /// The verdict, if there is one.
    pub fn verdict(&self) -> Option<Verdict> {
        self.outcome.map_or(self.by_ranks, |comparison| comparison.verdict)
    }

    /// To which side the values have moved.
    fn side(&self) -> Option<Verdict> {
        let test = mann_whitney(&self.now, &self.before).ok()?;
        Some(match self.better {
            None => Verdict::Different,
            Some(better) if (better == Better::Higher) == (test.above > test.below) => Verdict::Better,
            Some(_) => Verdict::Worse,
        })
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
        excluded: Vec::new(),
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
        let is_excluded = |samples: &CellSamples<'_>| samples.ok == 0 && samples.cell.excluded > 0;
        if is_excluded(&before) || is_excluded(&now) {
            return self.excluded.push(Uneven { before, now });
        }
        match (before.ok, now.ok) {
            (0, _) => return self.unmeasured.push(Uneven { before, now }),
            (_, 0) => return self.broken.push(Uneven { before, now }),
            _ => {}
        }
        let part = |samples: &CellSamples<'_>| {
            let excluded = samples.cell.excluded;
            (samples.ok as f64 + f64::from(excluded)) / f64::from(samples.cell.planned() + excluded)
        };
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
                by_ranks: None,
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
        let without: Vec<usize> = (0..self.pairs.len())
            .filter(|place| self.pairs[*place].outcome.is_err() && self.pairs[*place].rank_p.is_some())
            .filter(|place| self.pairs[*place].now.len().min(self.pairs[*place].before.len()) >= FEWEST)
            .collect();
        let p_values: Vec<f64> = without.iter().filter_map(|place| self.pairs[*place].rank_p).collect();
        for (place, p) in without.into_iter().zip(holm(&p_values)?) {
            let side = self.pairs[place].side();
            self.pairs[place].by_ranks = side.filter(|_| p < ALPHA);
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

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::analysis::verdict::MARGIN;
    use crate::record::{RecordedMetric, RunDirectory};

    /// A run in which each cell, a workload of its name, has these values of a metric; one failed trial for none.
    pub fn run(cells: &[(&str, &str, Vec<f64>)]) -> Run {
        let manifest = serde_json::json!({
            "format": 1, "id": "0badcafe", "runner": "0.1.0", "title": "t", "experiment": "e", "file": "e.yaml",
            "digest": "", "commit": null, "seed": 1, "order": "blocks", "started": "2026-11-30T11:45:12Z",
            "ended": null, "baseline": {}, "counts": {}, "cells": [],
        });
        let mut run = Run {
            directory: RunDirectory::new("run"),
            manifest: serde_json::from_value(manifest).unwrap(),
            hosts: Vec::new(),
            records: Vec::new(),
            left_out: Vec::new(),
            warnings: Vec::new(),
        };
        for (name, metric, values) in cells {
            let known = run.manifest.cells.iter().any(|cell| cell.cell == *name);
            if !known {
                run.manifest.cells.push(PlannedCell {
                    cell: (*name).to_owned(),
                    workload: (*name).to_owned(),
                    host: "h".to_owned(),
                    environment: "native".to_owned(),
                    parameters: BTreeMap::new(),
                    repetitions: values.len().max(1) as u32,
                    warmup: 0,
                    settings: String::new(),
                    adaptive: None,
                    reached: None,
                    excluded: 0,
                });
            }
            let mut repetition = 0;
            let mut record = |value: Option<f64>| {
                repetition += 1;
                let measured = value.map(|value| {
                    serde_json::json!({"name": metric, "value": value, "unit": "s", "better": "lower"})
                });
                let status = if value.is_some() { "ok" } else { "failed" };
                let line = serde_json::json!({
                    "v": 1, "trial": format!("{name}#{repetition}"), "cell": name, "workload": name, "host": "h",
                    "environment": "native", "parameters": {}, "repetition": repetition, "attempt": 1, "block": 1,
                    "order": 1, "phase": "measure", "status": status, "stage": null, "reason": "exit code 1",
                    "started": "2026-11-30T11:45:12Z", "elapsed_s": 1.5, "outputs": [],
                    "measurements": measured.into_iter().collect::<Vec<_>>(),
                });
                run.records.push(serde_json::from_value(line).unwrap());
            };
            values.iter().for_each(|value| record(Some(*value)));
            if values.is_empty() {
                record(None);
            }
        }
        run
    }

    fn around(middle: f64) -> Vec<f64> {
        [0.995, 1.002, 1.0045, 0.9985, 1.0].map(|part| middle * part).to_vec()
    }

    /// `CELL VERDICT` of each pair.
    fn told(before: &Run, now: &Run) -> Vec<String> {
        let against = compare_runs(before, now, None, MARGIN).unwrap();
        let verdict = |pair: &Pair<'_>| pair.verdict().map_or("none", Verdict::as_str);
        against.pairs.iter().map(|pair| format!("{} {}", pair.cell.cell, verdict(pair))).collect()
    }

    #[test]
    fn each_cell_has_its_verdict_in_the_order_of_the_baseline() {
        let before = run(&[
            ("slow", "m", around(10.0)),
            ("same", "m", around(10.0)),
            ("fast", "m", around(10.0)),
            ("few", "m", vec![1.0, 1.1]),
            ("zero", "m", vec![0.0; 5]),
        ]);
        let now = run(&[
            ("few", "m", vec![1.0, 1.1]),
            ("zero", "m", vec![0.0; 5]),
            ("fast", "m", around(8.0)),
            ("same", "m", around(10.01)),
            ("slow", "m", around(12.0)),
        ]);
        assert_eq!(
            told(&before, &now),
            ["slow worse", "same equivalent", "fast better", "few none", "zero none"]
        );
        let against = compare_runs(&before, &now, None, MARGIN).unwrap();
        assert_eq!(against.pairs[4].outcome, Err(Refusal::NotPositive));
        assert_eq!((against.count(Verdict::Worse), against.without_verdict()), (1, 2));
        assert!(against.is_itself, "by id and start");
    }

    #[test]
    fn cells_that_only_one_has_or_that_fail_are_no_pairs() {
        let before = run(&[
            ("gone", "m", around(1.0)),
            ("broken", "m", around(1.0)),
            ("mended", "m", vec![]),
            ("other", "m", around(1.0)),
        ]);
        let mut now = run(&[
            ("new", "m", around(1.0)),
            ("broken", "m", vec![]),
            ("mended", "m", around(1.0)),
            ("other", "n", around(1.0)),
        ]);
        let against = compare_runs(&before, &now, None, MARGIN).unwrap();
        let names = |cells: &[&PlannedCell]| cells.iter().map(|cell| cell.cell.clone()).collect::<Vec<_>>();
        assert_eq!(names(&against.only_before), ["gone"]);
        assert_eq!(names(&against.only_now), ["new"]);
        assert_eq!(against.broken[0].before.cell.cell, "broken");
        assert_eq!(against.unmeasured[0].before.cell.cell, "mended");
        assert_eq!(against.metrics_only_before[0].1.name, "m");
        assert_eq!(against.metrics_only_now[0].1.name, "n");
        assert!(against.pairs.is_empty());
        assert_eq!(against.count(Verdict::Worse), 1, "what fails now is worse");

        // Another parameter is another cell, whatever its name.
        now.manifest.cells[0].cell = "gone".to_owned();
        now.manifest.cells[0].parameters.insert("size".to_owned(), "1".to_owned());
        let against = compare_runs(&before, &now, None, MARGIN).unwrap();
        assert_eq!(
            (names(&against.only_before), names(&against.only_now)),
            (vec!["gone".to_owned()], vec!["gone".to_owned()])
        );
    }

    #[test]
    fn a_cell_of_which_fewer_trials_are_ok_is_told() {
        let before = run(&[("a", "m", around(1.0))]);
        let mut now = before.clone();
        now.records[0].status = crate::record::Status::Failed;
        let against = compare_runs(&before, &now, None, MARGIN).unwrap();
        assert_eq!((against.failing[0].before.ok, against.failing[0].now.ok), (5, 4));
        assert!(compare_runs(&now, &before, None, MARGIN).unwrap().failing.is_empty());
    }

    #[test]
    fn runs_that_do_not_differ_seldom_seem_worse_anywhere() {
        use rand::{RngExt, SeedableRng};

        let mut random = rand_pcg::Pcg64::seed_from_u64(20_261_130);
        // The sum of 12 uniform numbers is near enough to a normal one; values spread by 5 %.
        let mut value = || {
            let sum: f64 = (0..12).map(|_| random.random::<f64>()).sum();
            (0.05 * (sum - 6.0)).exp()
        };
        let names: Vec<String> = (0..20).map(|number| format!("cell-{number}")).collect();
        let mut sample = |_: &String| (0..6).map(|_| value()).collect::<Vec<f64>>();
        let mut any = || {
            let cells: Vec<_> = names.iter().map(|name| (name.as_str(), "m", sample(name))).collect();
            run(&cells)
        };
        let is_worse = |(before, now): (Run, Run)| {
            compare_runs(&before, &now, None, MARGIN).unwrap().count(Verdict::Worse) > 0
        };
        let false_alarms = (0..300).map(|_| (any(), any())).map(is_worse).filter(|is| *is).count();
        // Half of 5 % of 300 to the worse side; more than 18 would be a chance of one in a thousand.
        assert!(false_alarms <= 18, "{false_alarms} of 300");
    }

    #[test]
    fn elapsed_counts_where_it_is_asked_for_or_alone() {
        let mut both = run(&[("a", "m", around(1.0))]);
        for record in &mut both.records {
            let own: Vec<_> = record.measured().map(|(metric, value)| (metric.clone(), value)).collect();
            let elapsed = RecordedMetric { name: "elapsed".to_owned(), ..own[0].0.clone() };
            record.measure([vec![(elapsed, own[0].1)], own].concat());
        }
        let metrics = |run: &Run, metric: Option<&str>| -> Vec<String> {
            let against = compare_runs(run, run, metric, MARGIN).unwrap();
            against.pairs.iter().map(|pair| pair.metric.name.clone()).collect()
        };
        assert_eq!(metrics(&both, None), ["m"]);
        assert_eq!(metrics(&both, Some("elapsed")), ["elapsed"]);
        assert_eq!(metrics(&run(&[("a", "elapsed", around(1.0))]), None), ["elapsed"]);
    }
}
