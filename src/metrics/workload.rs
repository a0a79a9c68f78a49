//! What a workload asks for, read out of what a trial printed.

use std::collections::BTreeMap;

use crate::spec::metric::{Metrics, Source};
use crate::units::{Better, Unit};

use super::check::ELAPSED;
use super::{Measurement, Metric, Reading, ToolOutput, extract, parser, read_tool, text};

/// Reads every metric that `metrics` asks for. `outputs` holds `stdout`, `stderr`,
/// `services/NAME/stdout`, `files/PATH`, …; with a `service` it is that one's own output that is read, and its metrics
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
        measurements.extend(extract::read(name, extract, outputs, service)?);
    }
    if let Some(service) = service {
        measurements.iter_mut().for_each(|found| found.name = format!("{service}.{}", found.name));
    }
    Ok((measurements, warnings))
}

/// Whether `metrics`, of the workload or of a `service`, are read out of the output called `name`.
pub fn reads(metrics: &Metrics, service: Option<&str>, name: &str) -> bool {
    let own = |stream: &str| extract::output_name(&Source::Own(stream.to_owned()), service) == name;
    let of_tool = metrics.tool.is_some() && ["stdout", "stderr"].into_iter().any(own);
    of_tool || metrics.extract.values().any(|rule| extract::output_name(&rule.source(), service) == name)
}

/// The measurement that every trial has: the wall time of its command on its machine, in seconds.
pub fn elapsed(seconds: f64) -> Measurement {
    Metric::new(ELAPSED, Unit::Second, Some(Better::Lower)).measured(seconds)
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
