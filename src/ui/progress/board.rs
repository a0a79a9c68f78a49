//! What a terminal shows below the lines that stay: a line a host, and the whole in numbers. It makes text of a
//! given width; it draws nothing.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::monitor::{HostState, Snapshot};
use crate::ui::table::printable;
use crate::ui::time::{about, clock};

/// The words for what a host does take so many columns.
const WORDS: usize = 10;
/// A narrower terminal has no room for the time of day.
const NARROW: usize = 50;

/// The lines for a terminal of `size` columns and rows. `is_still` says that its clock stands, so that no time
/// may be shown that is wrong a moment later.
pub(super) fn lines(run: &Snapshot, size: (usize, usize), zone: &TimeZone, is_still: bool) -> Vec<String> {
    let (columns, rows) = size;
    // A line of full width would move some terminals to the next.
    let width = columns.saturating_sub(1).max(1);
    let room = rows.saturating_sub(2).max(1);
    let shown = if run.hosts.len() <= room { run.hosts.len() } else { room - 1 };
    let names = run.hosts[..shown].iter().map(|host| printable(&host.host).width());
    let names = names.max().unwrap_or_default().min(width / 3);
    let mut lines: Vec<String> =
        run.hosts[..shown].iter().map(|host| line(host, names, width, zone)).collect();
    if shown < run.hosts.len() {
        lines.push(fit(&format!("  … and {} more hosts", run.hosts.len() - shown), width));
    }
    lines.push(total(run, width, zone, is_still));
    lines
}

/// `  pi4  running     12:12:20  disk/pi4/native#3`.
fn line(host: &HostState, names: usize, width: usize, zone: &TimeZone) -> String {
    let name = padded(&fit(&printable(&host.host), names), names);
    let since = host.since.to_zoned_datetime(zone.clone()).strftime("%H:%M:%S  ").to_string();
    let since = if width < NARROW { String::new() } else { since };
    let front = format!("  {name}  {}  {since}", padded(host.doing.words(), WORDS));
    let room = width.saturating_sub(front.width());
    let what = match &host.trial {
        // The host stands before it already.
        Some(trial) if host.detail.is_empty() && trial.width() > room => {
            trial.replacen(&format!("/{}/", host.host), "/", 1)
        }
        Some(trial) if host.detail.is_empty() => trial.clone(),
        _ => host.detail.clone(),
    };
    fit(format!("{front}{}", fit(&printable(&what), room)).trim_end(), width)
}

/// `12:31  36 of 48 trials, 2 failed, 1 retried, about 4 min left, until 15:10`, as much of it as there is room for.
fn total(run: &Snapshot, width: usize, zone: &TimeZone, is_still: bool) -> String {
    let end = run
        .left_s
        .and_then(|left| run.time.checked_add(jiff::SignedDuration::try_from_secs_f64(left).ok()?).ok());
    let until = end
        .filter(|_| run.finished < run.trials)
        .map(|end| format!("until {}", time_of_day(end, run.time, zone)));
    let mut text = match is_still {
        true => String::new(),
        false => clock(run.time.duration_since(run.started).as_secs_f64()) + "  ",
    };
    let mut sign = "";
    for part in parts(run).into_iter().chain(until) {
        if text.width() + sign.len() + part.width() <= width {
            text += &format!("{sign}{part}");
            sign = ", ";
        }
    }
    text
}

/// `15:10`, with the day when it is another.
fn time_of_day(time: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
    let (time, now) = (time.to_zoned_datetime(zone.clone()), now.to_zoned_datetime(zone.clone()));
    let form = if time.date() == now.date() { "%H:%M" } else { "%a %H:%M" };
    time.strftime(form).to_string()
}

/// `36 of 48 trials, 2 failed, 1 retried, about 4 min left`.
pub(super) fn counts(run: &Snapshot) -> String {
    parts(run).join(", ")
}

fn parts(run: &Snapshot) -> Vec<String> {
    let mut parts = vec![format!("{} of {} trials", run.finished, run.trials)];
    for (count, word) in [(run.failed, "failed"), (run.retried, "retried")] {
        parts.extend((count > 0).then(|| format!("{count} {word}")));
    }
    let left = run.left_s.filter(|_| run.finished < run.trials);
    parts.extend(left.map(|left| format!("about {} left", about(left))));
    parts
}

