//! Values by a column of comma-separated values.

use std::collections::BTreeMap;

use ::csv::{ErrorKind, ReaderBuilder, StringRecord, Trim};

use super::number::number;
use super::{UNENDED, Value, distinct};
use crate::metrics::text;
use crate::spec::metric::Csv;

/// Reads the cells of a column, one for each row that fulfils the conditions of `rule`.
///
/// # Errors
/// No such column, no such row, several that no label tells apart, a cell that is no number, rows of unequal length,
/// a quote that is never closed, or a cell that may be cut off.
pub(super) fn read(rule: &Csv, output: &[u8]) -> Result<Vec<Value>, String> {
    let text = text::clean(output);
    let mut rows = records(rule, &text)?;
    let header = match rule.has_header() && !rows.is_empty() {
        true => Some(rows.remove(0)),
        false => None,
    };
    let Some(width) = header.as_ref().or(rows.first()).map(StringRecord::len) else {
        return Err("finds nothing".to_owned());
    };
    let place = |column: &str| match &header {
        Some(header) => named(header, column),
        None => numbered(width, column),
    };
    let column = place(&rule.column)?;
    let conditions = rule.conditions.iter().map(|(column, cell)| Ok((place(column)?, cell.trim())));
    let conditions = conditions.collect::<Result<Vec<_>, String>>()?;
    let labels = rule.labels.values.iter().map(|column| Ok((place(column)?, column.as_str())));
    let labels = labels.collect::<Result<Vec<_>, String>>()?;
    let mut used = conditions.iter().map(|one| one.0).chain(labels.iter().map(|one| one.0)).chain([column]);
    if !text.ends_with('\n') && used.any(|place| place + 1 == width) {
        let last = rows.last().and_then(|row| row.get(width - 1)).unwrap_or_default();
        return Err(format!("finds the cell `{last}`, which {UNENDED}"));
    }
    let is_meant =
        |row: &&StringRecord| conditions.iter().all(|(place, cell)| row.get(*place) == Some(*cell));
    let value = |row: &StringRecord| {
        let cell = |place: usize| row.get(place).unwrap_or_default();
        let labels = labels.iter().map(|(place, name)| ((*name).to_owned(), cell(*place).to_owned()));
        Ok(Value { value: number(cell(column))?, labels: labels.collect::<BTreeMap<_, _>>() })
    };
    let values = rows.iter().filter(is_meant).map(value).collect::<Result<Vec<_>, String>>()?;
    match values.is_empty() {
        true => Err(format!("finds no row{}", told(rule))),
        false => distinct(values, "rows"),
    }
}

fn records(rule: &Csv, text: &str) -> Result<Vec<StringRecord>, String> {
    // Inside an open quote the reader would go on to the end, and take what is there for a cell.
    if text.matches('"').count() % 2 == 1 {
        return Err("finds a quote that is not closed; it may be cut off".to_owned());
    }
    let delimiter = rule.delimiter().unwrap_or(b',');
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .delimiter(delimiter)
        .trim(Trim::All)
        .from_reader(text.as_bytes());
    let told = |error: ::csv::Error| match error.kind() {
        ErrorKind::UnequalLengths { pos, expected_len, len } => {
            let line = pos.as_ref().map_or(0, |place| place.line());
            format!("finds {len} cells in line {line}, and {expected_len} in the first")
        }
        _ => format!("can't be read: {error}"),
    };
    reader.records().collect::<Result<_, _>>().map_err(told)
}

/// The index of the column that the header calls `column`.
fn named(header: &StringRecord, column: &str) -> Result<usize, String> {
    let places: Vec<usize> = header
        .iter()
        .enumerate()
        .filter(|(_, name)| *name == column.trim())
        .map(|(place, _)| place)
        .collect();
    match places[..] {
        [place] => Ok(place),
        [] => {
            let names: Vec<String> = header.iter().take(20).map(|name| format!("`{name}`")).collect();
            let names = text::shown(&names.join(", ")).unwrap_or_default();
            Err(format!("finds no column `{column}` (the first row is {names})"))
        }
        _ => Err(format!("finds {} columns `{column}`, expected one", places.len())),
    }
}

/// The index of a column that is called by its number from 1.
fn numbered(width: usize, column: &str) -> Result<usize, String> {
    let place = column.trim().parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    place
        .filter(|place| *place < width)
        .ok_or_else(|| format!("finds {width} columns, and no column {column}"))
}

