//! The final totals of an iperf3 JSON report. Names differ by version: `sum_sent` and `sum_received`;
//! for UDP before 3.11 only `sum`; with `--bidir` the reverse ones under `…_bidir_reverse`, and before
//! 3.11 under the same names a second time.

use serde_json::Value;

use super::{
    Direction, JITTER, LOST_PACKETS, LOST_PERCENT, PACKETS, RECEIVED, RETRANSMITS, SENT, STREAMS, Values,
};
use crate::metrics::json::REPEATED;
use crate::units::Fixed;

/// Reads the totals of all directions.
///
/// Errors: no totals, no data moved, or two directions that can't be told apart.
pub fn read(start: &Value, end: &Value) -> Result<Values, String> {
    let mut values = Values::default();
    let settings = &start["test_start"];
    let streams = number(&settings["num_streams"]);
    for (direction, sums) in directions(end, settings["bidir"].as_u64() == Some(1))? {
        sums.read(direction, &mut values)?;
        values.measurements.extend(streams.map(|count| STREAMS.measured(direction, count)));
    }
    let fixed = fixed(settings);
    for rate in values.measurements.iter_mut().filter(|one| one.unit.is_rate()) {
        rate.fixed = fixed;
    }
    Ok(values)
}

/// What was asked for: an amount of bytes (`--bytes`) or blocks (`--blockcount`), else a time.
fn fixed(settings: &Value) -> Option<Fixed> {
    let asked = |key: &str| number(&settings[key]);
    match (asked("bytes"), asked("blocks"), asked("duration")) {
        (Some(bytes), Some(blocks), _) if bytes > 0.0 || blocks > 0.0 => Some(Fixed::Work),
        (Some(_), Some(_), Some(duration)) if duration > 0.0 => Some(Fixed::Time),
        _ => None,
    }
}

/// The totals of one direction.
#[derive(Clone, Copy)]
struct Sums<'a> {
    sent: Option<&'a Value>,
    received: Option<&'a Value>,
    /// UDP: the sender's bytes and rate with the receiver's losses.
    both: Option<&'a Value>,
}

impl<'a> Sums<'a> {
    fn new(end: &'a Value, suffix: &str) -> Self {
        let sum = |name: &str| end.get(format!("{name}{suffix}"));
        Self { sent: sum("sum_sent"), received: sum("sum_received"), both: sum("sum") }
    }

    /// The first total that is there.
    fn any(self) -> Option<&'a Value> {
        self.sent.or(self.received).or(self.both)
    }
}

/// Each direction with its totals.
fn directions(end: &Value, bidir: bool) -> Result<Vec<(Direction, Sums<'_>)>, String> {
    let first = Sums::new(end, "");
    let reverse = Sums::new(end, "_bidir_reverse");
    let repeated = Sums::new(end, REPEATED);
    if reverse.any().is_some() || bidir && repeated.any().is_none() {
        return Ok(vec![(Direction::Forward, first), (Direction::Reverse, reverse)]);
    }
    let Some(second) = repeated.any() else { return Ok(vec![(Direction::Single, first)]) };
    // `sender` says whether the reporting side, the client, sent.
    let forward = |sum: Option<&Value>| sum.and_then(|sum| sum["sender"].as_bool());
    match (forward(first.any()), forward(Some(second))) {
        (Some(true), Some(false)) => Ok(vec![(Direction::Forward, first), (Direction::Reverse, repeated)]),
        (Some(false), Some(true)) => Ok(vec![(Direction::Forward, repeated), (Direction::Reverse, first)]),
        _ => Err("the report has two totals of the same name and does not say which is reverse".to_owned()),
    }
}

