//! The final rows of iperf3's text output, TCP in one direction only: the `[SUM]` rows, or those of the
//! single stream. All else is refused with the advice to add `--json`, because rates in text are rounded
//! to three digits and rows of several kinds look alike.

use super::{Direction, RECEIVED, RETRANSMITS, SENT, STREAMS, Values};

/// Reads the totals of cleaned text.
///
/// Errors: the output is not complete, is of a kind that text does not tell apart, or nothing moved.
pub fn read(text: &str) -> Result<Values, String> {
    let refuse = |what: &str| Err(format!("{what}; add `--json`"));
    let finals = text.lines().filter(|line| line.starts_with('[')).filter_map(|line| {
        let line = line.trim();
        line.strip_suffix("sender")
            .map(|line| (true, line))
            .or(line.strip_suffix("receiver").map(|line| (false, line)))
    });
    let Some(rows) = finals.map(|(sender, line)| Row::read(sender, line)).collect::<Option<Vec<Row>>>()
    else {
        return refuse("text output of UDP, of `--bidir` or in bytes is not read");
    };
    if rows.is_empty() {
        return refuse("no final sender or receiver row in the text output");
    }
    // Before this line more rows may come, and the total is the last of them.
    if !text.lines().any(|line| line.trim() == "iperf Done.") {
        return refuse("the text output is cut off or a server's");
    }
    let streams = |sender| rows.iter().filter(|row| row.sender == sender && row.id != "SUM").count();
    let total = |sender| {
        let id = if streams(sender) > 1 { "SUM" } else { rows[0].id };
        let mut totals = rows.iter().filter(|row| row.sender == sender && row.id == id);
        totals.next().filter(|_| totals.next().is_none())
    };
    let (Some(sent), Some(received)) = (total(true), total(false)) else {
        return refuse("the text output has no single pair of sender and receiver totals");
    };
    if received.rate <= 0.0 {
        return Err("nothing was received".to_owned());
    }
    let mut measurements = vec![
        SENT.measured(Direction::Single, sent.rate),
        RECEIVED.measured(Direction::Single, received.rate),
        STREAMS.measured(Direction::Single, streams(true) as f64),
    ];
    measurements.extend(sent.retransmits.map(|count| RETRANSMITS.measured(Direction::Single, count)));
    let warnings = vec!["read from text output, rounded to three digits; add `--json`".to_owned()];
    Ok(Values { measurements, warnings, ..Values::default() })
}

/// A final row of one stream or of their sum.
struct Row<'a> {
    id: &'a str,
    sender: bool,
    /// In bit/s.
    rate: f64,
    retransmits: Option<f64>,
}

impl<'a> Row<'a> {
    /// Reads `[ID]  FROM-TO  sec  AMOUNT UNIT  RATE UNIT  [RETRANSMITS]`; `None` for anything else.
    fn read(sender: bool, line: &'a str) -> Option<Self> {
        let (id, columns) = line.strip_prefix('[')?.split_once(']')?;
        let columns: Vec<&str> = columns.split_whitespace().collect();
        let (rate, unit, retransmits) = match columns.as_slice() {
            [_, "sec", _, _, rate, unit] => (rate, unit, None),
            [_, "sec", _, _, rate, unit, count] => (rate, unit, Some(count.parse::<u32>().ok()?)),
            _ => return None,
        };
        // Bits are decimal in iperf3, amounts in bytes are not.
        let factor = match *unit {
            "bits/sec" => 1.0,
            "Kbits/sec" => 1e3,
            "Mbits/sec" => 1e6,
            "Gbits/sec" => 1e9,
            "Tbits/sec" => 1e12,
            _ => return None,
        };
        let rate: f64 = rate.parse().ok().filter(|rate: &f64| rate.is_finite())?;
        Some(Self { id: id.trim(), sender, rate: rate * factor, retransmits: retransmits.map(f64::from) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Result<Vec<(String, f64)>, String> {
        read(text).map(|values| values.measurements.into_iter().map(|m| (m.name, m.value)).collect())
    }

    const SINGLE: &str = "\
[  5]   0.00-1.00   sec   118 MBytes   990 Mbits/sec    2    412 KBytes
[  5]   0.00-2.00   sec   225 MBytes   942 Mbits/sec    7             sender
[  5]   0.00-2.04   sec   224 MBytes   920 Kbits/sec                  receiver

iperf Done.
";

    #[test]
    fn a_single_stream_is_its_own_total() {
        let expected = [
            ("throughput_sent", 942e6),
            ("throughput_received", 920e3),
            ("streams", 1.0),
            ("retransmits", 7.0),
        ];
        let expected: Vec<_> = expected.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        assert_eq!(values(SINGLE), Ok(expected.clone()));
        let without_counter = SINGLE.replace("7             sender", "sender");
        assert_eq!(values(&without_counter), Ok(expected[..3].to_vec()));
    }

    #[test]
    fn what_is_not_clear_is_refused() {
        let not_read = "text output of UDP, of `--bidir` or in bytes is not read; add `--json`";
        let no_pair = "the text output has no single pair of sender and receiver totals; add `--json`";
        let row = "[  7]   0.00-2.00   sec   225 MBytes   942 Mbits/sec    7             sender\n";
        let cases = [
            ("".to_owned(), "no final sender or receiver row in the text output; add `--json`"),
            (SINGLE.replace("iperf Done.", ""), "the text output is cut off or a server's; add `--json`"),
            (SINGLE.replace("[  5]", "[  5][TX-C]"), not_read),
            (SINGLE.replace("Mbits/sec", "MBytes/sec"), not_read),
            (SINGLE.replace("7             sender", "0.003 ms  0/17259 (0%)  sender"), not_read),
            (SINGLE.replace("942 ", "1,1 "), not_read),
            (format!("{row}{SINGLE}"), no_pair),
            (format!("{SINGLE}{SINGLE}"), no_pair),
            (SINGLE.replace("920 Kbits", "0.00 bits"), "nothing was received"),
        ];
        for (text, reason) in cases {
            assert_eq!(values(&text), Err(reason.to_owned()), "{text}");
        }
    }
}
