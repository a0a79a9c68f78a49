//! One sample against another: how many times as large its values are, and what may be said of it. A p-value
//! alone says nothing of size, and an interval over 1 is no proof of equality: read [`Verdict`], then [`judge`].

use std::collections::BTreeMap;

use super::compare::Ratio;
use super::equivalence::equivalence;
use super::holm::holm;
use super::interval::{Interval, LEVEL};
use super::mann_whitney::mann_whitney;
use super::needed::trials_needed;
use super::paired::{paired_difference, signed_rank};
use super::ratio::logarithm_of_ratio;
use super::refusal::{Refusal, check_positive};
use super::student::{Estimate, critical};
use super::welch::mean_and_error;
use crate::units::Better;

/// By how much two must differ for it to matter, as a part, where nobody says otherwise.
pub const MARGIN: f64 = 0.02;
/// The smallest sample of which a verdict is given.
pub const FEWEST: usize = 4;
/// How often, over a family of comparisons, chance alone may claim a difference.
const ALPHA: f64 = 0.05;

/// What may be said of a value against its baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// Surely different, to the bad side, and by more than the margin.
    Worse,
    /// Surely different, to the good side, and by more than the margin.
    Better,
    /// Surely different, by more than the margin, of a metric without a good side.
    Different,
    /// Surely different, but by less than the margin.
    Small,
    /// Surely not different by the margin.
    Equivalent,
    /// None of these can be said.
    Inconclusive,
}

impl Verdict {
    /// All of them, those to look at first before the others.
    pub const ALL: [Verdict; 6] = [
        Verdict::Worse,
        Verdict::Better,
        Verdict::Different,
        Verdict::Small,
        Verdict::Equivalent,
        Verdict::Inconclusive,
    ];

    /// Its word in every table and file.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Worse => "worse",
            Verdict::Better => "better",
            Verdict::Different => "different",
            Verdict::Small => "small",
            Verdict::Equivalent => "equivalent",
            Verdict::Inconclusive => "inconclusive",
        }
    }
}

/// Two samples held against each other, before other comparisons are thought of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contrast {
    /// How many pairs, or values in the smaller sample, it rests on.
    pub size: usize,
    /// How many times the baseline the values are, by geometric means, with its 95 % interval.
    pub ratio: Ratio,
    /// The logarithm of that; none where nothing varies.
    logarithm: Option<Estimate>,
    /// How often chance alone gives a ratio so far from 1.
    pub p: f64,
    /// The same by ranks alone; none where a rank test says nothing.
    pub rank_p: Option<f64>,
    /// How far the baseline itself can be off: the half-width of the 95 % interval of its geometric mean, as a part.
    pub noise: f64,
}

/// A contrast with its verdict.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// What it rests on.
    pub contrast: Contrast,
    /// The p-value after Holm, over all that were judged together; none where there is no verdict.
    pub adjusted_p: Option<f64>,
    /// What a difference has to exceed to be more than small, as a part: the margin that was asked for, or the noise.
    pub margin: f64,
    /// None below [`FEWEST`] pairs or values.
    pub verdict: Option<Verdict>,
    /// How many trials it would take for the interval of the ratio to be as narrow as the margin that was asked for;
    /// of an inconclusive one alone.
    pub needed: Option<usize>,
}

/// Contrasts two samples whose values belong together by repetition, that is, by block: what both of a pair share
/// drops out (Kalibera & Jones 2013; Georges 2007). Repetitions that only one has don't count. Refused below 2 pairs
/// and with a value that is not above 0.
pub fn paired_contrast(values: &[(u32, f64)], baseline: &[(u32, f64)]) -> Result<Contrast, Refusal> {
    let baseline: BTreeMap<u32, f64> = baseline.iter().copied().collect();
    let pairs = values.iter().filter_map(|(repetition, value)| Some((*value, *baseline.get(repetition)?)));
    let (values, baseline): (Vec<f64>, Vec<f64>) = pairs.unzip();
    let (above, below) = (logarithms(&values)?, logarithms(&baseline)?);
    let rank_p = signed_rank(&above, &below).ok().map(|test| test.exact.unwrap_or(test.normal));
    let logarithm = paired_difference(&above, &below);
    contrast(values.len(), logarithm, above[0] - below[0], rank_p, &below)
}

