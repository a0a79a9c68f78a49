//! How each `time` lays out its figures. A layout counts only with its closing line; every line that is taken
//! ends with a newline.

use super::Found;
use crate::metrics::text;

/// Every result in a cleaned text, in whatever layout.
pub fn find(text: &str) -> Vec<Found> {
    let lines: Vec<&str> = text::whole_lines(text).map(str::trim).collect();
    (0..lines.len()).filter_map(|start| at(&lines[start..])).collect()
}

/// The result that begins with the first of `lines`.
fn at(lines: &[&str]) -> Option<Found> {
    verbose(lines).or_else(|| short(lines)).or_else(|| three_lines(lines)).or_else(|| bsd(lines))
}

/// `-v` of GNU and busybox, from `Command being timed: …` to `Exit status: 0`.
fn verbose(lines: &[&str]) -> Option<Found> {
    lines.first()?.strip_prefix("Command being timed: ")?;
    let end = lines.iter().position(|line| *line == "Exit status: 0")?;
    let after =
        |label: &str| lines[..end].iter().find_map(|line| line.strip_prefix(label)?.strip_prefix(": "));
    let seconds = |label: &str| text::plain_decimal(after(label)?);
    let printed = after("Elapsed (wall clock) time (h:mm:ss or m:ss)")?;
    let max_rss = seconds("Maximum resident set size (kbytes)").map(|kilobytes| kilobytes * 1024.0);
    let is_busybox = printed.contains('m');
    Some(Found {
        elapsed: duration(printed)?,
        user: seconds("User time (seconds)")?,
        system: seconds("System time (seconds)")?,
        // busybox takes the kernel's kilobytes for pages, and multiplies them.
        max_rss: max_rss.filter(|_| !is_busybox),
        warning: is_busybox.then_some("busybox prints several times the memory: max_rss is left out"),
    })
}

/// GNU's default, two lines: `0.00user 0.00system 0:00.10elapsed 0%CPU (0avgtext+0avgdata 1484maxresident)k` and
/// `0inputs+0outputs (0major+79minor)pagefaults 0swaps`.
fn short(lines: &[&str]) -> Option<Found> {
    let [first, second, ..] = lines else { return None };
    if !first.ends_with("maxresident)k") || !second.ends_with("swaps") {
        return None;
    }
    let words: Vec<&str> = first.split_whitespace().collect();
    let [user, system, elapsed, _, _, max_rss] = words[..] else { return None };
    let kilobytes = text::plain_decimal(max_rss.strip_suffix("maxresident)k")?)?;
    Some(Found {
        elapsed: duration(elapsed.strip_suffix("elapsed")?)?,
        user: text::plain_decimal(user.strip_suffix("user")?)?,
        system: text::plain_decimal(system.strip_suffix("system")?)?,
        max_rss: Some(kilobytes * 1024.0),
        warning: None,
    })
}

/// The three lines of `-p`, of shells and of busybox: `real 0.10`, `real 0m0.101s` or `real 0m 0.10s`.
fn three_lines(lines: &[&str]) -> Option<Found> {
    let [real, user, system, ..] = lines else { return None };
    let after = |line: &str, label: &str| {
        let rest = line.strip_prefix(label)?;
        rest.starts_with([' ', '\t']).then(|| duration(rest.trim())).flatten()
    };
    Some(Found {
        elapsed: after(real, "real")?,
        user: after(user, "user")?,
        system: after(system, "sys")?,
        ..Found::default()
    })
}

/// BSD and macOS: `0.10 real 0.00 user 0.00 sys`, and with `-l` one figure a line with its name behind it.
fn bsd(lines: &[&str]) -> Option<Found> {
    let (first, rest) = lines.split_first()?;
    let words: Vec<&str> = first.split_whitespace().collect();
    let [elapsed, "real", user, "user", system, "sys"] = words[..] else { return None };
    let resident = rest
        .iter()
        .find_map(|line| text::plain_decimal(line.strip_suffix("maximum resident set size")?.trim()));
    let max_rss = resident.and_then(resident_bytes);
    let is_doubtful = resident.is_some_and(|printed| printed > 0.0) && max_rss.is_none();
    Some(Found {
        elapsed: text::decimal(elapsed)?,
        user: text::decimal(user)?,
        system: text::decimal(system)?,
        max_rss,
        warning: is_doubtful.then_some("max_rss may be in bytes or in kilobytes: left out"),
    })
}

