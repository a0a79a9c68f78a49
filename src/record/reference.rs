//! Published figures, read from CSV. They stand beside measured ones and never count as such. Read [`parse`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::units::{Scale, Unit};

/// The columns that a file must have, and those that it may have besides `param.NAME` and `label.NAME`.
const NEEDED: [&str; 5] = ["source", "workload", "metric", "value", "unit"];
const OTHERS: [&str; 6] = ["date", "host", "environment", "low", "high", "note"];

/// One published figure, in the base unit of its metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reference {
    /// Who has published it, and where.
    pub source: String,
    /// When, as the file has it; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub date: String,
    /// The workload that it stands beside.
    pub workload: String,
    /// What it was measured on; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// In what it was measured; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub environment: String,
    /// The values of parameters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// What tells apart several values of one trial.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The metric.
    pub metric: String,
    /// The base unit.
    pub unit: Unit,
    /// The figure.
    pub value: f64,
    /// The lower end of what the source gives as its range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// The upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// What else the source says.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

impl Reference {
    /// `SOURCE, DATE: NOTE`, without a full stop.
    pub fn cited(&self) -> String {
        let Reference { source, date, note, .. } = self;
        let date = if date.is_empty() { String::new() } else { format!(", {date}") };
        let note = if note.is_empty() { String::new() } else { format!(": {note}") };
        format!("{source}{date}{note}").trim_end_matches('.').to_owned()
    }
}

/// The figures of a CSV text with a header: `source`, `workload`, `metric`, `value` and `unit`, and where they are
/// known `date`, `host`, `environment`, `low`, `high`, `note`, `param.NAME` and `label.NAME`. Values are converted to
/// the base unit of the one that is named.
///
/// # Errors
/// What is wrong, with its line.
pub fn parse(text: &str) -> Result<Vec<Reference>, String> {
    let mut reader =
        csv::ReaderBuilder::new().comment(Some(b'#')).trim(csv::Trim::All).from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| error.to_string())?.clone();
    if let Some(missing) = NEEDED.iter().find(|name| !header.iter().any(|column| column == **name)) {
        return Err(format!("there is no column `{missing}`"));
    }
    let is_known = |column: &str| {
        NEEDED.contains(&column)
            || OTHERS.contains(&column)
            || column
                .strip_prefix("param.")
                .or(column.strip_prefix("label."))
                .is_some_and(|name| !name.is_empty())
    };
    if let Some(unknown) = header.iter().find(|column| !is_known(column)) {
        return Err(format!("unknown column `{unknown}`: parameters are `param.NAME`, labels `label.NAME`"));
    }
    let mut found = Vec::new();
    for row in reader.records() {
        let row = row.map_err(|error| error.to_string())?;
        let line = row.position().map_or(0, csv::Position::line);
        found.push(reference(&header, &row).map_err(|error| format!("line {line}: {error}"))?);
    }
    Ok(found)
}

fn reference(header: &csv::StringRecord, row: &csv::StringRecord) -> Result<Reference, String> {
    let column = |name: &str| {
        let place = header.iter().position(|column| column == name);
        place.and_then(|place| row.get(place)).unwrap_or_default().to_owned()
    };
    let named = |prefix: &str| -> BTreeMap<String, String> {
        let of_prefix =
            header.iter().zip(row).filter_map(|(column, value)| Some((column.strip_prefix(prefix)?, value)));
        of_prefix
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| (name.into(), value.into()))
            .collect()
    };
    if let Some(empty) = NEEDED.iter().filter(|name| **name != "unit").find(|name| column(name).is_empty()) {
        return Err(format!("`{empty}` is empty"));
    }
    let shown = column("unit");
    let (unit, scale) = match Scale::named(&shown) {
        Some((unit, scale)) => (unit, Some(scale)),
        None => (Unit::from(shown), None),
    };
    let number = |name: &str| -> Result<Option<f64>, String> {
        let text = column(name);
        if text.is_empty() {
            return Ok(None);
        }
        let value = text.parse::<f64>().ok().filter(|value| value.is_finite());
        let value = value.ok_or_else(|| format!("`{name}` is `{text}`, which is no number"))?;
        Ok(Some(scale.as_ref().map_or(value, |scale| scale.to_base(value))))
    };
    let (value, low, high) = (number("value")?.unwrap_or_default(), number("low")?, number("high")?);
    match (low, high) {
        (None, None) => {}
        (Some(low), Some(high)) if low <= value && value <= high => {}
        (Some(_), Some(_)) => return Err("`value` does not lie between `low` and `high`".to_owned()),
        _ => return Err("one of `low` and `high` is empty: a range has two ends".to_owned()),
    }
    Ok(Reference {
        source: column("source"),
        date: column("date"),
        workload: column("workload"),
        host: column("host"),
        environment: column("environment"),
        parameters: named("param."),
        labels: named("label."),
        metric: column("metric"),
        value,
        low,
        high,
        note: column("note"),
        unit,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_come_in_base_units() {
        let text = "# as printed\nsource,date,workload,host,environment,param.size,metric,value,unit,low,high\n\
            \"A, B\",2019-05,disk,x,native,4k,throughput, 98.5 ,MB/s,90,100\n";
        let found = parse(text).unwrap();
        assert_eq!(
            (found.len(), &*found[0].source, found[0].value, found[0].high),
            (1, "A, B", 98.5e6, Some(100e6))
        );
        assert_eq!((found[0].unit.as_str(), &*found[0].parameters["size"]), ("byte/s", "4k"));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let header = "source,workload,metric,value,unit";
        for (text, expected) in [
            ("workload,metric,value,unit\n".to_owned(), "there is no column `source`"),
            (
                format!("{header},size\n"),
                "unknown column `size`: parameters are `param.NAME`, labels `label.NAME`",
            ),
            (format!("{header}\na,w,m,1,s\na,w,m,x,s\n"), "line 3: `value` is `x`, which is no number"),
            (format!("{header}\n,w,m,1,s\n"), "line 2: `source` is empty"),
            (format!("{header}\na,w,m,NaN,s\n"), "line 2: `value` is `NaN`, which is no number"),
            (
                format!("{header},low,high\na,w,m,3,s,4,5\n"),
                "line 2: `value` does not lie between `low` and `high`",
            ),
            (
                format!("{header},low,high\na,w,m,3,s,,5\n"),
                "line 2: one of `low` and `high` is empty: a range has two ends",
            ),
        ] {
            assert_eq!(parse(&text).unwrap_err(), expected, "{text}");
        }
        assert!(parse(&format!("{header}\na,w\n")).is_err());
    }
}