/// The conditions in words.
fn told(rule: &Csv) -> String {
    let conditions: Vec<String> = rule
        .conditions
        .iter()
        .map(|(column, cell)| format!("`{}` is `{}`", column.value, cell.value))
        .collect();
    match conditions.is_empty() {
        true => String::new(),
        false => format!(" where {}", conditions.join(" and ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(rule: &str, output: &str) -> Result<Vec<(f64, String)>, String> {
        let rule: Csv = serde_yaml::from_str(rule).unwrap();
        let labels = |labels: BTreeMap<String, String>| {
            labels.into_iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
        };
        let found = read(&rule, output.as_bytes())?;
        Ok(found.into_iter().map(|one| (one.value, labels(one.labels))).collect())
    }

    const TABLE: &str = "operation,threads,MB/s\nread,1,100\nread,4,350.5\nwrite,1,50\nwrite,4,\"120\"\n";

    #[test]
    fn cells_are_read_by_name_or_number() {
        for (rule, output, expected) in [
            ("{ column: MB/s, where: { operation: write, threads: '4' } }", TABLE, vec![(120.0, "")]),
            (
                "{ column: MB/s, where: { operation: read }, labels: [threads] }",
                TABLE,
                vec![(100.0, "threads=1"), (350.5, "threads=4")],
            ),
            ("{ column: a }", "\u{feff}a , b\r\n 1.5 , x\r\n", vec![(1.5, "")]),
            ("{ column: a, delimiter: ';' }", "a;b\n1.5;x", vec![(1.5, "")]),
            ("{ column: '2', header: false, delimiter: \"\\t\" }", "x\t2e3\n", vec![(2000.0, "")]),
            (
                "{ column: '2', header: false, labels: ['1'] }",
                "\"a, \"\"b\"\"\",1\n\nc,2\n",
                vec![(1.0, "1=a, \"b\""), (2.0, "1=c")],
            ),
            ("{ column: v, where: { n: \"two\\nlines\" } }", "n,v\n\"two\nlines\",3\n", vec![(3.0, "")]),
        ] {
            let expected = expected.into_iter().map(|(value, labels)| (value, labels.to_owned())).collect();
            assert_eq!(values(rule, output), Ok(expected), "{rule}");
        }
    }

    #[test]
    fn anything_else_is_an_error() {
        let comma = "found `1,5`, which is not a number (what a comma means is not guessed: let it print a decimal point)";
        let cut = |cell: &str| format!("finds the cell `{cell}`, which {UNENDED}");
        for (rule, output, reason) in [
            ("{ column: a }", "", "finds nothing".to_owned()),
            ("{ column: a }", "a,b\n", "finds no row".to_owned()),
            (
                "{ column: rate }",
                TABLE,
                "finds no column `rate` (the first row is `operation`, `threads`, `MB/s`)".into(),
            ),
            ("{ column: MB/s }", TABLE, "finds 4 rows, and no label tells them apart".into()),
            (
                "{ column: MB/s, labels: [threads] }",
                TABLE,
                "finds 2 rows with the same labels (threads=1)".into(),
            ),
            (
                "{ column: MB/s, where: { operation: copy, threads: '1' } }",
                TABLE,
                "finds no row where `operation` is `copy` and `threads` is `1`".into(),
            ),
            ("{ column: a }", "a,a\n1,2\n", "finds 2 columns `a`, expected one".into()),
            ("{ column: '3', header: false }", "1,2\n", "finds 2 columns, and no column 3".into()),
            ("{ column: a }", "a,b\n1,2\n3\n", "finds 1 cells in line 3, and 2 in the first".into()),
            ("{ column: a, delimiter: ';' }", "a;b\n1,5;2\n", comma.into()),
            ("{ column: a, delimiter: ';' }", "a;b\n;2\n", "found ``, which is not a number".into()),
            ("{ column: b }", "a,b\n1,2", cut("2")),
            ("{ column: a, where: { b: x } }", "a,b\n1,x", cut("x")),
            ("{ column: a, where: { b: x } }", "a,b\n1,x\n2,y", cut("y")),
            ("{ column: a }", "a,b\n1,\"2\n", "finds a quote that is not closed; it may be cut off".into()),
        ] {
            assert_eq!(values(rule, output), Err(reason), "{rule} {output}");
        }
    }
}
