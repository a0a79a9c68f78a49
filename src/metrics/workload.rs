//! What a workload asks for, read out of what a trial printed.

use std::collections::BTreeMap;

use crate::spec::metric::{Extract, Metrics};
use crate::units::{Better, Scale, Unit};

use super::check::ELAPSED;
use super::{Measurement, Reading, ToolOutput, extract_regex, parser, text};

/// Reads every metric that `metrics` asks for. `outputs` holds `stdout`, `stderr`,
/// `services/NAME/stdout`, …; `elapsed_s` is the wall time of the command on its machine in seconds.
///
/// # Errors
/// Why the trial has no valid measurement.
pub fn read(
    metrics: &Metrics,
    outputs: &BTreeMap<String, &[u8]>,
    exit_code: i32,
    elapsed_s: f64,
) -> Result<(Vec<Measurement>, Vec<String>), String> {
    let output = |name: &str| outputs.get(name).copied().unwrap_or_default();
    let tool_output =
        ToolOutput { stdout: output("stdout"), stderr: output("stderr"), exit_code: Some(exit_code) };
    let (mut measurements, warnings) = match metrics.tool.as_deref().and_then(|tool| parser(tool)) {
        Some(parser) => match parser.read(tool_output) {
            Reading::Failed { reason } => return Err(reason),
            Reading::Ok { measurements, warnings } => (kept(metrics, parser, measurements)?, warnings),
        },
        None if exit_code != 0 => return Err(text::reason("the command failed", tool_output)),
        None => (Vec::new(), Vec::new()),
    };
    for (name, extract) in &metrics.extract {
        let from = extract.from.as_deref().map_or("stdout", |from| from.as_str()).replace('.', "/");
        measurements.extend(read_extract(name, extract, output(&from))?);
    }
    measurements.push(Measurement {
        name: ELAPSED.into(),
        value: elapsed_s,
        unit: Unit::Second,
        better: Some(Better::Lower),
        labels: BTreeMap::new(),
    });
    Ok((measurements, warnings))
}

/// The names of the metrics that `metrics` asks for.
pub fn names(metrics: &Metrics) -> Vec<String> {
    let headline = || {
        let parser = metrics.tool.as_deref().and_then(|tool| parser(tool))?;
        Some(
            parser
                .metrics()
                .into_iter()
                .filter(|metric| metric.headline)
                .map(|metric| metric.name.to_owned()),
        )
    };
    let of_tool: Vec<String> = match metrics.keep.is_empty() {
        true => headline().into_iter().flatten().collect(),
        false => metrics.keep.iter().map(|name| name.value.clone()).collect(),
    };
    let extracted = metrics.extract.keys().map(|name| name.value.clone());
    of_tool.into_iter().chain(extracted).chain([ELAPSED.to_owned()]).collect()
}

fn kept(
    metrics: &Metrics,
    parser: &dyn super::MetricParser,
    measurements: Vec<Measurement>,
) -> Result<Vec<Measurement>, String> {
    let headline = parser.metrics();
    let is_kept = |measurement: &Measurement| match metrics.keep.is_empty() {
        true => headline.iter().any(|metric| metric.headline && metric.name == measurement.name),
        false => metrics.keep.iter().any(|name| name.as_str() == measurement.name),
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
