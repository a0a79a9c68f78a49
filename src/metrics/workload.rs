//! What a workload asks for, read out of what a trial printed.

use std::collections::BTreeMap;

use crate::spec::metric::{Metrics, Source};
use crate::units::{Better, Unit};

use super::check::ELAPSED;
use super::{
    Details, Measurement, Metric, MetricParser, Reading, ToolOutput, Values, extract, parser, read_tool, text,
};

/// What a workload asks for.
#[derive(Debug, Default)]
pub struct Read {
    /// The values that are kept.
    pub measurements: Vec<Measurement>,
    /// What a user should see beside them.
    pub warnings: Vec<String>,
    /// What is kept besides.
    pub details: Details,
}

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
) -> Result<Read, String> {
    let output = |name: &str| {
        let name = service.map_or_else(|| name.to_owned(), |service| format!("services/{service}/{name}"));
        outputs.get(&name).copied().unwrap_or_default()
    };
    let tool_output =
        ToolOutput { stdout: output("stdout"), stderr: output("stderr"), exit_code: Some(exit_code) };
    let mut read = match metrics.tool.as_deref().and_then(|tool| parser(tool)) {
        Some(parser) => match read_tool(parser, tool_output) {
            Reading::Failed { reason } => return Err(reason),
            Reading::Ok(values) => of_tool(metrics, parser, values)?,
        },
        None if exit_code != 0 => return Err(text::reason("the command failed", tool_output)),
        None => Read::default(),
    };
    for (name, extract) in &metrics.extract {
        read.extend(extract::read(name, extract, outputs, service)?);
    }
    Ok(match service {
        Some(service) => read.of_service(service),
        None => read,
    })
}

impl Read {
    fn extend(&mut self, other: Read) {
        self.measurements.extend(other.measurements);
        self.warnings.extend(other.warnings);
        self.details.extend(other.details);
    }

    /// The same under the names that it has outside of its service.
    fn of_service(mut self, service: &str) -> Self {
        let outside = |name: &str| format!("{service}.{name}");
        self.measurements.iter_mut().for_each(|found| found.name = outside(&found.name));
        self.details.series.iter_mut().for_each(|found| found.name = outside(&found.name));
        self.details.histograms.iter_mut().for_each(|found| found.name = outside(&found.name));
        let tools = std::mem::take(&mut self.details.tools);
        self.details.tools = tools.into_iter().map(|(tool, version)| (outside(&tool), version)).collect();
        self
    }
}

/// What is kept of what a tool gave.
fn of_tool(metrics: &Metrics, parser: &dyn MetricParser, values: Values) -> Result<Read, String> {
    let tools = values.version.map(|version| (parser.tool().to_owned(), version)).into_iter().collect();
    let series = if metrics.series { values.series } else { Vec::new() };
    let measurements = kept(metrics, parser, values.measurements)
        .map_err(|reason| [&[reason][..], &values.warnings].concat().join("; "))?;
    Ok(Read {
        measurements,
        warnings: values.warnings,
        details: Details { tools, series, histograms: values.histograms },
    })
}

/// Whether `metrics`, of the workload or of a `service`, are read out of the output called `name`.
pub fn reads(metrics: &Metrics, service: Option<&str>, name: &str) -> bool {
    let own = |stream: &str| extract::output_name(&Source::Own(stream.to_owned()), service) == name;
    let of_tool = metrics.tool.is_some() && ["stdout", "stderr"].into_iter().any(own);
    of_tool || metrics.extract.values().any(|rule| extract::output_name(&rule.source(), service) == name)
}

/// Adds the measurement that every trial has: the wall time of its command on its machine, in seconds. A tool's
/// own `elapsed`, which is there only where the file asks for it, stands in its place. Returns whether it was added.
pub fn add_elapsed(measurements: &mut Vec<Measurement>, seconds: f64) -> bool {
    let is_measured = measurements.iter().any(|one| one.name == ELAPSED);
    if !is_measured {
        measurements.push(Metric::new(ELAPSED, Unit::Second, Some(Better::Lower)).measured(seconds));
    }
    !is_measured
}

fn kept(
    metrics: &Metrics,
    parser: &dyn MetricParser,
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
