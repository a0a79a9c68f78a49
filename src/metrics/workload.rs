//! What a workload asks for, read out of what a trial printed.

use std::collections::BTreeMap;

use crate::spec::metric::{Extract, Metrics};
use crate::units::{Better, Scale, Unit};

use super::check::ELAPSED;
use super::{Measurement, Reading, ToolOutput, extract_regex, parser, read_tool, text};

/// Reads every metric that `metrics` asks for. `outputs` holds `stdout`, `stderr`,
/// `services/NAME/stdout`, …; with a `service` it is that one's own output that is read, and its metrics
/// are called `SERVICE.METRIC`. An exit code that is fine is 0 here, whatever it was.
///
/// # Errors
/// Why there is no valid measurement.
pub fn read(
    metrics: &Metrics,
    outputs: &BTreeMap<String, &[u8]>,
    exit_code: i32,
    service: Option<&str>,
) -> Result<(Vec<Measurement>, Vec<String>), String> {
    let output = |name: &str| {
        let name = service.map_or_else(|| name.to_owned(), |service| format!("services/{service}/{name}"));
        outputs.get(&name).copied().unwrap_or_default()
    };
    let tool_output =
        ToolOutput { stdout: output("stdout"), stderr: output("stderr"), exit_code: Some(exit_code) };
    let (mut measurements, warnings) = match metrics.tool.as_deref().and_then(|tool| parser(tool)) {
        Some(parser) => match read_tool(parser, tool_output) {
            Reading::Failed { reason } => return Err(reason),
            Reading::Ok(values) => (kept(metrics, parser, values.measurements)?, values.warnings),
        },
        None if exit_code != 0 => return Err(text::reason("the command failed", tool_output)),
        None => (Vec::new(), Vec::new()),
    };
    for (name, extract) in &metrics.extract {
        let from = extract.from.as_deref().map_or("stdout", |from| from.as_str()).replace('.', "/");
        let found = match from.starts_with("services/") {
            true => outputs.get(&from).copied().unwrap_or_default(),
            false => output(&from),
        };
        measurements.extend(read_extract(name, extract, found)?);
    }
    if let Some(service) = service {
        measurements.iter_mut().for_each(|found| found.name = format!("{service}.{}", found.name));
    }
    Ok((measurements, warnings))
}

/// Whether `metrics`, of the workload or of a `service`, are read out of the output called `name`.
pub fn reads(metrics: &Metrics, service: Option<&str>, name: &str) -> bool {
    let own = |stream: &str| match service {
        Some(service) => format!("services/{service}/{stream}"),
        None => stream.to_owned(),
    };
    let of_tool = metrics.tool.is_some() && [own("stdout"), own("stderr")].iter().any(|own| own == name);
    of_tool
        || metrics.extract.values().any(|extract| {
            let from = extract.from.as_deref().map_or("stdout", |from| from.as_str()).replace('.', "/");
            if from.starts_with("services/") { from == name } else { own(&from) == name }
        })
}

/// Adds the measurement that every trial has: the wall time of its command on its machine, in seconds. A tool's
/// own `elapsed`, which is there only where the file asks for it, stands in its place. Returns whether it was added.
pub fn add_elapsed(measurements: &mut Vec<Measurement>, seconds: f64) -> bool {
    let is_measured = measurements.iter().any(|one| one.name == ELAPSED);
    if !is_measured {
        let better = Some(Better::Lower);
        let (name, labels) = (ELAPSED.to_owned(), BTreeMap::new());
        measurements.push(Measurement { name, value: seconds, unit: Unit::Second, better, labels });
    }
    !is_measured
}

fn kept(
    metrics: &Metrics,
    parser: &dyn super::MetricParser,
    measurements: Vec<Measurement>,
) -> Result<Vec<Measurement>, String> {
    let known = parser.metrics();
    let is_kept = |measurement: &Measurement| match metrics.keep.is_empty() {
        true => known
            .iter()
            .find(|metric| metric.name == measurement.name)
            .map_or(parser.names_more(), |metric| metric.headline),
        false => metrics.keep.values.iter().any(|name| name.as_str() == measurement.name),
    };
    let kept: Vec<Measurement> = measurements.into_iter().filter(is_kept).collect();
    match kept.is_empty() {
        true => Err(format!("the report of {} has none of the metrics to keep", parser.tool())),
        false => Ok(kept),
    }
}

fn read_extract(name: &str, extract: &Extract, output: &[u8]) -> Result<Vec<Measurement>, String> {
    let pattern = regex::Regex::new(&extract.regex).map_err(|error| error.to_string())?;
    let written = extract.unit.as_ref().map(|unit| unit.value.clone()).unwrap_or_default();
    let (unit, factor) = match Scale::named(&written) {
        Some((unit, scale)) => (unit, scale.factor),
        None => (Unit::from(written), 1.0),
    };
    let better = extract.better.as_ref().map(|better| better.value);
    let from = extract.from.as_ref().map_or("stdout", |from| from.as_str());
    let mut found = extract_regex(name, &pattern, unit, better, output)
        .map_err(|reason| format!("{reason}, in {from}"))?;
    for measurement in &mut found {
        measurement.value *= factor;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metric;

    #[test]
    fn a_record_has_one_elapsed() {
        let mut measurements = vec![Metric::new("user", Unit::Second, None).measured(1.0)];
        assert!(add_elapsed(&mut measurements, 5.0));
        assert_eq!((measurements[1].name.as_str(), measurements[1].value), ("elapsed", 5.0));
        assert!(!add_elapsed(&mut measurements, 6.0));
        assert_eq!(measurements.len(), 2, "{measurements:?}");
    }
}
