//! Which values of an axis are numbers, and which of these are sizes of data. It knows words alone.

/// `4k`, `1M`, `64 KiB` and `0.5` as numbers, and whether it is a size of data: in bytes then. Letters alone are powers
/// of two, as in `dd` and `fio`; the axes of iozone end in `kB`, and mean 1024 bytes.
pub(super) fn number(axis: &str, text: &str) -> Option<(f64, bool)> {
    let text = text.trim();
    let end =
        text.find(|letter: char| !(letter.is_ascii_digit() || ".+-".contains(letter))).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let number: f64 = digits.parse().ok().filter(|number: &f64| number.is_finite())?;
    let of_axis = match () {
        () if axis.ends_with("_kB") || axis.ends_with("_KiB") => Some(1024.0),
        () if axis.ends_with("_MiB") => Some(1_048_576.0),
        () if axis.ends_with("bytes") || is_size_in_bytes(axis, number) => Some(1.0),
        () => None,
    };
    let factor = match unit.trim() {
        "" => return Some((number * of_axis.unwrap_or(1.0), of_axis.is_some())),
        "B" => 1.0,
        "k" | "K" | "KiB" | "Ki" => 1024.0,
        "m" | "M" | "MiB" | "Mi" => 1_048_576.0,
        "g" | "G" | "GiB" | "Gi" => 1_073_741_824.0,
        "kB" | "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        _ => return None,
    };
    Some((number * factor, true))
}

/// A power of two from 512 on, on an axis whose name speaks of a size.
fn is_size_in_bytes(axis: &str, number: f64) -> bool {
    let is_power =
        (512.0..9e15).contains(&number) && number.fract() == 0.0 && (number as u64).is_power_of_two();
    is_power && (axis.ends_with("size") || super::cells::bare(axis) == "bs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_data_are_numbers_of_bytes() {
        for (axis, text, expected) in [
            ("block", "4k", Some((4096.0, true))),
            ("block", "1M", Some((1_048_576.0, true))),
            ("block", "4kB", Some((4000.0, true))),
            ("label.reclen_kB", "64", Some((65_536.0, true))),
            ("block_size", "65536", Some((65_536.0, true))),
            ("threads", "4", Some((4.0, false))),
            ("threads", "-0.5", Some((-0.5, false))),
            ("server", "native", None),
            ("x", "1e999", None),
            ("x", "", None),
        ] {
            assert_eq!(number(axis, text), expected, "{axis} {text}");
        }
    }
}
