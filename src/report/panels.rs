//! What `report.html` knows of the trials behind its numbers: compact JSON in a script element, out of which a panel
//! is built when somebody opens a number. Read [`json`].

use std::collections::BTreeMap;

use serde::Serialize;

use super::trials::{CellView, OutputView, TrialView};

/// A cell. Keys are short, and what is empty is left out: there are thousands.
#[derive(Serialize)]
struct Panel<'a> {
    n: &'a str,
    #[serde(skip_serializing_if = "is_zero")]
    more: usize,
    /// The units of its metrics.
    u: BTreeMap<&'a str, &'a str>,
    t: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    n: u32,
    #[serde(skip_serializing_if = "is_one")]
    a: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    apart: Option<&'static str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    counts: bool,
    s: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    at: &'a str,
    v: &'a BTreeMap<String, f64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    sus: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    w: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    o: Vec<Output<'a>>,
}

#[derive(Serialize)]
struct Output<'a> {
    p: &'a str,
    b: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    x: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    no: Option<&'a str>,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

fn is_one(number: &u32) -> bool {
    *number == 1
}

/// The trials of `cells`, safe inside of a `<script>`: no `<` is left that could end it.
pub(super) fn json(cells: &[CellView]) -> serde_json::Result<String> {
    let panels = cells.iter().filter(|cell| !cell.trials.is_empty() || cell.unlisted > 0).map(|cell| Panel {
        n: &cell.cell,
        more: cell.unlisted,
        u: cell.figures.iter().map(|figure| (figure.metric.as_str(), figure.unit.as_str())).collect(),
        t: cell.trials.iter().map(row).collect(),
    });
    let text = serde_json::to_string(&panels.collect::<Vec<_>>())?;
    // Neither stands outside of a JSON string.
    Ok(text.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029"))
}

fn row(trial: &TrialView) -> Row<'_> {
    Row {
        n: trial.repetition,
        a: trial.attempt,
        apart: match trial.phase.as_str() {
            "warmup" => Some("warm-up"),
            "excluded" => Some("excluded"),
            _ => None,
        },
        counts: trial.counts,
        s: &trial.status,
        why: trial.reason.as_deref(),
        at: &trial.started,
        v: &trial.values,
        sus: &trial.suspicious,
        w: &trial.warnings,
        o: trial.outputs.iter().map(output).collect(),
    }
}

fn output(output: &OutputView) -> Output<'_> {
    Output {
        p: &output.path,
        b: output.size,
        cut: output.truncated,
        x: output.text.as_deref(),
        no: output.left_out.as_deref(),
    }
}