/// Contrasts two samples that were measured apart, such as those of two runs: Welch's test on the logarithms. Refused
/// below 2 values in one of them and with a value that is not above 0.
pub fn contrast_of_samples(values: &[f64], baseline: &[f64]) -> Result<Contrast, Refusal> {
    let (above, below) = (logarithms(values)?, logarithms(baseline)?);
    let rank_p = mann_whitney(values, baseline).ok().map(|test| test.p());
    let size = values.len().min(baseline.len());
    contrast(size, logarithm_of_ratio(baseline, values), above[0] - below[0], rank_p, &below)
}

fn logarithms(sample: &[f64]) -> Result<Vec<f64>, Refusal> {
    check_positive(sample, 2)?;
    Ok(sample.iter().map(|value| value.ln()).collect())
}

/// `constant` is the logarithm where nothing varies.
fn contrast(
    size: usize,
    logarithm: Result<Estimate, Refusal>,
    constant: f64,
    rank_p: Option<f64>,
    baseline: &[f64],
) -> Result<Contrast, Refusal> {
    let (mean, error) = mean_and_error(baseline)?;
    let half_width = critical(baseline.len() as f64 - 1.0, LEVEL)? * error.sqrt();
    let noise = if mean.is_finite() { half_width.exp_m1() } else { f64::INFINITY };
    match logarithm {
        Ok(logarithm) => {
            let ratio = Ratio::of_logarithm(&logarithm, LEVEL)?;
            Ok(Contrast { size, ratio, logarithm: Some(logarithm), p: logarithm.p()?, rank_p, noise })
        }
        Err(Refusal::Constant) => {
            // Equal but for the last bits is equal.
            let estimate = if constant.abs() < 1e-12 { 1.0 } else { constant.exp() };
            let ratio = Ratio { estimate, interval: Interval { low: estimate, high: estimate } };
            let p = if estimate == 1.0 { 1.0 } else { 0.0 };
            Ok(Contrast { size, ratio, logarithm: None, p, rank_p, noise })
        }
        Err(refusal) => Err(refusal),
    }
}

/// The verdicts of a family of contrasts, in the order given. A difference is sure where Holm's procedure over those
/// with a verdict claims it at 5 %; it is more than small where the ratio is further from 1 than `margin` (0.02 for
/// 2 %) and than the noise of its baseline. Two are equivalent by the two one-sided tests at `margin` alone: noise must
/// not make things equal.
pub fn judge(
    contrasts: &[Contrast],
    better: Option<Better>,
    margin: f64,
) -> Result<Vec<Comparison>, Refusal> {
    let has_verdict = |contrast: &Contrast| contrast.size >= FEWEST;
    let counted: Vec<f64> =
        contrasts.iter().filter(|one| has_verdict(one)).map(|contrast| contrast.p).collect();
    let mut adjusted = holm(&counted)?.into_iter();
    let comparison = |contrast: &Contrast| {
        let adjusted_p = if has_verdict(contrast) { adjusted.next() } else { None };
        let verdict = adjusted_p.map(|p| contrast.verdict(p, better, margin));
        let is_open = verdict == Some(Verdict::Inconclusive);
        let needed = is_open.then(|| contrast.needed(margin)).flatten();
        Comparison { contrast: *contrast, adjusted_p, margin: margin.max(contrast.noise), verdict, needed }
    };
    Ok(contrasts.iter().map(comparison).collect())
}

impl Comparison {
    /// The same of a metric with that good side, for a family that was judged without one.
    #[must_use]
    pub fn towards(self, better: Option<Better>) -> Self {
        let is_higher = self.contrast.ratio.estimate > 1.0;
        let verdict = match (self.verdict, better) {
            (Some(Verdict::Different), Some(better)) if (better == Better::Higher) == is_higher => {
                Some(Verdict::Better)
            }
            (Some(Verdict::Different), Some(_)) => Some(Verdict::Worse),
            (verdict, _) => verdict,
        };
        Self { verdict, ..self }
    }
}

