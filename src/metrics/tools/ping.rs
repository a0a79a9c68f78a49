//! Reads the closing statistics of ping: iputils, busybox and BSD, also with `-q` and in other languages.
//! Translations keep the order of the figures (sent, received, then min/avg/max/deviation); the printed
//! loss confirms the counts, and min <= avg <= max the times. BSD's `stddev` is what iputils calls `mdev`.

use crate::metrics::{Metric, MetricParser, Reading, ToolOutput, Values, quantity, text};
use crate::units::{Better, Unit};

const LOWER: Option<Better> = Some(Better::Lower);
const AVERAGE: Metric = Metric::headline("rtt_avg", Unit::Second, LOWER);
const MINIMUM: Metric = Metric::new("rtt_min", Unit::Second, LOWER);
const MAXIMUM: Metric = Metric::new("rtt_max", Unit::Second, LOWER);
const DEVIATION: Metric = Metric::new("rtt_mdev", Unit::Second, LOWER);
const LOSS: Metric = Metric::new("loss", Unit::Percent, LOWER);
const TRANSMITTED: Metric = Metric::new("transmitted", Unit::Count, None);
const RECEIVED: Metric = Metric::new("received", Unit::Count, None);

/// Milliseconds in the languages of iputils; every ping gives its times in them.
const MILLISECONDS: [&str; 4] = ["ms", "ミリ秒", "毫秒", "мс"];

/// The ping parser.
pub struct Ping;

impl MetricParser for Ping {
    fn tool(&self) -> &'static str {
        "ping"
    }

    fn version_option(&self) -> Option<&'static str> {
        Some("-V")
    }

    fn metrics(&self) -> Vec<Metric> {
        vec![AVERAGE, MINIMUM, MAXIMUM, DEVIATION, LOSS, TRANSMITTED, RECEIVED]
    }

    fn read(&self, output: ToolOutput<'_>) -> Reading {
        let stdout = text::clean(output.stdout);
        let lines: Vec<_> = quantity::whole_lines(&stdout).collect();
        // 1 is also the code of a run in which some answers are missing.
        if output.exit_code.is_some_and(|code| code > 1) {
            return text::failed("ping failed", output);
        }
        let mut headings = lines.iter().enumerate().filter(|(_, line)| is_heading(line));
        let (Some((heading, _)), another) = (headings.next(), headings.next()) else {
            return text::failed("ping gave no statistics", output);
        };
        if another.is_some() {
            return Reading::Failed { reason: "more than one ping in one output, expected one".to_owned() };
        }
        let closing = &lines[heading + 1..];
        let Some(counts) = closing.first().and_then(|line| Counts::read(line)) else {
            return text::failed("ping's counts are not understood", output);
        };
        if counts.received == 0.0 {
            return text::failed("ping got no answer", output);
        }
        let Some(times) = closing[1..].iter().find_map(|line| line.split_once(" = ")) else {
            return text::failed("no round trip times (packets below 16 bytes carry none)", output);
        };
        let Some(times) = round_trips(times.1) else {
            return text::failed("ping's round trip times are not understood", output);
        };
        let named = [MINIMUM, AVERAGE, MAXIMUM, DEVIATION].into_iter().zip(times);
        let mut measurements: Vec<_> = named.map(|(metric, time)| metric.measured(time)).collect();
        measurements.extend([
            LOSS.measured(counts.loss()),
            TRANSMITTED.measured(counts.transmitted),
            RECEIVED.measured(counts.received),
        ]);
        let stderr = text::clean(output.stderr);
        let mut warnings: Vec<_> = stderr.lines().filter_map(text::shown).take(5).collect();
        warnings.extend(counts.has_more.then(|| closing[0].trim().to_owned()));
        Reading::Ok(Values { measurements, warnings, ..Values::default() })
    }
}

/// `--- HOST ping statistics ---`, in any language. A flood's dots are rubbed out with backspaces.
fn is_heading(line: &str) -> bool {
    let line = line.trim_matches(|c: char| c.is_whitespace() || c == '\u{8}');
    line.len() > 8 && line.starts_with("--- ") && line.ends_with(" ---")
}

/// `4 packets transmitted, 3 received, +1 errors, 25% packet loss, time 3004ms`.
struct Counts {
    /// More than 0.
    transmitted: f64,
    received: f64,
    /// Whether duplicates, corrupted packets or errors are told of too.
    has_more: bool,
}

impl Counts {
    /// `None` where the printed loss is not that of the counts.
    fn read(line: &str) -> Option<Self> {
        let fields: Vec<_> = line.split([',', '，', '、']).map(str::trim).collect();
        let [transmitted, received, more @ ..] = fields.as_slice() else { return None };
        let is_extra = |field: &&str| field.starts_with('+') || field.contains("duplicate");
        let counts = Self {
            transmitted: sole_number(transmitted).filter(|count| *count > 0.0)?,
            received: sole_number(received)?,
            has_more: more.iter().any(is_extra),
        };
        let loss = more.iter().find(|field| field.contains('%'))?;
        let loss = loss.split(|c: char| !c.is_ascii_digit() && c != '.').find(|digits| !digits.is_empty());
        // Some cut the printed loss to a whole number.
        let agrees = (quantity::number(loss?)? - counts.loss()).abs() < 1.0;
        (agrees && counts.received <= counts.transmitted).then_some(counts)
    }

