//! Whether several samples, such as those of several hosts, are alike: one test over all, before any two of them
//! are looked at.

use statrs::distribution::{ChiSquared, ContinuousCDF, FisherSnedecor};

use super::descriptive::{mean, sum_of_squares};
use super::rank::ranks;
use super::refusal::{Refusal, check, finite};

/// How the variance of several samples parts into that between and that within them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AnalysisOfVariance {
    /// The mean square between the samples.
    pub between: f64,
    /// The mean square within them.
    pub within: f64,
    /// Degrees of freedom: samples less one, and values less samples.
    pub freedom: (f64, f64),
}

impl AnalysisOfVariance {
    /// The statistic F.
    pub fn f(&self) -> f64 {
        self.between / self.within
    }

    /// How often chance alone gives means that are at least so far apart, where all values are normal and vary alike.
    pub fn p(&self) -> Result<f64, Refusal> {
        let distribution = FisherSnedecor::new(self.freedom.0, self.freedom.1);
        let distribution = distribution.map_err(|_| Refusal::OutOfRange("number of degrees of freedom"))?;
        finite(distribution.sf(finite(self.f())?))
    }
}

/// The analysis of variance of one factor (Fisher 1925, §40). Refused below 2 samples, without values, without more
/// values than samples, and where no sample varies.
pub fn analysis_of_variance(samples: &[&[f64]]) -> Result<AnalysisOfVariance, Refusal> {
    let all = check_all(samples)?;
    if all.len() <= samples.len() {
        return Err(Refusal::TooFew { have: all.len(), needed: samples.len() + 1 });
    }
    let middle = mean(&all);
    let (mut between, mut within) = (0.0, 0.0);
    for sample in samples {
        let own = mean(sample);
        between += sample.len() as f64 * (own - middle).powi(2);
        within += sum_of_squares(sample);
    }
    let freedom = (samples.len() as f64 - 1.0, (all.len() - samples.len()) as f64);
    match within > 0.0 {
        true => Ok(AnalysisOfVariance {
            between: finite(between / freedom.0)?,
            within: finite(within / freedom.1)?,
            freedom,
        }),
        false => Err(Refusal::Constant),
    }
}

/// The rank test of several samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KruskalWallis {
    /// The statistic H, corrected for ties.
    pub h: f64,
    /// How often chance alone gives ranks that are at least so far apart, by the chi-squared distribution: nearly right
    /// from 5 values a sample on.
    pub p: f64,
}

/// The rank test of several samples, without any assumption on the distribution (Kruskal & Wallis 1952). Refused below 2
/// samples, without values, and where all values are one.
pub fn kruskal_wallis(samples: &[&[f64]]) -> Result<KruskalWallis, Refusal> {
    let all = check_all(samples)?;
    let ranked = ranks(&all, 0.0);
    let n = all.len() as f64;
    let (mut sum, mut from) = (0.0, 0);
    for sample in samples {
        let own: f64 = ranked.ranks[from..from + sample.len()].iter().sum();
        sum += own * own / sample.len() as f64;
        from += sample.len();
    }
    let correction = 1.0 - ranked.ties / (n.powi(3) - n);
    if correction <= 0.0 {
        return Err(Refusal::Constant);
    }
    let h = (12.0 / (n * (n + 1.0)) * sum - 3.0 * (n + 1.0)) / correction;
    let distribution = ChiSquared::new(samples.len() as f64 - 1.0);
    let distribution = distribution.map_err(|_| Refusal::OutOfRange("number of samples"))?;
    Ok(KruskalWallis { h, p: finite(distribution.sf(h.max(0.0)))? })
}

/// All values of at least 2 samples, none of them empty.
pub(super) fn check_all(samples: &[&[f64]]) -> Result<Vec<f64>, Refusal> {
    if samples.len() < 2 {
        return Err(Refusal::TooFew { have: samples.len(), needed: 2 });
    }
    samples.iter().try_for_each(|sample| check(sample, 1))?;
    Ok(samples.concat())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::analysis::reference::{Checker, MORLEY};

    pub fn reference(check: &mut Checker) {
        let path = |name: &str| format!("/two_level_morley_5x20/{name}");
        let samples = MORLEY.each_ref().map(|sample| &sample[..]);
        let variance = analysis_of_variance(&samples).unwrap();
        check.close(&path("MS_between"), variance.between);
        check.close(&path("MS_within"), variance.within);
        check.close(&path("anova_F"), variance.f());
        check.p(&path("anova_p"), variance.p().unwrap());
        let test = kruskal_wallis(&samples).unwrap();
        check.close(&path("kruskal_H"), test.h);
        check.p(&path("kruskal_p"), test.p);
    }

    #[test]
    fn the_values_are_those_of_the_reference() {
        Checker::run(reference);
    }

    #[test]
    fn samples_that_tell_nothing_are_refused() {
        assert_eq!(analysis_of_variance(&[&[1.0, 2.0]]), Err(Refusal::TooFew { have: 1, needed: 2 }));
        assert_eq!(analysis_of_variance(&[&[1.0], &[2.0]]), Err(Refusal::TooFew { have: 2, needed: 3 }));
        assert_eq!(analysis_of_variance(&[&[1.0, 1.0], &[2.0]]), Err(Refusal::Constant));
        assert_eq!(analysis_of_variance(&[&[0.1; 10], &[0.3; 10]]), Err(Refusal::Constant));
        assert_eq!(kruskal_wallis(&[&[1.0, 1.0], &[1.0]]), Err(Refusal::Constant));
        assert_eq!(kruskal_wallis(&[&[1.0], &[]]), Err(Refusal::TooFew { have: 0, needed: 1 }));
        assert_eq!(kruskal_wallis(&[&[1.0], &[f64::NAN]]), Err(Refusal::NotFinite));
        assert_eq!(kruskal_wallis(&[]), Err(Refusal::TooFew { have: 0, needed: 2 }));
    }
}
