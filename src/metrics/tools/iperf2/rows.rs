//! The rows of iperf 2's text reports, and which of a report's rows are totals.

use std::collections::BTreeMap;

use crate::metrics::quantity;

/// One row: the rate of a stream, or of all, in an interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The stream's number; `SUM` for the sum of all.
    pub stream: String,
    /// Whether the data went to the client.
    pub is_reverse: bool,
    /// Whether the row is the report that a server sent back.
    pub is_report: bool,
    pub start: f64,
    pub end: f64,
    /// Whether the row, when it is the only one, may be the first interval of more.
    pub may_be_interval: bool,
    pub bits_per_second: f64,
    pub retransmits: Option<f64>,
    /// Jitter in seconds, lost datagrams, and all of them (more than 0).
    pub datagrams: Option<(f64, f64, f64)>,
}

/// What an output holds.
#[derive(Debug, Default)]
pub struct Rows {
    pub rows: Vec<Row>,
    /// How many streams were announced.
    pub streams: usize,
    /// Whether the client said how many datagrams it sent, which it does in the end.
    pub is_closed: bool,
    /// Whether data went both ways: `--full-duplex`, or a client that was a server too (`-d`, `-r`).
    pub is_dual: bool,
}

/// The rows that count.
pub struct Totals {
    pub total: Row,
    pub reports: Vec<Row>,
    pub streams: usize,
}

/// Reads text.
pub fn of_text(stdout: &str) -> Rows {
    let mut read = Rows::default();
    let (mut is_report, mut has_retransmits) = (false, false);
    for line in quantity::whole_lines(stdout) {
        if line.contains(" local ") && line.contains(" connected with ") {
            read.streams += 1;
        } else if line.starts_with("[ ID] Interval") {
            has_retransmits = line.contains(" Write/Err  Rtry ");
        } else if line.trim_end().ends_with("Server Report:") {
            is_report = true;
        } else if line.contains("] Sent ") && line.trim_end().ends_with(" datagrams") {
            read.is_closed = true;
        } else if let Some(row) = text_row(line, has_retransmits) {
            read.rows.push(Row { is_report, ..row });
            is_report = false;
        }
    }
    let has = |words: &str| stdout.contains(words);
    read.is_dual = has(" (full-duplex) ") || (has("Server listening on ") && has("Client connecting to "));
    read
}

/// `[  1] 0.0000-1.0082 sec  2.16 GBytes  18.4 Gbits/sec  …`: with `-e` follow writes and errors, then
/// retransmits; from the receiver of datagrams `0.000 ms 0/4255 (0%)`.
fn text_row(line: &str, has_retransmits: bool) -> Option<Row> {
    let (stream, line) = line.trim_start().strip_prefix('[')?.split_once(']')?;
    let (interval, figures) = line.split_once(" sec ")?;
    let (start, end) = interval.split_once('-')?;
    let (start, end) = (quantity::number(start.trim())?, end.trim());
    let words: Vec<_> = figures.split_whitespace().collect();
    let [_, _, rate, unit, more @ ..] = words.as_slice() else { return None };
    let stream = stream.trim();
    let (stream, is_reverse) = stream.strip_prefix('*').map_or((stream, false), |stream| (stream, true));
    let retransmits = more.get(1).filter(|_| has_retransmits).and_then(|count| quantity::number(count));
    Some(Row {
        stream: if stream.starts_with("SUM") { "SUM".to_owned() } else { stream.to_owned() },
        is_reverse,
        is_report: false,
        start,
        end: quantity::number(end)?,
        may_be_interval: may_be_interval(end),
        bits_per_second: bits_per_second(quantity::number(rate)?, unit)?,
        retransmits,
        datagrams: text_datagrams(more),
    })
}

/// Whether an interval may end at `end`. With four decimals intervals end on a tenth of a second, and a
/// total some way behind it; with one decimal that is not seen, and only intervals up to a second are feared.
pub fn may_be_interval(end: &str) -> bool {
    match end.split_once('.') {
        Some((_, decimals)) if decimals.len() >= 3 => decimals.bytes().skip(1).all(|digit| digit == b'0'),
        _ => quantity::number(end).is_none_or(|end| end <= 1.0),
    }
}

/// `18.4 Gbits/sec` or `2408 MBytes/sec`.
fn bits_per_second(value: f64, unit: &str) -> Option<f64> {
    let unit = unit.strip_suffix("/sec")?;
    match unit.strip_suffix("bits") {
        Some(prefix) => quantity::scaled(value, prefix, 1000.0),
        None => quantity::scaled(value * 8.0, unit.strip_suffix("Bytes")?, 1024.0),
    }
}

fn text_datagrams(words: &[&str]) -> Option<(f64, f64, f64)> {
    let [jitter, "ms", counts @ ..] = words else { return None };
    // The counts are padded: `0/ 4255 (0%)`.
    let counts: String = counts.iter().take_while(|word| !word.starts_with('(')).copied().collect();
    let (lost, packets) = counts.split_once('/')?;
    datagrams(jitter, lost, packets)
}

/// Jitter in seconds, lost datagrams and all; `None` where none were.
pub fn datagrams(jitter: &str, lost: &str, packets: &str) -> Option<(f64, f64, f64)> {
    let jitter = quantity::seconds(quantity::number(jitter)?, "ms")?;
    let (lost, packets) = (quantity::number(lost)?, quantity::number(packets)?);
    (packets > 0.0).then_some((jitter, lost, packets))
}

/// The total of all streams and the reports of the server, or what is wrong.
///
/// A stream's total is its last row and starts at 0. Behind rows of intervals (`-i`), a closing line or the
/// server's report that is certain; an only row is believed where [`may_be_interval`] excludes that the
/// output was cut off behind it. More than one stream needs the sum that iperf prints.
pub fn totals(read: Rows) -> Result<Totals, String> {
    let Rows { rows, streams, is_closed, is_dual } = read;
    let (reports, rows): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.is_report);
    if is_dual || rows.iter().any(|row| row.is_reverse != rows[0].is_reverse) {
        return Err("iperf tested both directions, which is not read".to_owned());
    }
    let mut of_stream: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in &rows {
        of_stream.entry(&row.stream).or_default().push(row);
    }
    let is_total = |rows: &Vec<&Row>| match rows.as_slice() {
        [.., before, last] => last.start == 0.0 && before.end <= last.end,
        [only] => only.start == 0.0,
        [] => false,
    };
    if of_stream.is_empty() || !of_stream.values().all(is_total) {
        return Err("no total of iperf".to_owned());
    }
    let is_behind_intervals = of_stream.values().any(|rows| rows.len() > 1);
    let is_certain = is_closed || is_behind_intervals || !reports.is_empty();
    if !is_certain && rows.iter().all(|row| row.may_be_interval) {
        return Err("the only row of iperf may be its first interval (is the output cut off?)".to_owned());
    }
    let is_single = of_stream.len() == 1 && streams <= 1;
    let total = of_stream.get("SUM").or(of_stream.values().next().filter(|_| is_single));
    match total.and_then(|rows| rows.last()) {
        Some(total) => Ok(Totals { total: (*total).clone(), reports, streams }),
        None => Err("no sum of iperf's streams".to_owned()),
    }
}
