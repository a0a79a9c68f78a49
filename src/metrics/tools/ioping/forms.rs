//! The three forms of ioping's figures. Formats: `ioping.c` of 1.3 and its manual page, "RAW STATISTICS".

use super::{IOPS, LATENCY_AVG, LATENCY_MAX, LATENCY_MDEV, LATENCY_MIN, REQUESTS, THROUGHPUT};
use crate::metrics::json::{self, number};
use crate::metrics::{Measurement, Values, text};

const NO_REQUEST: &str = "ioping completed no request";
const NANOSECOND: f64 = 1e-9;

/// Reads whichever form there is.
///
/// Errors: none, one that is cut off, or one without a completed request.
pub fn read(stdout: &str) -> Result<Values, String> {
    let found = json::find(stdout);
    if !found.objects.is_empty() || found.cut_off {
        return document(&found);
    }
    match stdout.lines().any(|line| line.ends_with(" ioping statistics ---")) {
        true => closing_lines(stdout),
        false => batch_line(stdout),
    }
}

/// Reads the last `stat` of a document: with `-print-count` there are some before it.
fn document(found: &json::Found) -> Result<Values, String> {
    let frame = found.around.lines().map(str::trim).find(|line| line.starts_with('[') && line.ends_with(']'));
    if frame.is_none_or(|line| line.contains(|c: char| !"[,] ".contains(c))) {
        return Err("the JSON document of ioping is cut off".to_owned());
    }
    let last = found.objects.iter().rev().map(|object| &object["stat"]).find(|stat| stat.is_object());
    let stat = last.ok_or("the JSON document of ioping has no `stat`")?;
    let figure = |key: &str| number(&stat[key]);
    let keys = ["count", "time", "iops", "bps", "min", "avg", "max", "mdev"].map(figure);
    measured(keys).map(|measurements| Values { measurements, ..Values::default() })
}

/// Reads the line of `-batch`: count, time, requests per second, bytes per second, minimum, average,
/// maximum, deviation, and the load with all requests and pauses; times in nanoseconds.
fn batch_line(stdout: &str) -> Result<Values, String> {
    let mut lines = stdout.split_inclusive('\n').filter(|line| !line.trim().is_empty());
    let (Some(line), None) = (lines.next(), lines.next()) else {
        return Err("no single result of ioping".to_owned());
    };
    let fields: Vec<Option<f64>> = line.split_whitespace().map(text::plain_decimal).collect();
    match fields.as_slice() {
        [count, time, iops, bytes, min, avg, max, mdev, Some(_), Some(_)] if line.ends_with('\n') => {
            let keys = [*count, *time, *iops, *bytes, *min, *avg, *max, *mdev];
            measured(keys).map(|measurements| Values { measurements, ..Values::default() })
        }
        _ => Err("the result of ioping is not understood".to_owned()),
    }
}

/// The values of count, time, requests and bytes per second, minimum, average, maximum, deviation.
///
/// Errors: one is missing, none was completed, or time is not in nanoseconds, as in versions before 0.9.
fn measured(figures: [Option<f64>; 8]) -> Result<Vec<Measurement>, String> {
    let [Some(count), Some(time), Some(iops), Some(bytes), Some(min), Some(avg), Some(max), Some(mdev)] =
        figures
    else {
        return Err("the result of ioping is not understood".to_owned());
    };
    if count <= 0.0 || time <= 0.0 || avg <= 0.0 {
        return Err(NO_REQUEST.to_owned());
    }
    // A whole number of requests per second may be cut by up to 1.
    if (count / (time * NANOSECOND) - iops).abs() > 1.0 + iops * 1e-6 {
        return Err("ioping's times are not in nanoseconds".to_owned());
    }
    Ok(vec![
        LATENCY_AVG.measured(avg * NANOSECOND),
        IOPS.measured(iops),
        THROUGHPUT.measured(bytes),
        LATENCY_MIN.measured(min * NANOSECOND),
        LATENCY_MAX.measured(max * NANOSECOND),
        LATENCY_MDEV.measured(mdev * NANOSECOND),
        REQUESTS.measured(count),
    ])
}

