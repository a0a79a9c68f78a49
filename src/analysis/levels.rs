//! Measurements on two levels, such as trials on several hosts or after several boots: trials of one host share its
//! nature, and to count them as independent makes every interval too narrow.

use super::descriptive::{mean, standard_error};
use super::groups::analysis_of_variance;
use super::refusal::{Refusal, finite};
use super::student::Estimate;

/// A mean over groups, and where its variance comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct TwoLevels {
    /// The mean of each group.
    pub means: Vec<f64>,
    /// The mean of the groups' means with its error: one value a group, whatever the number of trials (Kalibera & Jones
    /// 2013, §9).
    pub mean: Estimate,
    /// The variance between groups, without that which their trials bring in; 0 where it is less than chance gives.
    pub between: f64,
    /// The variance within groups.
    pub within: f64,
}

/// Analyses values in groups. Refused below 2 groups, where no group varies, where all groups' means are one, and
/// without more values than groups.
pub fn two_levels(groups: &[&[f64]]) -> Result<TwoLevels, Refusal> {
    let variance = analysis_of_variance(groups)?;
    let means: Vec<f64> = groups.iter().map(|group| mean(group)).collect();
    let error = standard_error(&means).unwrap_or_default();
    // The size of a group, where all have one (Searle, Casella & McCulloch 1992, §3.6).
    let sizes = groups.iter().map(|group| group.len() as f64);
    let (total, squares) =
        sizes.fold((0.0, 0.0), |(total, squares), size| (total + size, squares + size * size));
    let size = (total - squares / total) / variance.freedom.0;
    Ok(TwoLevels {
        mean: Estimate::new(mean(&means), error, variance.freedom.0)?,
        means,
        between: finite((variance.between - variance.within) / size)?.max(0.0),
        within: variance.within,
    })
}

impl TwoLevels {
    /// Which part of the variance of a value lies between groups, from 0 to 1: how alike the trials of one group are
    /// (the intraclass correlation; Shrout & Fleiss 1979).
    pub fn intraclass_correlation(&self) -> f64 {
        self.between / (self.between + self.within)
    }

    /// How many trials a group are best, where a group takes `group` to set up and each trial takes `trial`, in one
    /// unit: ⌈√(group / trial · within / between)⌉ (Kalibera & Jones 2013, §7). More trials tell less than more groups
    /// would. Refused where groups do not differ beyond chance: then it takes one group.
    pub fn best_trials(&self, group: f64, trial: f64) -> Result<usize, Refusal> {
        if !(group > 0.0 && trial > 0.0) {
            return Err(Refusal::OutOfRange("cost"));
        }
        if self.between == 0.0 {
            return Err(Refusal::Constant);
        }
        let trials = finite((group / trial * self.within / self.between).sqrt())?;
        Ok((trials.ceil() as usize).max(1))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;
    use crate::analysis::interval::{LEVEL, mean_interval};
    use crate::analysis::reference::{Checker, MORLEY};

    pub fn reference(check: &mut Checker) {
        let path = |name: &str| format!("/two_level_morley_5x20/{name}");
        let got = two_levels(&MORLEY.each_ref().map(|group| &group[..])).unwrap();
        check.list(&path("group_means"), &got.means);
        check.close(&path("grand_mean"), got.mean.value);
        check.close(&path("var_component_between"), got.between);
        check.close(&path("var_component_within"), got.within);
        check.close(&path("icc"), got.intraclass_correlation());
        check.input(&path("optimal_inner_reps_formula"));
        check.same(
            &path("optimal_inner_reps_if_outer_cost_30_inner_cost_1"),
            json!(got.best_trials(30.0, 1.0).unwrap()),
        );
        let right = got.mean.interval(LEVEL).unwrap();
        check.list(&path("correct_ci95_over_5_group_means_df4"), &[right.low, right.high]);
        let wrong = mean_interval(&MORLEY.concat()).unwrap();
        check.list(&path("wrong_ci95_treating_100_as_independent_df99"), &[wrong.low, wrong.high]);
        let wider = (right.high - right.low) / (wrong.high - wrong.low);
        check.close(&path("half_width_ratio_correct_over_wrong"), wider);
    }

    #[test]
    fn the_values_are_those_of_the_reference() {
        Checker::run(reference);
    }

    #[test]
    fn groups_may_differ_in_size_and_need_not_differ_otherwise() {
        let alike = two_levels(&[&[1.0, 2.0, 3.0], &[1.0, 3.1], &[2.0, 0.9, 3.2, 1.8]]).unwrap();
        assert_eq!((alike.between, alike.intraclass_correlation()), (0.0, 0.0));
        assert_eq!(alike.best_trials(1.0, 1.0), Err(Refusal::Constant));
        assert_eq!(alike.best_trials(f64::NAN, 1.0), Err(Refusal::OutOfRange("cost")));
        assert_eq!(two_levels(&[&[1.0, 2.0]]), Err(Refusal::TooFew { have: 1, needed: 2 }));
        assert_eq!(two_levels(&[&[1.0, 3.0], &[2.0]]), Err(Refusal::Constant), "the means are one");
        assert_eq!(two_levels(&[&[1.0, 1.0], &[2.0, 2.0]]), Err(Refusal::Constant));
    }
}
