//! Reads iozone: the grid of a single process, with the report of `-R` behind it, or throughput mode
//! (`-t`). Here it is decided whether the run succeeded and in which unit it is; `grid`, `report` and
//! `throughput` read the figures. Formats: `iozone.c`, 3.242 to 3.506.

mod grid;
mod report;
mod throughput;

use crate::metrics::{Measurement, Metric, MetricParser, Reading, ToolOutput, Values, text};
use crate::units::{Better, Unit};

/// The iozone parser.
pub struct Iozone;

/// iozone's kB.
const KIBIBYTE: f64 = 1024.0;

const fn rate(name: &'static str) -> Metric {
    Metric::new(name, Unit::BytePerSecond, Some(Better::Higher))
}

const fn headline(name: &'static str) -> Metric {
    Metric::headline(name, Unit::BytePerSecond, Some(Better::Higher))
}

/// Every test of iozone. With `-O` they are in operations per second.
static TESTS: [Metric; 22] = [
    headline("write"),
    headline("rewrite"),
    headline("read"),
    headline("reread"),
    headline("random_read"),
    headline("random_write"),
    rate("backward_read"),
    rate("record_rewrite"),
    rate("stride_read"),
    rate("fwrite"),
    rate("frewrite"),
    rate("fread"),
    rate("freread"),
    rate("mixed_workload"),
    rate("pwrite"),
    rate("repwrite"),
    rate("pread"),
    rate("repread"),
    rate("pwritev"),
    rate("repwritev"),
    rate("preadv"),
    rate("repreadv"),
];

/// What the numbers of a run count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// kB of 1024 byte per second.
    Kibibytes,
    /// Operations per second (`-O`).
    Operations,
}

impl Mode {
    /// The value of a test; none for a name that is not one, and for 0, which stands for a test that did
    /// not run.
    fn measured(self, test: &str, value: f64) -> Option<Measurement> {
        let metric = TESTS.iter().find(|metric| metric.name == test).filter(|_| value > 0.0)?;
        Some(match self {
            Mode::Kibibytes => metric.measured(value * KIBIBYTE),
            Mode::Operations => Measurement { unit: Unit::PerSecond, ..metric.measured(value) },
        })
    }

    /// Errors: the unit is not named, or is that of `-N`, whose times are cut to whole microseconds: a
    /// request to a cache takes one or two.
    fn of(stdout: &str) -> Result<Self, String> {
        let says = |words: &str| stdout.lines().any(|line| line.trim().eq_ignore_ascii_case(words));
        if says("Microseconds/op Mode. Output is in microseconds per operation.") {
            return Err("times of `-N` are cut to whole microseconds: leave it out, or use `-O`".to_owned());
        }
        match says("OPS Mode. Output is in operations per second.") {
            true => Ok(Mode::Operations),
            false if says("Output is in kBytes/sec") => Ok(Mode::Kibibytes),
            false => Err("iozone's output does not say in which unit it is".to_owned()),
        }
    }
}

impl MetricParser for Iozone {
    fn tool(&self) -> &'static str {
        "iozone"
    }

    fn version_option(&self) -> Option<&'static str> {
        Some("-v")
    }

    fn metrics(&self) -> Vec<Metric> {
        TESTS.to_vec()
    }

    fn read(&self, output: ToolOutput<'_>) -> Reading {
        let stdout = text::clean(output.stdout);
        if let Some(reason) = stdout.lines().find(|line| is_error(line)).and_then(text::shown) {
            return match text::last_lines(&text::clean(output.stderr), 1) {
                words if words.is_empty() => Reading::Failed { reason },
                words => Reading::Failed { reason: format!("{reason}: {words}") },
            };
        }
        // iozone exits with 0 after most errors: this line alone says that it came to its end.
        let is_complete = stdout.lines().any(|line| line.trim() == "iozone test complete.");
        if !is_complete || output.exit_code.is_some_and(|code| code != 0) {
            return text::failed("iozone did not complete", output);
        }
        match read_figures(&stdout) {
            Err(reason) => Reading::Failed { reason },
            Ok(measurements) => {
                let said = text::clean(output.stderr);
                let doubts = stdout.lines().filter(|line| is_doubt(line)).chain(said.lines());
                let warnings = doubts.filter_map(text::shown).take(5).collect();
                let mut values = Values { measurements, warnings, ..Values::default() };
                values.version = version(&stdout);
                Reading::Ok(values)
            }
        }
    }
}

/// The values of a complete run, whatever mode it is of.
///
/// Errors: more than one run, no figures, or figures that are not clear.
fn read_figures(stdout: &str) -> Result<Vec<Measurement>, String> {
    let runs = stdout.lines().filter(|line| line.trim() == "Iozone: Performance Test of File I/O").count();
    if runs > 1 {
        return Err(format!("{runs} iozone runs in one output, expected one"));
    }
    let mode = Mode::of(stdout)?;
    let mut measurements = throughput::read(stdout, mode)?;
    if measurements.is_empty() {
        measurements = grid::read(stdout, mode)?;
        let reported = report::read(stdout, mode);
        if measurements.is_empty() {
            measurements = reported;
        } else if let Some(other) = reported.iter().find(|one| differs(one, &measurements)) {
            return Err(format!("iozone's grid and its report differ in {}", other.name));
        }
    }
    let is_same =
        |one: &Measurement, other: &Measurement| (&one.name, &one.labels) == (&other.name, &other.labels);
    match measurements.iter().find(|one| measurements.iter().filter(|other| is_same(one, other)).count() > 1)
    {
        _ if measurements.is_empty() => Err("iozone measured nothing".to_owned()),
        Some(repeated) => Err(format!("iozone gives several values of {} for the same sizes", repeated.name)),
        None => Ok(measurements),
    }
}

