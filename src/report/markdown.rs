//! Markdown text: what must be escaped in it, and tables whose source lines up. Any text that comes from an
//! experiment, a machine or a tool goes through [`escape`].

use unicode_width::UnicodeWidthStr;

use super::view::Table;
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
    let numeric: Vec<_> = table.columns.iter().map(|column| column.numeric).collect();
    lay_out(&header, &rows, &numeric)
}

/// The lines of a table whose fields are Markdown already; `numeric` says which columns are set flush right.
fn lay_out(header: &[String], rows: &[Vec<String>], numeric: &[bool]) -> String {
    let width = |index: usize| {
        let cells = std::iter::once(header).chain(rows.iter().map(Vec::as_slice));
        cells.filter_map(|row| row.get(index)).map(|cell| cell.width()).max().unwrap_or(0).max(3)
    };
    let widths: Vec<_> = (0..header.len()).map(width).collect();
    let line = |cells: &[String]| {
        let padded = cells.iter().zip(numeric).zip(&widths).map(|((cell, numeric), width)| {
            let space = " ".repeat(width.saturating_sub(cell.width()));
            if *numeric { format!("{space}{cell}") } else { format!("{cell}{space}") }
        });
        format!("| {} |", padded.collect::<Vec<_>>().join(" | "))
    };
    let rule: Vec<_> = numeric.iter().zip(&widths).map(|(numeric, width)| rule(*numeric, *width)).collect();
    let lines: Vec<_> =
        [line(header), line(&rule)].into_iter().chain(rows.iter().map(|row| line(row))).collect();
    lines.join("\n")
}

fn rule(numeric: bool, width: usize) -> String {
    let dashes = "-".repeat(width - 1);
    if numeric { format!("{dashes}:") } else { format!("-{dashes}") }
}

/// `text` with the source of its tables lined up; blank lines between the rows of a table go.
pub(super) fn align(text: &str) -> String {
    let mut out: Vec<String> = Vec::new();
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut blanks = 0;
    for line in text.lines() {
        match (line.trim(), rows.is_empty()) {
            ("", false) => blanks += 1,
            (row, _) if row.starts_with('|') => {
                blanks = 0;
                rows.push(fields(row));
            }
            _ => {
                out.extend(table_of(std::mem::take(&mut rows)));
                out.extend(std::iter::repeat_n(String::new(), std::mem::take(&mut blanks)));
                out.push(line.to_owned());
            }
        }
    }
    out.extend(table_of(rows));
    out.join("\n")
}

/// `text` with one blank line where there are several, and none at its start and end.
pub(super) fn tidy(text: &str) -> String {
    let mut lines: Vec<&str> = text.trim_matches('\n').lines().map(str::trim_end).collect();
    lines.dedup_by(|line, before| line.is_empty() && before.is_empty());
    lines.join("\n")
}

/// What stands between the pipes of a row.
fn fields(row: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut escaped = false;
    for character in row.trim_matches('|').chars() {
        match character {
            '|' if !escaped => fields.push(String::new()),
            _ => fields.last_mut().into_iter().for_each(|field| field.push(character)),
        }
        escaped = character == '\\' && !escaped;
    }
    fields.iter().map(|field| field.trim().to_owned()).collect()
}

/// A table whose second row is its rule; lines that are none stay as they are.
fn table_of(mut rows: Vec<Vec<String>>) -> Option<String> {
    let is_rule = |row: &Vec<String>| {
        row.iter().all(|field| !field.is_empty() && field.trim_matches(':').bytes().all(|byte| byte == b'-'))
    };
    if rows.get(1).is_none_or(|row| !is_rule(row)) {
        let lines = rows.iter().map(|row| format!("| {} |", row.join(" | "))).collect::<Vec<_>>();
        return (!lines.is_empty()).then(|| lines.join("\n"));
    }
    let numeric: Vec<_> = rows.remove(1).iter().map(|field| field.ends_with(':')).collect();
    let header = rows.remove(0);
    Some(lay_out(&header, &rows, &numeric))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::view::Column;

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
    fn tables_that_were_written_by_hand_are_lined_up() {
        let loose = "before\n| 장비 | speed |\n\n| --- | ---: |\n\n| a\\|b | 1 |\n| 라떼 | 94.2 |\n\nafter\n| no table |";
        let right = "\
before
| 장비 | speed |
| ---- | ----: |
| a\\|b |     1 |
| 라떼 |  94.2 |

after
| no table |";
        assert_eq!(align(loose), right);
    }

    #[test]
    fn several_blank_lines_are_one() {
        assert_eq!(tidy("\n\na\n\n  \n\nb\nc\n\n"), "a\n\nb\nc");
        assert_eq!(tidy("\n"), "");
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
