//! `runner extract RUN_DIRECTORY`: the kept outputs of each trial are read again, and what is other now is
//! written beside what was.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "the kept outputs of a run")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::super::experiment;
use crate::error::{EXIT_FAILED_TRIALS, EXIT_OK, Error};
use crate::event::Captured;
use crate::execution::{Kept, read_again};
use crate::metrics::Measurement;
use crate::record::{self, Line, RunDirectory, Stage, Status, Verdict};
use crate::spec::Spec;
use crate::ui::extract::{Told, show_told};
use crate::{report, ui};

pub(super) fn extract(path: &Path) -> Result<u8, Error> {
    let directory = RunDirectory::new(path);
    // Read first, so that a folder that is no run stays as it is.
    record::read_run(path)?;
    // Locked from here on: what is read is what is written beside.
    let mut reopened = record::reopen(&directory)?;
    let run = record::read_run(path)?;
    let spec = experiment::read_kept(&directory.experiment())?;
    let mut told = Told::default();
    let mut new = Vec::new();
    let lines = record::read_lines(&directory)?;
    let last = run.last_attempts().filter_map(|record| lines.get(record.line as usize));
    for old in last.filter(|line| is_readable(line)) {
        told.read += 1;
        match again(&spec, path, old) {
            Ok(record) if is_same(old, &record) => {}
            Ok(record) => {
                told.changed.push((record.trial.clone(), record.read_again.clone().unwrap_or_default()));
                new.push(record);
            }
            Err(reason) => told.unread.push((old.trial.clone(), reason)),
        }
    }
    reopened.append(&new)?;
    drop(reopened);
    show_told(&told);
    let written = report::write(path)?;
    ui::report::show_written(&written);
    let run = record::read_run(path)?;
    let is_ok = told.unread.is_empty() && run.last_attempts().all(|record| record.status == Status::Ok);
    Ok(if is_ok { EXIT_OK } else { EXIT_FAILED_TRIALS })
}

/// Whether the command of a trial ended well: only then its output says something of the machine.
fn is_readable(record: &Line) -> bool {
    let stages = [Some(Stage::Metrics), Some(Stage::Expect)];
    record.status == Status::Ok || (record.status == Status::Failed && stages.contains(&record.stage))
}

/// The record of a trial as it would be written now.
fn again(spec: &Spec, directory: &Path, old: &Line) -> Result<Line, String> {
    let workload = spec.workloads.get(old.workload.as_str());
    let workload = workload.ok_or_else(|| format!("the experiment has no workload `{}`", old.workload))?;
    let kept = Kept {
        outputs: outputs(directory, old)?,
        // It was read off a clock, and stands in no output.
        measured: old.measurements.iter().filter(|found| found.name == record::ELAPSED).cloned().collect(),
        expectations: &old.expectations,
    };
    let point = [&old.workload, &old.host, &old.environment].map(String::as_str);
    let read = read_again(spec, workload, point, &old.parameters, kept);
    let (status, stage, reason) = match read.failure {
        None => (Status::Ok, None, None),
        Some((stage, reason)) => (Status::Failed, Some(stage), Some(reason)),
    };
    let judged = |is_ok: bool| if is_ok { Verdict::Ok } else { Verdict::Failed };
    let verdicts = old.verdicts.map(|mut verdicts| {
        verdicts.metrics = judged(stage != Some(Stage::Metrics));
        verdicts.expectations = judged(read.expectations.iter().all(|verdict| verdict.holds));
        verdicts
    });
    let measurements = if status == Status::Ok { read.measurements } else { Vec::new() };
    let why = why(old, &measurements, reason.as_deref());
    // What was said of the trial itself holds still.
    let mut warnings = old.warnings.clone();
    warnings.extend(read.warnings.into_iter().filter(|warning| !old.warnings.contains(warning)));
    Ok(Line {
        status,
        stage,
        reason,
        repeated: false,
        verdicts,
        measurements,
        warnings,
        expectations: read.expectations,
        details: read.details,
        read_again: Some(format!("runner {}: {why}", env!("CARGO_PKG_VERSION"))),
        ..old.clone()
    })
}

/// Every output of a trial, by the name that a run gives it.
fn outputs(directory: &Path, record: &Line) -> Result<BTreeMap<String, Captured>, String> {
    let folder = format!("output/{}/", record.cell);
    let read = |output: &record::KeptOutput| {
        let name = output.path.strip_prefix(&folder).and_then(|rest| rest.split_once('/'));
        let (_, name) = name.ok_or_else(|| format!("`{}` is no output of it", output.path))?;
        let bytes = fs::read(directory.join(&output.path));
        let bytes = bytes.map_err(|error| format!("`{}` can't be read: {error}", output.path))?;
        Ok((name.to_owned(), Captured { bytes, size: output.size }))
    };
    record.outputs.iter().map(read).collect()
}

/// Whether nothing that counts has changed.
fn is_same(old: &Line, new: &Line) -> bool {
    old.status == new.status && old.reason == new.reason && old.measurements == new.measurements
}

/// What is other now, in words.
fn why(old: &Line, measurements: &[Measurement], reason: Option<&str>) -> String {
    if let Some(reason) = reason {
        return format!("it is failed now: {reason}");
    }
    let is_of = |one: &Measurement, other: &Measurement| one.name == other.name && one.labels == other.labels;
    let value = |found: &Measurement| format!("{} {}", found.value, found.unit);
    let found =
        measurements.iter().filter_map(|new| match old.measurements.iter().find(|was| is_of(was, new)) {
            Some(was) if was == new => None,
            Some(was) => Some(format!("{} is {}, was {}", new.name, value(new), value(was))),
            None => Some(format!("{} is {}, was missing", new.name, value(new))),
        });
    let lost = old.measurements.iter().filter(|was| !measurements.iter().any(|new| is_of(was, new)));
    let all: Vec<String> = found.chain(lost.map(|was| format!("{} is missing now", was.name))).collect();
    all.join("; ")
}
