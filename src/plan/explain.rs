//! What one cell does, in words: each value and the place it comes from, each command as it will be run.
//! It computes the same texts as a run, but knows no port and no address of a service. Read
//! [`Explanation`].

mod commands;
mod names;

use super::substitute::Context;
use super::{Cell, Plan};
use crate::diagnostic::{Sources, Span};
use crate::spec::expect::Expect;
use crate::spec::{Environment, Spec, Text, TimeSpan, Workload};

/// One cell, explained.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// The cell.
    pub cell: Cell,
    /// Every name that its templates may use.
    pub names: Vec<Entry>,
    /// The settings of its environment.
    pub settings: Vec<Entry>,
    /// What is done for it, in the order of a trial.
    pub actions: Vec<Action>,
    /// How often, how long, and what is read.
    pub limits: Vec<Entry>,
}

/// One value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What it is called.
    pub name: String,
    /// What it is in the end.
    pub value: String,
    /// How it is written, where that is not the same.
    pub raw: Option<String>,
    /// `FILE:LINE:COLUMN`; `None` for what is written nowhere.
    pub place: Option<String>,
}

/// One thing that is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// When: `setup`, `service server`, `run`, …
    pub stage: String,
    /// Where and how: `lattepanda-a, in docker`.
    pub whereabouts: String,
    /// The command in the end.
    pub command: String,
    /// How it is written, where that is not the same.
    pub raw: Option<String>,
    /// `FILE:LINE:COLUMN`.
    pub place: Option<String>,
}

/// What holds where the file is silent; other stages know it.
#[derive(Debug, Clone)]
pub struct Defaults {
    /// Where the directories of cells are made.
    pub workdir: String,
    /// The longest time of a command.
    pub timeout: TimeSpan,
    /// How often a trial is tried again.
    pub retries: u32,
    /// The metrics that are read of the cell's workload.
    pub metrics: Vec<String>,
}

/// Explains the cell number `index` of the plan of a checked experiment.
pub fn explain(
    spec: &Spec,
    sources: &Sources,
    plan: &Plan,
    index: usize,
    defaults: &Defaults,
) -> Explanation {
    let cell = &plan.cell(index);
    let teller = Teller { spec, sources, plan, index, cell, context: names::context(spec, cell) };
    Explanation {
        cell: cell.clone(),
        names: teller.names(),
        settings: teller.settings(defaults),
        actions: teller.actions(),
        limits: teller.limits(defaults),
    }
}

/// What all parts of an explanation are told from.
struct Teller<'a> {
    spec: &'a Spec,
    sources: &'a Sources,
    plan: &'a Plan,
    index: usize,
    cell: &'a Cell,
    context: Context,
}

