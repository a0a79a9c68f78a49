//! The rates that each test of sysbench prints in its own words, in every version's layout. Whatever a
//! version calls them (MB, Mb, MiB), its megabytes are 1048576 bytes.

use super::report::Report;
use super::{
    EVENTS_RATE, FSYNC_RATE, IGNORED_ERRORS, MEMORY_RATE, OPERATIONS, OPERATIONS_RATE, QUERIES, QUERIES_RATE,
    READ_IOPS, READ_RATE, RECONNECTS, TRANSACTIONS, TRANSACTIONS_RATE, WRITE_IOPS, WRITE_RATE,
};
use crate::metrics::{Metric, Values, text};

const MEGABYTE: f64 = 1_048_576.0;

/// Adds the rates of the test that `report` is of.
///
/// Errors: there are none, or nothing was transferred.
pub fn read(report: &Report<'_>, values: &mut Values) -> Result<(), String> {
    let is_files = report.line(|line| line.starts_with("reads/s:")).is_some()
        || report.line(|line| line.starts_with("read:") && line.contains("IOPS=")).is_some()
        || report.line(|line| line.ends_with("Requests/sec executed")).is_some();
    let memory = report.counted("Total operations:").or_else(|| report.counted("Operations performed:"));
    let before = values.measurements.len();
    if is_files {
        files(report, values);
    } else if let Some((operations, rate)) = memory {
        let bytes = memory_rate(report, rate).map(|rate| MEMORY_RATE.measured(rate));
        values.measurements.extend(bytes);
        values.measurements.extend([OPERATIONS_RATE.measured(rate), OPERATIONS.measured(operations)]);
    } else if report.after("transactions:").is_some() {
        transactions(report, values);
    } else {
        events(report, values);
    }
    match values.measurements[before..].iter().any(|one| one.value > 0.0) {
        true => Ok(()),
        false => Err("sysbench's report has no rate above 0".to_owned()),
    }
}

/// Bytes each second of the memory test: `20480.00 MB transferred (7493.51 MB/sec)`.
fn memory_rate(report: &Report<'_>, operations_rate: f64) -> Option<f64> {
    let line = report.line(|line| line.contains(" transferred ("))?;
    let printed = line.split_once('(')?.1.split_once(')')?.0;
    let printed = printed.strip_suffix(" MB/sec").or_else(|| printed.strip_suffix(" MiB/sec"))?;
    let block = report.size("block size:").or_else(|| report.size("Memory block size:"));
    Some(more_exact(operations_rate, block, text::plain_decimal(printed)? * MEGABYTE))
        .filter(|rate| *rate > 0.0)
}

/// Bytes each second: blocks each second by their size where that has more digits than the printed rate, which
/// must agree with it to its last digit.
fn more_exact(blocks_rate: f64, block: Option<f64>, printed: f64) -> f64 {
    let Some(block) = block.filter(|block| *block < MEGABYTE) else { return printed };
    let computed = blocks_rate * block;
    // Both are rounded to two decimals, in megabytes and in blocks.
    let agrees = (computed - printed).abs() <= 0.00501 * (MEGABYTE + block);
    if agrees { computed } else { printed }
}

/// The rates of fileio. A kind of access that the mode does not do is printed as 0 and left out.
fn files(report: &Report<'_>, values: &mut Values) {
    let block = report.size("Block size");
    let kinds = [
        ("reads/s:", "read, MiB/s:", "read:", 0, READ_IOPS, READ_RATE),
        ("writes/s:", "written, MiB/s:", "write:", 1, WRITE_IOPS, WRITE_RATE),
    ];
    for (each_second, megabytes, of_1_1, place, iops, bytes) in kinds {
        let printed = report
            .number(each_second)
            .zip(report.number(megabytes).map(Some))
            .or_else(|| of_line(report.after(of_1_1)?))
            .or_else(|| Some((performed(report)?[place] / report.seconds()?, None)));
        let Some((rate, megabytes)) = printed.filter(|(rate, _)| *rate > 0.0) else { continue };
        values.measurements.push(iops.measured(rate));
        let rate = match megabytes {
            Some(megabytes) => Some(more_exact(rate, block, megabytes * MEGABYTE)),
            None => block.map(|block| rate * block),
        };
        values.measurements.extend(rate.map(|rate| bytes.measured(rate)));
    }
    let syncs = report.number("fsyncs/s:").or_else(|| text::plain_decimal(report.after("fsync: IOPS=")?));
    values.measurements.extend(syncs.filter(|rate| *rate > 0.0).map(|rate| FSYNC_RATE.measured(rate)));
}

/// Accesses and megabytes each second as 1.1 prints them: `IOPS=4290.79 67.04 MiB/s (70.30 MB/s)`.
fn of_line(line: &str) -> Option<(f64, Option<f64>)> {
    let (iops, megabytes) = line.strip_prefix("IOPS=")?.split_once(" MiB/s")?.0.split_once(' ')?;
    Some((text::plain_decimal(iops)?, Some(text::plain_decimal(megabytes.trim())?)))
}

