//! No statistic panics, and none gives a number that is not finite, whatever it is asked of. Only built for tests.

use super::refusal::finite;
use super::*;

fn hostile() -> Vec<Vec<f64>> {
    let decimals: Vec<f64> = (0..12).map(|index| 0.1 * f64::from(index % 5) + 0.3).collect();
    vec![
        vec![],
        vec![0.0],
        vec![5.0],
        vec![f64::NAN, 1.0, 2.0],
        vec![f64::INFINITY, 1.0, 2.0],
        vec![0.1; 12],
        vec![0.0; 12],
        vec![0.0, -0.0, 0.0],
        vec![1.0, 2.0],
        vec![1.0, 2.0, 2.0],
        vec![1e308, -1e308, 1e308, -1e308],
        vec![f64::MAX; 3],
        vec![f64::MAX, f64::MAX, f64::MIN, f64::MIN, 0.0],
        vec![5e-324, 1e-323, 5e-324, 2e-323],
        vec![1e-170, 2e-170, 3e-170, 5e-170],
        vec![1e-300, 1.0, 1e300, 2.0, 3.0],
        vec![1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.000_000_000_000_000_2],
        vec![1e15, 1e15 + 0.125, 1e15 + 0.25, 1e15, 1e15],
        decimals.iter().map(|value| -value).collect(),
        decimals,
        (0..60).map(f64::from).collect(),
    ]
}

/// The numbers that a result holds; none where it is refused.
fn of_estimate(estimate: Result<Estimate, Refusal>) -> Vec<f64> {
    let Ok(estimate) = estimate else { return Vec::new() };
    let mut numbers = vec![estimate.value, estimate.standard_error, estimate.freedom];
    numbers.extend(estimate.p().ok());
    numbers.extend(estimate.interval(0.95).into_iter().flat_map(|interval| [interval.low, interval.high]));
    for margin in [1e-9, 0.02, 1e300] {
        if let Ok(found) = equivalence(&estimate, margin, 0.05) {
            numbers.extend([
                found.p,
                found.ratio.estimate,
                found.ratio.interval.low,
                found.ratio.interval.high,
            ]);
        }
    }
    numbers
}

fn of_bootstrap(drawn: Result<Bootstrap, Refusal>) -> Vec<f64> {
    let Ok(drawn) = drawn else { return Vec::new() };
    let both = [drawn.interval(0.95), drawn.percentile_interval(0.95)].into_iter().flatten();
    let ends = both.flat_map(|interval| [interval.low, interval.high]);
    ends.chain([drawn.estimate, drawn.bias, drawn.acceleration]).collect()
}

fn of_one(sample: &[f64]) -> Vec<f64> {
    let sorted = refusal::sorted(sample);
    let drawn = bootstrap(sample, descriptive::mean, Resampling::Random { count: 50, seed: 1 });
    let interval = quantile_interval(&sorted, 0.5, 0.95).ok();
    let test = shapiro_wilk(sample).ok();
    let changes = [change_point(sample, 2), change_in_start(sample)].into_iter().flatten();
    let plain = [
        geometric_mean(sample),
        harmonic_mean(sample),
        median_absolute_deviation(sample),
        interquartile_range(sample),
        skewness(sample),
        excess_kurtosis(sample),
        autocorrelation(sample, 1),
        independent_values(sample),
        nearest_rank(&sorted, 0.9),
        chance_of_change(sample, 1, 9, 1),
        is_dependent(sample).map(f64::from),
        outliers(sample).map(|found| found.len() as f64),
    ];
    let mut numbers: Vec<f64> = plain.into_iter().flatten().collect();
    numbers.extend(interval.into_iter().flat_map(|interval| [interval.low, interval.high]));
    numbers.extend(test.into_iter().flat_map(|test| [test.w, test.p]));
    numbers.extend(changes.map(|change| change.divergence));
    numbers.extend(of_bootstrap(drawn));
    numbers.extend(robust_z(sample).into_iter().flatten());
    numbers.extend(holm(sample).into_iter().flatten());
    numbers
}

fn of_two(x: &[f64], y: &[f64]) -> Vec<f64> {
    let ratio = |x: &[f64], y: &[f64]| descriptive::mean(y) / descriptive::mean(x);
    let groups = [x, y, x];
    let mut numbers: Vec<f64> =
        [welch(x, y), pooled(x, y), paired_difference(x, y), logarithm_of_ratio(x, y)]
            .into_iter()
            .flat_map(of_estimate)
            .collect();
    let plain = [
        cohens_d(x, y),
        cliffs_delta(x, y),
        superiority(x, y),
        hodges_lehmann(x, y),
        ratio_of_medians(x, y),
        ratio_standard_error(x, y),
        sign_flips(x, y),
        honest_difference(&groups, 0, 1),
    ];
    numbers.extend(plain.into_iter().flatten());
    for freedom in [Freedom::Smallest, Freedom::Welch] {
        let ratio = ratio_of_means(x, y, freedom, 0.95).into_iter();
        numbers.extend(ratio.flat_map(|ratio| [ratio.estimate, ratio.interval.low, ratio.interval.high]));
    }
    let ranked = mann_whitney(x, y).into_iter();
    numbers
        .extend(ranked.flat_map(|test| [test.above, test.below, test.p(), test.corrected, test.uncorrected]));
    numbers.extend(signed_rank(x, y).into_iter().flat_map(|test| [test.smaller, test.normal]));
    numbers.extend(kruskal_wallis(&groups).into_iter().flat_map(|test| [test.h, test.p]));
    if let Ok(variance) = analysis_of_variance(&groups) {
        numbers.extend([variance.between, variance.within]);
        numbers.extend(variance.p().ok());
    }
    if let Ok(levels) = two_levels(&groups) {
        numbers.extend([levels.between, levels.within, levels.intraclass_correlation()]);
        numbers.extend(of_estimate(Ok(levels.mean)));
    }
    numbers.extend(of_bootstrap(bootstrap_two(x, y, ratio, Resampling::Random { count: 20, seed: 1 })));
    numbers
}

#[test]
fn no_number_is_given_that_is_none() {
    let samples = hostile();
    let mut wrong = Vec::new();
    for (first, x) in samples.iter().enumerate() {
        let finite = |numbers: &[f64]| numbers.iter().all(|number| finite(*number).is_ok());
        let numbers = of_one(x);
        if !finite(&numbers) {
            wrong.push(format!("{first}: {numbers:?}"));
        }
        for (second, y) in samples.iter().enumerate() {
            let numbers = of_two(x, y);
            if !finite(&numbers) {
                wrong.push(format!("{first} and {second}: {numbers:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}
