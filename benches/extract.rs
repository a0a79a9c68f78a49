//! What raw values cost: 10 million of them, one a line, read into a histogram, against a floor in the same
//! run: a loop over the lines that parses each as a float and keeps count, minimum, maximum and sum. Beside
//! them what a histogram stands in for: all values in memory, sorted. Each runs as a child, this program
//! again. Then 100 MB of a JSON stream of iperf3, against each of its lines as a JSON value. Ratios are what counts;
//! absolute times belong to one machine.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, missing_docs)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it measures")]

mod support;

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use runner::metrics::histogram::values;
use runner::metrics::{Reading, ToolOutput};

const VALUES: u64 = 10_000_000;
const TIMES: usize = 5;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["histogram", file] => histogram(file),
        ["floor", file] => floor(file),
        ["sorted", file] => sorted(file),
        ["stream", file] => stream(file),
        ["stream-floor", file] => stream_floor(file),
        _ => compare(),
    }
}

fn compare() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("values.txt");
    generate(&file);
    let size = std::fs::metadata(&file).unwrap().len() as f64 / 1e6;
    println!("{VALUES} values in {size:.0} MB");
    table(&["floor", "histogram", "sorted"], &file);

    let file = folder.path().join("stream.json");
    generate_stream(&file);
    let size = std::fs::metadata(&file).unwrap().len() as f64 / 1e6;
    println!("a JSON stream of iperf3 in {size:.0} MB");
    table(&["stream-floor", "stream"], &file);
}

/// The times and memory of children that do these things with `file`, and their ratio to the first.
fn table(what: &[&str], file: &Path) {
    let own = std::env::current_exe().unwrap();
    let mut least = None;
    for what in what {
        let arguments = [(*what).to_owned(), file.display().to_string()];
        let (time, memory) = support::median(TIMES, &own, &arguments);
        let ratio = time / *least.get_or_insert(time);
        println!("{what:>12} {time:>8.1} ms {memory:>7.1} MiB   {ratio:>5.2}");
    }
}

/// A stream of the form of iperf3 3.17 with so many intervals that it has 100 MB.
fn generate_stream(file: &Path) {
    let mut out = BufWriter::new(File::create(file).unwrap());
    writeln!(
        out,
        r#"{{"event":"start","data":{{"version":"iperf 3.17.1","test_start":{{"num_streams":1}}}}}}"#
    )
    .unwrap();
    for second in 0..260_000 {
        let sum = format!(
            r#"{{"start":{second},"end":{},"seconds":1.0,"bytes":118226944,"bits_per_second":945815552.1,"retransmits":0,"omitted":false,"sender":true}}"#,
            second + 1
        );
        writeln!(out, r#"{{"event":"interval","data":{{"streams":[{sum}],"sum":{sum}}}}}"#).unwrap();
    }
    writeln!(out, r#"{{"event":"end","data":{{"sum_sent":{{"bits_per_second":945815552.1}},"sum_received":{{"bits_per_second":945800000.5}}}}}}"#).unwrap();
    out.flush().unwrap();
}

fn stream(file: &str) {
    let parser = runner::metrics::parser("iperf3").unwrap();
    let stdout = runner::metrics::needed(BufReader::new(File::open(file).unwrap()), parser).unwrap();
    let output = ToolOutput { stdout: &stdout, stderr: b"", exit_code: Some(0) };
    let Reading::Ok(values) = runner::metrics::read_tool(parser, output) else { panic!("not read") };
    assert_eq!(values.measurements[1].value, 945800000.5);
}

/// Each line as a JSON value, and no more.
fn stream_floor(file: &str) {
    let mut last = serde_json::Value::Null;
    for line in BufReader::new(File::open(file).unwrap()).lines() {
        last = serde_json::from_str(&line.unwrap()).unwrap();
    }
    assert_eq!(last["data"]["sum_received"]["bits_per_second"], 945800000.5);
}

/// Latencies in seconds with nine digits, by a fixed generator: the logarithm is the sum of four uniform numbers.
fn generate(file: &Path) {
    let mut out = BufWriter::new(File::create(file).unwrap());
    let mut state = 1u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    for _ in 0..VALUES {
        let z: f64 = (0..4).map(|_| uniform()).sum::<f64>() - 2.0;
        writeln!(out, "{:.9}", 250e-6 * z.exp()).unwrap();
    }
    out.flush().unwrap();
}

fn histogram(file: &str) {
    let histogram = values::read(BufReader::with_capacity(1 << 16, File::open(file).unwrap()), 1.0).unwrap();
    assert_eq!(histogram.count(), VALUES);
    println!("{:?} {:?}", histogram.mean(), histogram.quantile(0.999));
}

fn floor(file: &str) {
    let mut reader = BufReader::with_capacity(1 << 16, File::open(file).unwrap());
    let (mut count, mut min, mut max, mut sum) = (0u64, f64::INFINITY, 0.0f64, 0.0);
    let mut line = String::new();
    while reader.read_line(&mut line).unwrap() > 0 {
        let value: f64 = line.trim().parse().unwrap();
        (count, min, max, sum) = (count + 1, min.min(value), max.max(value), sum + value);
        line.clear();
    }
    assert_eq!(count, VALUES);
    println!("{count} {min} {max} {sum}");
}

fn sorted(file: &str) {
    let lines = BufReader::with_capacity(1 << 16, File::open(file).unwrap()).lines();
    let mut values: Vec<f64> = lines.map(|line| line.unwrap().parse().unwrap()).collect();
    values.sort_by(f64::total_cmp);
    println!("{}", support::quantile(&values, 0.999));
}