/// The resident set of BSD's `-l` in bytes. macOS prints bytes, always whole pages of 4096; the BSDs print
/// kilobytes, by the same words. So few pages that no process of macOS has them may be either.
fn resident_bytes(printed: f64) -> Option<f64> {
    match printed % 4096.0 == 0.0 {
        true => Some(printed).filter(|bytes| *bytes >= 256.0 * 1024.0),
        false => Some(printed * 1024.0),
    }
}

/// A duration in seconds: `0.10`, `0:00.10`, `1:02:13`, `0m0.101s`, `1m 2.31s`, `1h 2m 13s`; a shell may print
/// a decimal comma.
fn duration(text: &str) -> Option<f64> {
    if let Some(parts) = text.strip_suffix('s') {
        let (hours, rest) = parts.split_once('h').unwrap_or(("0", parts));
        let (minutes, seconds) = rest.split_once('m')?;
        return clock([hours, minutes, seconds]);
    }
    let parts: Vec<&str> = text.split(':').collect();
    match parts[..] {
        [seconds] => text::decimal(seconds),
        [minutes, seconds] => clock(["0", minutes, seconds]),
        [hours, minutes, seconds] => clock([hours, minutes, seconds]),
        _ => None,
    }
}

/// Hours, minutes and seconds in seconds; minutes and seconds are below 60 where something stands before them.
fn clock([hours, minutes, seconds]: [&str; 3]) -> Option<f64> {
    let whole = |text: &str| text.trim().parse::<u32>().ok().map(f64::from);
    let (hours, minutes, seconds) = (whole(hours)?, whole(minutes)?, text::decimal(seconds.trim())?);
    let is_clock = seconds < 60.0 && (hours == 0.0 || minutes < 60.0);
    is_clock.then_some(hours * 3600.0 + minutes * 60.0 + seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_of_every_layout_are_read() {
        let cases = [
            ("0.10", Some(0.1)),
            ("0:00.10", Some(0.1)),
            ("75:00.50", Some(4500.5)),
            ("1:02:13", Some(3733.0)),
            ("1:02:13.94", Some(3733.94)),
            ("0m0.101s", Some(0.101)),
            ("0m0,101s", Some(0.101)),
            ("1m 2.31s", Some(62.31)),
            ("1h 2m 13s", Some(3733.0)),
            ("0:75.00", None),
            ("1:2:3:4", None),
            ("1:02:", None),
            ("2.31s", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(duration(text), expected, "{text}");
        }
    }

    #[test]
    fn the_unit_of_memory_is_certain_or_it_is_left_out() {
        let text = |resident: &str| {
            format!(
                "        1.50 real         1.00 user         0.25 sys\n{resident:>20}  maximum resident set size\n"
            )
        };
        let cases = [
            ("23814144", Some(23_814_144.0), false),
            ("23256", Some(23_256.0 * 1024.0), false),
            ("8192", None, true),
        ];
        for (resident, max_rss, is_warned) in cases {
            let found = find(&text(resident));
            assert_eq!(found.len(), 1);
            assert_eq!((found[0].elapsed, found[0].max_rss), (1.5, max_rss), "{resident}");
            assert_eq!(found[0].warning.is_some(), is_warned, "{resident}");
        }
    }

    #[test]
    fn a_layout_without_its_end_is_none() {
        let texts = [
            "real 1.00\nuser 0.50\nsys 0.25",
            "real 1.00\nsys 0.25\nuser 0.50\n",
            "really 1.00\nuser 0.50\nsys 0.25\n",
            "0.00user 0.00system 0:00.10elapsed 0%CPU (0avgtext+0avgdata 1484maxresident)k\n",
            "Command being timed: \"x\"\nUser time (seconds): 1.00\nSystem time (seconds): 1.00\n\
             Elapsed (wall clock) time (h:mm:ss or m:ss): 0:01.00\n",
            "1.50 real 1.00 user\n",
        ];
        for text in texts {
            assert_eq!(find(text), [], "{text}");
        }
    }
}
