//! Lengths of time as a person reads them at a glance: the two largest units, and no more.

/// `45 s`, `4 min`, `5 h 20 min`, `2 d 3 h`.
pub(super) fn about(seconds: f64) -> String {
    let seconds = seconds.max(0.0).round() as u64;
    let two = |large: u64, name: &str, small: u64, other: &str| match small {
        0 => format!("{large} {name}"),
        _ => format!("{large} {name} {small} {other}"),
    };
    let minutes = (seconds + 30) / 60;
    let hours = (minutes + 30) / 60;
    match seconds {
        0..90 => format!("{seconds} s"),
        90..5_400 => format!("{minutes} min"),
        5_400..172_800 => two(minutes / 60, "h", minutes % 60, "min"),
        _ => two(hours / 24, "d", hours % 24, "h"),
    }
}

/// `02:05`, and `1:02:05` from an hour on.
pub(super) fn clock(seconds: f64) -> String {
    let seconds = seconds.max(0.0) as u64;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes:02}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_units_are_enough() {
        for (seconds, text) in [
            (0.0, "0 s"),
            (-1.0, "0 s"),
            (89.4, "89 s"),
            (89.6, "2 min"),
            (240.0, "4 min"),
            (5_399.0, "90 min"),
            (5_400.0, "1 h 30 min"),
            (19_200.0, "5 h 20 min"),
            (35_999.0, "10 h"),
            (172_800.0, "2 d"),
            (183_600.0, "2 d 3 h"),
        ] {
            assert_eq!(about(seconds), text, "{seconds}");
        }
        for (seconds, text) in
            [(0.0, "00:00"), (125.9, "02:05"), (3_725.0, "1:02:05"), (360_000.0, "100:00:00")]
        {
            assert_eq!(clock(seconds), text, "{seconds}");
        }
    }
}
