//! Bootstrap intervals against exhaustive enumeration, scipy's and those of a book.

use super::*;
use crate::analysis::descriptive::variance;
use crate::analysis::interval::LEVEL;
use crate::analysis::reference::{Checker, SPATIAL, number, numbers, pairs, reference as file, samples};

const RANDOM: Resampling = Resampling::Random { count: 99_999, seed: 20261130 };

pub fn reference(check: &mut Checker) {
    exhaustive(check);
    for (path, sample) in samples() {
        let got = bootstrap(&sample, mean, RANDOM).unwrap();
        check.close(&format!("{path}/bca_ci95_mean/acceleration_exact_jackknife"), got.acceleration);
        for words in ["impl", "seeds", "per_seed"] {
            check.input(&format!("{path}/bca_ci95_mean/{words}"));
        }
        for (kind, interval) in [
            ("bca_ci95_mean", got.interval(LEVEL).unwrap()),
            ("percentile_boot_ci95_mean", got.percentile_interval(LEVEL).unwrap()),
        ] {
            let path = format!("{path}/{kind}");
            let spread = format!("{path}/max_spread_between_seeds");
            ends(check, &format!("{path}/mean_of_seeds"), interval, &spread);
        }
    }
    for (path, x, y) in pairs().into_iter().filter(|(path, ..)| !path.contains("sleep")) {
        let path = format!("{path}/ratio_of_means_y_over_x");
        let got = bootstrap_two(&x, &y, |x, y| mean(y) / mean(x), RANDOM).unwrap();
        let interval = got.interval(LEVEL).unwrap();
        ends(
            check,
            &format!("{path}/bca_ci95_mean_of_3_seeds_B99999"),
            interval,
            &format!("{path}/bca_max_spread"),
        );
    }
    spatial(check);
}

/// The file's advice: the larger of five times its own spread and 1 % of the width.
fn ends(check: &mut Checker, path: &str, got: Interval, spread: &str) {
    let right = numbers(check.input(path));
    let tolerance = (5.0 * number(check.input(spread))).max(0.01 * (right[1] - right[0]));
    check.within(&format!("{path}/0"), got.low, tolerance);
    check.within(&format!("{path}/1"), got.high, tolerance);
}

fn exhaustive(check: &mut Checker) {
    check.input("/exhaustive_bootstrap/definition");
    for case in check.keys("/exhaustive_bootstrap/cases") {
        let path = format!("/exhaustive_bootstrap/cases/{case}");
        let sample = numbers(check.input(&format!("{path}/x")));
        let median = |sample: &[f64]| quantile(&sorted(sample), 0.5);
        for (name, got) in [
            ("mean", bootstrap(&sample, mean, Resampling::Every).unwrap()),
            ("median", bootstrap(&sample, median, Resampling::Every).unwrap()),
        ] {
            check.same(&format!("{path}/resamples"), got.replicates.len().into());
            let path = format!("{path}/{name}");
            check.close(&format!("{path}/theta"), got.estimate);
            check.close(&format!("{path}/z0"), got.bias);
            check.close(&format!("{path}/a"), got.acceleration);
            check.close(&format!("{path}/boot_se_population"), got.standard_error());
            let (corrected, plain) = (got.interval(LEVEL).unwrap(), got.percentile_interval(LEVEL).unwrap());
            check.list(&format!("{path}/bca_ci95"), &[corrected.low, corrected.high]);
            check.list(&format!("{path}/percentile_ci95"), &[plain.low, plain.high]);
        }
    }
}

fn spatial(check: &mut Checker) {
    let plugin = |sample: &[f64]| {
        let n = sample.len() as f64;
        variance(sample).unwrap() * (n - 1.0) / n
    };
    let got = bootstrap(&SPATIAL, plugin, Resampling::Random { count: 199_999, seed: 1 }).unwrap();
    let (corrected, plain) = (got.interval(0.9).unwrap(), got.percentile_interval(0.9).unwrap());
    let path = |name: &str| {
        format!("/cross_checks_against_published/Efron_Tibshirani_spatial_A_plugin_variance/{name}")
    };
    check.close(&path("computed/theta"), got.estimate);
    check.close(&path("computed/acceleration"), got.acceleration);
    // The standard deviation of z0 is √(1/4 / B) / φ(0), 0.003.
    check.within(&path("computed/z0_B199999"), got.bias, 0.015);
    ends(check, &path("computed/bca_90_mean_of_3_seeds_B199999"), corrected, &path("computed/spread"));
    ends(check, &path("computed/percentile_90"), plain, &path("computed/spread"));
    // The book drew 2000 samples: its ends are good to about 3, its z0 to about 0.03.
    check.input(&path("published_from_memory/note"));
    check.digits(&path("published_from_memory/theta"), got.estimate);
    check.digits(&path("published_from_memory/a"), got.acceleration);
    check.within(&path("published_from_memory/z0"), got.bias, 0.06);
    for (name, interval) in [("bca_90", corrected), ("percentile_90", plain)] {
        check.within(&path(&format!("published_from_memory/{name}/0")), interval.low, 3.0);
        check.within(&path(&format!("published_from_memory/{name}/1")), interval.high, 3.0);
    }
}

#[test]
fn the_values_are_those_of_the_reference() {
    Checker::run(reference);
}

#[test]
fn decimal_values_do_not_shift_the_bias() {
    // Of these the file says: 0.0365 where equality is taken by the bit, 0.0735 where it is not.
    let got = bootstrap(&[10.1, 10.4, 9.8, 12.6, 10.2], mean, Resampling::Every).unwrap();
    assert!((got.bias - 0.0735).abs() < 5e-5, "{}", got.bias);
    assert!(file()["exhaustive_bootstrap"]["definition"].as_str().unwrap().contains("0.0735"));
}

#[test]
fn what_the_samples_do_not_tell_is_refused() {
    assert_eq!(bootstrap(&[1.0], mean, RANDOM), Err(Refusal::TooFew { have: 1, needed: 2 }));
    assert_eq!(bootstrap(&[1.0; 5], mean, RANDOM), Err(Refusal::Constant));
    assert_eq!(bootstrap(&[1.0, f64::NAN], mean, RANDOM), Err(Refusal::NotFinite));
    let beyond = |sample: &[f64]| if sample == [1.0, 2.0, 3.0] { 100.0 } else { mean(sample) };
    let few = Resampling::Random { count: 3, seed: 1 };
    assert_eq!(bootstrap(&[1.0, 2.0, 3.0], beyond, few), Err(Refusal::NotFinite));
    let ratio = |x: &[f64], y: &[f64]| mean(y) / mean(x);
    assert_eq!(bootstrap_two(&[0.0, 1.0], &[1.0, 2.0], ratio, RANDOM), Err(Refusal::NotFinite));
    let got = bootstrap(&[1.0, 2.0, 4.0], mean, few).unwrap();
    assert_eq!(got.interval(1.0), Err(Refusal::OutOfRange("level")));
    assert_eq!(got.percentile_interval(0.0), Err(Refusal::OutOfRange("level")));
}

#[test]
fn a_seed_gives_the_same_bytes() {
    let sample = [3.0, 4.0, 4.5, 5.0, 7.0, 11.0];
    let draw = |seed| bootstrap(&sample, mean, Resampling::Random { count: 999, seed }).unwrap();
    assert_eq!(draw(7), draw(7));
    assert_ne!(draw(7), draw(8));
}
