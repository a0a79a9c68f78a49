//! `--where` on runs that are over: which of their cells an expression keeps. What is not recorded (labels of hosts,
//! addresses) is not known here.

use std::collections::{BTreeMap, BTreeSet};

use minijinja::{Value, context};

use crate::error::Error;
use crate::plan::typed;
use crate::record::{PlannedCell, Run};
use crate::spec::template::{self, Names};

/// Leaves of each run the cells for which `condition` is true. A cell without a parameter that it names is not kept.
///
/// # Errors
/// An expression that is none, a name that no cell has, a comparison that means nothing.
pub(super) fn keep_where(runs: &mut [&mut Run], condition: &str) -> Result<(), Error> {
    let cells = || runs.iter().flat_map(|run| &run.manifest.cells);
    let parameters: BTreeSet<String> = cells().flat_map(|cell| cell.parameters.keys().cloned()).collect();
    let fixed = ["workload", "environment", "host.name"].map(str::to_owned);
    let known = Names::new(fixed.into_iter().chain(parameters.iter().cloned()));
    let mistakes = known.check_expression(condition, Default::default(), &Default::default());
    if let Some(problem) = mistakes.into_iter().next() {
        let help = problem.help.unwrap_or_else(|| "write an expression such as `size > 64`".to_owned());
        return Err(Error::Usage { message: format!("--where: {}", problem.message), help });
    }
    let needed: Vec<String> = template::names_in_expression(condition)
        .into_iter()
        .filter(|name| parameters.contains(name))
        .collect();
    for run in runs {
        let mut kept = BTreeSet::new();
        for cell in &run.manifest.cells {
            let has_all = needed.iter().all(|name| cell.parameters.contains_key(name));
            if has_all && holds(condition, cell)? {
                kept.insert(cell.cell.clone());
            }
        }
        run.manifest.cells.retain(|cell| kept.contains(&cell.cell));
        run.records.retain(|record| kept.contains(&record.cell));
    }
    Ok(())
}

fn holds(condition: &str, cell: &PlannedCell) -> Result<bool, Error> {
    let refused = |error: minijinja::Error| Error::Usage {
        message: format!("--where can't be told of `{}`: {}", cell.cell, error),
        help: "compare numbers with numbers and text with text".to_owned(),
    };
    let environment = template::environment();
    let expression = environment.compile_expression(condition).map_err(refused)?;
    let mut names: BTreeMap<&str, Value> =
        cell.parameters.iter().map(|(name, text)| (name.as_str(), typed(text))).collect();
    names.insert("workload", Value::from(&cell.workload));
    names.insert("environment", Value::from(&cell.environment));
    names.insert("host", context! { name => cell.host.as_str() });
    Ok(expression.eval(names).map_err(refused)?.is_true())
}
