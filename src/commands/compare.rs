//! `runner compare RUN RUN…`: runs against the first of them. Nothing is measured, no machine is touched.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::{filter, revision};
use crate::analysis::{Against, Verdict, compare_runs, margin};
use crate::cli::{CompareArguments, FailOn, Format, Output};
use crate::diagnostic::suggest;
use crate::error::{EXIT_OK, EXIT_WORSE, Error};
use crate::record::{RecordError, Run, read_reported, write_file};
use crate::report::{Compared, ComparisonView, Named, comparison_csv};
use crate::ui;

pub(super) fn compare(arguments: &CompareArguments) -> Result<u8, Error> {
    let found = arguments.runs.iter().map(|text| revision::find(text)).collect::<Result<Vec<_>, Error>>()?;
    let runs = found.iter().map(|found| read_reported(found.directory.path()));
    let mut runs = runs.collect::<Result<Vec<Run>, RecordError>>()?;
    for run in &mut runs {
        run.warnings.extend(run.exclusions());
        ui::compare::show_warnings(run);
    }
    if let Some(condition) = &arguments.rows.condition {
        filter::keep_where(&mut runs.iter_mut().collect::<Vec<_>>(), condition)?;
    }
    must_have_metric(&runs, arguments.rows.metric.as_deref())?;
    let names = names(&runs, &arguments.runs);
    let named =
        |index: usize| Named { name: &names[index], source: &arguments.runs[index], run: &runs[index] };
    let margin = arguments.margin.map_or_else(|| margin(&runs[0]), |margin| margin.0);
    let against = runs[1..].iter().map(|run| {
        compare_runs(&runs[0], run, arguments.rows.metric.as_deref(), margin).map_err(|refusal| {
            Error::Usage {
                message: format!("the runs can't be compared: {refusal}"),
                help: "give other runs, or another margin".to_owned(),
            }
        })
    });
    let against = against.collect::<Result<Vec<Against<'_>>, Error>>()?;
    must_share(&against, &names)?;
    let compared: Vec<Compared<'_>> =
        (1..).zip(&against).map(|(index, against)| Compared { named: named(index), against }).collect();
    let view = ComparisonView::new(named(0), &compared, margin);
    let text = match arguments.output.format {
        Format::Terminal => None,
        Format::Markdown => Some(view.to_markdown()),
        Format::Csv => Some(
            comparison_csv(named(0), &compared)
                .map_err(|error| RecordError::new("render", Path::new("the comparison"), error))?,
        ),
    };
    let plain = || ui::compare::plain(|out| ui::compare::write(out, &view));
    deliver(&arguments.output, text, plain, || ui::compare::show(&view))?;
    Ok(exit_code(&against, &arguments.fail_on))
}

/// Writes into the file that `output` names, or prints: `text`, or what there is for a terminal.
pub(super) fn deliver(
    output: &Output,
    text: Option<String>,
    plain: impl FnOnce() -> String,
    show: impl FnOnce() -> Result<(), Error>,
) -> Result<(), Error> {
    match (&output.output, text) {
        (Some(path), text) => Ok(write_file(path, text.unwrap_or_else(plain).as_bytes())?),
        (None, Some(text)) => ui::show_bytes(text.as_bytes()),
        (None, None) => show(),
    }
}

/// The name of each run's column: that of its directory, with where it is from where two have one name.
fn names(runs: &[Run], sources: &[String]) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    runs.iter().for_each(|run| *counts.entry(run.directory.name()).or_default() += 1);
    let name = |(run, source): (&Run, &String)| match run.directory.name() {
        name if !name.is_empty() && counts.get(&name) == Some(&1) => name,
        _ => source.clone(),
    };
    runs.iter().zip(sources).map(name).collect()
}

pub(super) fn must_have_metric(runs: &[Run], metric: Option<&str>) -> Result<(), Error> {
    let Some(metric) = metric else { return Ok(()) };
    let metrics = runs.iter().flat_map(|run| &run.records).flat_map(|record| &record.metrics);
    let known: BTreeSet<&str> = metrics.map(|metric| metric.name.as_str()).collect();
    match known.contains(metric) {
        true => Ok(()),
        false => Err(Error::Usage {
            message: format!("no run has a metric `{metric}`"),
            help: suggest(metric, known),
        }),
    }
}

/// A comparison of nothing must not look like one that found nothing.
fn must_share(against: &[Against<'_>], names: &[String]) -> Result<(), Error> {
    for (index, one) in against.iter().enumerate() {
        if one.pairs.is_empty() && one.broken.is_empty() {
            let (baseline, other) = (&names[0], &names[index + 1]);
            return Err(Error::Usage {
                message: format!("`{baseline}` and `{other}` have no cell and metric in common"),
                help: "cells are matched by workload, host, environment and parameters; look at both with `runner report`"
                    .to_owned(),
            });
        }
    }
    Ok(())
}

fn exit_code(against: &[Against<'_>], fail_on: &[FailOn]) -> u8 {
    let is_found = |one: &Against<'_>| {
        fail_on.iter().any(|fail_on| match fail_on {
            FailOn::Worse => one.count(Verdict::Worse) > 0,
            FailOn::Inconclusive => one.count(Verdict::Inconclusive) + one.without_verdict() > 0,
        })
    };
    if against.iter().any(is_found) { EXIT_WORSE } else { EXIT_OK }
}
