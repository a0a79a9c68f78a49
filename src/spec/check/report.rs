//! Rules on `report:`: baselines and tables speak of workloads and axes that there are. Metrics and their units are
//! checked by `metrics`.

use super::matrix::{AXES, check_axis};
use super::must_exist;
use crate::diagnostic::{Problem, Sources, suggest};
use crate::spec::report::{Exclusion, Table};
use crate::spec::{Located, Share, Spec, Text};

/// What begins the name of something that tells apart several values of one trial.
const LABEL: &str = "label.";

pub(super) fn check(spec: &Spec, sources: &Sources, problems: &mut Vec<Problem>) {
    let all: Vec<&Text> = spec.workloads.values().flat_map(|workload| workload.parameters.keys()).collect();
    let names: Vec<&str> = all.iter().map(|name| name.as_str()).collect();
    for (axis, value) in &spec.report.baseline {
        check_axis(spec, axis, std::slice::from_ref(value), &names, &[], problems);
    }
    problems.extend(spec.report.margin.as_ref().and_then(margin));
    problems.extend(spec.report.exclude.iter().flat_map(exclusion));
    for table in &spec.report.tables {
        check_table(spec, table, &names, problems);
        if let Some(condition) = &table.condition {
            // A run keeps no addresses.
            let known = spec.cell_names(all.iter().copied()).without("host.address");
            problems.extend(known.check_expression(condition, condition.span, sources));
        }
    }
}

fn margin(margin: &Located<Share>) -> Option<Problem> {
    let is_part = (f64::MIN_POSITIVE..=1.0).contains(&margin.fraction());
    (!is_part).then(|| {
        Problem::at(margin.span, format!("`{}` is no margin", margin.value))
            .help("write by how much two results may differ and still count as equal, above 0 and up to `100%`: `margin: 5%`")
    })
}

fn exclusion(one: &Exclusion) -> Vec<Problem> {
    let unnamed = one.trial.values.iter().filter(|trial| !trial.contains('#')).map(|trial| {
        Problem::at(trial.span, format!("`{}` is no trial", trial.value))
            .help("write its cell and number, as reports name it: `nap/pi4/native#3`")
    });
    let silent = Some(&one.reason).filter(|reason| reason.trim().is_empty()).map(|reason| {
        Problem::at(reason.span, "nothing is excluded without a reason")
            .help("say what was wrong with the trial; the report shows it")
    });
    unnamed.chain(silent).collect()
}

fn check_table(spec: &Spec, table: &Table, parameters: &[&str], problems: &mut Vec<Problem>) {
    for workload in &table.workload.values {
        must_exist(workload, &spec.workloads, "workload", problems);
    }
    for (axis, value) in table.baseline.iter().flatten() {
        check_axis(spec, axis, std::slice::from_ref(value), parameters, &[], problems);
    }
    let labels: Vec<String> = spec
        .hosts
        .values()
        .flat_map(|host| host.labels.keys())
        .map(|label| format!("host.labels.{}", label.value))
        .collect();
    let known =
        || AXES.into_iter().chain(parameters.iter().copied()).chain(labels.iter().map(String::as_str));
    let mut seen: Vec<&str> = Vec::new();
    for axis in table.rows.values.iter().chain(&table.columns.values) {
        if !axis.starts_with(LABEL) && !known().any(|name| name == axis.as_str()) {
            problems.push(
                Problem::at(axis.span, format!("unknown axis `{}`", axis.value))
                    .label("neither an axis, nor a parameter, nor `host.labels.NAME` or `label.NAME`")
                    .help(suggest(axis, known())),
            );
        }
        if seen.contains(&axis.as_str()) {
            problems.push(
                Problem::at(axis.span, format!("`{}` stands in the rows or columns already", axis.value))
                    .help("name each axis once"),
            );
        }
        seen.push(axis);
    }
}
