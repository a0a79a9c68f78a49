//! How the values of one experiment went over all its runs: medians in time order, the latest against the one before,
//! and where the level has changed. Read [`history`].

use indexmap::IndexMap;

use super::change_point::{chance_of_change, change_point};
use super::changed::changed;
use super::descriptive::quantile;
use super::holm::holm;
use super::interval::{Interval, median_interval};
use super::refusal::{Refusal, sorted};
use super::samples::{CellSamples, samples};
use super::summary::MetricKey;
use super::verdict::{Comparison, Contrast, contrast_of_samples, judge};
use crate::record::{PlannedCell, Run};
use crate::units::Better;

/// With fewer runs no change can be told from chance at 5 %: of all orders of 7 values, one in 35 puts the 3 smallest
/// first, and as many put them last.
pub const FEWEST_RUNS: usize = 8;
/// The fewest runs on either side of a change.
const SMALLEST: usize = 2;
/// How often chance alone may claim a change, over all series.
const ALPHA: f64 = 0.05;
/// The most orders that are tried for one series, and for how much work.
const PERMUTATIONS: usize = 9_999;
const WORK: usize = 200_000_000;
/// The orders are the same each time.
const SEED: u64 = 1;

/// All runs of an experiment, held against each other.
#[derive(Debug, Clone)]
pub struct History<'a> {
    /// What has changed from the run before to each run; nothing for the first.
    pub changed: Vec<Vec<String>>,
    /// Each cell and metric, those of the latest run first.
    pub series: Vec<Series<'a>>,
}

/// One cell and metric over all runs.
#[derive(Debug, Clone)]
pub struct Series<'a> {
    /// The cell, as the latest run that has it.
    pub cell: &'a PlannedCell,
    /// The metric.
    pub metric: MetricKey,
    /// Which direction is good.
    pub better: Option<Better>,
    /// A point for each run; none where it has no ok trial of it.
    pub points: Vec<Option<Point>>,
    /// The last run with a point against the one with a point before it; none with fewer than two points.
    pub latest: Option<Result<Comparison, Refusal>>,
    /// The likeliest change of the level; refused with fewer than [`FEWEST_RUNS`] points.
    pub change: Result<Change, Refusal>,
}

/// What one run gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// The values of its ok trials in ascending order.
    pub values: Vec<f64>,
    /// Their median.
    pub median: f64,
    /// Its 95 % interval, where there are enough.
    pub interval: Option<Interval>,
    /// How many trials are ok.
    pub ok: usize,
    /// How many were planned.
    pub planned: u32,
}

/// Where a series changes its level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// The first run of the new level, by its place among all runs.
    pub run: usize,
    /// The median of the medians from there on by that of those before; none where one is not above 0.
    pub ratio: Option<f64>,
    /// How often runs in a random order seem to change as much.
    pub chance: f64,
    /// The same after Holm, over all series.
    pub adjusted: f64,
    /// Whether that is below 5 %.
    pub is_sure: bool,
}

impl Series<'_> {
    /// The places of the runs with a point.
    pub fn places(&self) -> Vec<usize> {
        (0..self.points.len()).filter(|place| self.points[*place].is_some()).collect()
    }
}

/// The history of `runs`, the oldest first. `metric` leaves one metric alone; `margin` is a part, 0.02 for 2 %, for the
/// verdicts on the latest run.
pub fn history<'a>(runs: &'a [Run], metric: Option<&str>, margin: f64) -> Result<History<'a>, Refusal> {
    let mut series: IndexMap<_, Series<'a>> = IndexMap::new();
    // From the latest on, whose order of cells counts.
    for (place, run) in runs.iter().enumerate().rev() {
        for cell in samples(run, metric) {
            add(&mut series, &cell, place, runs.len());
        }
    }
    let mut series: Vec<Series<'a>> = series.into_values().collect();
    judge_latest(&mut series, margin)?;
    find_changes(&mut series)?;
    let changes = runs.windows(2).map(|pair| changed(&pair[0], &pair[1]));
    Ok(History { changed: std::iter::once(Vec::new()).chain(changes).take(runs.len()).collect(), series })
}

type Key<'a> = (&'a str, &'a str, &'a str, Vec<(&'a str, &'a str)>, MetricKey);

fn add<'a>(series: &mut IndexMap<Key<'a>, Series<'a>>, samples: &CellSamples<'a>, place: usize, runs: usize) {
    let cell = samples.cell;
    for sample in &samples.samples {
        let parameters =
            cell.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let key: Key<'a> = (&cell.workload, &cell.host, &cell.environment, parameters, sample.metric.clone());
        let new = || Series {
            cell,
            metric: sample.metric.clone(),
            better: sample.better,
            points: vec![None; runs],
            latest: None,
            change: Err(Refusal::TooFew { have: 0, needed: FEWEST_RUNS }),
        };
        series.entry(key).or_insert_with(new).points[place] = Some(Point {
            median: quantile(&sample.values, 0.5),
            interval: median_interval(&sample.values),
            values: sample.values.clone(),
            ok: samples.ok,
            planned: cell.planned(),
        });
    }
}

