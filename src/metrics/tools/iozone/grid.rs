//! iozone's grid. Tests that did not run are blank columns in the middle of a row, so a figure belongs to
//! the column under whose head it ends.

use super::Mode;
use crate::metrics::Measurement;

/// The words of the head with the names of their tests, in their order. Fewer may stand there.
const COLUMNS: [(&str, &str); 21] = [
    ("write", "write"),
    ("rewrite", "rewrite"),
    ("read", "read"),
    ("reread", "reread"),
    ("read", "random_read"),
    ("write", "random_write"),
    ("read", "backward_read"),
    ("rewrite", "record_rewrite"),
    ("read", "stride_read"),
    ("fwrite", "fwrite"),
    ("frewrite", "frewrite"),
    ("fread", "fread"),
    ("freread", "freread"),
    ("pwrite", "pwrite"),
    ("repwrite", "repwrite"),
    ("pread", "pread"),
    ("repread", "repread"),
    ("pwritev", "pwritev"),
    ("repwritev", "repwritev"),
    ("preadv", "preadv"),
    ("repreadv", "repreadv"),
];

/// How far from its head a figure may end. The two have widths of their own in `iozone.c`, which differ by
/// one or two; columns are 8 wide or more.
const SHIFT: usize = 3;

/// A figure this long fills its column and may have run into the one before it.
const LONGEST: usize = 8;

/// The values of all rows; none where there is no grid.
///
/// Errors: a head that is not known, or a figure that is not under one.
pub fn read(stdout: &str, mode: Mode) -> Result<Vec<Measurement>, String> {
    let mut columns: Vec<(usize, &str)> = Vec::new();
    let mut sizes = [0, 0];
    let mut measurements = Vec::new();
    for line in stdout.lines() {
        let words: Vec<(usize, &str)> = words(line).collect();
        match words.as_slice() {
            [(file, kilobytes), (record, "reclen"), heads @ ..] if kilobytes.eq_ignore_ascii_case("kB") => {
                sizes = [*file, *record];
                columns = named(heads).ok_or("the head of iozone's grid is not known")?;
            }
            [(file_end, file), (record_end, record), figures @ ..]
                if !columns.is_empty() && words.iter().all(|(_, word)| is_figure(word)) =>
            {
                let is_in_place =
                    sizes[0].abs_diff(*file_end) <= SHIFT && sizes[1].abs_diff(*record_end) <= SHIFT;
                let row = row(figures, &columns).filter(|_| is_in_place);
                let row =
                    row.ok_or_else(|| format!("a row of iozone's grid is not understood: {}", line.trim()))?;
                let values = row.into_iter().filter_map(|(test, value)| mode.measured(test, value));
                let labelled =
                    |one: Measurement| one.labelled("file_kB", *file).labelled("reclen_kB", *record);
                measurements.extend(values.map(labelled));
            }
            _ => {}
        }
    }
    Ok(measurements)
}

/// The words of a line, each with the place where it ends.
fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut end = 0;
    line.split_inclusive(char::is_whitespace).filter_map(move |part| {
        let word = part.trim_end();
        let found = (end + word.len(), word);
        end += part.len();
        (!word.is_empty()).then_some(found)
    })
}

fn is_figure(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

/// The tests of the heads, each with the place where its head ends.
fn named<'a>(heads: &[(usize, &str)]) -> Option<Vec<(usize, &'a str)>> {
    let known = |(&(end, head), (word, test)): (&(usize, &str), &(&str, &'a str))| {
        (head == *word).then_some((end, *test))
    };
    let named: Vec<_> = heads.iter().zip(&COLUMNS).map(known).collect::<Option<_>>()?;
    (!named.is_empty() && named.len() == heads.len()).then_some(named)
}

/// The figures of a row with their tests; `None` where one is not clear.
fn row<'a>(figures: &[(usize, &str)], columns: &[(usize, &'a str)]) -> Option<Vec<(&'a str, f64)>> {
    let mut row: Vec<(&str, f64)> = Vec::new();
    for (end, figure) in figures {
        let (_, test) = columns.iter().find(|(head, _)| head.abs_diff(*end) <= SHIFT)?;
        if figure.len() > LONGEST || row.iter().any(|(other, _)| other == test) {
            return None;
        }
        row.push((test, figure.parse().ok()?));
    }
    Some(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "              kB  reclen    write  rewrite    read    reread    read     write     read\n";

    fn values(text: &str) -> Result<Vec<(String, f64)>, String> {
        read(text, Mode::Operations)
            .map(|values| values.into_iter().map(|one| (one.name, one.value)).collect())
    }

    #[test]
    fn figures_belong_to_the_head_above_them() {
        let row = "              64       4                        7        8                           5\n";
        let expected = [("read", 7.0), ("reread", 8.0), ("backward_read", 5.0)];
        let expected = expected.map(|(name, value)| (name.to_owned(), value)).to_vec();
        assert_eq!(values(&format!("{HEAD}{row}")), Ok(expected));
        assert_eq!(values(row), Ok(vec![]));
    }

    #[test]
    fn what_is_not_clear_is_refused() {
        let row = |figures: &str| format!("{HEAD}              64       4{figures}\n");
        let refused =
            |figures: &str| Err(format!("a row of iozone's grid is not understood: 64       4{figures}"));
        for figures in ["        1 2", "123456789", "    5"] {
            assert_eq!(values(&row(figures)), refused(figures), "{figures}");
        }
        let unknown = HEAD.replace("reread", "other");
        assert_eq!(values(&unknown), Err("the head of iozone's grid is not known".to_owned()));
    }
}
