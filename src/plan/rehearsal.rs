//! Every template is rendered once before anything runs: with each value of each axis it names, the other
//! axes at their first. What a trial alone knows is a placeholder. So `{{ size / 2 }}` of a text, or a limit
//! that is none, is a mistake in the file and no failure of a trial.

use std::collections::BTreeMap;

use minijinja::{Value, context};

use super::grid::{ENVIRONMENT, Grid, Subspace};
use super::scope::{Scope, failed};
use crate::diagnostic::Problem;
use crate::spec::{Spec, Text, template};

/// How many values of one axis are tried.
const VALUES: usize = 1000;

/// What a text must be once it is rendered.
type Rule = fn(&str) -> Result<(), String>;

/// The first mistake of each template of a grid's workload and of the environments that its cells are in.
pub(super) fn mistakes(spec: &Spec, scope: &Scope, grid: &Grid) -> Vec<Problem> {
    let workload = &spec.workloads[grid.workload.as_str()];
    let names = grid.used_values(ENVIRONMENT);
    let environments = names.iter().map(|name| &spec.environments[name.as_str()]);
    let any: Rule = |_| Ok(());
    let texts = workload.texts().into_iter().map(|text| (text, any));
    let settings = environments
        .flat_map(|environment| environment.texts().map(move |text| (text, any)).chain(environment.limits()));
    let texts = texts.chain(settings).filter(|(text, _)| template::is_template(text));
    texts.filter_map(|(text, rule)| mistake(spec, scope, grid, &text, rule)).collect()
}

fn mistake(spec: &Spec, scope: &Scope, grid: &Grid, text: &Text, rule: Rule) -> Option<Problem> {
    let used = template::names_in(text);
    if template::variables(used.clone()).any(|name| !spec.variables.contains_key(&name)) {
        return None;
    }
    let names: Vec<&str> = used.iter().filter_map(|name| name.split('.').next()).collect();
    let whole = Subspace::new(grid, &(0..grid.lengths.len()).collect::<Vec<_>>());
    let first = grid.cell_digits(0);
    let axes = grid.axes_of(&names);
    let others = axes.into_iter().flat_map(|axis| {
        let first = &first;
        (0..grid.lengths[axis].min(VALUES)).map(move |digit| {
            let mut digits = first.clone();
            digits[axis] = digit;
            digits
        })
    });
    std::iter::once(first.clone()).chain(others).filter(|digits| grid.has(whole.index(digits))).find_map(
        |digits| {
            let names_of_cell = scope.at(grid, &digits).ok()?;
            let services = grid
                .services
                .iter()
                .map(|service| (service.name.as_str(), context! { address => "address", port => 1 }));
            let services: BTreeMap<&str, Value> = services.collect();
            let all = names_of_cell
                .with("trial", context! { repetition => 1, name => "trial" })
                .with("services", Value::from(services))
                .with("port", 1);
            let checked = all.render(text).and_then(|rendered| rule(&rendered));
            checked.err().map(|reason| failed(grid, &names, &digits, text.span, reason))
        },
    )
}
