//! What stress-ng measured of each stressor, out of the log's table or out of its YAML.

use super::{OPERATIONS, OPERATIONS_RATE, OPERATIONS_RATE_CPU, SECONDS, SYSTEM, USER};
use crate::metrics::{Measurement, text};

/// What was measured of one stressor.
#[derive(Debug, PartialEq)]
pub struct Row {
    pub stressor: String,
    pub operations: f64,
    /// In seconds, as `user` and `system` are.
    seconds: f64,
    user: f64,
    system: f64,
    /// Each second of real time.
    pub rate: f64,
    /// Each second of processor time.
    rate_cpu: f64,
}

impl Row {
    /// All its figures, with the stressor as their label.
    pub fn measurements(&self) -> Vec<Measurement> {
        // Processor time too short for its digits makes this rate 0.
        let rate_cpu = (self.rate_cpu > 0.0).then(|| OPERATIONS_RATE_CPU.measured(self.rate_cpu));
        let mut all = vec![OPERATIONS_RATE.measured(self.rate)];
        all.extend(rate_cpu);
        all.extend([
            OPERATIONS.measured(self.operations),
            SECONDS.measured(self.seconds),
            USER.measured(self.user),
            SYSTEM.measured(self.system),
        ]);
        all.into_iter().map(|one| one.labelled("stressor", &*self.stressor)).collect()
    }
}

/// The rows of the log's table: the name, operations, three times in seconds, two rates, and with `--metrics`
/// more. Other messages may stand between them.
pub fn table<'a>(messages: impl Iterator<Item = &'a str>) -> Vec<Row> {
    let is_head = |message: &&str| message.starts_with("stressor ") && message.contains("bogo ops");
    messages.skip_while(|message| !is_head(message)).filter_map(row).collect()
}

/// The row that a message is, if it is one.
fn row(message: &str) -> Option<Row> {
    let (stressor, numbers) = message.split_once(' ')?;
    let numbers: Option<Vec<f64>> = numbers.split_whitespace().map(text::plain_decimal).collect();
    let [operations, seconds, user, system, rate, rate_cpu, ..] = numbers?[..] else { return None };
    Some(Row { stressor: stressor.to_owned(), operations, seconds, user, system, rate, rate_cpu })
}

/// The rows and the version of the only YAML document, which `...` ends. Its lines are so few in kind that they are
/// read one by one.
pub fn document(text: &str) -> Option<(Vec<Row>, Option<String>)> {
    let lines: Vec<_> = text::whole_lines(text).collect();
    let mut starts = (0..lines.len()).filter(|at| lines[*at] == "metrics:");
    let start = starts.next().filter(|_| starts.next().is_none())?;
    let end = start + lines[start..].iter().position(|line| *line == "...")?;
    let value = |line: &'_ str| Some(line.split_once(": ")?.1.trim().trim_matches(['\'', '"']).to_owned());
    let is_version = |line: &&&str| line.trim_start().starts_with("stress-ng-version:");
    let version = lines[..start].iter().find(is_version).and_then(|line| value(line));
    let of_section =
        lines[start + 1..end].iter().take_while(|line| line.is_empty() || line.starts_with([' ', '-']));
    let of_section: Vec<_> = of_section.map(|line| line.trim()).collect();
    let mut starts: Vec<_> =
        (0..of_section.len()).filter(|at| of_section[*at].starts_with("- stressor: ")).collect();
    starts.push(of_section.len());
    let mut rows = Vec::new();
    for pair in starts.windows(2) {
        let lines = &of_section[pair[0]..pair[1]];
        let number = |key: &str| {
            let printed = lines.iter().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "))?;
            text::plain_decimal(printed.trim())
        };
        rows.push(Row {
            stressor: value(lines.first()?)?,
            operations: number("bogo-ops")?,
            seconds: number("wall-clock-time")?,
            user: number("user-time")?,
            system: number("system-time")?,
            rate: number("bogo-ops-per-second-real-time")?,
            rate_cpu: number("bogo-ops-per-second-usr-sys-time")?,
        });
    }
    Some((rows, version))
}
