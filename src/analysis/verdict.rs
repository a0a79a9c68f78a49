//! One sample against another: how many times as large its values are, and what may be said of it. A p-value
//! alone says nothing of size, and an interval over 1 is no proof of equality: read [`Verdict`], then [`judge`].

use std::collections::BTreeMap;

use statrs::distribution::{ContinuousCDF, Normal};

use super::compare::Ratio;
use super::equivalence::equivalence;
use super::holm::holm;
use super::interval::{Interval, LEVEL};
use super::mann_whitney::mann_whitney;
use super::paired::{paired_difference, signed_rank};
use super::ratio::logarithm_of_ratio;
use super::refusal::{Refusal, check_positive};
use super::student::{Estimate, upper_tail};
use crate::record::Run;
use crate::units::Better;

/// By how much two must differ for it to matter, as a part, where nobody says otherwise.
pub const MARGIN: f64 = 0.02;

/// Within how much results of `run` count as equal.
pub fn margin(run: &Run) -> f64 {
    run.manifest.presentation.margin.unwrap_or(MARGIN)
}
/// The smallest sample of which a verdict is given.
pub const FEWEST: usize = 4;
/// How often, over a family of comparisons, chance alone may claim a difference.
pub(super) const ALPHA: f64 = 0.05;
/// More trials than this nobody runs.
const MOST: f64 = 1e9;

/// What may be said of a value against its baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// Surely different by more than the margin, to the bad side.
    Worse,
    /// Surely different by more than the margin, to the good side.
    Better,
    /// Surely different by more than the margin, of a metric without a good side.
    Different,
    /// Surely different, and perhaps by less than the margin.
    Small,
    /// Surely within the margin.
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
}

/// A contrast with its verdict.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// What it rests on.
    pub contrast: Contrast,
    /// The p-value after Holm, over all that were judged together; none where there is no verdict.
    pub adjusted_p: Option<f64>,
    /// By how much two must differ for it to matter, as a part.
    pub margin: f64,
    /// None below [`FEWEST`] pairs or values.
    pub verdict: Option<Verdict>,
    /// How many trials it would take to find two that are equal equivalent, with a probability of 90 %; of an
    /// inconclusive one alone, and none where as many were made: then the truth is near the margin.
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
    contrast(values.len(), logarithm, above[0] - below[0], rank_p)
}

/// Contrasts two samples that were measured apart, such as those of two runs: Welch's test on the logarithms. Refused
/// below 2 values in one of them and with a value that is not above 0.
pub fn contrast_of_samples(values: &[f64], baseline: &[f64]) -> Result<Contrast, Refusal> {
    let (above, below) = (logarithms(values)?, logarithms(baseline)?);
    let rank_p = mann_whitney(values, baseline).ok().map(|test| test.p());
    let size = values.len().min(baseline.len());
    contrast(size, logarithm_of_ratio(baseline, values), above[0] - below[0], rank_p)
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
) -> Result<Contrast, Refusal> {
    match logarithm {
        Ok(logarithm) => {
            let ratio = Ratio::of_logarithm(&logarithm, LEVEL)?;
            Ok(Contrast { size, ratio, logarithm: Some(logarithm), p: logarithm.p()?, rank_p })
        }
        Err(Refusal::Constant) => {
            // Equal but for the last bits is equal.
            let estimate = if constant.abs() < 1e-12 { 1.0 } else { constant.exp() };
            let ratio = Ratio { estimate, interval: Interval { low: estimate, high: estimate } };
            let p = if estimate == 1.0 { 1.0 } else { 0.0 };
            Ok(Contrast { size, ratio, logarithm: None, p, rank_p })
        }
        Err(refusal) => Err(refusal),
    }
}

/// The verdicts of a family of contrasts, in the order given, with a `margin` of 0.02 for 2 %. Each of the three
/// questions is answered for the family as a whole, by Holm's procedure at 5 % over those with a verdict: whether the ratio
/// is not 1, whether it is further from 1 than the margin, and whether it is nearer (the two one-sided tests of
/// equivalence).
pub fn judge(
    contrasts: &[Contrast],
    better: Option<Better>,
    margin: f64,
) -> Result<Vec<Comparison>, Refusal> {
    let has_verdict = |contrast: &&Contrast| contrast.size >= FEWEST;
    let adjusted = |p: &dyn Fn(&Contrast) -> f64| -> Result<std::vec::IntoIter<f64>, Refusal> {
        let of_counted: Vec<f64> = contrasts.iter().filter(has_verdict).map(p).collect();
        Ok(holm(&of_counted)?.into_iter())
    };
    let mut differs = adjusted(&|contrast| contrast.p)?;
    let mut is_beyond = adjusted(&|contrast| contrast.beyond(margin))?;
    let mut is_within = adjusted(&|contrast| contrast.within(margin))?;
    let comparison = |contrast: &Contrast| {
        let answers = match has_verdict(&contrast) {
            true => differs.next().zip(is_beyond.next()).zip(is_within.next()),
            false => None,
        };
        let verdict = answers.map(|((differs, beyond), within)| match () {
            () if differs < ALPHA && beyond < ALPHA => contrast.side(better),
            () if within < ALPHA && differs >= ALPHA => Verdict::Equivalent,
            () if differs < ALPHA => Verdict::Small,
            () => Verdict::Inconclusive,
        });
        let is_open = verdict == Some(Verdict::Inconclusive);
        let needed = is_open.then(|| contrast.needed(margin)).flatten();
        let adjusted_p = answers.map(|((differs, _), _)| differs);
        Comparison { contrast: *contrast, adjusted_p, margin, verdict, needed }
    };
    Ok(contrasts.iter().map(comparison).collect())
}

