//! The axes of a table: what tells its cells apart, by name, for measured and for published figures alike.
//! Read [`Entry`] and [`Axis`].

use crate::analysis::Summary;
use crate::record::{Presentation, Reference};

/// What may stand in a place of a table.
#[derive(Clone, Copy)]
pub(super) enum Entry<'a> {
    Measured(&'a Summary<'a>),
    Published(&'a Reference),
}

/// An axis by which the cells of a table are placed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Axis {
    Workload,
    Host,
    Environment,
    Parameter(String),
    /// `host.labels.NAME`.
    HostLabel(String),
    /// `label.NAME`: of the metric.
    Label(String),
    /// The metric itself.
    Metric,
}

impl Axis {
    /// The axis that the file calls so.
    pub(super) fn named(name: &str) -> Self {
        match name {
            "workload" => Axis::Workload,
            "host" => Axis::Host,
            "environment" => Axis::Environment,
            _ => match (name.strip_prefix("host.labels."), name.strip_prefix("label.")) {
                (Some(label), _) => Axis::HostLabel(label.to_owned()),
                (_, Some(label)) => Axis::Label(label.to_owned()),
                _ => Axis::Parameter(name.to_owned()),
            },
        }
    }

    /// What stands above a column of its values.
    pub(super) fn header(&self) -> &str {
        match self {
            Axis::Workload => "workload",
            Axis::Host => "host",
            Axis::Environment => "environment",
            Axis::Parameter(name) | Axis::HostLabel(name) | Axis::Label(name) => name,
            Axis::Metric => "metric",
        }
    }

    /// Its value of `entry`; empty where it has none.
    pub(super) fn value(&self, entry: Entry<'_>, presentation: &Presentation) -> String {
        let host = match entry {
            Entry::Measured(one) => &one.cell.host,
            Entry::Published(one) => &one.host,
        };
        let value = match (self, entry) {
            (Axis::Workload, Entry::Measured(one)) => Some(&one.cell.workload),
            (Axis::Workload, Entry::Published(one)) => Some(&one.workload),
            (Axis::Host, _) => Some(host),
            (Axis::Environment, Entry::Measured(one)) => Some(&one.cell.environment),
            (Axis::Environment, Entry::Published(one)) => Some(&one.environment),
            (Axis::Parameter(name), Entry::Measured(one)) => one.cell.parameters.get(name),
            (Axis::Parameter(name), Entry::Published(one)) => one.parameters.get(name),
            (Axis::HostLabel(name), _) => presentation.labels.get(host).and_then(|labels| labels.get(name)),
            (Axis::Label(name), Entry::Measured(one)) => one.metric.labels.get(name),
            (Axis::Label(name), Entry::Published(one)) => one.labels.get(name),
            (Axis::Metric, Entry::Measured(one)) => Some(&one.metric.name),
            (Axis::Metric, Entry::Published(one)) => Some(&one.metric),
        };
        value.cloned().unwrap_or_default()
    }

    /// A value as it stands in the header of a column: parameters with their name.
    pub(super) fn in_header(&self, value: &str) -> String {
        match self {
            Axis::Parameter(name) | Axis::Label(name) if !value.is_empty() => format!("{name}={value}"),
            _ => value.to_owned(),
        }
    }
}

/// Every axis that `entries` have values of, those that every cell has first.
pub(super) fn all_axes(entries: &[Entry<'_>]) -> Vec<Axis> {
    let mut axes = vec![Axis::Workload, Axis::Host, Axis::Environment];
    let mut parameters = Vec::new();
    let mut labels = Vec::new();
    for entry in entries {
        if let Entry::Measured(one) = entry {
            parameters.extend(one.cell.parameters.keys().cloned().map(Axis::Parameter));
            labels.extend(one.metric.labels.keys().cloned().map(Axis::Label));
        }
    }
    for mut more in [parameters, labels] {
        more.sort();
        more.dedup();
        axes.extend(more);
    }
    axes
}
