//! A comparison for machines: a row for each run, cell and metric, in the order of the file. The columns are an
//! interface. What is not compared has a row too, with the reason.

use std::collections::BTreeSet;
use std::error::Error;

use super::lists::reason;
use super::rows::median;
use super::{Compared, Named};
use crate::analysis::{MetricKey, Pair, Refusal, Verdict};
use crate::record::{PlannedCell, word};
use crate::report::csv::{ends, names, number, values, write};

const COLUMNS: &str = "baseline run cell workload host environment metric unit better baseline_ok ok \
    baseline_median median ratio ratio_low ratio_high verdict p adjusted_p rank_p margin needed reason";

/// The rows of `others` against `baseline`.
///
/// # Errors
/// Those of the writer; there are none in memory.
pub fn csv(baseline: Named<'_>, others: &[Compared<'_>]) -> Result<String, Box<dyn Error + Send + Sync>> {
    let cells = || others.iter().flat_map(|other| all(other)).map(|row| row.cell);
    let parameters = names(cells().map(|cell| &cell.parameters));
    let keys = others.iter().flat_map(|other| all(other)).filter_map(|row| row.metric);
    let labels: BTreeSet<&str> = names(keys.map(|key| &key.labels));
    let rows = others.iter().flat_map(|other| {
        all(other).into_iter().map(|row| {
            let mut texts = vec![baseline.name.to_owned(), other.named.name.to_owned()];
            texts.extend(row.texts());
            texts.extend(values(&labels, row.metric.map(|key| &key.labels)));
            texts.extend(values(&parameters, Some(&row.cell.parameters)));
            texts
        })
    });
    write(COLUMNS, &labels, &parameters, rows.collect::<Vec<_>>().into_iter())
}

/// What one row is of.
struct Row<'a> {
    cell: &'a PlannedCell,
    metric: Option<&'a MetricKey>,
    pair: Option<&'a Pair<'a>>,
    /// Ok trials in both, of a row that is no pair.
    ok: Option<(usize, usize)>,
    verdict: Option<Verdict>,
    reason: String,
}

fn all<'a>(other: &Compared<'a>) -> Vec<Row<'a>> {
    let against = other.against;
    let alone = |cell: &'a PlannedCell, metric, reason: &str| Row {
        cell,
        metric,
        pair: None,
        ok: None,
        verdict: None,
        reason: reason.to_owned(),
    };
    let mut rows: Vec<Row<'_>> = against.pairs.iter().map(of_pair).collect();
    for uneven in &against.broken {
        let row = alone(uneven.before.cell, None, "");
        let reason = format!("no trial is ok any more{}", reason(&uneven.now));
        let ok = Some((uneven.before.ok, uneven.now.ok));
        rows.push(Row { reason, ok, verdict: Some(Verdict::Worse), ..row });
    }
    for uneven in &against.unmeasured {
        let row = alone(uneven.before.cell, None, "never ok in the baseline");
        rows.push(Row { ok: Some((uneven.before.ok, uneven.now.ok)), ..row });
    }
    rows.extend(against.only_before.iter().map(|cell| alone(cell, None, "in the baseline alone")));
    rows.extend(against.only_now.iter().map(|cell| alone(cell, None, "not in the baseline")));
    let metrics = against.metrics_only_before.iter();
    rows.extend(metrics.map(|(cell, key)| alone(cell, Some(key), "in the baseline alone")));
    let metrics = against.metrics_only_now.iter();
    rows.extend(metrics.map(|(cell, key)| alone(cell, Some(key), "not in the baseline")));
    rows
}

fn of_pair<'a>(pair: &'a Pair<'a>) -> Row<'a> {
    let reason = match pair.outcome {
        Err(refusal) => refusal.to_string(),
        Ok(comparison) if comparison.verdict.is_none() => {
            let needed = crate::analysis::FEWEST;
            Refusal::TooFew { have: comparison.contrast.size, needed }.to_string()
        }
        Ok(_) => String::new(),
    };
    Row {
        cell: pair.cell,
        metric: Some(&pair.metric),
        pair: Some(pair),
        ok: None,
        verdict: pair.verdict(),
        reason,
    }
}

impl Row<'_> {
    fn texts(&self) -> Vec<String> {
        let Row { cell, pair, .. } = self;
        let comparison = pair.and_then(|pair| pair.outcome.ok());
        let contrast = comparison.map(|comparison| comparison.contrast);
        let ratio = contrast.map(|contrast| contrast.ratio);
        let ok = self.ok.or_else(|| pair.map(|pair| (pair.before.len(), pair.now.len())));
        let count = |count: Option<usize>| count.map(|count| count.to_string()).unwrap_or_default();
        let mut row = vec![
            cell.cell.clone(),
            cell.workload.clone(),
            cell.host.clone(),
            cell.environment.clone(),
            self.metric.map(|key| key.name.clone()).unwrap_or_default(),
            self.metric.map(|key| key.unit.to_string()).unwrap_or_default(),
            pair.and_then(|pair| pair.better).map(|better| word(&better)).unwrap_or_default(),
            count(ok.map(|(before, _)| before)),
            count(ok.map(|(_, now)| now)),
            number(pair.map(|pair| median(&pair.before))),
            number(pair.map(|pair| median(&pair.now))),
            number(ratio.map(|ratio| ratio.estimate)),
        ];
        row.extend(ends(ratio.map(|ratio| ratio.interval)));
        row.push(self.verdict.map(|verdict| verdict.as_str().to_owned()).unwrap_or_default());
        row.extend([
            number(contrast.map(|contrast| contrast.p)),
            number(comparison.and_then(|comparison| comparison.adjusted_p)),
            number(pair.and_then(|pair| pair.rank_p)),
            number(comparison.map(|comparison| comparison.margin)),
            count(comparison.and_then(|comparison| comparison.needed)),
            self.reason.clone(),
        ]);
        row
    }
}
