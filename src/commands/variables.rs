//! The values of `{{ env.NAME }}`, taken from the environment of the command and hidden from then on.

#![allow(clippy::disallowed_methods, reason = "the environment of the command")]

use std::collections::{BTreeMap, BTreeSet};

use crate::diagnostic::{Problem, Sources};
use crate::plan::substitute::Context;
use crate::secrets::Secrets;
use crate::spec::{LOCALHOST, NATIVE, Spec};
use crate::ui;

/// Gives `spec` every variable that it names, and those of `more`, and hides their values in everything that is printed.
/// Returns the same for what is written, and a mistake for each variable that is not set.
pub(super) fn read(spec: &mut Spec, sources: &Sources, more: &BTreeSet<String>) -> (Secrets, Vec<Problem>) {
    let mut problems = Vec::new();
    let mut values = BTreeMap::new();
    let mut named = spec.named_variables(sources);
    for name in more {
        named.entry(name.clone()).or_default();
    }
    for (name, span) in named {
        match std::env::var(&name) {
            Ok(value) => match unfit(spec, &value) {
                Some(why) => problems.push(
                    Problem::at(span, format!("the value of `{name}` {why}"))
                        .label("every value from the environment is hidden wherever it stands")
                        .help("write it in the file, or give it with `--set`: it is no secret"),
                ),
                None => drop(values.insert(name, value)),
            },
            Err(error) => {
                let why = match error {
                    std::env::VarError::NotPresent => "is not set",
                    std::env::VarError::NotUnicode(_) => "is not UTF-8 text",
                };
                problems.push(
                    Problem::at(span, format!("the variable `{name}` {why}"))
                        .label("read from the environment of `runner`")
                        .help(format!("set it before the command: `{name}=… runner run …`")),
                );
            }
        }
    }
    let secrets = Secrets::new(values.values().cloned());
    if !secrets.is_empty() {
        ui::hide(secrets.clone());
    }
    spec.variables = values;
    (secrets, problems)
}

/// Why `value` can't be hidden without hiding what a report needs.
fn unfit(spec: &Spec, value: &str) -> Option<String> {
    let names = spec.workloads.keys().chain(spec.hosts.keys()).chain(spec.environments.keys());
    let blocks = spec.matrix.iter().flat_map(|block| &block.axes.0).flat_map(|(_, values)| values.written());
    let parameters = spec.workloads.values().flat_map(|workload| workload.parameters.values());
    let is_name = names.chain(blocks).chain(parameters).any(|name| name.value == value);
    if is_name || [LOCALHOST, NATIVE].contains(&value) {
        return Some("is also a name or a value of the experiment".to_owned());
    }
    let is_number = value.chars().all(|letter| letter.is_ascii_digit());
    let is_short = value.chars().count() < 2 || is_number && value.len() < 4;
    (is_short && !value.is_empty()).then(|| "is too short to be hidden".to_owned())
}

/// Puts the variables into the title and the hosts, which are there before any cell. A checked spec has
/// nothing else in their templates; what can't be rendered stays as it is written.
pub(super) fn put_into_hosts(spec: &mut Spec) {
    let context = Context::of_variables(spec);
    let render = |text: &str| context.render(text);
    for host in spec.hosts.values_mut() {
        if let Ok(rendered) = host.rendered(&render) {
            *host = rendered;
        }
    }
    if let Some(title) = &mut spec.title
        && let Ok(rendered) = render(title)
    {
        title.value = rendered;
    }
}
