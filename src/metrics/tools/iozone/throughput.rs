//! iozone's throughput mode (`-t`): the sum of the rates of all processes, which iozone itself adds up.
//! What the parent sees has the starts and ends of processes in it and is not read.

use super::Mode;
use crate::metrics::{Measurement, text};

/// Who works, with the name of the test.
const WORKERS: [(&str, &str); 13] = [
    ("initial writers", "write"),
    ("rewriters", "rewrite"),
    ("readers", "read"),
    ("re-readers", "reread"),
    ("reverse readers", "backward_read"),
    ("stride readers", "stride_read"),
    ("random readers", "random_read"),
    ("mixed workload", "mixed_workload"),
    ("random writers", "random_write"),
    ("pwrite writers", "pwrite"),
    ("pread readers", "pread"),
    ("fwriters", "fwrite"),
    ("freaders", "fread"),
];

/// The values of every test; none where this is not throughput mode. `file_kB` is the size of the file of
/// each process.
///
/// Errors: a line that is not understood, or a test in which nothing was moved.
pub fn read(stdout: &str, mode: Mode) -> Result<Vec<Measurement>, String> {
    let mut sizes = None;
    let mut measurements = Vec::new();
    for line in stdout.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("Each ") {
            sizes = Sizes::read(rest).or(sizes);
        }
        let Some(rest) = line.strip_prefix("Children see throughput for ") else { continue };
        let refuse = || format!("a line of iozone is not understood: {line}");
        let sizes = sizes.as_ref().ok_or_else(refuse)?;
        let (count, test, value) = split(rest, mode).ok_or_else(refuse)?;
        let one = mode.measured(test, value).ok_or_else(|| format!("iozone moved nothing: {line}"))?;
        let one = one.labelled(sizes.workers, count).labelled("file_kB", sizes.file);
        measurements.push(one.labelled("reclen_kB", sizes.record));
    }
    Ok(measurements)
}

/// Splits ` 4 initial writers  =  907733.81 kB/sec` into the count, the test and the figure.
fn split(line: &str, mode: Mode) -> Option<(&str, &'static str, f64)> {
    let (workers, rate) = line.split_once('=')?;
    let (count, workers) = workers.trim().split_once(' ')?;
    let (rate, unit) = rate.trim().split_once(' ')?;
    let expected = match mode {
        Mode::Kibibytes => "kB/sec",
        Mode::Operations => "ops/sec",
    };
    let (_, test) = WORKERS.iter().find(|(words, _)| *words == workers.trim())?;
    let is_clear = unit.eq_ignore_ascii_case(expected) && count.parse::<u32>().is_ok();
    Some((count, test, text::plain_decimal(rate).filter(|_| is_clear)?))
}

/// What each process or thread works on.
struct Sizes<'a> {
    workers: &'static str,
    file: &'a str,
    record: &'a str,
}

impl<'a> Sizes<'a> {
    /// Reads `process writes a 131072 kByte file in 4 kByte records`, behind its first word.
    fn read(line: &'a str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [worker, "writes", "a", file, _, "file", "in", record, _, "records"] = words.as_slice() else {
            return None;
        };
        let workers = match *worker {
            "process" => "processes",
            "thread" => "threads",
            _ => return None,
        };
        Some(Self { workers, file, record })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "\tEach thread writes a 64 kByte file in 4 kByte records\n\n\
        \tChildren see throughput for  2 initial writers \t=       8.50 kB/sec\n\
        \tParent sees throughput for  2 initial writers \t=       7.00 kB/sec\n\
        \tChildren see throughput for 2 re-readers \t=      16.00 kB/sec\n";

    #[test]
    fn the_sums_are_read() {
        let values = read(RUN, Mode::Kibibytes).unwrap();
        let found: Vec<_> = values.iter().map(|one| (one.name.as_str(), one.value)).collect();
        assert_eq!(found, [("write", 8704.0), ("reread", 16384.0)]);
        let labels: Vec<_> =
            values[0].labels.iter().map(|(label, value)| (label.as_str(), value.as_str())).collect();
        assert_eq!(labels, [("file_kB", "64"), ("reclen_kB", "4"), ("threads", "2")]);
        assert_eq!(read("no figures", Mode::Kibibytes), Ok(vec![]));
    }

    #[test]
    fn what_is_not_clear_is_refused() {
        let line = "Children see throughput for  2 initial writers \t=       8.50 kB/sec";
        let not_understood = |line: &str| Err(format!("a line of iozone is not understood: {line}"));
        for (part, other) in
            [("kB/sec", "kB/s"), ("initial writers", "others"), ("8.50", "8,50"), (" 2 ", " x ")]
        {
            let text = RUN.replacen(part, other, if part == "initial writers" { 1 } else { 9 });
            assert_eq!(read(&text, Mode::Kibibytes), not_understood(&line.replace(part, other)), "{other}");
        }
        assert_eq!(read(RUN, Mode::Operations), not_understood(line));
        assert_eq!(read(&RUN.replace("Each", "each"), Mode::Kibibytes), not_understood(line));
        let nothing = read(&RUN.replace("8.50", "0.00"), Mode::Kibibytes);
        assert_eq!(nothing, Err(format!("iozone moved nothing: {}", line.replace("8.50", "0.00"))));
    }
}
