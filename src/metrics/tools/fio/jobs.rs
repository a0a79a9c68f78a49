//! The figures of fio's JSON report, 2.x and 3.x. Jobs that ran at the same time are summed; latencies
//! can't be, so they stay with their job. Format: fio's HOWTO, "JSON output", and `stat.c`.

use std::collections::BTreeSet;

use serde_json::Value;

use super::names::{DIRECTIONS, Direction};
use crate::metrics::json::number;
use crate::metrics::{Measurement, Values};

/// Below this many milliseconds a rate may be off by more than 1 %.
const SHORT: f64 = 100.0;

/// Reads a whole report.
///
/// Errors: a job failed, nothing was moved, or a time was too short for fio to have a rate.
pub fn read(report: &Value) -> Result<Values, String> {
    let jobs: Vec<Job<'_>> = match report["jobs"].as_array() {
        Some(jobs) => jobs.iter().enumerate().map(|(index, value)| Job { index, value }).collect(),
        None => return Err("the report has no jobs; reports of `fio --client` are not read".to_owned()),
    };
    if let Some(reason) = jobs.iter().find_map(Job::failure) {
        return Err(reason);
    }
    let mut values =
        Values { version: report["fio version"].as_str().map(str::to_owned), ..Values::default() };
    // fio begins a new group at `stonewall`, where jobs wait for each other: groups are never summed.
    let groups: BTreeSet<u64> = jobs.iter().map(Job::group).collect();
    for direction in &DIRECTIONS {
        for group in &groups {
            let working = jobs.iter().filter(|job| job.group() == *group && job.has_work(direction));
            let working: Vec<&Job<'_>> = working.collect();
            for mut measurement in rates(direction, &working)? {
                if groups.len() > 1 {
                    measurement = measurement.labelled("group", group.to_string());
                }
                values.measurements.push(measurement);
            }
        }
        for job in jobs.iter().filter(|job| job.has_work(direction)) {
            let label = |one: Measurement| match jobs.len() {
                1 => one,
                _ => one.labelled("job", job.index.to_string()),
            };
            values.measurements.extend(job.latencies(direction).into_iter().map(label));
        }
    }
    if values.measurements.is_empty() {
        return Err("fio did no I/O".to_owned());
    }
    let idle = jobs.iter().filter(|job| DIRECTIONS.iter().all(|direction| !job.has_work(direction)));
    values.warnings.extend(idle.map(|job| format!("{job} did no I/O")));
    let short =
        jobs.iter().flat_map(|job| DIRECTIONS.iter().filter_map(|direction| job.shortness(direction)));
    values.warnings.extend(short);
    if jobs.len() > 1 {
        values
            .warnings
            .push("latencies are of single jobs: add `--group_reporting` for those of all".to_owned());
    }
    Ok(values)
}

/// The rates of jobs that ran together: none where none worked.
fn rates(direction: &Direction, jobs: &[&Job<'_>]) -> Result<Vec<Measurement>, String> {
    if jobs.is_empty() {
        return Ok(Vec::new());
    }
    let mut total = 0.0;
    for job in jobs {
        total +=
            job.rate(direction).ok_or_else(|| format!("{job} ran too short for a {} rate", direction.key))?;
    }
    let iops: Option<f64> = jobs.iter().map(|job| number(&job.of(direction)["iops"])).sum();
    let iops = iops.filter(|iops| *iops > 0.0).map(|iops| direction.iops.measured(iops));
    Ok(std::iter::once(direction.rate.measured(total)).chain(iops).collect())
}

/// One entry of `jobs`: a job, or with `group_reporting` all jobs of a group.
struct Job<'a> {
    index: usize,
    value: &'a Value,
}

