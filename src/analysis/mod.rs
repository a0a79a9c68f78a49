//! From records to numbers: pure functions, no file and no formatting. Only trials that are ok count; a
//! failed one is never 0. Read [`Summary`] and [`summarise`] first.

mod autocorrelation;
mod bootstrap;
mod change_point;
mod changed;
mod compare;
mod descriptive;
mod differences;
mod distribution;
mod drift;
mod effect;
mod equivalence;
mod forecast;
mod groups;
mod history;
mod holm;
#[cfg(test)]
mod hostile;
mod interval;
mod levels;
mod mann_whitney;
mod mean;
mod needed;
mod noise;
mod normality;
mod omission;
mod order;
mod outliers;
mod paired;
mod peers;
mod precision;
mod rank;
mod ratio;
#[cfg(test)]
mod reference;
mod refusal;
mod resample;
mod runs;
mod samples;
mod spread;
mod standing;
mod student;
mod studentized_range;
mod summary;
mod verdict;
mod welch;

pub use crate::metrics::histogram::PERCENTILES;
pub use autocorrelation::{autocorrelation, independent_values, is_dependent};
pub use bootstrap::{Bootstrap, bootstrap, bootstrap_two};
pub use change_point::{ChangePoint, chance_of_change, change_in_start, change_point};
pub use changed::changed;
pub use compare::{Baselines, Ratio};
pub use descriptive::{Description, quantile};
pub use differences::{Difference, Group, Versions, differences, versions};
pub use distribution::{Merged, distributions};
pub use drift::Drift;
pub use effect::{cliffs_delta, hodges_lehmann, superiority};
pub use equivalence::{Equivalence, equivalence};
pub use forecast::{Forecast, Load, forecast};
pub use groups::{AnalysisOfVariance, KruskalWallis, analysis_of_variance, kruskal_wallis};
pub use history::{Change, FEWEST_RUNS, History, Point, Series, history};
pub use holm::holm;
pub use interval::Interval;
pub use levels::{TwoLevels, two_levels};
pub use mann_whitney::{MannWhitney, mann_whitney};
pub use mean::{Mean, geometric_mean, harmonic_mean};
pub use needed::{trials_needed, trials_needed_of_normal};
pub use noise::{SuspiciousHost, is_suspicious, suspicious_hosts};
pub use normality::{ShapiroWilk, shapiro_wilk};
pub use omission::with_omitted;
pub use order::{
    QuantileRanks, nearest_rank, quantile_interval, quantile_ranks, values_for_quantile,
    values_for_upper_bound,
};
pub use outliers::{FAR, FAR_OUT, beyond_fences, outliers, robust_z};
pub use paired::{SignedRank, paired_difference, sign_flips, signed_rank};
pub use peers::{UnlikeHost, unlike_hosts};
pub use precision::{is_precise, width};
pub use ratio::{Freedom, logarithm_of_ratio, ratio_of_means, ratio_of_medians, ratio_standard_error};
pub use refusal::Refusal;
pub use resample::Resampling;
pub use runs::{Against, Pair, Uneven, compare_runs};
pub use samples::{CellSamples, Sample, is_same_cell, samples};
pub use spread::{NORMAL_SCALE, excess_kurtosis, interquartile_range, median_absolute_deviation, skewness};
pub use standing::{Standing, open, standing};
pub use student::{Estimate, critical, prediction_limit};
pub use studentized_range::honest_difference;
pub use summary::{MetricKey, Summary, summarise, summarise_against};
pub use verdict::{
    Comparison, Contrast, FEWEST, MARGIN, Verdict, contrast_of_samples, judge, margin, paired_contrast,
};
pub use welch::{cohens_d, pooled, welch};