    fn loss(&self) -> f64 {
        100.0 * (self.transmitted - self.received) / self.transmitted
    }
}

/// The only figure in a field of words.
fn sole_number(field: &str) -> Option<f64> {
    let mut figures = field.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
    figures.next().filter(|_| figures.next().is_none()).and_then(quantity::number)
}

/// Minimum, average, maximum and, where it is printed, deviation in seconds of
/// `0.069/0.076/0.084/0.005 ms, pipe 2`. All have three decimals, so a comma can't be that of a group.
fn round_trips(text: &str) -> Option<Vec<f64>> {
    let end = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ',' | '/'))?;
    let (figures, unit) = (&text[..end], text[end..].trim_start());
    MILLISECONDS.iter().find(|known| unit.starts_with(**known))?;
    let three_decimals = |figure: &str| {
        let (_, decimals) = figure.split_once(['.', ','])?;
        text::decimal(figure).filter(|_| decimals.len() == 3).map(|value| value / 1e3)
    };
    let times: Vec<_> = figures.split('/').map(three_decimals).collect::<Option<_>>()?;
    let is_ordered = matches!(times[..], [low, mid, high] | [low, mid, high, _] if low <= mid && mid <= high);
    is_ordered.then_some(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(stdout: &str, exit_code: i32) -> Result<Values, String> {
        let output = ToolOutput { stdout: stdout.as_bytes(), stderr: b"", exit_code: Some(exit_code) };
        match Ping.read(output) {
            Reading::Ok(values) => Ok(values),
            Reading::Failed { reason } => Err(reason),
        }
    }

    #[test]
    fn languages_are_read() {
        let cases = [
            "--- h ping statistics ---\n2 packets transmitted, 1 received, 50% packet loss, time 201ms\n\
             rtt min/avg/max/mdev = 0.065/0.066/0.067/0.001 ms\n",
            "--- h ping 통계 ---\n2 패킷이 전송됨, 1 수신됨, 50% 패킷 손실, 시간 201ms\n\
             rtt 최소/평균/최대/표준편차 = 0.065/0.066/0.067/0.001 ms\n",
            "--- statistiques ping h ---\n2 paquets transmis, 1 reçus, 50 % paquets perdus, temps 201 ms\n\
             rtt min/moy/max/mdev = 0,065/0,066/0,067/0,001 ms\n",
            "--- h ping 统计 ---\n已发送 2 个包， 已接收 1 个包, 50% 包丢失, 耗时 201 毫秒\n\
             rtt 最小/平均/最大/平均偏差 = 0.065/0.066/0.067/0.001 毫秒\n",
            "--- h ping 統計 ---\n送信パケット数 2, 受信パケット数 1, パケット損失 50%, 時間 201ミリ秒\n\
             rtt 最小/平均/最大/mdev = 0.065/0.066/0.067/0.001ミリ秒\n",
        ];
        for stdout in cases {
            let values = reading(stdout, 1).unwrap().measurements;
            let values: Vec<_> = values.iter().map(|measurement| measurement.value).collect();
            assert_eq!(
                values,
                [0.065 / 1e3, 0.066 / 1e3, 0.067 / 1e3, 0.001 / 1e3, 50.0, 2.0, 1.0],
                "{stdout}"
            );
        }
    }

    #[test]
    fn failures_have_a_reason() {
        let closing = "--- h ping statistics ---\n2 packets transmitted, 2 received, 0% packet loss\n";
        let times = "rtt min/avg/max/mdev = 0.065/0.066/0.067/0.001 ms\n";
        let cases = [
            (String::new(), "ping gave no statistics"),
            (closing.to_owned(), "no round trip times"),
            (format!("{closing}{}", times.trim_end()), "no round trip times"),
            (format!("{closing}{times}{closing}{times}"), "more than one ping"),
            (format!("{closing}{}", times.replace(" ms", " s")), "times are not understood"),
            (format!("{closing}{}", times.replace("0.066", "0.068")), "times are not understood"),
            (format!("{closing}{}", times.replace("0.066", "nan")), "times are not understood"),
            (format!("{closing}{}", times.replace("0.066", "1.066,066")), "times are not understood"),
            (format!("{}{times}", closing.replace("0%", "50%")), "counts are not understood"),
            (format!("{}{times}", closing.replace("2 received", "3 received")), "counts are not understood"),
            (
                closing.replace("2 received, 0%", "0 received, 100%"),
                "ping got no answer (exit code 1): --- h ping statistics ---; 2 packets transmitted, \
                 0 received, 100% packet loss",
            ),
        ];
        for (stdout, words) in cases {
            let reason = reading(&stdout, 1).unwrap_err();
            assert!(reason.contains(words), "{reason}");
        }
        assert!(reading(&format!("{closing}{times}"), 2).unwrap_err().starts_with("ping failed"));
    }

    #[test]
    fn duplicates_are_told() {
        let stdout = "--- h ping statistics ---\n2 packets transmitted, 2 packets received, 1 duplicates, \
                      0% packet loss\nround-trip min/avg/max = 0.1/0.2/0.3 ms\n";
        let stdout = stdout.replace("0.1/0.2/0.3", "0.100/0.200/0.300");
        let values = reading(&stdout, 0).unwrap();
        let told = "2 packets transmitted, 2 packets received, 1 duplicates, 0% packet loss";
        assert_eq!(values.warnings, [told]);
        assert!(values.measurements.iter().all(|one| one.name != "rtt_mdev"));
    }
}
