//! Reads fio: a JSON report (`--output-format=json` or `json+`, also with text round it), or terse lines of
//! version 3. Text alone is refused, for its figures are rounded. Here it is decided whether the run
//! succeeded and which report counts; `jobs` and `terse` read the figures.

mod jobs;
mod names;
mod terse;

use serde_json::Value;

use crate::metrics::json::{self, Found};
use crate::metrics::{Metric, MetricParser, Reading, ToolOutput, Values, text};

/// The fio parser.
pub struct Fio;

impl MetricParser for Fio {
    fn tool(&self) -> &'static str {
        "fio"
    }

    fn metrics(&self) -> Vec<Metric> {
        names::metrics()
    }

    fn read(&self, output: ToolOutput<'_>) -> Reading {
        let stdout = text::clean(output.stdout);
        let stderr = text::clean(output.stderr);
        let found = json::find(&stdout);
        if let Some(reason) = messages(&stderr).chain(messages(&found.around)).find(|line| is_error(line)) {
            return Reading::Failed { reason: text::shown(blamed(&stderr, reason)).unwrap_or_default() };
        }
        let values = read_reports(&found, &stdout);
        if output.exit_code.is_some_and(|code| code != 0) {
            return text::failed(values.err().as_deref().unwrap_or("fio failed"), output);
        }
        match values {
            Ok(mut values) => {
                values.warnings.extend(lines_before(&found));
                values.warnings.extend(stderr.lines().filter_map(text::shown).take(5));
                Reading::Ok(values)
            }
            Err(reason) => match messages(&stderr).next() {
                Some(line) => Reading::Failed { reason: format!("{reason}: {line}") },
                None => Reading::Failed { reason },
            },
        }
    }
}

/// Reads the only report there is.
///
/// Errors: none, more than one, or one that is cut off.
fn read_reports(found: &Found, stdout: &str) -> Result<Values, String> {
    let is_report = |object: &&Value| object["fio version"].is_string();
    let reports: Vec<_> = found.objects.iter().filter(is_report).collect();
    match reports.as_slice() {
        [report] => jobs::read(report),
        [] if found.cut_off => Err("the JSON report is cut off".to_owned()),
        [] if terse::is_terse(stdout) => terse::read(stdout),
        [] if stdout.trim().is_empty() => Err("fio printed no report (is `--output` set?)".to_owned()),
        [] => Err("no JSON report: add `--output-format=json`".to_owned()),
        more => Err(format!(
            "{} fio reports in one output, expected one: run fio once, without `--status-interval`",
            more.len()
        )),
    }
}

/// What fio says itself, in lines of their own.
fn messages(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| line.starts_with("fio: "))
}

/// Whether a message is of a failed job, not a hint. fio can print such a message and exit with 0.
fn is_error(message: &str) -> bool {
    // Ended by a signal, it has done a part of its work and exits as if it were all.
    ["err=", "error", "Disk quota exceeded", "terminating on signal"]
        .iter()
        .any(|mark| message.contains(mark))
}

/// The words for an error: where standard error has some, its first ones name the cause.
fn blamed<'a>(stderr: &'a str, otherwise: &'a str) -> &'a str {
    messages(stderr).next().unwrap_or(otherwise)
}

/// What was said before the report, for warnings. Lines of the text report are left out: with
/// `--output-format=json,normal` they stand round the document.
fn lines_before(found: &Found) -> Vec<String> {
    let is_of_report = |line: &&str| {
        line.contains(": (g=")
            || *line == "..."
            || ["fio-", "Starting ", "Jobs: ", "3;"].iter().any(|start| line.starts_with(start))
    };
    let before = found.around.lines().take_while(|line| !line.contains("(groupid="));
    before.filter(|line| !is_of_report(line)).filter_map(text::shown).take(5).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(stdout: &str, stderr: &str, exit_code: i32) -> Result<Values, String> {
        let output =
            ToolOutput { stdout: stdout.as_bytes(), stderr: stderr.as_bytes(), exit_code: Some(exit_code) };
        match Fio.read(output) {
            Reading::Ok(values) => Ok(values),
            Reading::Failed { reason } => Err(reason),
        }
    }

    const REPORT: &str = r#"{"fio version": "fio-3.33", "jobs": [{"jobname": "a", "groupid": 0, "error": 0,
        "read": {"io_bytes": 4096, "bw_bytes": 8192, "iops": 2.0}}]}"#;

    #[test]
    fn failures_have_a_reason() {
        let twice = format!("{REPORT}\n{REPORT}");
        let quota = format!("fio: pid=1, err=122/file:filesetup.c:1, error=Disk quota exceeded\n{REPORT}");
        let idle = REPORT.replace("4096", "0").replace("8192", "0").replace("2.0", "0.0");
        let terse = "3;fio-3.33;a;0;0;1;2;3";
        let cases = [
            ("", "", 0, "fio printed no report (is `--output` set?)"),
            (
                "",
                "sh: fio: not found",
                127,
                "fio printed no report (is `--output` set?) (exit code 127): sh: fio: not found",
            ),
            (&REPORT[..60], "", 0, "the JSON report is cut off"),
            (
                &twice,
                "",
                0,
                "2 fio reports in one output, expected one: run fio once, without `--status-interval`",
            ),
            (&quota, "", 0, "fio: pid=1, err=122/file:filesetup.c:1, error=Disk quota exceeded"),
            (
                REPORT,
                "fio: io_u error on file f: Input/output error",
                0,
                "fio: io_u error on file f: Input/output error",
            ),
            (REPORT, "killed", 137, "fio failed (exit code 137): killed"),
            (&idle, "fio: no space", 0, "fio did no I/O: fio: no space"),
            ("a: (groupid=0, jobs=1): err= 0: pid=7\n", "", 0, "no JSON report: add `--output-format=json`"),
            (terse, "", 0, "the terse output is cut off: add `--output-format=json`"),
        ];
        for (stdout, stderr, exit_code, reason) in cases {
            assert_eq!(read(stdout, stderr, exit_code), Err(reason.to_owned()), "{stdout}{stderr}");
        }
    }

    #[test]
    fn hints_are_kept_and_the_text_report_is_not() {
        let hint = "fio: file /dev/sda exceeds 32-bit tausworthe random generator.";
        let start = "a: (g=0): rw=read\n...\nfio-3.33\nStarting 1 process\n";
        let end = "\na: (groupid=0, jobs=1): err= 0: pid=7\n  read: IOPS=2\n";
        let values = read(&format!("{hint}\n{start}{REPORT}{end}"), "note: capped", 0).unwrap();
        assert_eq!(values.warnings, [hint, "note: capped"]);
        assert_eq!(values.version.as_deref(), Some("fio-3.33"));
    }
}