/// Reads and writes as 0.4 and 0.5 count them: `Operations performed:  6008 Read, 3997 Write, 12800 Other = …`.
fn performed(report: &Report<'_>) -> Option<[f64; 2]> {
    let mut counts = report.after("Operations performed:")?.split(',').map(str::trim);
    let mut next = |words: [&str; 2]| {
        let count = counts.next()?;
        let number = words.iter().find_map(|word| count.strip_suffix(word))?;
        text::plain_decimal(number.trim())
    };
    Some([next(["Read", "reads"])?, next(["Write", "writes"])?])
}

/// The rates of OLTP. Before 1.0 that of queries is not printed: it is their total by the seconds.
fn transactions(report: &Report<'_>, values: &mut Values) {
    let mut add = |counted: Option<(f64, f64)>, rate: Metric, count: Metric| {
        let both =
            counted.map(|(counted, each_second)| [rate.measured(each_second), count.measured(counted)]);
        values.measurements.extend(both.into_iter().flatten());
    };
    add(report.counted("transactions:"), TRANSACTIONS_RATE, TRANSACTIONS);
    let total = report.number("total:").zip(report.seconds());
    let queries = report.counted("queries:").or(total.map(|(total, seconds)| (total, total / seconds)));
    add(queries, QUERIES_RATE, QUERIES);
    for (label, metric) in [("ignored errors:", IGNORED_ERRORS), ("reconnects:", RECONNECTS)] {
        values.measurements.extend(report.counted(label).map(|(count, _)| metric.measured(count)));
    }
}

/// Events each second of any other test, printed or of the total time.
fn events(report: &Report<'_>, values: &mut Values) {
    let printed = report.number("events/s (eps):").or_else(|| report.number("events per second:"));
    let computed = || {
        let seconds = report.seconds()?;
        if seconds < 0.01 {
            let warning = format!("events_rate is of a time of {seconds} s, printed with few digits");
            values.warnings.push(warning);
        }
        Some(report.number("total number of events:")? / seconds)
    };
    let rate = printed.filter(|rate| *rate > 0.0).or_else(computed);
    values.measurements.extend(rate.map(|rate| EVENTS_RATE.measured(rate)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(text: &str) -> Vec<(String, f64)> {
        let mut values = Values::default();
        let read = read(&Report::new(text), &mut values);
        let found = values.measurements.into_iter().map(|one| (one.name, one.value)).collect();
        read.map(|()| found).unwrap_or_default()
    }

    fn named(expected: &[(&str, f64)]) -> Vec<(String, f64)> {
        expected.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    #[test]
    fn blocks_give_more_digits_where_they_agree() {
        let printed = 100.0 * MEGABYTE;
        assert_eq!(more_exact(25_600.5, Some(4096.0), printed), 25_600.5 * 4096.0);
        assert_eq!(more_exact(30_000.0, Some(4096.0), printed), printed);
        assert_eq!(more_exact(100.0, Some(MEGABYTE), printed), printed);
        assert_eq!(more_exact(100.0, None, printed), printed);
    }

    #[test]
    fn files_of_each_version_are_read() {
        let newest = "Throughput:\n  read:  IOPS=100.00 0.39 MiB/s (0.41 MB/s)\n  write: IOPS=0.00 0.00 MiB/s (0.00 MB/s)\n  fsync: IOPS=2.50\n";
        let expected = [("read_iops", 100.0), ("read_rate", 0.39 * MEGABYTE), ("fsync_rate", 2.5)];
        assert_eq!(rates(newest), named(&expected));
        let with_block = format!("Block size 4KiB\n{newest}");
        assert_eq!(rates(&with_block)[1].1, 409_600.0);
        let oldest = "Block size 16Kb\nOperations performed:  6000 Read, 0 Write, 12 Other = 6012 Total\n\
                      Read 93.75Mb  Written 0b  Total transferred 93.75Mb  (46.875Mb/sec)\n 3000.00 Requests/sec executed\n\
                      total time:   2.0000s\n";
        assert_eq!(rates(oldest), named(&[("read_iops", 3000.0), ("read_rate", 49_152_000.0)]));
    }

    #[test]
    fn nothing_done_is_no_rate() {
        let texts = [
            "reads/s: 0.00\nwrites/s: 0.00\nfsyncs/s: 0.00\nread, MiB/s: 0.00\nwritten, MiB/s: 0.00\n",
            "transactions: 0 (0.00 per sec.)\nqueries: 0 (0.00 per sec.)\n",
            "Total operations: 0 (0.00 per second)\n0.00 MiB transferred (0.00 MiB/sec)\n",
            "CPU speed:\n",
        ];
        for text in texts {
            assert_eq!(rates(text), [], "{text}");
        }
    }
}
