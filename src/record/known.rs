//! Lines of `records.jsonl` as records, whose parts that stand in many of them are kept once. A line is tried on the moulds
//! of its cell, or else parsed without copying its texts; only where it brings something new, or has escapes, is it read
//! whole. Read [`Known`].

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

use memchr::memchr;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::kept::Values;
use super::mould::Mould;
use super::{Common, FORMAT_VERSION, Line, Record, RecordedMetric};
use crate::units::{Better, Fixed};

/// So many different ones a cell is looked through for: trials that have nothing in common must not take long.
const LOOKED_THROUGH: usize = 8;

/// What records have in common, by cell, the newest last.
#[derive(Debug, Default)]
pub(super) struct Commons(HashMap<String, Vec<Arc<Common>>>);

impl Commons {
    fn find(&self, cell: &str, is_it: impl Fn(&Common) -> bool) -> Option<&Arc<Common>> {
        self.0.get(cell)?.iter().rev().take(LOOKED_THROUGH).find(|common| is_it(common))
    }

    /// The one that is like `new`, which it is itself where there is none yet.
    fn keep(&mut self, new: &Arc<Common>) -> Arc<Common> {
        if let Some(known) = self.find(&new.cell, |known| known == &**new) {
            return Arc::clone(known);
        }
        self.0.entry(new.cell.clone()).or_default().push(Arc::clone(new));
        Arc::clone(new)
    }
}

/// What a core knows of them without asking the others.
pub(super) struct Known<'a> {
    own: Commons,
    all: &'a Mutex<Commons>,
    /// By how a line begins, up to the number of the trial.
    moulds: HashMap<Vec<u8>, Vec<Mould>>,
}

impl<'a> Known<'a> {
    pub fn new(all: &'a Mutex<Commons>) -> Self {
        Known { own: Commons::default(), all, moulds: HashMap::new() }
    }

    /// The record of `line`, which is line `number` of the file, from 0; and the version that it says it has.
    ///
    /// # Errors
    /// It is none.
    pub fn read(&mut self, line: &[u8], number: u32) -> Result<(u32, Record), serde_json::Error> {
        let begin = &line[..memchr(b'#', line).unwrap_or_default()];
        let moulds = self.moulds.get(begin).map(Vec::as_slice).unwrap_or_default();
        if let Some(record) = moulds.iter().find_map(|mould| mould.read(line, number)) {
            return Ok((FORMAT_VERSION, record));
        }
        let has_room = moulds.len() < LOOKED_THROUGH;
        let (version, record) = self.parse(line, number)?;
        if has_room && version == FORMAT_VERSION {
            let mould = str::from_utf8(line).ok().and_then(|line| Mould::new(line, &record));
            self.moulds.entry(begin.to_owned()).or_default().extend(mould);
        }
        Ok((version, record))
    }

    fn parse(&mut self, line: &[u8], number: u32) -> Result<(u32, Record), serde_json::Error> {
        if let Ok(text) = str::from_utf8(line)
            && let Ok(plain) = serde_json::from_str::<PlainLine<'_>>(text)
            && let Some(common) = self.own.find(plain.cell, |known| is_of(known, &plain))
        {
            let values = Values::new(plain.measurements.iter().map(|measured| measured.value));
            return Ok((plain.v, Record::new(plain, Arc::clone(common), values, number)));
        }
        let whole: Line = serde_json::from_slice(line)?;
        let version = whole.v;
        let mut record = Record::from(whole);
        record.line = number;
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        record.common = all.keep(&record.common);
        record.common = self.own.keep(&record.common);
        Ok((version, record))
    }
}

/// A line whose texts have no escapes: it borrows them.
type PlainLine<'a> = Line<&'a str, Pairs<'a>, PlainMeasurement<'a>>;

#[derive(Deserialize)]
struct PlainMeasurement<'a> {
    name: &'a str,
    value: f64,
    unit: &'a str,
    #[serde(default)]
    better: Option<Better>,
    #[serde(default)]
    fixed: Option<Fixed>,
    #[serde(borrow, default)]
    labels: Pairs<'a>,
}

/// A map as it stands in a line.
pub(super) struct Pairs<'a, V = &'a str>(pub Vec<(&'a str, V)>);

impl<V> Default for Pairs<'_, V> {
    fn default() -> Self {
        Pairs(Vec::new())
    }
}

impl Pairs<'_> {
    fn is_same(&self, map: &BTreeMap<String, String>) -> bool {
        // A key that stands twice makes them more than the map has.
        self.0.len() == map.len()
            && self.0.iter().all(|(key, value)| map.get(*key).is_some_and(|own| own == value))
    }
}

impl<'de: 'a, 'a, V: Deserialize<'de>> Deserialize<'de> for Pairs<'a, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read<V>(PhantomData<V>);
        impl<'de, V: Deserialize<'de>> Visitor<'de> for Read<V> {
            type Value = Pairs<'de, V>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Read(PhantomData))
    }
}

fn is_of(known: &Common, line: &PlainLine<'_>) -> bool {
    let is_measured = |(metric, found): (&RecordedMetric, &PlainMeasurement<'_>)| {
        metric.name == found.name
            && metric.unit.as_str() == found.unit
            && metric.better == found.better
            && metric.fixed == found.fixed
            && found.labels.is_same(&metric.labels)
    };
    known.settings == line.settings
        && known.workload == line.workload
        && known.host == line.host
        && known.environment == line.environment
        && line.parameters.is_same(&known.parameters)
        && known.metrics.len() == line.measurements.len()
        && known.metrics.iter().zip(&line.measurements).all(is_measured)
        && known.tools == line.details.tools
        && line.watched().eq(known.watched.iter())
}
