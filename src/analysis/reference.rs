//! Right values for the tests of this module: statistics of published data sets, computed with scipy, with
//! their tolerance. Only built for tests.

use std::sync::OnceLock;

use serde_json::Value;

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
    (got - right).abs() <= 1e-9 * right.abs()
}