impl Job<'_> {
    fn of(&self, direction: &Direction) -> &Value {
        &self.value[direction.key]
    }

    fn group(&self) -> u64 {
        self.value["groupid"].as_u64().unwrap_or(0)
    }

    /// Why the job does not count, where it has an error: its own, or errors that `continue_on_error` let pass.
    fn failure(&self) -> Option<String> {
        let code = number(&self.value["error"]).filter(|code| *code != 0.0);
        let passed = number(&self.value["total_err"]).filter(|count| *count > 0.0);
        code.map(|code| format!("{self} failed with error {code}"))
            .or(passed.map(|count| format!("{self} had {count} errors")))
    }

    /// Whether the job moved anything. fio prints all directions, with zeros where there was no work.
    fn has_work(&self, direction: &Direction) -> bool {
        let counters = ["io_bytes", "total_ios", "bw", "bw_bytes", "iops"];
        counters.iter().any(|key| number(&self.of(direction)[*key]).is_some_and(|count| count > 0.0))
    }

    /// In byte/s: `bw_bytes` of 3.x, else `bw`, which is in KiB/s. Never 0: fio prints 0 where the time is
    /// shorter than its resolution of 1 ms.
    fn rate(&self, direction: &Direction) -> Option<f64> {
        let figures = self.of(direction);
        let rate = number(&figures["bw_bytes"]).or(number(&figures["bw"]).map(|rate| rate * 1024.0));
        rate.filter(|rate| *rate > 0.0)
    }

    /// What is to be said of a rate over so few milliseconds that their rounding shows.
    fn shortness(&self, direction: &Direction) -> Option<String> {
        let runtime = number(&self.of(direction)["runtime"]).filter(|_| self.has_work(direction))?;
        let key = direction.key;
        (runtime < SHORT)
            .then(|| format!("{self}: its {key} rate is of {runtime} ms, which fio rounds to whole ones"))
    }

    /// Mean and percentiles of the completion latency: `clat_ns` of 3.x, else `clat`, which is in
    /// microseconds. A 0 stands for less than that, or for no figure, and is left out.
    fn latencies(&self, direction: &Direction) -> Vec<Measurement> {
        let figures = self.of(direction);
        let (latency, factor) = match figures.get("clat_ns") {
            Some(latency) => (latency, 1e-9),
            None => (&figures["clat"], 1e-6),
        };
        let listed = |rank: f64| {
            let mut listed = latency["percentile"].as_object().into_iter().flatten();
            let is_rank = |key: &str| key.parse::<f64>().is_ok_and(|key| (key - rank).abs() < 1e-9);
            listed.find(|(key, _)| is_rank(key)).and_then(|(_, value)| number(value))
        };
        let percentiles = direction.percentiles.iter().map(|(rank, metric)| (metric, listed(*rank)));
        std::iter::once((&direction.clat_mean, number(&latency["mean"])))
            .chain(percentiles)
            .filter_map(|(metric, value)| Some(metric.measured(value.filter(|value| *value > 0.0)? * factor)))
            .collect()
    }
}

impl std::fmt::Display for Job<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "job {} ({})", self.index, self.value["jobname"].as_str().unwrap_or("no name"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn values(jobs: Value) -> Result<Vec<(String, f64)>, String> {
        let report = json!({"fio version": "fio-3.33", "jobs": jobs});
        let named = |one: Measurement| {
            let labels: Vec<_> =
                one.labels.iter().map(|(label, value)| format!(" {label} {value}")).collect();
            (format!("{}{}", one.name, labels.concat()), one.value)
        };
        read(&report).map(|values| values.measurements.into_iter().map(named).collect())
    }

    fn job(group: u64, rate: u64, p99: u64) -> Value {
        json!({"jobname": "a", "groupid": group, "error": 0, "write": {"io_bytes": 0, "bw": 0, "iops": 0.0},
            "read": {"bw_bytes": rate, "bw": 1, "iops": 2.5, "clat_ns": {"mean": 0.0, "percentile": {"99.00": p99}}}})
    }

    fn expected(values: &[(&str, f64)]) -> Result<Vec<(String, f64)>, String> {
        Ok(values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect())
    }

    #[test]
    fn jobs_of_a_group_are_summed_and_groups_are_not() {
        let one = [("read_rate", 8.0), ("read_iops", 2.5), ("read_clat_p99", 2e9 * 1e-9)];
        assert_eq!(values(json!([job(0, 8, 2_000_000_000)])), expected(&one));
        let two = [("read_rate", 12.0), ("read_iops", 5.0), ("read_clat_p99 job 0", 1e9 * 1e-9)];
        assert_eq!(values(json!([job(0, 8, 1_000_000_000), job(0, 4, 0)])), expected(&two));
        let apart = [
            ("read_rate group 0", 8.0),
            ("read_iops group 0", 2.5),
            ("read_rate group 1", 4.0),
            ("read_iops group 1", 2.5),
        ];
        assert_eq!(values(json!([job(0, 8, 0), job(1, 4, 0)])), expected(&apart));
    }

    #[test]
    fn old_reports_have_kibibytes_and_microseconds() {
        let old = json!([{"jobname": "a", "groupid": 0, "error": 0, "read": {"io_bytes": 7116, "bw": 275,
            "iops": 68, "clat": {"mean": 250.0, "percentile": {"50.000000": 200, "0.00": 0}}}}]);
        let [mean, p50] = [250.0 * 1e-6, 200.0 * 1e-6];
        let old_values =
            [("read_rate", 281_600.0), ("read_iops", 68.0), ("read_clat_mean", mean), ("read_clat_p50", p50)];
        assert_eq!(values(old), expected(&old_values));
    }

    #[test]
    fn failures_have_a_reason() {
        let with = |key: &str, value: u64| {
            let mut job = job(0, 8, 1);
            job[key] = json!(value);
            json!([job])
        };
        let mut short = job(0, 0, 1);
        short["read"]["io_bytes"] = json!(4096);
        short["read"]["bw"] = json!(0);
        let cases = [
            (json!([]), "fio did no I/O"),
            (json!(null), "the report has no jobs; reports of `fio --client` are not read"),
            (json!([{"jobname": "a"}]), "fio did no I/O"),
            (with("error", 28), "job 0 (a) failed with error 28"),
            (with("total_err", 3), "job 0 (a) had 3 errors"),
            (json!([short]), "job 0 (a) ran too short for a read rate"),
        ];
        for (jobs, reason) in cases {
            assert_eq!(values(jobs.clone()), Err(reason.to_owned()), "{jobs}");
        }
    }
}
