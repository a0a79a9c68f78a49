//! Right values for the tests of this module: statistics of published data sets, computed with scipy, with
//! their tolerance. Each family of statistics checks its own values; the test at the end sees that together
//! they leave out none. Only built for tests.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use serde_json::Value;

use super::*;

/// The whole file; its `_about` says where each value comes from.
pub(super) fn reference() -> &'static Value {
    static REFERENCE: OnceLock<Value> = OnceLock::new();
    REFERENCE.get_or_init(|| {
        serde_json::from_str(include_str!("../../tests/fixtures/stats-reference.json")).unwrap()
    })
}

/// A number of the file.
pub(super) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// A list of numbers of the file.
pub(super) fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

/// Equal within the file's `tolerance_advice` for deterministic values.
pub(super) fn close(got: f64, right: f64) -> bool {
    is_within(got, right, 1e-9 * right.abs())
}

fn is_within(got: f64, right: f64, tolerance: f64) -> bool {
    (got - right).abs() <= if right == 0.0 { 1e-12_f64.max(tolerance) } else { tolerance }
}

/// Michelson's 100 speeds of light in the order of the experiments, km/s above 299000; of them the file itself holds
/// the first 20 and the last.
pub(super) const MORLEY: [[f64; 20]; 5] = [
    [
        850., 740., 900., 1070., 930., 850., 950., 980., 980., 880., 1000., 980., 930., 650., 760., 810.,
        1000., 1000., 960., 960.,
    ],
    [
        960., 940., 960., 940., 880., 800., 850., 880., 900., 840., 830., 790., 810., 880., 880., 830., 800.,
        790., 760., 800.,
    ],
    [
        880., 880., 880., 860., 720., 720., 620., 860., 970., 950., 880., 910., 850., 870., 840., 840., 850.,
        840., 840., 840.,
    ],
    [
        890., 810., 810., 820., 800., 770., 760., 740., 750., 760., 910., 920., 890., 860., 880., 720., 840.,
        850., 850., 780.,
    ],
    [
        890., 840., 780., 810., 760., 810., 790., 810., 820., 850., 870., 870., 810., 740., 810., 940., 950.,
        800., 810., 870.,
    ],
];

/// Test A of the spatial test data of Efron & Tibshirani 1993, table 14.1.
pub(super) const SPATIAL: [f64; 26] = [
    48., 36., 20., 29., 42., 42., 20., 42., 22., 41., 45., 14., 6., 0., 33., 28., 34., 4., 32., 24., 47.,
    41., 24., 26., 30., 41.,
];

/// The samples of NIST's numerical accuracy tests, by their recipes.
pub(super) fn numacc(name: &str) -> Vec<f64> {
    let around = |middle: &str, low: &str, high: &str| {
        let [middle, low, high] = [middle, low, high].map(|text| text.parse::<f64>().unwrap());
        let mut sample = vec![middle];
        (0..500).for_each(|_| sample.extend([low, high]));
        sample
    };
    match name {
        "NumAcc1" => vec![10_000_001.0, 10_000_003.0, 10_000_002.0],
        "NumAcc2" => around("1.2", "1.1", "1.3"),
        "NumAcc3" => around("1000000.2", "1000000.1", "1000000.3"),
        "NumAcc4" => around("10000000.2", "10000000.1", "10000000.3"),
        _ => panic!("{name} is no sample"),
    }
}

/// Every sample of the file with the path of its statistics, in the order of its values.
pub(super) fn samples() -> Vec<(String, Vec<f64>)> {
    let sets = reference()["datasets"].as_object().unwrap();
    let both = |(name, set): (&String, &Value)| {
        ["x", "y"].map(|side| (format!("/datasets/{name}/{side}_stats"), numbers(&set[side])))
    };
    sets.iter().flat_map(both).collect()
}

/// Every pair of samples of the file with the path of its comparison: x and y.
pub(super) fn pairs() -> Vec<(String, Vec<f64>, Vec<f64>)> {
    let sets = reference()["datasets"].as_object().unwrap();
    let pair = |(name, set): (&String, &Value)| {
        (format!("/datasets/{name}/compare"), numbers(&set["x"]), numbers(&set["y"]))
    };
    sets.iter().map(pair).collect()
}

/// Compares values with those of the file, named by JSON pointers, and keeps which were compared.
#[derive(Default)]
pub(super) struct Checker {
    reached: BTreeSet<String>,
    wrong: Vec<String>,
}

impl Checker {
    /// Runs the checks of a family.
    pub fn run(checks: impl FnOnce(&mut Self)) {
        let mut checker = Self::default();
        checks(&mut checker);
        assert!(checker.wrong.is_empty(), "\n{}\n", checker.wrong.join("\n"));
    }

