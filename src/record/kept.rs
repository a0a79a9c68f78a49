//! What readers keep of a line of `records.jsonl`: a run may have a million of them. What tells one trial from the next
//! of its cell stands in [`Record`] itself, what they have in common in one [`Common`] for all, and what few of them
//! have in [`Words`].

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use serde::Deserialize;

use super::{CacheDrop, KeptOutput, Line, Measurement, Noise, Phase, Series, Stage, Started, Status};
use crate::metrics::Distribution;
use crate::units::{Better, Fixed, Unit};

/// One attempt at a trial. The fields of its [`Common`] are to be had from the record itself.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "Line")]
pub struct Record {
    /// What it shares with others.
    pub common: Arc<Common>,
    words: Option<Box<Words>>,
    values: Values,
    /// Wall time of the whole trial in seconds.
    pub elapsed_s: f64,
    /// When it began; none where its line tells no time.
    pub started: Option<Started>,
    /// From 1, counted for each phase apart.
    pub repetition: u32,
    /// From 1.
    pub attempt: u32,
    /// The place of its line in the file, from 0.
    pub line: u32,
    /// Warm-up or measured.
    pub phase: Phase,
    /// How it ended.
    pub status: Status,
}

/// What the records of a cell mostly have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct Common {
    /// The cell's name.
    pub cell: String,
    /// The digest of the cell's settings when this was measured.
    pub settings: String,
    /// The workload's name.
    pub workload: String,
    /// The host's name.
    pub host: String,
    /// The environment's name.
    pub environment: String,
    /// The value of each parameter, as text.
    pub parameters: BTreeMap<String, String>,
    /// What was measured, in the order of the values.
    pub metrics: Vec<RecordedMetric>,
    /// The version of each tool, as its output gives it.
    pub tools: BTreeMap<String, String>,
    /// The hosts that told what they were like meanwhile: its own, then those of services by name.
    pub watched: Vec<String>,
}

/// What one value of a record is a value of.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedMetric {
    /// The metric's name.
    pub name: String,
    /// The base unit of the value.
    pub unit: Unit,
    /// Which direction is good, where the metric has one.
    pub better: Option<Better>,
    /// What the trials hold fixed, for a rate of which it is known.
    pub fixed: Option<Fixed>,
    /// What tells apart several values of one metric; empty for most.
    pub labels: BTreeMap<String, String>,
}

/// What few records have, and readers ask for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Words {
    /// The name of the trial, where it is not made of cell and repetition.
    trial: Option<String>,
    /// Its start, where [`Started`] writes it otherwise.
    started: Option<String>,
    /// Where it failed.
    pub stage: Option<Stage>,
    /// Why it failed.
    pub reason: Option<String>,
    /// Whether another attempt was to follow.
    pub repeated: bool,
    /// What a reader should know besides.
    pub warnings: Vec<String>,
    /// Page cache around each `drop_caches`.
    pub caches: Vec<CacheDrop>,
    /// What of the watched hosts is suspicious, or tells of a CPU that was held back: those of [`Common::watched`] that
    /// are not here were quiet.
    pub noise: Vec<(String, Noise)>,
    /// Quantities over the time of the trial.
    pub series: Vec<Series>,
    /// Distributions of many values each.
    pub histograms: Vec<Distribution>,
    /// The kept outputs and fetched files.
    pub outputs: Vec<KeptOutput>,
    /// Who read its outputs again later, and what came of it.
    pub read_again: Option<String>,
}

static NO_WORDS: Words = Words {
    trial: None,
    started: None,
    stage: None,
    reason: None,
    repeated: false,
    warnings: Vec::new(),
    caches: Vec::new(),
    noise: Vec::new(),
    series: Vec::new(),
    histograms: Vec::new(),
    outputs: Vec::new(),
    read_again: None,
};

/// The values of a record. Most have one, which takes no memory of its own.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Values {
    One(f64),
    Many(Box<[f64]>),
}

impl Default for Values {
    fn default() -> Self {
        Values::Many(Box::default())
    }
}

impl Values {
    pub fn new(values: impl ExactSizeIterator<Item = f64>) -> Self {
        let mut values = values;
        match (values.len(), values.next()) {
            (1, Some(value)) => Values::One(value),
            (_, first) => Values::Many(first.into_iter().chain(values).collect()),
        }
    }

    /// Adds one behind the others.
    pub fn push(&mut self, value: f64) {
        *self = match self {
            Values::Many(none) if none.is_empty() => Values::One(value),
            Values::One(first) => Values::Many(Box::new([*first, value])),
            Values::Many(others) => Values::Many([&**others, &[value]].concat().into()),
        };
    }
}

/// What of a record may be other than in the one before, where nothing else is.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    pub line: u32,
    pub repetition: u32,
    pub attempt: u32,
    pub started: Option<Started>,
    pub elapsed_s: f64,
    pub values: Values,
    pub outputs: Vec<KeptOutput>,
}