impl Comparison {
    /// The same of a metric with that good side, for a family that was judged without one.
    #[must_use]
    pub fn towards(self, better: Option<Better>) -> Self {
        let verdict = match self.verdict {
            Some(Verdict::Different) => Some(self.contrast.side(better)),
            verdict => verdict,
        };
        Self { verdict, ..self }
    }
}

impl Contrast {
    /// The verdict on a difference that is sure and large.
    fn side(&self, better: Option<Better>) -> Verdict {
        match better {
            None => Verdict::Different,
            Some(better) if (better == Better::Higher) == (self.ratio.estimate > 1.0) => Verdict::Better,
            Some(_) => Verdict::Worse,
        }
    }

    /// How often a ratio at the margin seems so far from 1, or further.
    fn beyond(&self, margin: f64) -> f64 {
        let Some(Estimate { value, standard_error, freedom }) = self.logarithm else {
            return if self.ratio.estimate.ln().abs() > margin.ln_1p() { 0.0 } else { 1.0 };
        };
        upper_tail((value.abs() - margin.ln_1p()) / standard_error, freedom).unwrap_or(1.0)
    }

    /// How often a ratio at the margin seems so near to 1, or nearer.
    fn within(&self, margin: f64) -> f64 {
        match &self.logarithm {
            Some(logarithm) => equivalence(logarithm, margin, ALPHA).map_or(1.0, |found| found.p),
            None if self.ratio.estimate.ln().abs() < margin.ln_1p() => 0.0,
            None => 1.0,
        }
    }

    /// See [`Comparison::needed`]: ((z(1 − 5 %) + z(1 − 10 % / 2)) · sd / ln(1 + margin))², Julious 2004 for two that
    /// are equal.
    fn needed(&self, margin: f64) -> Option<usize> {
        let sd = self.logarithm.as_ref()?.standard_error * (self.size as f64).sqrt();
        let z = Normal::standard().inverse_cdf(1.0 - ALPHA);
        let needed = (2.0 * z * sd / margin.ln_1p()).powi(2).ceil();
        (needed.is_finite() && needed > self.size as f64 && needed < MOST).then_some(needed as usize)
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
    fn what_pairs_share_takes_nothing_from_a_difference() {
        // Blocks that drift by 30 %: three times as much in each is three times as much.
        let base = around(100.0, 0.3);
        let values: Vec<f64> = base.iter().zip(around(3.0, 0.002)).map(|(base, part)| base * part).collect();
        let contrast = paired_contrast(&by_repetition(&values), &by_repetition(&base)).unwrap();
        let comparison = judge(&[contrast], Some(Better::Higher), MARGIN).unwrap()[0];
        assert_eq!(comparison.verdict, Some(Verdict::Better), "{comparison:?}");
        // The same spread without pairs: nothing is known, least of all that they are equal.
        assert_eq!(verdict(&around(100.0, 0.3), &base, None), Some(Verdict::Inconclusive));
    }

    #[test]
    fn large_means_that_the_margin_is_surely_exceeded() {
        // 2.2 % more, known to half a percent: surely more, but not surely by 2 %.
        let base = around(100.0, 0.005);
        assert_eq!(verdict(&around(102.2, 0.005), &base, Some(Better::Higher)), Some(Verdict::Small));
        assert_eq!(verdict(&around(104.0, 0.005), &base, Some(Better::Higher)), Some(Verdict::Better));
    }

    #[test]
    fn what_an_open_one_needs_finds_two_that_are_equal_equivalent() {
        use rand::{Rng, SeedableRng};
        let contrast = contrast_of_samples(&around(101.0, 0.05), &around(100.0, 0.05)).unwrap();
        let needed = judge(&[contrast], None, MARGIN).unwrap()[0].needed.unwrap();
        let sd = contrast.logarithm.unwrap().standard_error * 8_f64.sqrt();
        let mut random = rand_pcg::Pcg64::seed_from_u64(1);
        let mut normal =
            || Normal::standard().inverse_cdf((f64::from(random.next_u32()) + 0.5) / 4_294_967_296.0);
        let runs = 400;
        let found = (0..runs).filter(|_| {
            let values: Vec<(u32, f64)> = (0..needed as u32).map(|n| (n, (sd * normal()).exp())).collect();
            let ones: Vec<(u32, f64)> = values.iter().map(|(n, _)| (*n, 1.0)).collect();
            let contrast = paired_contrast(&values, &ones).unwrap();
            judge(&[contrast], None, MARGIN).unwrap()[0].verdict == Some(Verdict::Equivalent)
        });
        let part = found.count() as f64 / f64::from(runs);
        // A difference that is none is taken for one in one of twenty besides.
        assert!((0.8..0.96).contains(&part), "{needed}: {part}");
        // As many were made, and still nothing can be said: the truth is near the margin.
        let near = contrast_of_samples(&around(101.8, 0.01), &around(100.0, 0.01)).unwrap();
        let judged = judge(&[near; 4], None, MARGIN).unwrap()[0];
        assert!(
            judged.verdict != Some(Verdict::Inconclusive) || judged.needed.is_none_or(|needed| needed > 8)
        );
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
