//! The texts of single cells: `94.20 [94.15, 94.31] 10/10` for a value, and what may be said of it against its
//! baseline.

use std::collections::BTreeMap;

use super::number::{NOTHING, fixed, place};
use crate::analysis::{Comparison, FEWEST, Ratio, Refusal, Summary, Verdict};
use crate::record::{CellCost, Reference};
use crate::units::{Better, Scale, Unit};

/// Too few trials for an interval of the median, and more than one.
pub(super) fn has_range(summary: &Summary<'_>) -> bool {
    summary.median_interval.is_none() && summary.ok > 1
}

/// Median, spread, ok of planned trials, and how many of them are suspicious.
pub(super) fn value(summary: &Summary<'_>, scale: &Scale) -> String {
    let of_planned = format!("{}/{}", summary.ok, summary.cell.planned());
    let Some(sample) = summary.sample else {
        return format!("{NOTHING} {of_planned}");
    };
    let median = scale.apply(sample.median);
    let interval = summary.median_interval.map(|ends| (scale.apply(ends.low), scale.apply(ends.high)));
    let place_of_median = place(median, interval);
    let write = |value| fixed(value, place_of_median);
    let mut parts = vec![write(median)];
    match interval {
        Some((low, high)) => parts.push(format!("[{}, {}]", write(low), write(high))),
        None if has_range(summary) => {
            let (min, max) = (scale.apply(sample.min), scale.apply(sample.max));
            parts.push(format!("({}–{})", write(min), write(max)));
        }
        None => {}
    }
    parts.push(of_planned);
    if summary.suspicious > 0 {
        parts.push(format!("!{}", summary.suspicious));
    }
    parts.join(" ")
}

/// A published figure, with the range that its source gives.
pub(super) fn published(reference: &Reference, scale: &Scale) -> String {
    let value = scale.apply(reference.value);
    let write = |value| fixed(value, place(scale.apply(reference.value), None));
    match (reference.low, reference.high) {
        (Some(low), Some(high)) => {
            format!("{} ({}–{})", write(value), write(scale.apply(low)), write(scale.apply(high)))
        }
        _ => write(value),
    }
}

/// `×0.988 [0.934, 1.046] inconclusive, 140 trials needed`; with `to size=64` after the interval where the baseline
/// differs in more than it is named for, and with the number of pairs where not every trial is in one.
pub(super) fn comparison(summary: &Summary<'_>, baseline: &BTreeMap<String, String>) -> Option<String> {
    let to = summary.baseline.map(|other| unlike(&summary.cell.parameters, &other.parameters, baseline));
    let to = to.filter(|to| !to.is_empty()).map(|to| format!(" to {to}")).unwrap_or_default();
    let pairs = summary.comparison?.ok().map(|comparison| comparison.contrast.size);
    let pairs = pairs.filter(|pairs| *pairs < summary.ok);
    let pairs = pairs.map(|pairs| format!(", {pairs} pairs")).unwrap_or_default();
    Some(format!("{}{pairs}", judged(summary.comparison.as_ref()?, &to)))
}

/// The parameters of a baseline that are others than the cell's, though nobody has asked for that.
fn unlike(
    own: &BTreeMap<String, String>,
    other: &BTreeMap<String, String>,
    asked: &BTreeMap<String, String>,
) -> String {
    let unlike =
        other.iter().filter(|(name, value)| !asked.contains_key(*name) && own.get(*name) != Some(value));
    unlike.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ")
}

fn judged(comparison: &Result<Comparison, Refusal>, to: &str) -> String {
    let comparison = match comparison {
        Ok(comparison) => comparison,
        Err(Refusal::TooFew { have, .. }) => return format!("{NOTHING}{to} {have} of 2 pairs"),
        Err(refusal) => return format!("{NOTHING}{to} {refusal}"),
    };
    let ratio = format!("{}{to}", ratio(&comparison.contrast.ratio));
    match (comparison.verdict, comparison.needed) {
        (Some(Verdict::Inconclusive), Some(needed)) => {
            format!("{ratio} inconclusive, {needed} trials needed")
        }
        (Some(verdict), _) => format!("{ratio} {}", verdict.as_str()),
        (None, _) => format!("{ratio} fewer than {FEWEST} pairs"),
    }
}

/// `×0.988 [0.934, 1.046]`.
pub(super) fn ratio(Ratio { estimate, interval }: &Ratio) -> String {
    let place = place(*estimate, Some((interval.low, interval.high)));
    let write = |value: f64| fixed(value, place);
    format!("×{} [{}, {}]", write(*estimate), write(interval.low), write(interval.high))
}

/// What a value costs, or what it gives for its cost, with its unit: rates by the cost of an hour, times by the cost of
/// so long. None of other units.
pub(super) fn price(summary: &Summary<'_>, scale: &Scale, cost: &CellCost) -> Option<(String, String)> {
    let median = summary.sample?.median;
    let currency = if cost.currency.is_empty() { "cost" } else { cost.currency.as_str() };
    let (value, unit) = match (&summary.metric.unit, summary.better) {
        (Unit::Second, _) => (median / 3600.0 * cost.amount * 1000.0, format!("{currency} per 1000 times")),
        (_, Some(Better::Higher)) => {
            (scale.apply(median) / cost.amount, format!("{} per {currency}/h", scale.name))
        }
        _ => return None,
    };
    Some((fixed(value, place(value, None)), unit))
}