impl Record {
    /// What is kept of `line`, whose values are `values`; `number` is its place in the file, from 0.
    pub(super) fn new<T: AsRef<str>, P, M>(
        line: Line<T, P, M>,
        common: Arc<Common>,
        values: Values,
        number: u32,
    ) -> Self {
        let (trial, started) = (line.trial.as_ref(), line.started.as_ref());
        let own = line.noise.map(|noise| (line.host.as_ref().to_owned(), *noise));
        let tells =
            |(_, noise): &(String, Noise)| !noise.suspicious.is_empty() || !noise.throttled_by.is_empty();
        let mut words = Words {
            trial: (!is_named(trial, &common.cell, line.phase, line.repetition)).then(|| trial.to_owned()),
            started: (!Started::is_as_written(started)).then(|| started.to_owned()),
            stage: line.stage,
            reason: line.reason,
            repeated: line.repeated,
            warnings: line.warnings,
            caches: line.caches,
            noise: own.into_iter().chain(line.noise_of_services).filter(tells).collect(),
            series: line.details.series,
            histograms: line.details.histograms,
            outputs: line.outputs,
            read_again: line.read_again,
        };
        // Room for four is made for the first.
        words.outputs.shrink_to_fit();
        Self {
            words: (words != NO_WORDS).then(|| Box::new(words)),
            values,
            elapsed_s: line.elapsed_s,
            started: Started::read(started),
            repetition: line.repetition,
            attempt: line.attempt,
            line: number,
            phase: line.phase,
            status: line.status,
            common,
        }
    }

    /// Whether it has no other words than outputs.
    pub(super) fn is_plain(&self) -> bool {
        Words { outputs: Vec::new(), ..self.words().clone() } == NO_WORDS
    }

    /// A plain record with other numbers.
    pub(super) fn with(&self, numbers: Numbers) -> Self {
        let Numbers { line, repetition, attempt, started, elapsed_s, values, outputs } = numbers;
        let words = (!outputs.is_empty()).then(|| Box::new(Words { outputs, ..Words::default() }));
        let common = Arc::clone(&self.common);
        let (phase, status) = (self.phase, self.status);
        Self { common, words, values, elapsed_s, started, repetition, attempt, line, phase, status }
    }

    /// `CELL#REPETITION`, or `CELL#warmup-N`.
    pub fn trial(&self) -> String {
        let name = |(prefix, number)| format!("{}#{prefix}{number}", self.cell);
        self.label().map(name).or_else(|| self.words().trial.clone()).unwrap_or_default()
    }

    /// What follows `CELL#` in its name: nothing or a word, and a number. None where it is named otherwise.
    pub fn label(&self) -> Option<(&'static str, u32)> {
        self.words().trial.is_none().then_some((prefix(self.phase), self.repetition))
    }

    /// Its start as its line has it, RFC 3339.
    pub fn start(&self) -> String {
        let start = || self.started.map(|started| started.to_string()).unwrap_or_default();
        self.words().started.clone().unwrap_or_else(start)
    }

    /// Whether both are of one cell.
    pub fn is_of_cell(&self, other: &Record) -> bool {
        Arc::ptr_eq(&self.common, &other.common) || self.cell == other.cell
    }

    /// Whether both differ in their lines' places alone.
    pub fn says_the_same(&self, other: &Record) -> bool {
        *self == Record { line: self.line, ..other.clone() }
    }

    /// What it has besides numbers.
    pub fn words(&self) -> &Words {
        self.words.as_deref().unwrap_or(&NO_WORDS)
    }

    /// Its values in base units, in the order of [`Common::metrics`].
    pub fn values(&self) -> &[f64] {
        match &self.values {
            Values::One(value) => std::slice::from_ref(value),
            Values::Many(values) => values,
        }
    }

    /// Gives it other values.
    #[cfg(test)]
    pub(crate) fn measure(&mut self, measured: Vec<(RecordedMetric, f64)>) {
        self.values = Values::new(measured.iter().map(|(_, value)| *value));
        Arc::make_mut(&mut self.common).metrics = measured.into_iter().map(|(metric, _)| metric).collect();
    }

    /// What was measured, each with its value.
    pub fn measured(&self) -> impl Iterator<Item = (&RecordedMetric, f64)> {
        self.common.metrics.iter().zip(self.values().iter().copied())
    }
}

/// Whether a trial has the name that runs give it.
fn is_named(trial: &str, cell: &str, phase: Phase, repetition: u32) -> bool {
    let number = trial.strip_prefix(cell).and_then(|rest| rest.strip_prefix('#'));
    let digits = number.and_then(|number| number.strip_prefix(prefix(phase)));
    digits.is_some_and(|digits| {
        let is_plain = !digits.starts_with(['0', '+']) || digits == "0";
        is_plain && digits.parse() == Ok(repetition)
    })
}

fn prefix(phase: Phase) -> &'static str {
    match phase {
        Phase::Warmup => "warmup-",
        Phase::Measure | Phase::Excluded => "",
    }
}

impl Deref for Record {
    type Target = Common;

    fn deref(&self) -> &Common {
        &self.common
    }
}

impl From<Line> for Record {
    fn from(line: Line) -> Self {
        let values = Values::new(line.measurements.iter().map(|measurement| measurement.value));
        let common = Arc::new(Common::of(&line));
        Record::new(line, common, values, 0)
    }
}

impl Common {
    fn of(line: &Line) -> Self {
        let metric = |Measurement { name, unit, better, fixed, labels, .. }: &Measurement| RecordedMetric {
            name: name.clone(),
            unit: unit.clone(),
            better: *better,
            fixed: *fixed,
            labels: labels.clone(),
        };
        Common {
            cell: line.cell.clone(),
            settings: line.settings.clone(),
            workload: line.workload.clone(),
            host: line.host.clone(),
            environment: line.environment.clone(),
            parameters: line.parameters.clone(),
            metrics: line.measurements.iter().map(metric).collect(),
            tools: line.details.tools.clone(),
            watched: line.watched().map(str::to_owned).collect(),
        }
    }
}

impl<T: AsRef<str>, P, M> Line<T, P, M> {
    /// See [`Common::watched`].
    pub(super) fn watched(&self) -> impl Iterator<Item = &str> {
        let own = self.noise.is_some().then_some(self.host.as_ref());
        own.into_iter().chain(self.noise_of_services.keys().map(String::as_str))
    }
}