/// Whether `one` has another value than in `measurements`. The grid may lack it: where the record sizes
/// are single ones, the columns of the report have wrong heads.
fn differs(one: &Measurement, measurements: &[Measurement]) -> bool {
    let same = measurements.iter().find(|other| (&one.name, &one.labels) == (&other.name, &other.labels));
    same.is_some_and(|same| same.value.total_cmp(&one.value).is_ne())
}

/// Whether iozone says that something failed, or that its figures are no measurement.
fn is_error(line: &str) -> bool {
    let line = line.trim();
    ["Error", "I/O error", "Can not ", "iozone: interrupted"].iter().any(|start| line.starts_with(start))
        || line == "Performance measurements are invalid in this mode."
}

/// Whether iozone doubts its figures itself.
fn is_doubt(line: &str) -> bool {
    ["Timer resolution is poor.", "reported inaccurate results.", "The test completed too quickly"]
        .iter()
        .any(|start| line.trim().starts_with(start))
}

/// The version in `Version $Revision: 3.492 $`.
fn version(stdout: &str) -> Option<String> {
    let line = stdout.lines().find_map(|line| line.trim().strip_prefix("Version $Revision: "))?;
    Some(line.trim_end_matches('$').trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(stdout: &str, stderr: &str) -> Result<Values, String> {
        let output = ToolOutput { stdout: stdout.as_bytes(), stderr: stderr.as_bytes(), exit_code: Some(0) };
        match Iozone.read(output) {
            Reading::Ok(values) => Ok(values),
            Reading::Failed { reason } => Err(reason),
        }
    }

    const RUN: &str = "\
\tIozone: Performance Test of File I/O
\t        Version $Revision: 3.506 $
\tOutput is in kBytes/sec
              kB  reclen    write  rewrite    read    reread
              64       4        8        0       16       16

iozone test complete.
";
    const REPORT: &str = "Excel output is below:\n\n\"Writer report\"\n        \"4\"\n\"64\"   8 \n";

    #[test]
    fn a_report_confirms_the_grid() {
        let values = read(&format!("{RUN}{REPORT}"), "").unwrap();
        let found: Vec<_> = values.measurements.iter().map(|one| (one.name.as_str(), one.value)).collect();
        assert_eq!(found, [("write", 8192.0), ("read", 16384.0), ("reread", 16384.0)]);
        assert_eq!(values.version.as_deref(), Some("3.506"));
        let alone = format!("{}{REPORT}", RUN.replace("reclen", "record"));
        let found: Vec<_> = read(&alone, "").unwrap().measurements.into_iter().map(|one| one.value).collect();
        assert_eq!(found, [8192.0]);
    }

    #[test]
    fn doubts_are_kept() {
        let poor = "Timer resolution is poor. Some small transfers may have \n\
            reported inaccurate results. Sizes 64 kBytes and below.\n";
        let warnings = read(&format!("{RUN}{poor}"), "fsync: not supported\n").unwrap().warnings;
        let expected = [
            "Timer resolution is poor. Some small transfers may have",
            "reported inaccurate results. Sizes 64 kBytes and below.",
            "fsync: not supported",
        ];
        assert_eq!(warnings, expected);
    }

    #[test]
    fn failures_have_a_reason() {
        let row = "              64       4        8        0       16       16\n";
        let cases = [
            (String::new(), "", "iozone did not complete: no output"),
            (RUN.replace("complete.", "complete"), "killed", "iozone did not complete: killed"),
            (
                RUN.replace("\n\niozone", "\nError writing block 3, fd= 3\n\niozone"),
                "write: No space left on device",
                "Error writing block 3, fd= 3: write: No space left on device",
            ),
            (format!("{RUN}\nCan not open temp file: x\n"), "", "Can not open temp file: x"),
            (
                RUN.replace("\tOutput", "    \tPerformance measurements are invalid in this mode.\n\tOutput"),
                "",
                "Performance measurements are invalid in this mode.",
            ),
            (RUN.repeat(2), "", "2 iozone runs in one output, expected one"),
            (RUN.replace("kBytes/sec", "x"), "", "iozone's output does not say in which unit it is"),
            (
                RUN.replace(
                    "Output is in kBytes/sec",
                    "Microseconds/op Mode. Output is in microseconds per operation.",
                ),
                "",
                "times of `-N` are cut to whole microseconds: leave it out, or use `-O`",
            ),
            (RUN.replace(row, ""), "", "iozone measured nothing"),
            (RUN.replace(row, &row.repeat(2)), "", "iozone gives several values of write for the same sizes"),
            (
                format!("{RUN}{}", REPORT.replace("  8 ", "  9 ")),
                "",
                "iozone's grid and its report differ in write",
            ),
        ];
        for (stdout, stderr, reason) in cases {
            assert_eq!(read(&stdout, stderr), Err(reason.to_owned()), "{stdout}");
        }
    }
}