impl Contrast {
    fn verdict(&self, adjusted_p: f64, better: Option<Better>, margin: f64) -> Verdict {
        let is_sure = adjusted_p < ALPHA;
        let is_large = self.ratio.estimate.ln().abs() > margin.max(self.noise).ln_1p();
        let is_higher = self.ratio.estimate > 1.0;
        match (is_sure, is_large) {
            (true, true) => match better {
                None => Verdict::Different,
                Some(better) if (better == Better::Higher) == is_higher => Verdict::Better,
                Some(_) => Verdict::Worse,
            },
            (true, false) => Verdict::Small,
            (false, _) if self.is_equivalent(margin) => Verdict::Equivalent,
            (false, _) => Verdict::Inconclusive,
        }
    }

    fn is_equivalent(&self, margin: f64) -> bool {
        match &self.logarithm {
            Some(logarithm) => equivalence(logarithm, margin, ALPHA).is_ok_and(|found| found.is_equivalent),
            None => self.ratio.estimate.ln().abs() < margin.ln_1p(),
        }
    }

    fn needed(&self, margin: f64) -> Option<usize> {
        let sd = self.logarithm.as_ref()?.standard_error * (self.size as f64).sqrt();
        trials_needed(sd, margin.ln_1p(), LEVEL).ok()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::analysis::reference::{Checker, close, number, pairs, reference as file};

    pub fn reference(check: &mut Checker) {
        let (path, x, y) = pairs().into_iter().find(|(path, ..)| path.contains("darwin")).unwrap();
        let (x, y) = (by_repetition(&x), by_repetition(&y));
        let ratio = paired_contrast(&y, &x).unwrap().ratio;
        check.close(&format!("{path}/paired/geometric_mean_of_paired_ratios_y_over_x"), ratio.estimate);
        let inverse = paired_contrast(&x, &y).unwrap().ratio;
        assert!(close(inverse.interval.low, 1.0 / ratio.interval.high), "no direction is favoured");
    }

    #[test]
    fn the_paired_ratio_is_that_of_the_reference() {
        Checker::run(reference);
    }

    #[test]
    fn pairs_are_made_by_repetition() {
        let e = std::f64::consts::E;
        let base = [(1, 1.0), (2, 1.0), (4, 1.0)];
        let ratio = paired_contrast(&[(1, e), (2, e.powi(3)), (3, 100.0)], &base).unwrap().ratio;
        assert!(close(ratio.estimate, e * e), "repetitions 1 and 2 are the pairs");
        // Two logarithms 1 and 3: mean 2, half-width t(1) · √2 / √2.
        assert!(close(ratio.interval.high, (2.0 + number(&file()["t_critical_0.975"]["1"])).exp()));
    }

    fn by_repetition(values: &[f64]) -> Vec<(u32, f64)> {
        (1..).zip(values.iter().copied()).collect()
    }

    /// A sample of 8 around `middle`, whose neighbours differ by `spread` as a part.
    fn around(middle: f64, spread: f64) -> Vec<f64> {
        let steps = [-1.0, 0.4, 0.9, -0.3, 0.0, -0.7, 0.6, 0.1];
        steps.iter().map(|step| middle * (1.0 + spread * step)).collect()
    }

    fn verdict(values: &[f64], baseline: &[f64], better: Option<Better>) -> Option<Verdict> {
        let contrast = contrast_of_samples(values, baseline).unwrap();
        judge(&[contrast], better, MARGIN).unwrap()[0].verdict
    }

    #[test]
    fn each_verdict_has_its_samples() {
        let (higher, lower) = (Some(Better::Higher), Some(Better::Lower));
        let base = around(100.0, 0.005);
        for (values, better, expected) in [
            (around(110.0, 0.005), higher, Verdict::Better),
            (around(110.0, 0.005), lower, Verdict::Worse),
            (around(90.0, 0.005), higher, Verdict::Worse),
            (around(90.0, 0.005), lower, Verdict::Better),
            (around(110.0, 0.005), None, Verdict::Different),
            (around(101.0, 0.003), higher, Verdict::Small),
            (around(100.1, 0.005), higher, Verdict::Equivalent),
            (around(100.1, 0.2), higher, Verdict::Inconclusive),
            (around(115.0, 0.3), higher, Verdict::Inconclusive),
        ] {
            assert_eq!(verdict(&values, &base, better), Some(expected), "{values:?} {better:?}");
        }
    }

    #[test]
    fn noise_makes_a_difference_small_and_never_two_equal() {
        // Pairs that share a spread of 30 %: the difference of 5 % is sure, but the baseline is not known to 5 %.
        let base = around(100.0, 0.3);
        let values: Vec<f64> = base.iter().zip(around(1.05, 0.002)).map(|(base, part)| base * part).collect();
        let contrast = paired_contrast(&by_repetition(&values), &by_repetition(&base)).unwrap();
        let comparison = judge(&[contrast], Some(Better::Higher), MARGIN).unwrap()[0];
        assert_eq!(comparison.verdict, Some(Verdict::Small));
        assert!(comparison.margin > 0.1 && comparison.adjusted_p.unwrap() < 1e-6, "{comparison:?}");
        // The same spread without pairs: nothing is known, least of all that they are equal.
        assert_eq!(verdict(&around(100.0, 0.3), &base, None), Some(Verdict::Inconclusive));
    }

    #[test]
    fn what_an_open_one_needs_is_what_narrows_its_interval_to_the_margin() {
        let contrast = contrast_of_samples(&around(101.0, 0.1), &around(100.0, 0.1)).unwrap();
        let needed = judge(&[contrast], None, MARGIN).unwrap()[0].needed.unwrap();
        let half = |n: usize| {
            let sd = contrast.logarithm.unwrap().standard_error * 8_f64.sqrt();
            critical(n as f64 - 1.0, LEVEL).unwrap() * sd / (n as f64).sqrt()
        };
        assert!(half(needed) <= MARGIN.ln_1p() && half(needed - 1) > MARGIN.ln_1p(), "{needed}");
    }

    #[test]
    fn a_family_claims_less_than_its_members_alone() {
        let base = around(100.0, 0.05);
        let contrast = contrast_of_samples(&around(105.5, 0.05), &base).unwrap();
        let alone = judge(&[contrast], Some(Better::Higher), MARGIN).unwrap();
        let family = judge(&[contrast; 40], Some(Better::Higher), MARGIN).unwrap();
        assert_eq!(alone[0].verdict, Some(Verdict::Better), "{alone:?}");
        assert_eq!(family[39].verdict, Some(Verdict::Inconclusive));
        assert!((family[0].adjusted_p.unwrap() - 40.0 * contrast.p).abs() < 1e-12);
    }

    #[test]
    fn few_pairs_have_a_ratio_and_no_verdict_and_count_in_no_family() {
        let few = contrast_of_samples(&[2.0, 2.1, 2.2], &[1.0, 1.1, 1.2]).unwrap();
        let enough = contrast_of_samples(&around(107.0, 0.05), &around(100.0, 0.05)).unwrap();
        let judged = judge(&[few, enough], Some(Better::Higher), MARGIN).unwrap();
        assert_eq!((judged[0].verdict, judged[0].adjusted_p, judged[0].needed), (None, None, None));
        assert_eq!(judged[1].adjusted_p, Some(enough.p));
    }

    #[test]
    fn what_does_not_vary_is_known_for_sure() {
        for (value, expected) in [(1.0, Verdict::Equivalent), (1.01, Verdict::Small), (2.0, Verdict::Better)]
        {
            let (values, base) = (by_repetition(&[value; 5]), by_repetition(&[1.0; 5]));
            let contrast = paired_contrast(&values, &base).unwrap();
            let judged = judge(&[contrast], Some(Better::Higher), MARGIN).unwrap();
            assert_eq!(judged[0].verdict, Some(expected), "{value}");
        }
        let zero = paired_contrast(&by_repetition(&[0.0; 5]), &by_repetition(&[1.0; 5]));
        assert_eq!(zero, Err(Refusal::NotPositive));
        let apart = paired_contrast(&by_repetition(&[1.0; 5]), &[(9, 1.0)]);
        assert_eq!(apart, Err(Refusal::TooFew { have: 0, needed: 2 }));
    }
}
