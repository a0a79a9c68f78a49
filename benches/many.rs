//! What many trials cost: local ones of `true` without a shell, 1,000 and 100,000 of them, each record on
//! disk before the next begins. A run's cost and memory may not grow with their number.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it measures")]

mod support;

use std::path::Path;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    println!("{:>9} {:>9} {:>11} {:>7} {:>7}", "trials", "s", "ms a trial", "MiB", "ratio");
    let mut first = None;
    for count in [1_000, 100_000] {
        let file = folder.path().join("many.yaml");
        let yaml =
            format!("workloads: {{ w: {{ run: ['true'] }} }}\nrepetitions: {}\nmatrix: [{{}}]\n", count);
        std::fs::write(&file, yaml).unwrap();
        let results = folder.path().join("results");
        let arguments = ["run", &file.display().to_string(), "--results", &results.display().to_string()];
        let (time, memory) =
            support::child(Path::new(env!("CARGO_BIN_EXE_runner")), &arguments.map(str::to_owned));
        let each = time / f64::from(count);
        let ratio = each / *first.get_or_insert(each);
        println!("{count:>9} {:>9.1} {each:>11.3} {memory:>7.1} {ratio:>7.2}", time / 1e3);
    }
}
