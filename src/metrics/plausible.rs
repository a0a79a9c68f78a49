//! Reads a tool's output and marks what can't be true. A marked value stays as the tool printed it: whoever
//! reads the report decides. Only NaN and infinity go, for no record may hold them.

use super::{Measurement, MetricParser, Reading, ToolOutput, Values};
use crate::units::Unit;

/// Reads `output` with `parser`. Every value is finite; what can't be true has a warning.
pub fn read_tool(parser: &dyn MetricParser, output: ToolOutput<'_>) -> Reading {
    let mut values = match parser.read(output) {
        Reading::Ok(values) => values,
        failed @ Reading::Failed { .. } => return failed,
    };
    let (finite, other): (Vec<_>, Vec<_>) =
        values.measurements.into_iter().partition(|measurement| measurement.value.is_finite());
    if finite.is_empty() {
        let reason = format!("the output of {} holds no number to keep", parser.tool());
        return Reading::Failed { reason };
    }
    let unusable = other.iter().map(|one| format!("{} is {}: left out", shown(one), one.value));
    values.warnings.extend(unusable.chain(doubts(&finite)));
    Reading::Ok(Values { measurements: finite, ..values })
}

/// What can't be true of `measurements`, a sentence each.
pub fn doubts(measurements: &[Measurement]) -> Vec<String> {
    let alone = measurements.iter().filter_map(|one| match one.unit {
        Unit::Percent if !(0.0..=100.0).contains(&one.value) => {
            Some(format!("{} is {} %, which can't be", shown(one), one.value))
        }
        _ if one.value < 0.0 && one.unit != Unit::Percent => {
            Some(format!("{} is {}, which can't be", shown(one), one.value))
        }
        _ => None,
    });
    let pairs = measurements.iter().flat_map(|low| measurements.iter().map(move |high| (low, high)));
    let disordered = pairs.filter(|(low, high)| is_disordered(low, high)).map(|(low, high)| {
        format!("{} ({}) is above {} ({}), which can't be", shown(low), low.value, high.name, high.value)
    });
    alone.chain(disordered).chain(losses(measurements)).collect()
}

/// A share of lost packets that does not follow from the counts beside it.
fn losses(measurements: &[Measurement]) -> Vec<String> {
    let count = |of: &Measurement, name: String| {
        measurements.iter().find(|one| one.name == name && one.labels == of.labels).map(|one| one.value)
    };
    let doubt = |share: &Measurement| {
        let (_, suffix) = share.name.split_once("lost_percent")?;
        let lost = count(share, format!("lost_packets{suffix}"))?;
        let packets = count(share, format!("packets{suffix}"))?;
        let computed = 100.0 * lost / packets;
        ((computed - share.value).abs() > 0.1).then(|| {
            format!(
                "{} is {} %, but {lost} of {packets} packets are {computed:.3} %",
                shown(share),
                share.value
            )
        })
    };
    measurements.iter().filter_map(doubt).collect()
}

/// Whether `low` should be at most `high`, of the same distribution, and is not.
fn is_disordered(low: &Measurement, high: &Measurement) -> bool {
    let (Some((stem, below)), Some((other, above))) = (rank(&low.name), rank(&high.name)) else {
        return false;
    };
    stem == other && below < above && low.value > high.value && low.labels == high.labels
}

/// The distribution that a metric describes, and where in it its value lies, in percent: `latency_p99` is
/// at 99 of `latency`.
fn rank(name: &str) -> Option<(&str, f64)> {
    let (stem, figure) = name.rsplit_once('_')?;
    let rank = match figure {
        "min" => 0.0,
        "max" => 100.0,
        _ => figure.strip_prefix('p')?.parse().ok()?,
    };
    Some((stem, rank))
}

/// A measurement's name with its labels.
fn shown(measurement: &Measurement) -> String {
    let labels: Vec<_> = measurement.labels.iter().map(|(label, value)| format!("{label}={value}")).collect();
    match labels.is_empty() {
        true => measurement.name.clone(),
        false => format!("{} ({})", measurement.name, labels.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metric;

    fn measured(name: &'static str, unit: Unit, value: f64) -> Measurement {
        Metric::new(name, unit, None).measured(value)
    }

    #[test]
    fn what_cannot_be_is_marked_and_stays() {
        let cases = [
            (vec![measured("loss", Unit::Percent, 179.0)], vec!["loss is 179 %, which can't be"]),
            (vec![measured("loss", Unit::Percent, -1.0)], vec!["loss is -1 %, which can't be"]),
            (vec![measured("loss", Unit::Percent, 100.0)], vec![]),
            (vec![measured("rtt_min", Unit::Second, -0.5)], vec!["rtt_min is -0.5, which can't be"]),
            (
                vec![measured("latency_p95", Unit::Second, 3.0), measured("latency_max", Unit::Second, 2.0)],
                vec!["latency_p95 (3) is above latency_max (2), which can't be"],
            ),
            (
                vec![measured("a_p99.9", Unit::Second, 1.0), measured("a_p50", Unit::Second, 2.0)],
                vec!["a_p50 (2) is above a_p99.9 (1), which can't be"],
            ),
            (vec![measured("a_max", Unit::Second, 1.0), measured("b_min", Unit::Second, 2.0)], vec![]),
            (
                vec![
                    measured("a_max", Unit::Second, 1.0).labelled("job", "1"),
                    measured("a_min", Unit::Second, 2.0).labelled("job", "2"),
                ],
                vec![],
            ),
        ];
        for (measurements, expected) in cases {
            assert_eq!(doubts(&measurements), expected, "{measurements:?}");
        }
    }

    struct Odd(&'static [f64]);

    impl MetricParser for Odd {
        fn tool(&self) -> &'static str {
            "odd"
        }

        fn metrics(&self) -> Vec<Metric> {
            vec![]
        }

        fn read(&self, _: ToolOutput<'_>) -> Reading {
            let measurements = self.0.iter().map(|value| measured("m", Unit::Count, *value)).collect();
            Reading::Ok(Values { measurements, ..Values::default() })
        }
    }

    #[test]
    fn only_finite_values_are_kept() {
        let Reading::Ok(values) = read_tool(&Odd(&[f64::NAN, 1.0]), ToolOutput::default()) else { panic!() };
        assert_eq!(values.measurements, [measured("m", Unit::Count, 1.0)]);
        assert_eq!(values.warnings, ["m is NaN: left out"]);
        let failed = read_tool(&Odd(&[f64::INFINITY]), ToolOutput::default());
        assert_eq!(failed, Reading::Failed { reason: "the output of odd holds no number to keep".into() });
    }
}
