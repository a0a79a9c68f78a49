//! What a start costs: `runner --version` and `--help` against `/bin/true`, 61 times each. Then what a plan costs: the cells of a generated experiment as JSON lines, against a floor in the same run:
//! nested loops that print the same lines, with a 64-bit hash in place of the digest. Both run as children,
//! `runner plan FILE --format json` and this program again, and write to /dev/null. Time is the median of wall times from start to exit; memory
//! is `VmHWM` of /proc/PID/status, the largest resident size so far, read every half millisecond until the
//! child is gone. Ratios are what counts; absolute times belong to one machine.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it measures")]

use std::fs;
use std::hash::Hasher;
use std::io::{BufWriter, Write, stdout};
use std::path::Path;

const STARTS: usize = 61;
/// Excludes that name two axes, and all three.
const TWO: &str = "a % 10 == 9 and c == 3";
const THREE: &str = "a % 10 == 9 and c == 3 and b != 'b1'";
/// One that can't be split into conditions: every point is looked at.
const WHOLE: &str = "(a + c) % 10 == 9 and (b == 'b1' or a == c)";
/// The three axes of each size, its exclude, and how often it is measured.
const CASES: [([usize; 3], &str, usize); 6] = [
    ([10, 10, 10], TWO, 21),
    ([40, 50, 50], TWO, 11),
    ([100, 100, 100], TWO, 5),
    ([40, 50, 50], THREE, 5),
    ([100, 100, 100], THREE, 5),
    ([100, 100, 100], WHOLE, 3),
];

mod support;

use support::median;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["floor", axes @ ..] => floor(axes),
        _ => compare(),
    }
}

/// A start alone, and that of a program that does nothing.
fn start() {
    let (least, _) = median(STARTS, Path::new("/bin/true"), &[]);
    for argument in ["--version", "--help"] {
        let (time, memory) = median(STARTS, Path::new(env!("CARGO_BIN_EXE_runner")), &[argument.to_owned()]);
        println!("runner {argument}: {time:.1} ms, {memory:.1} MiB; /bin/true: {least:.1} ms");
    }
}

fn compare() {
    start();
    let folder = tempfile::tempdir().unwrap();
    println!(
        "{:>9} {:>9} {:>6}   {:>9} {:>6}   {:>6}   exclude",
        "points", "plan ms", "MiB", "floor ms", "MiB", "ratio"
    );
    for (axes, exclude, times) in CASES {
        let file = folder.path().join("x.yaml");
        fs::write(&file, yaml(axes, exclude)).unwrap();
        let plan = ["plan", &file.display().to_string(), "--format", "json"].map(str::to_owned);
        let (plan, plan_memory) = median(times, Path::new(env!("CARGO_BIN_EXE_runner")), &plan);
        let axes = axes.map(|length| length.to_string());
        let own = std::env::current_exe().unwrap();
        let (least, least_memory) = median(times, &own, &[&["floor".to_owned()], axes.as_slice()].concat());
        let points: usize = axes.iter().map(|length| length.parse::<usize>().unwrap()).product();
        println!(
            "{points:>9} {plan:>9.1} {plan_memory:>6.1}   {least:>9.1} {least_memory:>6.1}   {:>6.2}   {exclude}",
            plan / least
        );
    }
}

/// Three written axes and an exclude.
fn yaml([a, b, c]: [usize; 3], exclude: &str) -> String {
    let list = |prefix: &str, length: usize| {
        (0..length).map(|n| format!("{prefix}{n}")).collect::<Vec<_>>().join(", ")
    };
    format!(
        "workloads:\n  w:\n    parameters: {{ a: 0, b: b0, c: 0 }}\n    run: true {{{{ a }}}} {{{{ b }}}} {{{{ c }}}}\n\
         matrix:\n  - a: [{}]\n    b: [{}]\n    c: [{}]\n    exclude: {exclude}\n",
        list("", a),
        list("b", b),
        list("", c)
    )
}

fn floor(axes: &[&str]) {
    let [a, b, c]: [usize; 3] = std::array::from_fn(|axis| axes[axis].parse().unwrap());
    let mut out = BufWriter::with_capacity(1 << 16, stdout().lock());
    let mut name = Vec::new();
    for i in 0..a {
        for j in 0..b {
            for k in 0..c {
                name.clear();
                write!(name, "w/localhost/native/a={i}/b=b{j}/c={k}").unwrap();
                let mut hash = std::hash::DefaultHasher::new();
                hash.write(&name);
                out.write_all(b"{\"cell\":\"").unwrap();
                out.write_all(&name).unwrap();
                writeln!(
                    out,
                    "\",\"id\":\"{:016x}\",\"workload\":\"w\",\"host\":\"localhost\",\"environment\":\"native\",\
                     \"parameters\":{{\"a\":\"{i}\",\"b\":\"b{j}\",\"c\":\"{k}\"}},\"repetitions\":10,\"warmup\":0}}",
                    hash.finish()
                )
                .unwrap();
            }
        }
    }
    out.flush().unwrap();
}
