//! Tests of the charts as a whole are in `tests/it/charts.rs`.

use super::*;

#[test]
fn names_of_files_are_plain_and_unlike() {
    let mut taken = BTreeSet::new();
    for (title, expected) in [
        ("Disk throughput", "disk-throughput"),
        ("disk: throughput!", "disk-throughput-2"),
        ("라떼판다", "chart"),
        ("라떼판다 세 대", "chart-2"),
        ("../../etc/passwd", "etc-passwd"),
    ] {
        assert_eq!(name(title, &mut taken), expected);
    }
}
