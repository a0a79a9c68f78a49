//! A chart of the report as the manifest keeps it, so that the report can be drawn again without the experiment: plain
//! texts, and the cells by name where the file chooses some by an expression. Read [`ChartLayout`].

use serde::{Deserialize, Serialize};

use super::Plan;
use super::mask;
use crate::diagnostic::Problem;
use crate::spec::matrix::Exclude;
use crate::spec::{ChartKind, Located, LogAxes, Spec, Text};

/// What is drawn of which cells, and how. What is missing is chosen when it is drawn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChartLayout {
    /// What stands above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// How it is drawn.
    pub kind: ChartKind,
    /// The workloads; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<String>,
    /// The names of the cells, where the file chooses some of them; none for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cells: Option<Vec<String>>,
    /// The axis from left to right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x: Option<String>,
    /// The metric, quantity or series; none for the first of a workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub y: Option<String>,
    /// The axes whose values have a colour each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<String>,
    /// The axis whose values have a plot each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facet: Option<String>,
    /// The unit of the values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Which axes are logarithmic; none where the values decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<LogAxes>,
}

impl ChartLayout {
    /// A chart of which nothing else is said.
    pub fn new(kind: ChartKind) -> Self {
        let (workloads, series) = (Vec::new(), Vec::new());
        Self {
            title: None,
            kind,
            workloads,
            cells: None,
            x: None,
            y: None,
            series,
            facet: None,
            unit: None,
            log: None,
        }
    }
}

/// The charts of a checked `spec`; `plan` is the plan of it.
///
/// # Errors
/// An expression that can't be evaluated.
pub fn charts(spec: &Spec, plan: &Plan) -> Result<Vec<ChartLayout>, Vec<Problem>> {
    let text = |text: &Option<Text>| text.as_ref().map(|text| text.value.clone());
    let list = |texts: &[Text]| texts.iter().map(|text| text.value.clone()).collect();
    let layout = |chart: &crate::spec::Chart| {
        let cells = chart.condition.as_ref().map(|condition| plan.cells_where(condition));
        Ok(ChartLayout {
            title: text(&chart.title),
            kind: chart.kind.value,
            workloads: list(&chart.workload.values),
            cells: cells.transpose()?,
            x: text(&chart.x),
            y: text(&chart.y),
            series: list(&chart.series.values),
            facet: text(&chart.facet),
            unit: text(&chart.unit),
            log: chart.log.as_ref().map(|log| log.value),
        })
    };
    let (layouts, problems): (Vec<_>, Vec<_>) =
        spec.report.charts.iter().map(layout).partition(|one: &Result<_, Problem>| one.is_ok());
    match problems.is_empty() {
        true => Ok(layouts.into_iter().filter_map(Result::ok).collect()),
        false => Err(problems.into_iter().filter_map(Result::err).collect()),
    }
}

impl Plan {
    /// The names of the cells for which `expression` is true. A cell without a parameter that it names is none.
    ///
    /// # Errors
    /// An expression that can't be evaluated.
    pub fn cells_where(&self, expression: &Text) -> Result<Vec<String>, Problem> {
        let condition =
            Located { value: Exclude::Expression(expression.value.clone()), span: expression.span };
        let mut names = Vec::new();
        for (grid, start) in self.inner.grids.iter().zip(&self.inner.starts) {
            let Some(mask) = mask::mask(grid, &self.inner.scope, &condition)? else { continue };
            let hit = (0..grid.cells).filter(|rank| mask.has(&grid.cell_digits(*rank)));
            names.extend(hit.map(|rank| self.cell(start + rank).name.to_string()));
        }
        Ok(names)
    }
}