/// Reads the closing lines, whose figures are rounded to three or four digits.
fn closing_lines(stdout: &str) -> Result<Values, String> {
    let mut lines = stdout.lines().skip_while(|line| !line.ends_with(" ioping statistics ---")).skip(1);
    let cut_off = || "the result of ioping is cut off or not understood".to_owned();
    let (Some(completed), Some(generated), Some(latencies), None) =
        (lines.next(), lines.next(), lines.next(), lines.find(|line| !line.trim().is_empty()))
    else {
        return Err(cut_off());
    };
    if completed.starts_with("0 requests completed ") {
        return Err(NO_REQUEST.to_owned());
    }
    let mut measurements = read_latencies(latencies).ok_or_else(cut_off)?;
    let (count, rates) = completed.split_once(" requests completed in ").ok_or_else(cut_off)?;
    let rates: Vec<&str> = rates.split(", ").collect();
    let [.., iops, bytes] = rates.as_slice() else { return Err(cut_off()) };
    let iops = iops.strip_suffix(" iops").and_then(|iops| scaled(iops, &COUNTS)).ok_or_else(cut_off)?;
    let bytes = scaled(bytes, &BYTE_RATES).ok_or_else(cut_off)?;
    measurements.splice(1..1, [IOPS.measured(iops), THROUGHPUT.measured(bytes)]);
    // A large count is rounded, as in `11.6 k`; then it is left out.
    measurements.extend(count.parse::<u32>().ok().map(|count| REQUESTS.measured(f64::from(count))));
    let warning = generated.contains(" too ").then(|| text::shown(generated)).flatten();
    let rounded = "read from text, rounded to three digits; add `-json`".to_owned();
    Ok(Values { measurements, warnings: warning.into_iter().chain([rounded]).collect(), ..Values::default() })
}

/// Reads `min/avg/max/mdev = 138.6 us / 151.9 us / 158.7 us / 9.44 us`.
fn read_latencies(line: &str) -> Option<Vec<Measurement>> {
    let values = line.strip_prefix("min/avg/max/mdev = ")?.split(" / ");
    let values: Vec<f64> = values.map(|value| scaled(value, &TIMES)).collect::<Option<_>>()?;
    let [min, avg, max, mdev] = values.as_slice() else { return None };
    let named = [(LATENCY_AVG, avg), (LATENCY_MIN, min), (LATENCY_MAX, max), (LATENCY_MDEV, mdev)];
    Some(named.into_iter().map(|(metric, value)| metric.measured(*value)).collect())
}

const TIMES: [(&str, f64); 4] = [(" ns", 1e-9), (" us", 1e-6), (" ms", 1e-3), (" s", 1.0)];
const COUNTS: [(&str, f64); 4] = [(" k", 1e3), (" M", 1e6), (" G", 1e9), ("", 1.0)];
const BYTE_RATES: [(&str, f64); 5] = [
    (" KiB/s", 1024.0),
    (" MiB/s", 1048576.0),
    (" GiB/s", 1073741824.0),
    (" TiB/s", 1099511627776.0),
    (" B/s", 1.0),
];

/// A figure with one of `units`, in the base unit; the first that fits counts.
fn scaled(figure: &str, units: &[(&str, f64)]) -> Option<f64> {
    units
        .iter()
        .find_map(|(unit, factor)| Some(text::plain_decimal(figure.trim().strip_suffix(unit)?)? * factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOSING: &str = "\n--- /srv (ext4 /dev/vda 252.0 GiB) ioping statistics ---\n\
        11.6 k requests completed in 955.7 ms, 45.5 MiB read, 12.2 k iops, 47.6 MiB/s\n\
        generated 11.6 k requests in 1.00 s, 45.5 MiB, 11.6 k iops, 45.5 MiB/s\n\
        min/avg/max/mdev = 35.8 us / 82.1 us / 8.10 ms / 268.5 us\n";

    #[test]
    fn closing_lines_have_units_of_their_own() {
        let values: Vec<_> = read(CLOSING).unwrap().measurements.into_iter().map(|one| one.value).collect();
        let expected = [82.1 * 1e-6, 12.2 * 1e3, 47.6 * 1048576.0, 35.8 * 1e-6, 8.10 * 1e-3, 268.5 * 1e-6];
        assert_eq!(values, expected);
    }

    #[test]
    fn what_is_not_clear_is_refused() {
        let none = CLOSING.replace("11.6 k requests completed", "0 requests completed");
        let cut = "the result of ioping is cut off or not understood";
        let cases = [
            ("", "no single result of ioping"),
            ("1 2\n3 4\n", "no single result of ioping"),
            (
                "4 678883 5892 24133761 150504 169721 196744 17446 5 400264710",
                "the result of ioping is not understood",
            ),
            ("4 678883 5892 24133761 150504 169721 196744 17446\n", "the result of ioping is not understood"),
            ("4 679 5892 24133761 151 170 197 17 5 400265\n", "ioping's times are not in nanoseconds"),
            ("0 0 0 0 0 0 0 0 1 400265\n", NO_REQUEST),
            (&none, NO_REQUEST),
            (&CLOSING[..CLOSING.len() - 3], cut),
            (&CLOSING.replace("82.1 us", "82.1 m"), cut),
            (&CLOSING.replace("82.1 us", "82,1 us"), cut),
            (&CLOSING.replace("12.2 k iops, ", ""), cut),
            (r#"[{"stat":{"count":1}}"#, "the JSON document of ioping is cut off"),
            (r#"[{"io":{"time":1}}]"#, "the JSON document of ioping has no `stat`"),
            (r#"[{"stat":{"count":1}}]"#, "the result of ioping is not understood"),
        ];
        for (stdout, reason) in cases {
            assert_eq!(read(stdout), Err(reason.to_owned()), "{stdout}");
        }
    }
}
