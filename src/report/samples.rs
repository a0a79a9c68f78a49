//! `samples.csv`: a row per attempt and metric; a row without metric for an attempt that measured nothing. It is as long
//! as the records are many, so it is written as it is made, on all cores. Read [`write_samples`].

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::Arc;

use super::csv::{distinct, fields, names, values, write_number};
use crate::cores::in_order;
use crate::record::{Common, Record, Run, word};

const COLUMNS: &str =
    "trial cell workload host environment repetition attempt phase status metric value unit";

/// So many records a core makes rows of before they are written.
const PIECE: usize = 16 << 10;

/// Writes it to `out`.
///
/// # Errors
/// `out` can't be written to.
pub fn write_samples(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let columns = Columns {
        labels: names(distinct(run).flat_map(|common| &common.metrics).map(|metric| &metric.labels)),
        parameters: names(distinct(run).map(|common| &common.parameters)),
    };
    out.write_all(&columns.header())?;
    let pieces: Vec<&[Record]> = run.records.chunks(PIECE).collect();
    in_order(pieces.len(), || (), |_, number| columns.rows(pieces[number]), |rows| out.write_all(&rows?))
}

/// The columns behind the fixed ones.
struct Columns<'a> {
    labels: BTreeSet<&'a str>,
    parameters: BTreeSet<&'a str>,
}

/// What the rows of records that share a [`Common`] have in common, as it stands in the file.
struct Shared {
    /// The name of a trial up to its number, and what follows the number.
    trial: (Vec<u8>, &'static str),
    /// From the cell to the environment.
    place: Vec<u8>,
    /// For each metric its name, and what follows the value.
    metrics: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Columns<'_> {
    fn header(&self) -> Vec<u8> {
        let fixed = COLUMNS.split(' ').map(str::to_owned);
        let labels = self.labels.iter().map(|name| format!("label.{name}"));
        let parameters = self.parameters.iter().map(|name| format!("param.{name}"));
        let mut header = fields(fixed.chain(labels).chain(parameters));
        header.push(b'\n');
        header
    }

    fn shared(&self, common: &Common) -> Shared {
        let place = [&common.cell, &common.workload, &common.host, &common.environment].map(String::as_str);
        let none = Default::default();
        let metric = |name: &str, unit: &str, labels| {
            let more = values(&self.labels, Some(labels)).into_iter();
            let more = more.chain(values(&self.parameters, Some(&common.parameters)));
            (fields([name]), fields(std::iter::once(unit.to_owned()).chain(more)))
        };
        let mut metrics: Vec<_> =
            common.metrics.iter().map(|one| metric(&one.name, one.unit.as_str(), &one.labels)).collect();
        if metrics.is_empty() {
            metrics.push(metric("", "", &none));
        }
        let mut trial = fields([format!("{}#", common.cell)]);
        let quote = if trial.ends_with(b"\"") { "\"" } else { "" };
        trial.truncate(trial.len() - quote.len());
        Shared { trial: (trial, quote), place: fields(place), metrics }
    }

    fn rows(&self, records: &[Record]) -> io::Result<Vec<u8>> {
        let (mut rows, mut last) = (Vec::new(), None);
        for alike in records.chunk_by(|one, next| Arc::ptr_eq(&one.common, &next.common)) {
            let shared = self.shared(&alike[0].common);
            for record in alike {
                let mut trial = Vec::new();
                match record.label().filter(|_| !record.cell.contains('\u{1b}')) {
                    Some((prefix, number)) => {
                        trial.extend_from_slice(&shared.trial.0);
                        write!(trial, "{prefix}{number}{}", shared.trial.1)?;
                    }
                    None => trial = fields([record.trial()]),
                }
                let attempt = (record.attempt, record.phase, record.status);
                if last.as_ref().is_none_or(|(known, _)| *known != attempt) {
                    let text = format!("{},{},{}", record.attempt, word(&record.phase), word(&record.status));
                    last = Some((attempt, text));
                }
                let attempt = last.as_ref().map_or("", |(_, text)| text);
                let values = record.values().iter().copied().map(Some);
                let none = record.values().is_empty().then_some(None);
                for ((name, rest), value) in shared.metrics.iter().zip(values.chain(none)) {
                    rows.extend_from_slice(&trial);
                    rows.push(b',');
                    rows.extend_from_slice(&shared.place);
                    write!(rows, ",{},{attempt},", record.repetition)?;
                    rows.extend_from_slice(name);
                    rows.push(b',');
                    write_number(&mut rows, value)?;
                    rows.push(b',');
                    rows.extend_from_slice(rest);
                    rows.push(b'\n');
                }
            }
        }
        Ok(rows)
    }
}