impl Sums<'_> {
    /// Adds this direction's values. What is not printed stays missing; a total of nothing is no value.
    fn read(self, direction: Direction, values: &mut Values) -> Result<(), String> {
        let rate = |sum: Option<&Value>| number(&sum?["bits_per_second"]);
        let received = rate(self.received);
        // Without totals of both sides, `sum` holds what was sent; that is no received rate.
        let sent = rate(self.sent).or_else(|| if received.is_none() { rate(self.both) } else { None });
        match (sent, received) {
            (None, None) => return Err(format!("the report has no totals{}", of(direction))),
            (_, Some(rate)) if rate <= 0.0 => return Err(format!("nothing was received{}", of(direction))),
            (Some(rate), None) if rate <= 0.0 => return Err(format!("nothing was sent{}", of(direction))),
            _ => {}
        }
        // Data came but the sender's side is missing or all zeros: it was not reported, whatever it says.
        let sent = sent.filter(|rate| *rate > 0.0);
        if sent.is_none() {
            values.warnings.push(format!("the sender's totals were not reported{}", of(direction)));
        }
        let counter = self.sent.filter(|_| sent.is_some()).and_then(|sum| number(&sum["retransmits"]));
        // -1 stands for a side that has no such counter.
        let counter = counter.filter(|count| *count >= 0.0);
        for (known, value) in [(&SENT, sent), (&RECEIVED, received), (&RETRANSMITS, counter)] {
            values.measurements.extend(value.map(|value| known.measured(direction, value)));
        }
        self.read_udp(direction, values);
        Ok(())
    }

    /// Adds jitter and losses as the receiver saw them.
    fn read_udp(self, direction: Direction, values: &mut Values) {
        let of_receiver = self.received.filter(|sum| sum.get("packets").is_some());
        let Some(sum) = of_receiver.or(self.both) else { return };
        let fields = [
            (&JITTER, "jitter_ms", 1e-3),
            (&PACKETS, "packets", 1.0),
            (&LOST_PACKETS, "lost_packets", 1.0),
            (&LOST_PERCENT, "lost_percent", 1.0),
        ];
        for (known, key, factor) in fields {
            let value = number(&sum[key]);
            values.measurements.extend(value.map(|value| known.measured(direction, value * factor)));
        }
        // Old versions count reordered packets wrong (esnet/iperf#412, #1489); shown, not cut to 0..100.
        if let Some(percent) = number(&sum["lost_percent"]).filter(|percent| !(0.0..=100.0).contains(percent))
        {
            values.warnings.push(format!("iperf3 reports {percent} % of packets lost{}", of(direction)));
        }
    }
}

/// A JSON number; `None` where the tool printed none.
fn number(value: &Value) -> Option<f64> {
    value.as_f64().filter(|value| value.is_finite())
}

