//! Which cell of a table each entry stands in: rows and columns by the axes that were asked for, and further rows
//! where those would put two into one place. Read [`Grid::new`].

use std::collections::btree_map::Entry as Entries;
use std::collections::{BTreeMap, BTreeSet};

use super::axes::{Axis, Entry, all_axes};
use super::number::NOTHING;
use super::view::{Column, Origin, Table, distinct};
use crate::record::{Presentation, Reference};

/// A key: the values of the axes of rows or columns.
type Key = Vec<String>;

/// What stands in one place.
pub(super) struct Field {
    pub text: String,
    /// What it comes from.
    pub origin: Option<Origin>,
}

/// The places of a table.
pub(super) struct Grid {
    row_axes: Vec<Axis>,
    column_axes: Vec<Axis>,
    /// The place of each entry, in their order.
    places: Vec<(Key, Key)>,
    rows: Vec<Key>,
    columns: Vec<Key>,
}

/// What marks a row of published figures.
const PUBLISHED: &str = " †";

impl Grid {
    pub(super) fn new(
        entries: &[Entry<'_>],
        mut row_axes: Vec<Axis>,
        column_axes: Vec<Axis>,
        presentation: &Presentation,
        sources: &[String],
    ) -> Self {
        let keys = |axes: &[Axis], entry: Entry<'_>| -> Key {
            axes.iter().map(|axis| axis.value(entry, presentation)).collect()
        };
        let measured: Vec<Entry<'_>> =
            entries.iter().copied().filter(|entry| matches!(entry, Entry::Measured(_))).collect();
        for axis in all_axes(&measured) {
            if row_axes.contains(&axis) || column_axes.contains(&axis) {
                continue;
            }
            let mut seen: BTreeMap<(Key, Key), String> = BTreeMap::new();
            let parts = measured.iter().any(|entry| {
                let place = (keys(&row_axes, *entry), keys(&column_axes, *entry));
                let value = axis.value(*entry, presentation);
                *seen.entry(place).or_insert(value.clone()) != value
            });
            if parts {
                row_axes.push(axis);
            }
        }
        let mut columns: Vec<Key> =
            distinct(measured.iter().map(|entry| keys(&column_axes, *entry)).collect::<Vec<_>>().iter());
        let place = |entry: &Entry<'_>| {
            let (mut row, mut column) = (keys(&row_axes, *entry), keys(&column_axes, *entry));
            if let Entry::Published(figure) = entry {
                row = published_row(figure, row, &[&row_axes[..], &column_axes].concat(), sources);
                column = only_fitting(&columns, &column, &column_axes).unwrap_or(column);
            }
            (row, column)
        };
        let places: Vec<(Key, Key)> = entries.iter().map(place).collect();
        columns = nested(&distinct(places.iter().map(|(_, column)| column)));
        let rows = distinct(places.iter().map(|(row, _)| row));
        Grid { row_axes, column_axes, places, rows, columns }
    }

    /// The table of what `field` gives for each entry, by its number. Rows and columns of which it says nothing are left
    /// out.
    pub(super) fn table(
        &self,
        field: impl Fn(usize) -> Option<Field>,
        header: impl Fn(&Axis, &str) -> String,
    ) -> Option<Table> {
        let mut fields: BTreeMap<(&Key, &Key), Field> = BTreeMap::new();
        for (number, (row, column)) in self.places.iter().enumerate() {
            let Some(field) = field(number) else { continue };
            match fields.entry((row, column)) {
                Entries::Vacant(place) => drop(place.insert(field)),
                // One source with two figures for one place: both are told.
                Entries::Occupied(mut place) => place.get_mut().text.push_str(&format!("; {}", field.text)),
            }
        }
        let (in_rows, in_columns): (BTreeSet<&Key>, BTreeSet<&Key>) = fields.keys().copied().unzip();
        let used_columns: Vec<&Key> =
            self.columns.iter().filter(|column| in_columns.contains(column)).collect();
        let used_rows = self.rows.iter().filter(|row| in_rows.contains(row));
        let (rows, origins): (Vec<_>, Vec<_>) = used_rows
            .map(|row| {
                let own = used_columns.iter().map(|column| fields.get(&(row, *column)));
                let texts =
                    own.clone().map(|field| field.map_or_else(String::new, |field| field.text.clone()));
                let origins = own.map(|field| field.and_then(|field| field.origin.clone()));
                let texts: Vec<String> = row.iter().cloned().chain(texts).collect();
                (texts, row.iter().map(|_| None).chain(origins).collect::<Vec<Option<Origin>>>())
            })
            .unzip();
        let columns = self.row_axes.iter().map(|axis| Column::text(axis.header()));
        let figures = used_columns.iter().map(|key| {
            let parts = self.column_axes.iter().zip(*key).map(|(axis, value)| header(axis, value));
            let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
            Column::number(if parts.is_empty() { NOTHING.to_owned() } else { parts.join(", ") })
        });
        let columns = columns.chain(figures).collect();
        (!rows.is_empty()).then_some(Table { columns, rows, origins })
    }
}

/// The row of a published figure: what tells it apart and is no axis of the table stands in its name, then the mark
/// of its source.
fn published_row(figure: &Reference, mut row: Key, axes: &[Axis], sources: &[String]) -> Key {
    let own = [(Axis::Host, &figure.host), (Axis::Environment, &figure.environment)];
    let own = own.into_iter().map(|(axis, value)| (axis, value.clone()));
    let parameters =
        figure.parameters.iter().map(|(name, value)| (Axis::Parameter(name.clone()), value.clone()));
    let labels = figure.labels.iter().map(|(name, value)| (Axis::Label(name.clone()), value.clone()));
    let others =
        own.chain(parameters).chain(labels).filter(|(axis, value)| !axes.contains(axis) && !value.is_empty());
    let mut name: Vec<String> = others.map(|(axis, value)| axis.in_header(&value)).collect();
    if !row[0].is_empty() {
        name.insert(0, row[0].clone());
    }
    row[0] = format!("{}{}", name.join(", "), mark(&figure.cited(), sources));
    row
}

/// ` †`, with the number of its source where there are several.
pub(super) fn mark(source: &str, sources: &[String]) -> String {
    match sources.iter().position(|known| known == source) {
        Some(number) if sources.len() > 1 => format!("{PUBLISHED}{}", number + 1),
        _ => PUBLISHED.to_owned(),
    }
}

/// The only one of `columns` that has every value that `key` has: a parameter that a source does not tell is not held
/// against it.
fn only_fitting(columns: &[Key], key: &Key, axes: &[Axis]) -> Option<Key> {
    let fits = |column: &&Key| {
        let mut values = column.iter().zip(key).zip(axes);
        values.all(|((own, wanted), axis)| {
            own == wanted || wanted.is_empty() && matches!(axis, Axis::Parameter(_) | Axis::Label(_))
        })
    };
    let mut fitting = columns.iter().filter(fits);
    fitting.next().filter(|_| fitting.next().is_none()).cloned()
}

/// The keys ordered by their first value, then by their second, …, each in the order of first appearance.
fn nested(keys: &[Key]) -> Vec<Key> {
    let depth = keys.first().map_or(0, Vec::len);
    let values: Vec<Vec<String>> =
        (0..depth).map(|level| distinct(keys.iter().map(|key| &key[level]))).collect();
    let mut ordered = keys.to_vec();
    ordered.sort_by_key(|key| {
        let place = |(level, value): (usize, &String)| values[level].iter().position(|known| known == value);
        key.iter().enumerate().map(place).collect::<Vec<_>>()
    });
    ordered
}
