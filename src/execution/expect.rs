//! `expect`: the verdicts on what a file expects of a trial. Each rule is judged, also after one is broken.

use std::collections::BTreeMap;

use minijinja::Value;

use super::Failure;
use crate::event::{Expectation, Stage};
use crate::metrics::{self, Measurement};
use crate::plan::substitute::Context;
use crate::spec::expect::{self as spec, Expect};
use crate::spec::template;
use crate::transports::job::Ended;

/// Whether an exit code is what the file expects: 0, unless it says otherwise.
pub(super) fn is_fine(expect: Option<&Expect>, exit_code: i32) -> bool {
    match expect.map(|expect| &expect.exit.values).filter(|codes| !codes.is_empty()) {
        Some(codes) => codes.iter().any(|code| spec::exit_code(code) == Ok(exit_code)),
        None => exit_code == 0,
    }
}

/// The verdict on every rule that is written, in their order in the language.
pub(super) fn judge(
    expect: &Expect,
    ended: &Ended,
    measurements: &[Measurement],
    context: &Context,
) -> Vec<Expectation> {
    let mut verdicts = Vec::new();
    if !expect.exit.is_empty() {
        let codes: Vec<&str> = expect.exit.values.iter().map(|code| code.as_str()).collect();
        let found = (!is_fine(Some(expect), ended.exit_code)).then(|| format!("it is {}", ended.exit_code));
        verdicts.push(verdict(format!("exit: {}", codes.join(", ")), found));
    }
    verdicts.extend(of_values(expect, measurements, context));
    if let Some(not) = &expect.not {
        verdicts.push(verdict(format!("not: {}", not.value), forbidden(not, ended, context)));
    }
    verdicts
}

/// The verdicts on the rules about values.
fn of_values(expect: &Expect, measurements: &[Measurement], context: &Context) -> Vec<Expectation> {
    let mut verdicts = Vec::new();
    for name in &expect.metrics.values {
        let is_missing = !measurements.iter().any(|found| found.name == name.value);
        verdicts
            .push(verdict(format!("metrics: {}", name.value), is_missing.then(|| "it is missing".into())));
    }
    if let Some(when) = &expect.when {
        let found = match (several(when, measurements), with(context, measurements).is_true(when)) {
            (Some(name), _) => Some(format!("{name} has several values, of which it can't choose one")),
            (None, Ok(true)) => None,
            (None, Ok(false)) => Some(values(when, measurements)),
            (None, Err(reason)) => Some(reason),
        };
        verdicts.push(verdict(format!("when: {}", when.value), found));
    }
    verdicts
}

/// The verdicts once more, when the values may be others: those on the rest are the `earlier` ones.
pub(super) fn judge_again(
    expect: &Expect,
    earlier: &[Expectation],
    measurements: &[Measurement],
    context: &Context,
) -> Vec<Expectation> {
    let now = of_values(expect, measurements, context);
    let again =
        |old: &Expectation| now.iter().find(|verdict| verdict.rule == old.rule).unwrap_or(old).clone();
    earlier.iter().map(again).collect()
}

/// The failure of a trial that broke a rule.
pub(super) fn failure(broken: &Expectation) -> Failure {
    Failure::new(Stage::Expect, format!("expected `{}`, but {}", broken.rule, broken.found))
}

fn verdict(rule: String, broken: Option<String>) -> Expectation {
    Expectation { rule, holds: broken.is_none(), found: broken.unwrap_or_default() }
}

/// The names of the trial, and its metrics; `server.throughput` is a name in `server`.
fn with(context: &Context, measurements: &[Measurement]) -> Context {
    let mut services: BTreeMap<&str, BTreeMap<&str, f64>> = BTreeMap::new();
    let mut all = context.clone();
    for Measurement { name, value, .. } in measurements {
        match name.split_once('.') {
            Some((service, metric)) => drop(services.entry(service).or_default().insert(metric, *value)),
            None => all = all.with(name, *value),
        }
    }
    for (service, metrics) in services {
        all = all.with(service, Value::from(metrics));
    }
    all
}

/// The first metric that an expression names and that has more than one value: labels tell them apart, which no
/// expression knows.
fn several<'a>(when: &str, measurements: &'a [Measurement]) -> Option<&'a str> {
    let names = template::names_in_expression(when);
    let count = |name: &str| measurements.iter().filter(|found| found.name == name).count();
    let named = measurements.iter().filter(|found| names.contains(&found.name));
    named.map(|found| found.name.as_str()).find(|name| count(name) > 1)
}

/// The metrics that an expression names, with their values.
fn values(when: &str, measurements: &[Measurement]) -> String {
    let names = template::names_in_expression(when);
    let named = measurements.iter().filter(|found| names.contains(&found.name));
    let told: Vec<String> =
        named.map(|found| format!("{} is {} {}", found.name, found.value, found.unit)).collect();
    if told.is_empty() { "it is false".into() } else { told.join(", ") }
}

/// The first line of either output that matches, or why that can't be said.
fn forbidden(not: &str, ended: &Ended, context: &Context) -> Option<String> {
    let pattern =
        context.render(not).and_then(|not| regex::Regex::new(&not).map_err(|error| error.to_string()));
    match pattern {
        Err(reason) => Some(reason),
        Ok(pattern) => [&ended.stdout, &ended.stderr].into_iter().find_map(|stream| {
            let text = metrics::clean(&stream.bytes);
            let line = text.lines().find(|line| pattern.is_match(line))?;
            Some(format!("a line is `{}`", metrics::shown(line).unwrap_or_default()))
        }),
    }
}