/// The direction as the end of a message.
fn of(direction: Direction) -> &'static str {
    match direction {
        Direction::Single => "",
        Direction::Forward => " in the forward direction",
        Direction::Reverse => " in the reverse direction",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn values(end: Value) -> Result<Vec<(String, f64)>, String> {
        let start = json!({"test_start": {"num_streams": 2}});
        read(&start, &end).map(|values| values.measurements.into_iter().map(|m| (m.name, m.value)).collect())
    }

    fn sum(rate: f64, sender: bool) -> Value {
        json!({"bits_per_second": rate, "sender": sender})
    }

    #[test]
    fn directions_of_any_version_are_told_apart() {
        let expected = Ok([("sent", 9.0), ("received", 8.0)]
            .map(|(name, value)| (format!("throughput_{name}"), value))
            .to_vec());
        let single = json!({"sum_sent": sum(9.0, true), "sum_received": sum(8.0, true)});
        assert_eq!(values(single).map(|values| values[..2].to_vec()), expected);

        let names = ["throughput_sent_forward", "throughput_received_forward", "streams_forward"];
        let reverse = names.map(|name| name.replace("forward", "reverse"));
        let names = names.map(str::to_owned).into_iter().chain(reverse);
        let expected: Vec<_> = names.zip([9.0, 8.0, 2.0, 6.0, 5.0, 2.0]).collect();
        let cases = [
            json!({"sum_sent": sum(9.0, true), "sum_received": sum(8.0, true),
                "sum_sent_bidir_reverse": sum(6.0, false), "sum_received_bidir_reverse": sum(5.0, false)}),
            json!({"sum_sent": sum(9.0, true), "sum_received": sum(8.0, true),
                "sum_sent#2": sum(6.0, false), "sum_received#2": sum(5.0, false)}),
            json!({"sum_sent": sum(6.0, false), "sum_received": sum(5.0, false),
                "sum_sent#2": sum(9.0, true), "sum_received#2": sum(8.0, true)}),
        ];
        for end in cases {
            assert_eq!(values(end.clone()), Ok(expected.clone()), "{end}");
        }
    }

    #[test]
    fn totals_of_nothing_are_no_values() {
        let cases = [
            (json!({}), "the report has no totals"),
            (json!({"sum_sent": {"bits_per_second": null}}), "the report has no totals"),
            (json!({"sum_sent": sum(0.0, true)}), "nothing was sent"),
            (json!({"sum": sum(0.0, true)}), "nothing was sent"),
            (json!({"sum_sent": sum(9.0, true), "sum_received": sum(0.0, true)}), "nothing was received"),
            (
                json!({"sum_sent": sum(9.0, true), "sum_sent#2": sum(9.0, true)}),
                "the report has two totals of the same name and does not say which is reverse",
            ),
            (
                json!({"sum_sent": sum(9.0, true), "sum_sent_bidir_reverse": sum(0.0, false)}),
                "nothing was sent in the reverse direction",
            ),
        ];
        for (end, reason) in cases {
            assert_eq!(values(end.clone()), Err(reason.to_owned()), "{end}");
        }
        let bidir = json!({"test_start": {"bidir": 1}});
        let reading = read(&bidir, &json!({"sum_sent": sum(9.0, true)}));
        assert_eq!(reading.err().as_deref(), Some("the report has no totals in the reverse direction"));
    }

    #[test]
    fn the_rates_know_what_was_asked_for() {
        for (settings, expected) in [
            (json!({"duration": 10, "bytes": 0, "blocks": 0}), Some(Fixed::Time)),
            (json!({"duration": 0, "bytes": 1_048_576, "blocks": 0}), Some(Fixed::Work)),
            (json!({"duration": 10, "bytes": 0, "blocks": 100}), Some(Fixed::Work)),
            (json!({"duration": 0, "bytes": 0, "blocks": 0}), None),
            (json!({"duration": 10}), None),
            (json!({}), None),
        ] {
            let end = json!({"sum_sent": {"bits_per_second": 9.0, "retransmits": 3}});
            let read = read(&json!({ "test_start": settings }), &end).unwrap();
            let found: Vec<_> = read.measurements.iter().map(|one| one.fixed).collect();
            assert_eq!(found, [expected, None], "{settings}");
        }
    }

    #[test]
    fn what_was_not_reported_is_missing_and_the_impossible_is_shown() {
        let end = json!({
            "sum_sent": {"bits_per_second": 0.0, "retransmits": 0},
            "sum_received": {"bits_per_second": 8.0, "packets": 3, "lost_percent": 179.5, "jitter_ms": null},
        });
        let Ok(read) = read(&Value::Null, &end) else { panic!("not read") };
        let names: Vec<_> = read.measurements.iter().map(|m| m.name.as_str()).collect();
        assert_eq!(names, ["throughput_received", "packets", "lost_percent"]);
        assert_eq!(
            read.warnings,
            ["the sender's totals were not reported", "iperf3 reports 179.5 % of packets lost"]
        );
        let end = json!({"sum_sent": {"bits_per_second": 9.0, "retransmits": -1}});
        assert_eq!(values(end), Ok(vec![("throughput_sent".to_owned(), 9.0), ("streams".to_owned(), 2.0)]));
    }
}
