//! From the unit of a text to base units, with as little rounding as can be.

use super::is_size;

/// How values become base units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scale {
    /// 1024 for KiB.
    Times(f64),
    /// 1e9 for ns: 1e-9 itself is not a binary fraction, so 3 ns is 3 / 1e9 and not 3 · 1e-9.
    Over(f64),
}

impl Scale {
    /// `factor` is the size of the text's unit in base units.
    ///
    /// Errors: it is not positive and finite.
    pub fn new(factor: f64) -> Result<Self, String> {
        if !(factor.is_finite() && factor > 0.0) {
            return Err(format!("no unit is {factor} base units"));
        }
        let inverse = (1.0 / factor).round();
        Ok(if factor < 1.0 && 1.0 / inverse == factor { Self::Over(inverse) } else { Self::Times(factor) })
    }

    /// `value` in base units.
    #[inline]
    pub fn apply(self, value: f64) -> f64 {
        match self {
            Self::Times(factor) => value * factor,
            Self::Over(inverse) => value / inverse,
        }
    }

    /// `value` in base units, if it can be kept in a histogram.
    #[inline]
    pub fn checked(self, value: f64) -> Option<f64> {
        Some(self.apply(value)).filter(|value| is_size(*value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_costs_no_digit() {
        for (factor, value, right) in
            [(1e-9, 3.0, 3e-9), (1e-6, 7.0, 7e-6), (1e-3, 0.3, 3e-4), (1.0, 0.3, 0.3), (1024.0, 3.0, 3072.0)]
        {
            assert_eq!(Scale::new(factor).unwrap().checked(value), Some(right), "{factor}");
        }
        for factor in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Scale::new(factor).is_err(), "{factor}");
        }
        for value in [-1.0, f64::NAN, f64::INFINITY, 1e-300, 1e300] {
            assert_eq!(Scale::Times(1.0).checked(value), None, "{value}");
        }
    }
}
