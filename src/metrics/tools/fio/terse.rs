//! fio's terse lines of version 3 (`--output-format=terse`), one for each job or group. Nothing says how
//! many lines there should be, so nothing is summed: every value has the label of its line. Format: fio's
//! HOWTO, "Terse output".

use std::collections::BTreeSet;

use super::names::{DIRECTIONS, Direction};
use crate::metrics::{Measurement, Values};

/// How many fields a line has before those of disks, which depend on the machine.
const FIELDS: usize = 121;
/// Where the figures of reads begin, and those of writes.
const READ_AND_WRITE: [usize; 2] = [5, 46];
/// Places in the figures of a direction.
const RATE: usize = 1;
const IOPS: usize = 2;
const CLAT_MEAN: usize = 10;
const PERCENTILES: std::ops::Range<usize> = 12..32;
const SHARE_OF_RATE: usize = 38;

/// Whether there are terse lines of any version.
pub fn is_terse(text: &str) -> bool {
    text.lines().any(|line| line.starts_with(|c: char| c.is_ascii_digit()) && line.matches(';').count() > 4)
}

/// Reads every line of `text`.
///
/// Errors: a line of another version, a line that is cut off, a failed job, or no work at all.
pub fn read(text: &str) -> Result<Values, String> {
    let advise = |what: &str| format!("{what}: add `--output-format=json`");
    let mut values = Values::default();
    let mut jobs = BTreeSet::new();
    let lines = text.split_inclusive('\n').filter(|line| is_terse(line));
    for (index, line) in lines.enumerate() {
        let fields: Vec<&str> = line.trim_end().split(';').collect();
        let [version, program, name, group, error, ..] = fields.as_slice() else {
            return Err(advise("a terse line is not understood"));
        };
        if *version != "3" {
            return Err(advise(&format!("terse output of version {version} is not read")));
        }
        if !line.ends_with('\n') || fields.len() < FIELDS {
            return Err(advise("the terse output is cut off"));
        }
        // A job's name may hold semicolons; then every field is elsewhere.
        if READ_AND_WRITE.iter().any(|start| !fields[start + SHARE_OF_RATE].ends_with('%')) {
            return Err(advise("a terse line is not understood"));
        }
        // With `--status-interval` the same job has a line each time.
        if !jobs.insert((*name, *group)) {
            return Err(advise(&format!(
                "several terse lines of `{name}`: which is its total is not certain"
            )));
        }
        if *error != "0" {
            return Err(format!("job {index} ({name}) failed with error {error}"));
        }
        values.version = Some((*program).to_owned());
        for (direction, start) in DIRECTIONS.iter().zip(READ_AND_WRITE) {
            let found = figures(direction, &fields[start..]);
            values.measurements.extend(found.into_iter().map(|one| one.labelled("job", index.to_string())));
        }
    }
    if values.measurements.is_empty() {
        return Err("fio did no I/O".to_owned());
    }
    values.warnings.push(advise("terse output is cut to whole KiB/s, operations and microseconds"));
    Ok(values)
}

/// The values of one direction: rates in KiB/s, latencies in microseconds. A 0 is no work, or less than 1.
fn figures(direction: &Direction, fields: &[&str]) -> Vec<Measurement> {
    let number = |at: usize| fields[at].parse::<f64>().ok();
    let percentile = |rank: f64| {
        let mut listed = fields[PERCENTILES].iter().filter_map(|field| field.split_once("%="));
        listed.find(|(key, _)| key.parse() == Ok(rank)).and_then(|(_, value)| value.parse().ok())
    };
    let latencies = direction.percentiles.iter().map(|(rank, metric)| (metric, percentile(*rank), 1e-6));
    let all = [
        (&direction.rate, number(RATE), 1024.0),
        (&direction.iops, number(IOPS), 1.0),
        (&direction.clat_mean, number(CLAT_MEAN), 1e-6),
    ];
    all.into_iter()
        .chain(latencies)
        .filter_map(|(metric, value, factor)| {
            Some(metric.measured(value.filter(|value| *value > 0.0)? * factor))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(version: &str, name: &str, error: &str, rate: &str) -> String {
        let mut fields = vec!["0"; FIELDS];
        (fields[0], fields[1], fields[2], fields[4], fields[6]) = (version, "fio-3.33", name, error, rate);
        (fields[43], fields[84]) = ("0.0%", "0.0%");
        format!("{}\n", fields.join(";"))
    }

    #[test]
    fn each_line_is_a_job_of_its_own() {
        let values = read(&format!("{}{}", line("3", "a", "0", "2"), line("3", "b", "0", "3"))).unwrap();
        let found: Vec<_> =
            values.measurements.iter().map(|one| (one.value, one.labels["job"].as_str())).collect();
        assert_eq!(found, [(2048.0, "0"), (3072.0, "1")]);
    }

    #[test]
    fn what_is_not_clear_is_refused() {
        let cut = line("3", "a", "0", "2");
        let cases = [
            (line("4", "a", "0", "2"), "terse output of version 4 is not read: add `--output-format=json`"),
            (line("3", "a;b", "0", "2"), "a terse line is not understood: add `--output-format=json`"),
            (line("3", "a", "5", "2"), "job 0 (a) failed with error 5"),
            (line("3", "a", "0", "0"), "fio did no I/O"),
            (
                format!("{cut}{cut}"),
                "several terse lines of `a`: which is its total is not certain: add `--output-format=json`",
            ),
            (cut.trim_end().to_owned(), "the terse output is cut off: add `--output-format=json`"),
        ];
        for (text, reason) in cases {
            assert_eq!(read(&text), Err(reason.to_owned()), "{text}");
        }
    }
}