impl Teller<'_> {
    /// `text` in the end, or why that is not known yet.
    fn rendered(&self, text: &str, context: &Context) -> String {
        context.render(text).unwrap_or_else(|reason| format!("<known in the run: {reason}>"))
    }

    /// A setting that may hold a template.
    fn setting(&self, name: &str, text: &Text) -> Entry {
        let value = self.rendered(text, &self.context);
        let raw = (value != text.value).then(|| text.value.clone());
        Entry { name: name.to_owned(), value, raw, place: self.sources.place(text.span) }
    }

    /// A value that is taken as it is, from `span`.
    fn value(&self, name: impl Into<String>, value: impl Into<String>, span: Span) -> Entry {
        Entry { name: name.into(), value: value.into(), raw: None, place: self.sources.place(span) }
    }

    fn settings(&self, defaults: &Defaults) -> Vec<Entry> {
        let Environment { workdir, env, shell, container, .. } = self.environment();
        let optional = |name: &str, text: &Option<Text>, default: &str| match text {
            Some(text) => self.setting(name, text),
            None => self.value(name, default, Span::default()),
        };
        let mut settings =
            vec![optional("workdir", workdir, &defaults.workdir), optional("shell", shell, "sh")];
        for (name, text) in env.iter().chain(&self.workload().env) {
            settings.push(self.setting(&format!("env.{}", name.value), text));
        }
        let Some(container) = container else { return settings };
        let texts = [
            ("image", &container.image),
            ("build", &container.build),
            ("network", &container.network),
            ("cpus", &container.cpus),
            ("memory", &container.memory),
            ("privileged", &container.privileged),
            ("user", &container.user),
            ("platform", &container.platform),
        ];
        for (name, text) in texts {
            settings.extend(text.as_ref().map(|text| self.setting(&format!("container.{name}"), text)));
        }
        let lists = [
            ("volumes", &container.volumes),
            ("ports", &container.ports),
            ("entrypoint", &container.entrypoint),
        ];
        for (name, list) in lists {
            settings.extend(list.values.iter().map(|text| self.setting(&format!("container.{name}"), text)));
        }
        for (name, word) in [("pull", container.pull.as_str()), ("fresh", container.fresh.as_str())] {
            settings.push(self.value(format!("container.{name}"), word, Span::default()));
        }
        settings
    }

    fn limits(&self, defaults: &Defaults) -> Vec<Entry> {
        let block = self.block();
        let workload = self.workload();
        let repetitions = block
            .and_then(|block| block.repetitions.as_ref())
            .or(workload.repetitions.as_ref())
            .or(self.spec.repetitions.as_ref());
        let warmup = block.and_then(|block| block.warmup.as_ref());
        let warmup = warmup.or(workload.warmup.as_ref()).or(self.spec.warmup.as_ref());
        let often =
            repetitions.map_or_else(|| self.cell.repetitions.to_string(), |often| often.value.to_string());
        let repetitions_span = repetitions.map(|count| count.span).unwrap_or_default();
        let warmup_span = warmup.map(|count| count.span).unwrap_or_default();
        let timeout = workload.timeout.as_ref().or(self.spec.timeout.as_ref());
        let (timeout, timeout_span) =
            timeout.map_or((defaults.timeout, Span::default()), |timeout| (timeout.value, timeout.span));
        let retries = workload.retries.as_ref().or(self.spec.retries.as_ref());
        let (retries, retries_span) =
            retries.map_or((defaults.retries, Span::default()), |count| (count.value, count.span));
        let on_failure = workload.on_failure.as_ref().or(self.spec.on_failure.as_ref());
        let (on_failure, on_failure_span) =
            on_failure.map(|word| (word.value, word.span)).unwrap_or_default();
        let mut limits = vec![
            self.value("repetitions", often, repetitions_span),
            self.value("warmup", self.cell.warmup.to_string(), warmup_span),
            self.value("timeout", timeout.to_string(), timeout_span),
            self.value("retries", retries.to_string(), retries_span),
            self.value("on_failure", on_failure.as_str(), on_failure_span),
            self.value("metrics", defaults.metrics.join(", "), self.metrics_span()),
        ];
        let trial_timeout = workload.trial_timeout.as_ref().or(self.spec.trial_timeout.as_ref());
        limits
            .extend(trial_timeout.map(|time| self.value("trial_timeout", time.value.to_string(), time.span)));
        if let Some(expect) = &workload.expect {
            let Expect { exit, metrics, when, not } = &expect.value;
            for (name, list) in [("exit", exit), ("metrics", metrics)] {
                limits.extend(list.values.iter().map(|text| self.setting(&format!("expect.{name}"), text)));
            }
            for (name, text) in [("when", when), ("not", not)] {
                limits.extend(text.as_ref().map(|text| self.setting(&format!("expect.{name}"), text)));
            }
        }
        limits
    }

    fn metrics_span(&self) -> Span {
        let metrics = &self.workload().metrics;
        let names = metrics.keep.values.iter().chain(&metrics.tool).chain(metrics.extract.keys());
        names.map(|name| name.span).next().unwrap_or_default()
    }

    fn environment(&self) -> &Environment {
        &self.spec.environments[self.cell.environment.as_str()]
    }

    fn workload(&self) -> &Workload {
        &self.spec.workloads[self.cell.workload.as_str()]
    }
}
