//! Throughput over time: the intervals of a report, all streams of a direction together.

use serde::Deserialize;
use serde_json::Value;

use super::Direction;
use crate::metrics::Series;
use crate::units::Unit;

/// How the line of an interval begins in a JSON stream.
pub const EVENT: &str = "{\"event\":\"interval\"";

/// One interval, as far as it is kept.
#[derive(Debug, Deserialize)]
pub struct Interval {
    sum: Sum,
    sum_bidir_reverse: Option<Sum>,
}

#[derive(Debug, Deserialize)]
struct Sum {
    end: f64,
    bits_per_second: f64,
    /// Part of the time before the measurement that `--omit` leaves out.
    #[serde(default)]
    omitted: bool,
}

/// The interval of a line of a JSON stream; none where it has another form.
pub fn of_line(line: &str) -> Option<Interval> {
    #[derive(Deserialize)]
    struct Event {
        data: Interval,
    }
    serde_json::from_str(line).ok().map(|event: Event| event.data)
}

/// The intervals of a whole report.
pub fn of_report(report: &Value) -> Vec<Interval> {
    let all = report["intervals"].as_array().into_iter().flatten();
    all.filter_map(|interval| Interval::deserialize(interval).ok()).collect()
}

/// Throughput in bit/s at the end of each interval, in seconds since the start. `is_bidir` says that there are two
/// directions. Intervals before 3.11 have both under one name, and are left out.
pub fn series(intervals: &[Interval], is_bidir: bool) -> Vec<Series> {
    let points = |sum: fn(&Interval) -> Option<&Sum>| -> Vec<(f64, f64)> {
        let sums = intervals.iter().filter_map(sum).filter(|sum| !sum.omitted);
        sums.map(|sum| (sum.end, sum.bits_per_second)).collect()
    };
    let has_reverse = intervals.iter().any(|interval| interval.sum_bidir_reverse.is_some());
    if is_bidir && !has_reverse {
        return Vec::new();
    }
    let first = if is_bidir { Direction::Forward } else { Direction::Single };
    let directions = [
        (first, points(|interval| Some(&interval.sum))),
        (Direction::Reverse, points(|interval| interval.sum_bidir_reverse.as_ref())),
    ];
    let series = |(direction, points): (Direction, Vec<(f64, f64)>)| Series {
        name: format!("throughput{}", direction.suffix()),
        unit: Unit::BitPerSecond,
        points,
    };
    directions.into_iter().filter(|(_, points)| !points.is_empty()).map(series).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"event":"interval","data":{"streams":[],"sum":{"start":0,"end":1.5,"bits_per_second":8.0,"omitted":false}}}"#;

    #[test]
    fn points_lie_at_the_end_of_their_interval() {
        let omitted = LINE.replace("\"omitted\":false", "\"omitted\":true");
        let intervals: Vec<_> = [LINE, &omitted, "{", LINE].into_iter().filter_map(of_line).collect();
        let points = vec![(1.5, 8.0), (1.5, 8.0)];
        let expected = Series { name: "throughput".into(), unit: Unit::BitPerSecond, points };
        assert_eq!(series(&intervals, false), [expected]);
        assert_eq!(series(&intervals, true), [], "which direction it is, is not said");
    }

    #[test]
    fn two_directions_are_two_series() {
        let both = LINE.replace(
            "}}}",
            "},\"sum_bidir_reverse\":{\"end\":1.4,\"bits_per_second\":4.0,\"omitted\":false}}}",
        );
        let found = series(&[of_line(&both).unwrap()], true);
        let names: Vec<_> = found.iter().map(|series| (series.name.as_str(), series.points[0])).collect();
        assert_eq!(names, [("throughput_forward", (1.5, 8.0)), ("throughput_reverse", (1.4, 4.0))]);
    }
}
