//! How a number is written in a table: one scale a table, and no more digits than the measurement carries.
//! Files for machines keep every digit and don't come here.

/// How many decimals show `value` with `digits` significant digits; negative where whole digits are not
/// significant.
pub(super) fn decimals(value: f64, digits: usize) -> i32 {
    // The exponent after rounding to that many digits: 0.0996 with two digits is 0.10.
    let rounded = format!("{value:.*e}", digits.saturating_sub(1));
    let exponent = rounded.rsplit_once('e').and_then(|(_, exponent)| exponent.parse::<i32>().ok());
    (digits as i32 - 1 - exponent.unwrap_or(0)).min(MOST_DECIMALS)
}

const MOST_DECIMALS: i32 = 12;

/// How many decimals show an estimate and the `ends` of its interval: the half-width to two significant
/// digits and everything to that place, but two digits of the estimate at least; four of it where there is
/// no interval.
pub(super) fn place(estimate: f64, ends: Option<(f64, f64)>) -> i32 {
    let half_width = ends.map(|(low, high)| (high - low) / 2.0);
    match half_width.filter(|half_width| *half_width > 0.0 && half_width.is_finite()) {
        Some(half_width) => decimals(half_width, 2).max(decimals(estimate, 2)),
        // Whole digits stay: 12345 lines are not 12350.
        None => decimals(estimate, 4).max(0),
    }
}

/// `value` rounded to that many decimals; `–` for what is not a number.
pub(super) fn fixed(value: f64, decimals: i32) -> String {
    if !value.is_finite() {
        return NOTHING.to_owned();
    }
    let text = match usize::try_from(decimals) {
        Ok(decimals) => format!("{value:.decimals$}"),
        Err(_) => {
            let place = 10_f64.powi(-decimals);
            format!("{:.0}", (value / place).round() * place)
        }
    };
    // What is not 0 does not read 0.
    match value != 0.0 && text.parse::<f64>().is_ok_and(|shown| shown == 0.0) {
        true => format!("{value:.1e}"),
        false => text,
    }
}

/// `value` with that many significant digits.
pub(super) fn significant(value: f64, digits: usize) -> String {
    fixed(value, decimals(value, digits))
}

/// What stands for a value that there is not.
pub(super) const NOTHING: &str = "–";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_ends_at_the_second_digit_of_its_half_width() {
        for (value, half_width, text) in [
            (94.2345, 0.0523, "94.234"),
            (94.2345, 0.0996, "94.23"),
            (94.2345, 1.0, "94.2"),
            (94_234.5, 1234.0, "94200"),
            (0.000_123_45, 0.000_004_2, "0.0001234"),
            (3.21, 150.0, "3.2"),
            (94.2345, 0.0, "94.23"),
            (0.0, 0.0, "0.000"),
            (1.0, 1e-30, "1.000000000000"),
            (1e-15, 1e-16, "1.0e-15"),
            (1.0, 1e9, "1.0"),
            (f64::INFINITY, 1.0, "–"),
        ] {
            // Around 0: around the value the smallest half-width would be lost.
            let place = place(value, Some((-half_width, half_width)));
            assert_eq!(fixed(value, place), text, "{value} ± {half_width}");
        }
    }

    #[test]
    fn significant_digits_count_from_the_first() {
        for (value, text) in [
            (0.96896, "0.969"),
            (1.0, "1.00"),
            (0.9999, "1.00"),
            (12.345, "12.3"),
            (1234.5, "1230"),
            (0.0, "0.00"),
        ] {
            assert_eq!(significant(value, 3), text);
        }
    }
}
