//! Tables of ranges and counts, as programs print them for people. Read [`read`] first; what one line of such
//! a table may look like is in `ranges/line.rs`.

mod line;

use super::scale::Scale;
use super::sum::{Sum, product};
use super::{Bucket, Histogram};
use line::{Line, Row, normalised};

/// Reads the one table of ranges in a text: lines of `LOW - HIGH: COUNT`, `LOW..HIGH COUNT`,
/// `[LOW, HIGH) COUNT` and the like in ascending order, and a bar of characters or percentages behind them.
/// A second table right behind it, after a line without digits, opens one of its ranges. `unit` is the size
/// of the text's unit in base units; none where the table tells it, and it is a time: in its rows
/// (`10us - 20us: 5`), or above them in a line without digits (`usecs`, `(ms)`).
///
/// A table that is cut must not pass for a whole one. So a blank line or a total has to follow its last row:
/// `total: N`, `count: N`, or `under avg:N over avg:N`. The average of a line `Latency :A (LOW-HIGH) sec`
/// above the table is taken as the mean, to its last digit.
///
/// Errors: no table or several, no end, no unit or two of them; a row that is not understood (thousands
/// separators, `1K`, `> 100`); ranges that overlap; counts that don't add up to a total, or to the range that
/// they open.
pub fn read(text: &str, unit: Option<f64>) -> Result<Histogram, String> {
    // Blanks at the end may be the begin of a row.
    let whole = text.trim_end_matches([' ', '\t', '\u{a0}', '?']);
    let lines: Vec<String> = whole.lines().map(normalised).collect();
    let blocks: Vec<&[String]> = lines.split(|line| line.trim().is_empty()).collect();
    let mut tables = Vec::new();
    for (place, block) in blocks.iter().enumerate() {
        let read: Vec<Line<'_>> = block.iter().map(|line| Line::read(line)).collect();
        if read.iter().any(|line| matches!(line, Line::Row(_))) {
            // Behind every block but the last is a blank line.
            tables.push((read, place + 1 < blocks.len()));
        }
    }
    let count = tables.len();
    match tables.pop() {
        Some((lines, is_ended)) if count == 1 => Table::gather(lines, is_ended)?.histogram(unit),
        Some(_) => Err("several tables of ranges and counts: which one counts is not known".to_owned()),
        None => Err("no table of ranges and counts".to_owned()),
    }
}

/// A table and what stands round it.
#[derive(Default)]
struct Table {
    /// The ranges, and those that open one of them.
    levels: Vec<Vec<Row>>,
    totals: Vec<u64>,
    /// The units named above the table.
    units: Vec<f64>,
    /// The mean and the size of its last digit, in the table's unit.
    mean: Option<(f64, f64)>,
}

impl Table {
    /// `is_ended` tells whether a blank line follows.
    ///
    /// Errors: a line that is not understood, or no end.
    fn gather(lines: Vec<Line<'_>>, is_ended: bool) -> Result<Self, String> {
        let mut table = Self::default();
        // Since the last row there was a total; a line that announces a second table.
        let (mut is_closed, mut is_announced) = (false, false);
        for line in lines {
            match line {
                Line::Row(_) if is_closed => return Err("there are ranges behind the total".to_owned()),
                Line::Row(row) => {
                    if table.levels.is_empty() || std::mem::take(&mut is_announced) {
                        table.levels.push(Vec::new());
                    }
                    if let Some(level) = table.levels.last_mut() {
                        follows(level, &row)?;
                        level.push(row);
                    }
                }
                Line::Total(total) => {
                    table.totals.push(total);
                    is_closed = !table.levels.is_empty();
                }
                Line::Mean { value, last_digit, unit } if table.levels.is_empty() => {
                    table.mean = Some((value, last_digit));
                    table.units.push(unit);
                }
                Line::Heading(units) if table.levels.is_empty() => table.units.extend(units),
                Line::Heading(_) => is_announced = !is_closed,
                Line::Text(_) if table.levels.is_empty() || is_closed => {}
                Line::Text(line) | Line::Unknown(line) => {
                    return Err(format!("not understood in a table of ranges: {}", line.trim()));
                }
                Line::Mean { .. } => return Err("an average stands within the table of ranges".to_owned()),
            }
        }
        if !is_closed && (!is_ended || is_announced) {
            let help = "a total (`total: N`) or a blank line ends it";
            return Err(format!("the table of ranges has no end, it may be cut: {help}"));
        }
        Ok(table)
    }

