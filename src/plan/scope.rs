//! What the names of an expression stand for at the points of a grid, and the templates of derived
//! parameters. Read [`Scope::each`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use minijinja::{Environment, Value};

use super::environment::{StepHosts, step_hosts};
use super::grid::{Grid, HOST, Odometer, Source, Subspace};
use super::substitute::{Context, VARIABLES, host, told, typed, variables};
use crate::diagnostic::{Problem, Span};
use crate::spec::{Spec, template};

/// The most combinations that the expressions of a plan are evaluated for.
const EVALUATION_LIMIT: usize = 10_000_000;

/// The hosts of an experiment as templates see them, and the templates of its derived parameters.
#[derive(Debug)]
pub(super) struct Scope {
    hosts: BTreeMap<String, Value>,
    variables: Value,
    pub step_hosts: StepHosts,
    /// How many combinations of values were evaluated.
    evaluated: AtomicUsize,
    pub templates: Environment<'static>,
}

impl Scope {
    pub fn new(spec: &Spec) -> Self {
        let hosts = spec.hosts.iter().map(|(name, declared)| (name.value.clone(), host(name, declared)));
        let (hosts, variables) = (hosts.collect(), variables(spec));
        Scope {
            hosts,
            variables,
            step_hosts: step_hosts(spec),
            evaluated: AtomicUsize::new(0),
            templates: template::environment(),
        }
    }

    /// Calls `visit` with every combination of a subspace: its number, its digits, and its names.
    ///
    /// # Errors
    /// The first problem of `visit`, or of a derived parameter.
    pub fn each(
        &self,
        grid: &Grid,
        subspace: &Subspace,
        mut visit: impl FnMut(usize, &[usize], &Arc<Context>) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let mut context = Arc::new(self.empty(grid));
        let before = self.evaluated.fetch_add(subspace.length, Ordering::Relaxed);
        if before.saturating_add(subspace.length) > EVALUATION_LIMIT {
            let message =
                format!("more than {EVALUATION_LIMIT} combinations of values would have to be looked at");
            let help =
                "name fewer axes in each `exclude`, or write it as values: `exclude: [{ axis: value }]`";
            return Err(Problem::at(grid.span, message).help(help));
        }
        let mut odometer = Odometer::new(subspace.lengths.clone());
        let mut changed = 0;
        for index in 0..subspace.length {
            self.fill(grid, &odometer.digits, changed, &mut context)?;
            visit(index, &odometer.digits, &context)?;
            changed = odometer.advance().unwrap_or_default();
        }
        Ok(())
    }

    /// The names at one point.
    ///
    /// # Errors
    /// A derived parameter that can't be rendered there.
    pub fn at(&self, grid: &Grid, digits: &[usize]) -> Result<Arc<Context>, Problem> {
        let mut context = Arc::new(self.empty(grid));
        self.fill(grid, digits, 0, &mut context)?;
        Ok(context)
    }

    /// The value of a slot at a point, as text.
    pub fn text(grid: &Grid, slot: usize, digits: &[usize], context: &Context) -> String {
        match grid.slots[slot].source {
            Source::Axis(..) => grid.text(slot, digits).into_owned(),
            Source::Derived(..) => context.value(slot).to_string(),
        }
    }

    /// Names in the order of the slots, so that a slot's number is that of its value; then the others.
    fn empty(&self, grid: &Grid) -> Context {
        let slots = grid.slots.iter().map(|slot| (slot.name.as_str(), Value::UNDEFINED));
        let fixed = [("workload", Value::from(grid.workload.as_str())), (VARIABLES, self.variables.clone())];
        Context::new(slots.chain(fixed))
    }

    /// Sets what depends on the axes from `changed` on, then what is derived.
    fn fill(
        &self,
        grid: &Grid,
        digits: &[usize],
        changed: usize,
        context: &mut Arc<Context>,
    ) -> Result<(), Problem> {
        for (number, slot) in grid.slots.iter().enumerate() {
            let Source::Axis(axis, values) = &slot.source else { continue };
            if *axis < changed {
                continue;
            }
            let text = values.get(digits[*axis]);
            let value = match number {
                HOST => self.hosts.get(&*text).cloned().unwrap_or_default(),
                _ => typed(&text),
            };
            Arc::make_mut(context).set(number, value);
        }
        for (number, slot) in grid.slots.iter().enumerate() {
            let Source::Derived(name, axes) = &slot.source else { continue };
            if changed > 0 && axes.iter().all(|axis| *axis < changed) {
                continue;
            }
            let text = self
                .templates
                .get_template(name)
                .and_then(|template| template.render(context.as_value()))
                .map_err(|error| failed(grid, [slot.name.as_str()], digits, slot.span, told(error)))?;
            Arc::make_mut(context).set(number, typed(&text));
        }
        Ok(())
    }
}

/// An expression that fails at a point, told with the values that decide what `names` stand for.
pub(super) fn failed<S: AsRef<str>>(
    grid: &Grid,
    names: impl IntoIterator<Item = S>,
    digits: &[usize],
    span: Span,
    reason: String,
) -> Problem {
    let axes = grid.axes_of(names);
    let slots = grid.slots.iter().filter_map(|slot| match &slot.source {
        Source::Axis(axis, values) if axes.contains(axis) => {
            Some(format!("{}={}", slot.name, values.get(digits[*axis])))
        }
        _ => None,
    });
    let place = slots.collect::<Vec<_>>().join(", ");
    let message = match place.as_str() {
        "" => format!("can't be evaluated: {reason}"),
        place => format!("can't be evaluated with {place}: {reason}"),
    };
    // What the command line says stands in no file.
    let problem =
        if span == Span::default() { Problem::of_file(message) } else { Problem::at(span, message) };
    problem.help("correct it, or leave out these values")
}
