//! iperf 2's reports as CSV.

use super::rows::{self, Row, Rows};
use crate::metrics::quantity;

/// Whether the output is CSV: a time stamp, four fields of addresses, a number, an interval.
pub fn is_csv(stdout: &str) -> bool {
    stdout.lines().any(|line| csv_row(line, None).is_some())
}

/// Reads CSV. It does not tell how many streams there are: without `-i`, the row of the first stream alone
/// looks like that of an only one. The first is 3 in iperf 2.0, 1 since 2.1; any other has companions.
pub fn of_csv(stdout: &str) -> Rows {
    let lines: Vec<_> = quantity::whole_lines(stdout).collect();
    let own_address = lines.first().and_then(|line| address(line));
    let rows: Vec<_> = lines.iter().filter_map(|line| csv_row(line, own_address)).collect();
    let has_first = rows.iter().any(|row| matches!(row.stream.as_str(), "1" | "3" | "SUM"));
    Rows { rows, streams: if has_first { 1 } else { 2 }, ..Rows::default() }
}

/// The address and port on this side.
fn address(line: &str) -> Option<(&str, &str)> {
    let mut fields = line.split(',');
    Some((fields.nth(1)?, fields.next()?))
}

/// `TIME,address,port,address,port,stream,0.0-10.0,bytes,bit/s`, and of datagrams jitter in ms, lost, all,
/// percent, out of order. Where nothing was received, all are -1.
fn csv_row(line: &str, own_address: Option<(&str, &str)>) -> Option<Row> {
    let fields: Vec<_> = line.trim().split(',').collect();
    let [time, .., stream, interval, _bytes, rate] = *fields.get(..9)? else { return None };
    let (start, end) = interval.split_once('-')?;
    quantity::number(time)?;
    let received = match fields.get(9..12) {
        Some([jitter, lost, packets]) => rows::datagrams(jitter, lost, packets),
        _ => None,
    };
    Some(Row {
        stream: if stream == "-1" { "SUM".to_owned() } else { stream.to_owned() },
        is_reverse: false,
        is_report: received.is_some() && own_address != address(line),
        start: quantity::number(start)?,
        end: quantity::number(end)?,
        may_be_interval: rows::may_be_interval(end),
        bits_per_second: quantity::number(rate)?,
        retransmits: None,
        datagrams: received,
    })
}