/// `text` in at most `width` columns; what is too long loses its middle, since trials differ at their ends.
pub(super) fn fit(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(1);
    let take = |chars: &mut dyn Iterator<Item = char>, room: usize| {
        let mut used = 0;
        let mut taken = Vec::new();
        for c in chars {
            used += c.width().unwrap_or_default();
            if used > room {
                break;
            }
            taken.push(c);
        }
        taken
    };
    let end: String = take(&mut text.chars().rev(), room / 2).into_iter().rev().collect();
    let start: String = take(&mut text.chars(), room - end.width()).into_iter().collect();
    if width == 0 { String::new() } else { format!("{start}…{end}") }
}

/// `text` with blanks up to `width` columns.
pub(super) fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::Doing;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_796_040_000 + second).unwrap()
    }

    fn run() -> Snapshot {
        let host = |host: &str, doing, trial: Option<&str>, detail: &str, since| HostState {
            host: host.into(),
            doing,
            trial: trial.map(str::to_owned),
            detail: detail.into(),
            since: at(since),
        };
        let long = "network/라즈베리파이/docker/direction=download/window=64KiB#3";
        Snapshot {
            time: at(751),
            started: at(0),
            trials: 48,
            finished: 36,
            failed: 2,
            retried: 1,
            left_s: Some(240.0),
            hosts: vec![
                host("gigabit-server", Doing::Assisting, Some(long), "", 740),
                host("pi4", Doing::SettingUp, Some("disk/pi4/docker#1"), "building image\tbench", 700),
                host("rack", Doing::Waiting, None, "", 600),
                host("라즈베리파이", Doing::Running, Some(long), "", 740),
            ],
        }
    }

    #[test]
    fn a_board_is_as_wide_as_the_terminal() {
        let mut text = String::new();
        for (size, is_still) in [((60, 24), false), ((120, 24), false), ((30, 24), true), ((80, 4), false)] {
            let lines = lines(&run(), size, &TimeZone::UTC, is_still);
            assert!(lines.iter().all(|line| line.width() < size.0), "{lines:#?}");
            assert!(lines.len() < size.1);
            text += &format!("{} x {}\n{}\n\n", size.0, size.1, lines.join("\n"));
        }
        insta::assert_snapshot!(text, @r"
            60 x 24
              gigabit-server  assisting   12:12:20  network/…w=64KiB#3
              pi4             setting up  12:11:40  building …ge\tbench
              rack            waiting     12:10:00
              라즈베리파이    running     12:12:20  network/d…w=64KiB#3
            12:31  36 of 48 trials, 2 failed, 1 retried, until 12:16

            120 x 24
              gigabit-server  assisting   12:12:20  network/라즈베리파이/docker/direction=download/window=64KiB#3
              pi4             setting up  12:11:40  building image\tbench
              rack            waiting     12:10:00
              라즈베리파이    running     12:12:20  network/라즈베리파이/docker/direction=download/window=64KiB#3
            12:31  36 of 48 trials, 2 failed, 1 retried, about 4 min left, until 12:16

            30 x 24
              giga…rver  assisting   ne…3
              pi4        setting up  bu…h
              rack       waiting
              라즈…파이  running     ne…3
            36 of 48 trials, 2 failed

            80 x 4
              gigabit-server  assisting   12:12:20  network/라즈베리파…load/window=64KiB#3
              … and 3 more hosts
            12:31  36 of 48 trials, 2 failed, 1 retried, about 4 min left, until 12:16
        ");
    }

    #[test]
    fn what_is_too_long_loses_its_middle() {
        for (text, width, expected) in [
            ("short", 5, "short"),
            ("disk/pi4/native#12", 9, "disk…e#12"),
            ("한글이름", 8, "한글이름"),
            ("한글이름", 7, "한글…름"),
            ("abc", 1, "…"),
            ("abc", 0, ""),
        ] {
            assert_eq!(fit(text, width), expected);
            assert!(expected.width() <= width);
        }
    }
}