    /// A deterministic value.
    pub fn close(&mut self, path: &str, got: f64) {
        let right = number(self.input(path));
        self.expect(path, got, right, 1e-9 * right.abs());
    }

    /// A deterministic list.
    pub fn list(&mut self, path: &str, got: &[f64]) {
        let right = numbers(self.input(path));
        assert_eq!(got.len(), right.len(), "{path}");
        for (got, right) in got.iter().zip(right) {
            self.expect(path, *got, right, 1e-9 * right.abs());
        }
    }

    /// A p-value.
    pub fn p(&mut self, path: &str, got: f64) {
        let right = number(self.input(path));
        self.expect(path, got, right, 1e-7 * right.abs());
    }

    /// A value of which the file gives few digits: equal to all of them, the last one rounded.
    pub fn digits(&mut self, path: &str, got: f64) {
        let right = self.input(path);
        let text = right.to_string();
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len() as i32);
        let unit = 10f64.powi(exponent.parse::<i32>().unwrap() - decimals);
        self.expect(path, got, number(right), 0.5001 * unit);
    }

    /// A value of chance, or one that was published with errors of its own.
    pub fn within(&mut self, path: &str, got: f64, tolerance: f64) {
        let right = number(self.input(path));
        self.expect(path, got, right, tolerance);
    }

    /// Counts and places; also that there is no value.
    pub fn same(&mut self, path: &str, got: Value) {
        let right = self.input(path);
        if got != *right {
            self.wrong.push(format!("{path}: {got} is not {right}"));
        }
    }

    /// What the file gives as it is: the input of a check, or words. Everything in it counts as reached.
    pub fn input(&mut self, path: &str) -> &'static Value {
        let value = reference().pointer(path).unwrap_or_else(|| panic!("{path} is not there"));
        let mut leaves = Vec::new();
        list_leaves(path, value, &mut leaves);
        self.reached.extend(leaves);
        value
    }

    /// The keys of an object.
    pub fn keys(&self, path: &str) -> Vec<String> {
        let object = reference().pointer(path).and_then(Value::as_object);
        object.unwrap_or_else(|| panic!("{path} is no object")).keys().cloned().collect()
    }

    fn expect(&mut self, path: &str, got: f64, right: f64, tolerance: f64) {
        if !is_within(got, right, tolerance) {
            self.wrong.push(format!("{path}: {got} is not {right} within {tolerance:e}"));
        }
    }
}

/// The JSON pointers of all values below `value` that are no object and no list.
fn list_leaves(path: &str, value: &Value, leaves: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            object.iter().for_each(|(key, value)| list_leaves(&format!("{path}/{key}"), value, leaves));
        }
        Value::Array(values) if !values.is_empty() => {
            let values = values.iter().enumerate();
            values.for_each(|(index, value)| list_leaves(&format!("{path}/{index}"), value, leaves));
        }
        _ => leaves.push(path.to_owned()),
    }
}

#[test]
fn every_value_of_the_reference_is_checked() {
    let mut checker = Checker::default();
    for family in [
        autocorrelation::tests::reference,
        bootstrap::tests::reference,
        change_point::tests::reference,
        verdict::tests::reference,
        descriptive::tests::reference,
        effect::tests::reference,
        equivalence::tests::reference,
        groups::tests::reference,
        interval::tests::reference,
        levels::tests::reference,
        mann_whitney::tests::reference,
        mean::tests::reference,
        needed::tests::reference,
        normality::tests::reference,
        omission::tests::reference,
        order::tests::reference,
        outliers::tests::reference,
        paired::tests::reference,
        ratio::tests::reference,
        spread::tests::reference,
        student::tests::reference,
        studentized_range::tests::reference,
        welch::tests::reference,
    ] {
        family(&mut checker);
    }
    assert!(checker.wrong.is_empty(), "\n{}\n", checker.wrong.join("\n"));
    let mut leaves = Vec::new();
    list_leaves("", reference(), &mut leaves);
    // What the file says of itself, and the samples, which all of the checks start from.
    let is_given = |leaf: &String| {
        let of_set = leaf.strip_prefix("/datasets/").and_then(|rest| rest.split('/').nth(1));
        leaf.starts_with("/_about/") || matches!(of_set, Some("x" | "y" | "units"))
    };
    let left: Vec<_> =
        leaves.iter().filter(|leaf| !is_given(leaf) && !checker.reached.contains(*leaf)).collect();
    assert!(left.is_empty(), "no check reaches {} of {} values:\n{left:#?}", left.len(), leaves.len());
}
