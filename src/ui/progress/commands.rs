//! Commands as they are run, each line of them behind the name of its host, so that hosts that work side by
//! side can be told apart. Read [`start`] and [`end`].

use std::borrow::Cow;

use unicode_width::UnicodeWidthStr;

use super::board::padded;
use crate::event::{Captured, CommandEnd, CommandStart};
use crate::monitor::Monitor;
use crate::record::word;
use crate::ui::table::printable;
use crate::ui::without_secrets;

/// The bytes that are shown of each end of a long output.
const END: usize = 4 << 10;
/// Secrets are hidden in this much more, so that none is seen in part at the cut.
const MARGIN: usize = 256 << 10;

/// `pi4  > prepare of disk/pi4/native#3: sync`.
pub(super) fn start(start: &CommandStart, monitor: &Monitor) -> String {
    let host = name(&start.host, monitor);
    let mut text = String::new();
    let mut sign = format!("> {}: ", whose(start, monitor));
    for line in start.command.trim_end().lines() {
        text += &format!("{host}  {sign}{}\n", printable(line));
        sign = "    ".to_owned();
    }
    text.trim_end().to_owned()
}

/// `pi4  < exit code 0 in 0.012 s, prepare of disk/pi4/native#3: sync`, and below it what was printed.
pub(super) fn end(end: &CommandEnd, monitor: &Monitor) -> String {
    let host = name(&end.start.host, monitor);
    let code = end.exit_code.map(|code| format!("exit code {code}"));
    let how: Vec<String> = end.reason.iter().cloned().chain(code).collect();
    let first = end.start.command.trim().lines().next().unwrap_or_default();
    let (how, whose) = (printable(&how.join(", ")).into_owned(), whose(&end.start, monitor));
    let mut text = format!("{host}  < {how} in {:.3} s, {whose}: {}", end.elapsed_s, printable(first));
    for (sign, output) in [('|', &end.stdout), ('!', &end.stderr)] {
        for line in excerpt(output) {
            text += &format!("\n{host}    {sign} {}", printable(&line));
        }
    }
    text
}

fn name(host: &str, monitor: &Monitor) -> String {
    let width = monitor.hosts().map(|host| printable(host).width()).max().unwrap_or_default();
    padded(&printable(host), width)
}

fn whose(start: &CommandStart, monitor: &Monitor) -> String {
    let stage = word(&start.stage);
    match monitor.trial(&start.host) {
        Some(trial) => format!("{stage} of {}", trial.id()),
        None => stage,
    }
}

/// The lines of an output; of a long one the beginning and the end, with a mark between.
fn excerpt(output: &Captured) -> Vec<String> {
    let bytes = output.bytes.as_slice();
    if bytes.len() <= 2 * END && !output.is_cut() {
        return hidden(bytes).lines().map(str::to_owned).collect();
    }
    let start = hidden(&bytes[..bytes.len().min(END + MARGIN)]).into_owned();
    let mut lines: Vec<String> = start[..start.floor_char_boundary(END)].lines().map(str::to_owned).collect();
    // What was not brought here has no end to show.
    if output.is_cut() {
        lines.push(format!("… {} bytes in all, the rest is left out …", output.size));
        return lines;
    }
    lines.push(format!("… {} bytes in all, the middle is left out …", output.size));
    let end = hidden(&bytes[bytes.len().saturating_sub(END + MARGIN)..]).into_owned();
    lines.extend(end[end.ceil_char_boundary(end.len().saturating_sub(END))..].lines().map(str::to_owned));
    lines
}

fn hidden(bytes: &[u8]) -> Cow<'_, str> {
    match String::from_utf8_lossy(bytes) {
        Cow::Borrowed(text) => without_secrets(text),
        Cow::Owned(text) => Cow::Owned(without_secrets(&text).into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(text: &str) -> Captured {
        Captured { bytes: text.into(), size: text.len() as u64 }
    }

    #[test]
    fn a_long_output_loses_its_middle() {
        assert_eq!(excerpt(&captured("one\ntwo\n")), ["one", "two"]);
        assert_eq!(excerpt(&captured("")), Vec::<String>::new());
        let long: Vec<String> = (0..5_000).map(|number| format!("line {number}")).collect();
        let text = long.join("\n");
        let lines = excerpt(&captured(&text));
        assert_eq!((lines[0].as_str(), lines[lines.len() - 1].as_str()), ("line 0", "line 4999"));
        let mark = format!("… {} bytes in all, the middle is left out …", text.len());
        assert_eq!(lines.iter().filter(|line| **line == mark).count(), 1);
        assert!(lines.iter().map(|line| line.len() + 1).sum::<usize>() < 2 * END + 100);
        let letters = "한".repeat(10_000);
        assert!(excerpt(&captured(&letters)).iter().all(|line| line.chars().all(|c| c != '\u{fffd}')));
        let cut = excerpt(&Captured { size: 1 << 30, ..captured("the beginning\n") });
        assert_eq!(cut, ["the beginning", "… 1073741824 bytes in all, the rest is left out …"]);
    }
}
