//! The report that `-R` adds behind iozone's end: a table for each test, file sizes by record sizes.

use super::Mode;
use crate::metrics::Measurement;

/// The titles of tables with the names of their tests. Titles of processor time are not among them.
const TITLES: [(&str, &str); 21] = [
    ("Writer report", "write"),
    ("Re-writer report", "rewrite"),
    ("Reader report", "read"),
    ("Re-Reader report", "reread"),
    ("Random read report", "random_read"),
    ("Random write report", "random_write"),
    ("Backward read report", "backward_read"),
    ("Record rewrite report", "record_rewrite"),
    ("Stride read report", "stride_read"),
    ("Fwrite report", "fwrite"),
    ("Re-Fwrite report", "frewrite"),
    ("Fread report", "fread"),
    ("Re-Fread report", "freread"),
    ("Pwrite report", "pwrite"),
    ("Re-Pwrite report", "repwrite"),
    ("Pread report", "pread"),
    ("Re-Pread report", "repread"),
    ("Pwritev report", "pwritev"),
    ("Re-Pwritev report", "repwritev"),
    ("Preadv report", "preadv"),
    ("Re-Preadv report", "repreadv"),
];

/// The values of every row that is whole and clear; none where there is no report.
///
/// The record sizes above a table are all powers of two between the smallest and the largest, also where
/// only some of them ran. So a row is clear only where each size that fits into the file has its value.
pub fn read(stdout: &str, mode: Mode) -> Vec<Measurement> {
    let mut test = None;
    let mut records: Vec<u64> = Vec::new();
    let mut measurements = Vec::new();
    for line in stdout.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let sizes: Option<Vec<u64>> = words.iter().map(|word| quoted(word)).collect();
        match (sizes, words.as_slice()) {
            (_, []) => test = None,
            (Some(sizes), _) => records = sizes,
            (None, [file, figures @ ..]) if quoted(file).is_some() => {
                let (Some(test), Some(file)) = (test, quoted(file)) else { continue };
                measurements.extend(row(test, file, figures, &records, mode));
            }
            _ => {
                let title = line.trim().trim_matches('"');
                test = TITLES.iter().find(|(known, _)| *known == title).map(|(_, test)| *test);
            }
        }
    }
    measurements
}

/// The size in `"64"`.
fn quoted(word: &str) -> Option<u64> {
    word.strip_prefix('"')?.strip_suffix('"')?.parse().ok()
}

fn row(test: &str, file: u64, figures: &[&str], records: &[u64], mode: Mode) -> Vec<Measurement> {
    let fitting = records.iter().filter(|record| **record <= file);
    let figures: Option<Vec<u64>> = figures.iter().map(|figure| figure.parse().ok()).collect();
    let Some(figures) = figures.filter(|figures| figures.len() == fitting.clone().count()) else {
        return Vec::new();
    };
    let measured = |(record, value): (&u64, u64)| {
        let one = mode.measured(test, value as f64)?;
        Some(one.labelled("file_kB", file.to_string()).labelled("reclen_kB", record.to_string()))
    };
    fitting.zip(figures).filter_map(measured).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str =
        "\"Reader report\"\n        \"4\"  \"8\"  \"16\"\n\"8\"   1  2 \n\"64\"   3  0  5 \n";

    fn values(text: &str) -> Vec<(String, String, String, f64)> {
        let label = |one: &Measurement, name: &str| one.labels[name].clone();
        let named =
            |one: Measurement| (label(&one, "file_kB"), label(&one, "reclen_kB"), one.name, one.value);
        read(text, Mode::Operations).into_iter().map(named).collect()
    }

    #[test]
    fn clear_rows_are_read() {
        let expected = [("8", "4", 1.0), ("8", "8", 2.0), ("64", "4", 3.0), ("64", "16", 5.0)];
        let expected = expected
            .map(|(file, record, value)| (file.to_owned(), record.to_owned(), "read".to_owned(), value));
        assert_eq!(values(REPORT), expected);
        assert_eq!(values(REPORT.trim_end()), expected[..2]);
    }

    #[test]
    fn rows_that_are_not_clear_are_left_out() {
        for text in [
            REPORT.replace("1  2 ", "1 ").replace("3  0  5 ", "3 5 "),
            REPORT.replace("Reader report", "Reader CPU utilization report (Zero values should be ignored)"),
            REPORT.replace("1  2 ", "1  x ").replace("3  0  5 ", "3  0  -5 "),
        ] {
            assert_eq!(values(&text), [], "{text}");
        }
    }
}
