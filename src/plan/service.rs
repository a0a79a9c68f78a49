//! Where the services of a grid's cells run. A service's host may hold parameters; its name is found out
//! once for each combination of the axes that decide it.

use indexmap::{IndexMap, IndexSet};

use super::grid::{Grid, Subspace};
use super::scope::Scope;
use super::substitute::told;
use crate::diagnostic::{Problem, suggest};
use crate::spec::{Spec, Text, Workload, template};

/// One service.
#[derive(Debug, Clone)]
pub(super) struct Service {
    pub name: String,
    pub host: Place,
    pub environment: Place,
}

/// The host or the environment of a service.
#[derive(Debug, Clone)]
pub(super) enum Place {
    /// The cell's.
    Own,
    /// The name with the number that is kept for each combination of a subspace.
    Named { subspace: Subspace, numbers: Vec<u16>, names: IndexSet<String> },
}

impl Place {
    /// The name at the point with these digits, where the cell's is `own`.
    pub fn name<'a>(&'a self, own: &'a str, digits: &[usize]) -> &'a str {
        match self {
            Place::Own => own,
            Place::Named { subspace, numbers, names } => {
                let number = numbers.get(subspace.index(digits)).copied().unwrap_or_default();
                names.get_index(number.into()).map_or(own, String::as_str)
            }
        }
    }

    /// Every name that some cell gives it, apart from the cell's own.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let names = match self {
            Place::Own => None,
            Place::Named { names, .. } => Some(names.iter().map(String::as_str)),
        };
        names.into_iter().flatten()
    }
}

/// The services of `workload` in the cells of `grid`.
///
/// # Errors
/// A host or an environment that a cell names and nobody declares.
pub(super) fn services(
    spec: &Spec,
    grid: &Grid,
    scope: &Scope,
    workload: &Workload,
) -> Result<Vec<Service>, Problem> {
    let mut services = Vec::new();
    for (name, service) in &workload.services {
        services.push(Service {
            name: name.value.clone(),
            host: place(grid, scope, service.host.as_ref(), &spec.hosts, "host")?,
            environment: place(grid, scope, service.environment.as_ref(), &spec.environments, "environment")?,
        });
    }
    Ok(services)
}

fn place<V>(
    grid: &Grid,
    scope: &Scope,
    written: Option<&Text>,
    section: &IndexMap<Text, V>,
    kind: &str,
) -> Result<Place, Problem> {
    let Some(written) = written else { return Ok(Place::Own) };
    let failed = |error| Problem::at(written.span, told(error));
    let environment = template::environment();
    let template = environment.template_from_str(written).map_err(failed)?;
    let subspace = Subspace::new(grid, &grid.axes_of(template.undeclared_variables(false)));
    let used = grid.used(&subspace);
    let mut numbers = vec![0; subspace.length];
    let mut names = IndexSet::new();
    scope.each(grid, &subspace, |index, _, context| {
        if used.as_ref().is_some_and(|used| !used.has(index)) {
            return Ok(());
        }
        let name = template.render(context.as_value()).map_err(failed)?;
        if !section.contains_key(name.as_str()) {
            return Err(Problem::at(written.span, format!("unknown {kind} `{name}`"))
                .label("becomes this name in a cell")
                .help(suggest(&name, section.keys().map(|key| key.as_str()))));
        }
        numbers[index] = names.insert_full(name).0 as u16;
        Ok(())
    })?;
    Ok(Place::Named { subspace, numbers, names })
}