    /// Errors: as [`read`] has them, of what the figures say together.
    fn histogram(self, unit: Option<f64>) -> Result<Histogram, String> {
        let unit = self.unit(unit)?;
        let buckets = |level: &[Row]| level.iter().map(|row| row.bucket(unit)).collect::<Result<Vec<_>, _>>();
        let mut levels = self.levels.iter();
        let mut histogram = Histogram::new(buckets(levels.next().map_or(&[], Vec::as_slice))?)?;
        let count = histogram.count();
        if let Some(total) = self.totals.iter().find(|total| **total != count) {
            return Err(format!(
                "the ranges hold {count} values, and the total is {total}: some are missing"
            ));
        }
        for level in levels {
            let parts = buckets(level)?;
            if let (Some(first), Some(last)) = (parts.first(), parts.last()) {
                histogram.open(first.low, last.high, &parts)?;
            }
        }
        if self.levels.len() > 2 {
            return Err("there are more than two tables of ranges".to_owned());
        }
        let (Some((mean, digit)), Some(unit)) = (self.mean, unit) else { return Ok(histogram) };
        let sum = |mean: f64| Sum::of(product(unit.apply(mean.max(0.0)), count));
        histogram.with_sum(sum(mean - digit), sum(mean + digit))
    }

    /// The scale of all rows; none where each row has its own.
    fn unit(&self, stated: Option<f64>) -> Result<Option<Scale>, String> {
        let rows = || self.levels.iter().flatten();
        let mut named: Vec<f64> = rows().filter_map(|row| row.units).flatten().collect();
        let is_in_rows = !named.is_empty();
        if is_in_rows && rows().any(|row| row.units.is_none()) {
            return Err("some rows of the table of ranges have a unit, and some have none".to_owned());
        }
        if !is_in_rows {
            named.clone_from(&self.units);
        }
        let is_other = |unit: f64| named.iter().any(|named| *named != unit);
        match (stated.or(named.first().copied()), is_in_rows) {
            (Some(_), true) if stated.is_none_or(|stated| !is_other(stated)) => Ok(None),
            (Some(unit), false) if !is_other(unit) => Scale::new(unit).map(Some),
            (Some(_), _) => Err("the table of ranges has another unit, or several".to_owned()),
            (None, _) => Err("the unit of the table of ranges is not known".to_owned()),
        }
    }
}

/// Whether `row` may follow those of `level`.
fn follows(level: &[Row], row: &Row) -> Result<(), String> {
    let is_next = row.number.is_none_or(|number| number == level.len() as u64 + 1);
    let is_above = level.last().is_none_or(|last| {
        let factor = |row: &Row, end: usize| row.units.map_or(1.0, |units| units[end]);
        row.low * factor(row, 0) >= last.high * factor(last, 1)
    });
    if is_next && is_above {
        return Ok(());
    }
    Err(format!("the range {} to {} does not follow the one before it", row.low, row.high))
}

impl Row {
    fn bucket(&self, unit: Option<Scale>) -> Result<Bucket, String> {
        let scaled = |value: f64, end: usize| match (unit, self.units) {
            (Some(unit), _) => Ok(unit.apply(value)),
            (None, Some(units)) => Scale::new(units[end]).map(|unit| unit.apply(value)),
            (None, None) => Err("the unit of the table of ranges is not known".to_owned()),
        };
        Ok(Bucket { low: scaled(self.low, 0)?, high: scaled(self.high, 1)?, count: self.count })
    }
}

#[cfg(test)]
mod tests;