/// Verdicts on the last point of each series, all of them one family.
fn judge_latest(series: &mut [Series<'_>], margin: f64) -> Result<(), Refusal> {
    let contrast = |one: &Series<'_>| {
        let points: Vec<&Point> = one.points.iter().flatten().collect();
        let [.., before, now] = points.as_slice() else { return None };
        Some(contrast_of_samples(&now.values, &before.values))
    };
    let contrasts: Vec<Option<Result<Contrast, Refusal>>> = series.iter().map(contrast).collect();
    let family: Vec<Contrast> =
        contrasts.iter().filter_map(|contrast| contrast.as_ref()?.as_ref().ok().copied()).collect();
    let mut judged = judge(&family, None, margin)?.into_iter();
    for (one, contrast) in series.iter_mut().zip(contrasts) {
        one.latest = match contrast {
            Some(Ok(_)) => judged.next().map(|comparison| Ok(comparison.towards(one.better))),
            Some(Err(refusal)) => Some(Err(refusal)),
            None => None,
        };
    }
    Ok(())
}

fn find_changes(series: &mut [Series<'_>]) -> Result<(), Refusal> {
    for one in series.iter_mut() {
        one.change = find_change(one);
    }
    let chances: Vec<f64> =
        series.iter().filter_map(|one| one.change.ok()).map(|change| change.chance).collect();
    let mut adjusted = holm(&chances)?.into_iter();
    for change in series.iter_mut().filter_map(|one| one.change.as_mut().ok()) {
        if let Some(adjusted) = adjusted.next() {
            (change.adjusted, change.is_sure) = (adjusted, adjusted < ALPHA);
        }
    }
    Ok(())
}

fn find_change(series: &Series<'_>) -> Result<Change, Refusal> {
    let places = series.places();
    let medians: Vec<f64> = series.points.iter().flatten().map(|point| point.median).collect();
    let n = medians.len();
    if n < FEWEST_RUNS {
        return Err(Refusal::TooFew { have: n, needed: FEWEST_RUNS });
    }
    let place = change_point(&medians, SMALLEST)?.place;
    let permutations = (WORK / (n * n)).clamp(999, PERMUTATIONS);
    let chance = chance_of_change(&medians, SMALLEST, permutations, SEED)?;
    let level = |medians: &[f64]| quantile(&sorted(medians), 0.5);
    let (before, after) = (level(&medians[..place]), level(&medians[place..]));
    let ratio = (before > 0.0 && after > 0.0).then(|| after / before).filter(|ratio| ratio.is_finite());
    Ok(Change { run: places[place], ratio, chance, adjusted: 1.0, is_sure: false })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::runs::tests::run;

    /// A run of 5 trials around each of `middles`.
    fn runs(middles: &[f64]) -> Vec<Run> {
        let around = |middle: f64| [0.99, 1.01, 1.0, 1.005, 0.995].map(|part| middle * part).to_vec();
        middles.iter().map(|middle| run(&[("a", "m", around(*middle))])).collect()
    }

    #[test]
    fn a_step_is_found_at_its_run_and_noise_is_none() {
        let steps = [10.0, 10.1, 9.9, 10.05, 12.0, 12.1, 11.9, 12.05, 12.02];
        let all = runs(&steps);
        let found = history(&all, None, 0.02).unwrap();
        let change = found.series[0].change.unwrap();
        assert_eq!((change.run, change.is_sure), (4, true), "{change:?}");
        assert!((change.ratio.unwrap() - 1.2).abs() < 0.01, "{change:?}");

        let noise = [10.0, 12.1, 9.9, 12.0, 10.05, 11.9, 10.1, 12.05, 10.02];
        let all = runs(&noise);
        assert!(!history(&all, None, 0.02).unwrap().series[0].change.unwrap().is_sure);
    }

    #[test]
    fn few_runs_have_no_change_and_a_latest() {
        let all = runs(&[10.0, 10.0, 10.0, 10.0, 12.0, 12.0, 12.0]);
        let found = history(&all, None, 0.02).unwrap();
        assert_eq!(found.series[0].change, Err(Refusal::TooFew { have: 7, needed: 8 }));
        assert!(found.series[0].latest.unwrap().unwrap().verdict.is_some());
        // As the constant says: the best of all orders is none that chance would not give.
        let best = [1.0, 1.1, 1.2, 2.0, 2.1, 2.2, 2.3];
        assert!(chance_of_change(&best, SMALLEST, 20_000, 3).unwrap() > ALPHA);
        let one_more = [1.0, 1.1, 1.2, 1.3, 2.0, 2.1, 2.2, 2.3];
        assert!(chance_of_change(&one_more, SMALLEST, 20_000, 3).unwrap() < ALPHA);
    }

    #[test]
    fn a_run_without_the_cell_is_a_gap_and_not_a_zero() {
        let mut all = runs(&[10.0; 9]);
        all[3] = run(&[("b", "m", vec![1.0; 5])]);
        all[8] = run(&[("a", "m", vec![])]);
        let found = history(&all, None, 0.02).unwrap();
        let a = found.series.iter().find(|one| one.cell.cell == "a").unwrap();
        assert_eq!(a.places(), [0, 1, 2, 4, 5, 6, 7]);
        assert_eq!(a.change, Err(Refusal::TooFew { have: 7, needed: 8 }));
        let b = found.series.iter().find(|one| one.cell.cell == "b").unwrap();
        assert_eq!((b.places(), b.latest), (vec![3], None));
        assert_eq!(found.changed.len(), 9);
        assert!(history(&[], None, 0.02).unwrap().series.is_empty());
    }
}
