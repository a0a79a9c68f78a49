//! Aligned columns for a terminal, without lines between them. Rows pass twice: once to be measured, once
//! to be written, so that none has to be kept. Read [`Table`].

use std::borrow::Cow;

use unicode_width::UnicodeWidthStr;

use super::without_secrets;

/// The widths of the columns.
#[derive(Debug, Default)]
pub(super) struct Table(Vec<usize>);

impl Table {
    /// Makes the columns wide enough for `row`.
    pub(super) fn measure(&mut self, row: &[impl AsRef<str>]) {
        self.0.resize(self.0.len().max(row.len()), 0);
        for (width, text) in self.0.iter_mut().zip(row) {
            *width = (*width).max(printable(text.as_ref()).width());
        }
    }

    /// `row` as a line: two blanks between columns, none at the end.
    pub(super) fn line(&self, row: &[impl AsRef<str>]) -> String {
        self.aligned(row, &[])
    }

    /// The same, with the columns that are so marked flush right.
    pub(super) fn aligned(&self, row: &[impl AsRef<str>], is_right: &[bool]) -> String {
        let mut line = String::new();
        for (index, (width, text)) in self.0.iter().zip(row).enumerate() {
            let text = printable(text.as_ref());
            let space = " ".repeat(width - text.width().min(*width));
            let (before, after) = match is_right.get(index) {
                Some(true) => (space.as_str(), ""),
                _ => ("", space.as_str()),
            };
            line.extend([before, &text, after, "  "]);
        }
        line.truncate(line.trim_end().len());
        line
    }

    /// All of `rows`, which are few, as lines.
    pub(super) fn lines(rows: &[Vec<String>]) -> Vec<String> {
        let mut table = Table::default();
        rows.iter().for_each(|row| table.measure(row));
        rows.iter().map(|row| table.line(row)).collect()
    }
}

/// `text` on one line: what would break it or steer the terminal is written as in a program.
pub(super) fn printable(text: &str) -> Cow<'_, str> {
    let text = without_secrets(text);
    match text.contains(char::is_control) {
        false => text,
        true => text
            .chars()
            .map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn columns_stand_below_each_other_whatever_their_letters() {
        let rows = [["名前", "x"], ["a", "é́"], ["line\nbreak", ""], ["", "end"]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        let lines = Table::lines(&rows);
        assert_eq!(lines, ["名前         x", "a            é́", "line\\nbreak", "             end"]);
    }
}
