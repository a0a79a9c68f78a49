//! Markdown text: what must be escaped in it, and tables whose source lines up. Any text that comes from an
//! experiment, a machine or a tool goes through [`escape`].

use unicode_width::UnicodeWidthStr;

use super::view::{Column, Table};
use crate::terminal;

/// `text` on one line, as it must stand in Markdown to be read as itself, in a table cell too.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in terminal::plain(text.trim()).chars() {
        match character {
            // A backslash before an escaped pipe would escape itself and set the pipe free.
            '\\' | '|' => escaped.extend(['\\', character]),
            '<' => escaped.push_str("&lt;"),
            _ if character.is_control() => escaped.push(' '),
            _ => escaped.push(character),
        }
    }
    escaped
}

/// `text` in a table cell: its lines stay lines.
fn cell(text: &str) -> String {
    text.trim().lines().map(escape).collect::<Vec<_>>().join("<br>")
}

/// A table in GitHub's Markdown, without final newline. Columns are as wide as their widest cell on a
/// terminal, where a Korean letter takes two places.
pub(super) fn table(table: &Table) -> String {
    let header: Vec<_> = table.columns.iter().map(|column| cell(&column.header)).collect();
    let rows: Vec<Vec<_>> =
        table.rows.iter().map(|row| row.iter().map(|text| cell(text)).collect()).collect();
    let width = |index: usize| {
        let cells = std::iter::once(&header).chain(&rows).filter_map(|row| row.get(index));
        cells.map(|cell| cell.width()).max().unwrap_or(0).max(3)
    };
    let widths: Vec<_> = (0..header.len()).map(width).collect();
    let line = |cells: &[String]| {
        let padded = cells.iter().zip(&table.columns).zip(&widths).map(|((cell, column), width)| {
            let space = " ".repeat(width.saturating_sub(cell.width()));
            if column.numeric { format!("{space}{cell}") } else { format!("{cell}{space}") }
        });
        format!("| {} |", padded.collect::<Vec<_>>().join(" | "))
    };
    let rule: Vec<_> =
        table.columns.iter().zip(&widths).map(|(column, width)| rule(column, *width)).collect();
    let lines: Vec<_> =
        [line(&header), line(&rule)].into_iter().chain(rows.iter().map(|row| line(row))).collect();
    lines.join("\n")
}

fn rule(column: &Column, width: usize) -> String {
    let dashes = "-".repeat(width - 1);
    if column.numeric { format!("{dashes}:") } else { format!("-{dashes}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_stays_on_its_line() {
        for (text, escaped) in [
            ("plain", "plain"),
            ("a|b", "a\\|b"),
            ("a\\|b", "a\\\\\\|b"),
            ("<script>", "&lt;script>"),
            (" two\nlines\r\n", "two lines"),
            ("라떼판다", "라떼판다"),
        ] {
            assert_eq!(escape(text), escaped);
        }
    }

    #[test]
    fn the_lines_of_a_cell_stay_lines() {
        for (text, cell) in
            [(" two\nlines | \r\n", "two<br>lines \\|"), ("<br>", "&lt;br>"), ("\x1b[31mred\x1b[0m", "red")]
        {
            assert_eq!(super::cell(text), cell);
        }
    }

    #[test]
    fn wide_letters_line_up() {
        let columns = vec![Column::text("host"), Column::number("native")];
        let rows = vec![
            vec!["라떼판다".to_owned(), "1|2".to_owned()],
            vec!["a".to_owned(), "94.2 10/10".to_owned()],
        ];
        let right = "\
| host     |     native |
| -------- | ---------: |
| 라떼판다 |       1\\|2 |
| a        | 94.2 10/10 |";
        assert_eq!(table(&Table::new(columns, rows)), right);
    }
}
