//! Figures as network tools print them: `987.00us`, `13.8 Gbits/sec`, `27.57MB`, and the lines they stand
//! on. It knows no tool; what a prefix is a power of, the caller says.

/// The lines that ended. A last line without its line end may be cut in the middle of a figure, so it is
/// left out.
pub fn whole_lines(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'))
}

/// A figure of digits with at most one decimal point; no sign, no group, no comma, no exponent.
pub fn number(text: &str) -> Option<f64> {
    let is_plain = text.starts_with(|c: char| c.is_ascii_digit())
        && text.ends_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    text.parse().ok().filter(|value: &f64| is_plain && value.is_finite())
}

/// A figure and the unit that follows it without a blank: `987.00us` is 987 and `us`.
pub fn split(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    Some((number(&text[..end])?, &text[end..]))
}

/// A duration in seconds. Known units are ns, us, ms, s, m (minutes) and h, and `usec`, `msec` and `sec`.
pub fn seconds(value: f64, unit: &str) -> Option<f64> {
    match unit {
        "ns" => Some(value / 1e9),
        "us" | "usec" => Some(value / 1e6),
        "ms" | "msec" => Some(value / 1e3),
        "s" | "sec" => Some(value),
        "m" => Some(value * 60.0),
        "h" => Some(value * 3600.0),
        _ => None,
    }
}

/// A value without its prefix (none, k, M, G, T or P, where `K` is `k`), each step of which is `base`.
pub fn scaled(value: f64, prefix: &str, base: f64) -> Option<f64> {
    let known = ["", "k", "M", "G", "T", "P"];
    let power = known.iter().position(|known| *known == prefix || (*known == "k" && prefix == "K"))?;
    Some(value * base.powi(i32::try_from(power).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_its_end_is_left_out() {
        let cases: [(&str, &[&str]); 4] =
            [("", &[]), ("1.5", &[]), ("a\n1.5", &["a"]), ("a\n\nb\n", &["a", "", "b"])];
        for (text, lines) in cases {
            assert_eq!(whole_lines(text).collect::<Vec<_>>(), lines, "{text:?}");
        }
    }

    #[test]
    fn figures_are_read_or_refused() {
        let cases = [
            ("987.00us", Some((987.0, "us"))),
            ("1.94s", Some((1.94, "s"))),
            ("27.57MB", Some((27.57, "MB"))),
            ("12", Some((12.0, ""))),
            ("1,5s", Some((1.0, ",5s"))),
            ("1.2.3s", None),
            ("1.", None),
            (".5s", None),
            ("-1s", None),
            ("-nan%", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(split(text), expected, "{text}");
        }
    }

    #[test]
    fn units_are_known_or_refused() {
        assert_eq!(seconds(987.0, "us"), Some(0.000987));
        assert_eq!(seconds(1.5, "m"), Some(90.0));
        assert_eq!(seconds(1.0, "min"), None);
        assert_eq!(scaled(2.0, "K", 1024.0), Some(2048.0));
        assert_eq!(scaled(2.0, "M", 1000.0), Some(2e6));
        assert_eq!(scaled(2.0, "", 1000.0), Some(2.0));
        assert_eq!(scaled(2.0, "m", 1000.0), None);
    }
}
