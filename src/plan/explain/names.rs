//! The names of a cell's templates, each with the place its value comes from.

use std::collections::BTreeMap;

use minijinja::{Value, context};

use super::super::substitute::Context;
use super::super::{Cell, Phase, Trial, Turn};
use super::{Entry, Teller};
use crate::diagnostic::Span;
use crate::spec::matrix::Block;
use crate::spec::{Located, Spec};

/// The names of the first trial of `cell`; of its services only placeholders are known.
pub(super) fn context(spec: &Spec, cell: &Cell) -> Context {
    let turn = Turn { cell: 0, phase: Phase::Measure, repetition: 1, order: 1, block: 1 };
    let trial = Trial::new(turn, cell.name.clone());
    let service = |name: &str| context! { address => address_of(name), port => port_of(name) };
    let services: BTreeMap<&str, Value> =
        cell.services.iter().map(|planned| (planned.name.as_str(), service(&planned.name))).collect();
    Context::of_cell(spec, cell)
        .with("trial", context! { repetition => trial.repetition, name => trial.id() })
        .with("services", Value::from(services))
}

pub(super) fn port_of(service: &str) -> String {
    format!("<port of {service}>")
}

fn address_of(service: &str) -> String {
    format!("<address of {service}>")
}

impl Teller<'_> {
    pub(super) fn names(&self) -> Vec<Entry> {
        let Cell { workload, host, environment, parameters, services, .. } = self.cell;
        let mut names = vec![
            self.axis("workload", workload, key_span(&self.spec.workloads, workload)),
            self.axis("environment", environment, key_span(&self.spec.environments, environment)),
            self.axis("host.name", host, key_span(&self.spec.hosts, host)),
        ];
        names.push(self.host_name("address", self.address_span()));
        for (label, text) in &self.spec.hosts[host.as_str()].labels {
            names.push(self.host_name(&format!("labels.{}", label.value), text.span));
        }
        for (name, default) in &self.workload().parameters {
            let value = parameters.get(name.as_str()).map_or("", |value| value.as_str());
            names.push(self.axis(name, value, default.span));
        }
        for variable in self.spec.variables.keys() {
            names.push(self.rendered_name(&format!("env.{variable}"), Span::default()));
        }
        for name in ["trial.repetition", "trial.name"] {
            names.push(self.rendered_name(name, Span::default()));
        }
        for service in services {
            for field in ["address", "port"] {
                names
                    .push(self.rendered_name(&format!("services.{}.{field}", service.name), Span::default()));
            }
        }
        names
    }

    /// A value of an axis: from its block of the matrix, or else from `declared`.
    fn axis(&self, name: &str, value: &str, declared: Span) -> Entry {
        let origin = self.plan.origin(self.index, if name == "host.name" { "host" } else { name });
        let span = if origin.length > 0 { origin } else { declared };
        let raw = self.sources.text(span).trim();
        let raw = (!raw.is_empty() && raw != value).then(|| raw.to_owned());
        Entry { raw, ..self.value(name, value, span) }
    }

    fn host_name(&self, name: &str, span: Span) -> Entry {
        self.rendered_name(&format!("host.{name}"), span)
    }

    /// A name as a template would give it.
    fn rendered_name(&self, name: &str, span: Span) -> Entry {
        // A label is any text, and then no name of a template.
        let path: Vec<String> = name.split('.').map(|key| format!("[{key:?}]")).collect();
        let first = name.split('.').next().unwrap_or_default();
        let template = format!("{{{{ {first}{} }}}}", path[1..].concat());
        self.value(name, self.rendered(&template, &self.context), span)
    }

    fn address_span(&self) -> Span {
        let host = &self.spec.hosts[self.cell.host.as_str()];
        let ssh = host.ssh.as_ref();
        let written = host.peer_address.as_ref().or(ssh.map(|ssh| &ssh.0.address)).map(|text| text.span);
        let written = written.filter(|span| span.length > 0).or(ssh.map(|ssh| ssh.span));
        written.unwrap_or_default()
    }

    /// The block of the matrix that the cell comes from.
    pub(super) fn block(&self) -> Option<&Block> {
        let origin = self.plan.origin_of_cell(self.index);
        let is_origin = |block: &&Located<Block>| {
            block.span == origin || block.include.iter().any(|entry| entry.span == origin)
        };
        self.spec.matrix.iter().find(is_origin).map(|block| &block.value)
    }
}

fn key_span<V>(section: &indexmap::IndexMap<crate::spec::Text, V>, name: &str) -> Span {
    section.get_key_value(name).map(|(key, _)| key.span).unwrap_or_default()
}
