//! What `runner extract` tells: a reading as JSON, the known tools, and what has changed in a run.

use serde_json::json;

use super::table::Table;
use super::{inform, show_text};
use crate::error::Error;
use crate::metrics::{Measurement, Reading, TOOLS};
use crate::units::Better;

/// How many changed trials are told one by one.
const MOST_TOLD: usize = 10;

/// What came of reading the outputs of a run again.
#[derive(Debug, Default)]
pub struct Told {
    /// How many trials were read.
    pub read: usize,
    /// Trials with what is other now.
    pub changed: Vec<(String, String)>,
    /// Trials with why they could not be read.
    pub unread: Vec<(String, String)>,
}

/// Prints a reading as one JSON object.
pub fn show_reading(reading: &Reading) -> Result<(), Error> {
    let object = match reading {
        Reading::Ok(values) => {
            let measurement = |found: &Measurement| json!({"name": found.name, "value": found.value, "unit": found.unit, "labels": found.labels});
            let measurements: Vec<_> = values.measurements.iter().map(measurement).collect();
            json!({"status": "ok", "reason": null, "warnings": values.warnings, "measurements": measurements})
        }
        Reading::Failed { reason } => {
            json!({"status": "failed", "reason": reason, "warnings": [], "measurements": []})
        }
    };
    show_text(|out| writeln!(out, "{object}"))
}

/// Prints every tool with its metrics.
pub fn show_list() -> Result<(), Error> {
    let head = ["tool", "metric", "unit", "better", "kept by default"].map(str::to_owned).to_vec();
    let mut rows = vec![head];
    for parser in TOOLS {
        let row = |name: &str, unit: &str, better: &str, is_kept: bool| {
            let kept = if is_kept { "yes" } else { "" };
            [parser.tool(), name, unit, better, kept].map(str::to_owned).to_vec()
        };
        for metric in parser.metrics() {
            let better = match metric.better {
                Some(Better::Higher) => "higher",
                Some(Better::Lower) => "lower",
                None => "",
            };
            rows.push(row(metric.name, metric.unit.as_str(), better, metric.headline));
        }
        if parser.names_more() {
            rows.push(row("each event that it counts, by its own name", "", "", true));
        }
    }
    show_text(|out| Table::lines(&rows).iter().try_for_each(|line| writeln!(out, "{line}")))
}

/// Tells what has changed in a run.
pub fn show_told(told: &Told) {
    let Told { read, changed, unread } = told;
    inform(&format!("{read} trials read again, {} have other values now", changed.len()));
    for (trial, what) in changed.iter().take(MOST_TOLD) {
        inform(&format!("  {trial}: {what}"));
    }
    if changed.len() > MOST_TOLD {
        inform(&format!("  and {} more; the report has all", changed.len() - MOST_TOLD));
    }
    for (trial, why) in unread {
        super::tell(&format!("{}warning{}: {trial} stays as it is: {why}", super::YELLOW, super::PLAIN));
    }
}
