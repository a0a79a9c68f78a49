//! Tool outputs with their right values: every case of `fixtures/cases` against its `expected.json`, every
//! recorded output of `fixtures/samples` against the figures read off it by eye, and all of them cut short.
// Figures stand as they were printed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::excessive_precision)]

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use runner::metrics::{Measurement, Reading, ToolOutput, parser};
use serde_json::Value;

/// An output as it was recorded.
struct Recorded {
    name: String,
    tool: String,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    exit_code: Option<i32>,
}

impl Recorded {
    fn read(&self) -> Reading {
        self.read_cut(usize::MAX)
    }

    /// The reading when both outputs end after `length` bytes.
    fn read_cut(&self, length: usize) -> Reading {
        let cut = |bytes: &[u8]| bytes[..length.min(bytes.len())].to_vec();
        let (stdout, stderr) = (&cut(&self.stdout), &cut(&self.stderr));
        let parser = parser(&self.tool).unwrap_or_else(|| panic!("{}: no parser", self.name));
        parser.read(ToolOutput { stdout, stderr, exit_code: self.exit_code })
    }
}

fn fixtures(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(kind)
}

/// All cases with what is expected of them.
fn cases() -> Vec<(Recorded, Value)> {
    let mut cases = Vec::new();
    for entry in fs::read_dir(fixtures("cases")).unwrap() {
        let folder = entry.unwrap().path();
        let expected = fs::read_to_string(folder.join("expected.json")).unwrap();
        let expected: Value = serde_json::from_str(&expected).unwrap();
        let input = &expected["input"];
        // Cases of the program itself are experiments, not outputs of a tool.
        if input["tool"].as_str().unwrap().starts_with("runner") {
            continue;
        }
        let bytes = |name: &str| match input[name].as_str() {
            None | Some("") => Vec::new(),
            Some(file) => fs::read(folder.join(file)).unwrap(),
        };
        let recorded = Recorded {
            name: expected["case"].as_str().unwrap().to_owned(),
            tool: input["tool"].as_str().unwrap().to_owned(),
            stdout: bytes("stdout"),
            stderr: bytes("stderr"),
            exit_code: input["exit_code"].as_i64().map(|code| i32::try_from(code).unwrap()),
        };
        cases.push((recorded, expected["expect"].clone()));
    }
    assert!(cases.len() >= 18);
    cases
}

fn texts<'a>(expected: &'a Value, key: &str) -> impl Iterator<Item = &'a str> {
    expected[key].as_array().into_iter().flatten().map(|text| text.as_str().unwrap())
}

#[test]
fn cases_give_their_right_values() {
    for (recorded, expected) in cases() {
        let name = &recorded.name;
        let status = expected["status"].as_str().unwrap();
        let or_failed = expected["or_status"].as_str().is_some_and(|status| status.starts_with("failed"));
        match recorded.read() {
            Reading::Failed { reason } => {
                assert!(status == "failed" || or_failed, "{name}: {reason}");
                for words in texts(&expected, "error_contains") {
                    assert!(reason.contains(words), "{name}: `{words}` is not in: {reason}");
                }
            }
            Reading::Ok { measurements, warnings } => {
                assert!(status.starts_with("ok"), "{name}: {measurements:?}");
                assert!(status != "ok_with_warning" || !warnings.is_empty(), "{name}: no warning");
                for words in texts(&expected, "warning_contains") {
                    assert!(warnings.iter().any(|warning| warning.contains(words)), "{name}: {warnings:?}");
                }
                check_values(name, &measurements, &expected);
            }
        }
    }
}

fn check_values(name: &str, measurements: &[Measurement], expected: &Value) {
    for metric in expected["metrics"].as_array().unwrap() {
        let found: Vec<_> =
            measurements.iter().filter(|m| m.name == metric["name"].as_str().unwrap()).collect();
        assert_eq!(found.len(), 1, "{name}: {metric} in {measurements:?}");
        assert_eq!(found[0].unit.as_str(), metric["unit"].as_str().unwrap(), "{name}: {metric}");
        let value = metric["value"].as_f64().unwrap();
        let tolerance = metric["tolerance_rel"].as_f64().unwrap_or(1e-9);
        assert!((found[0].value - value).abs() <= tolerance * value.abs(), "{name}: {metric}: {found:?}");
    }
    for absent in texts(expected, "absent_metrics") {
        assert!(measurements.iter().all(|m| m.name != absent), "{name}: {absent} is there");
    }
}

/// `samples/iperf3`: file and its values in order; all others of the file's metrics must be absent.
const IPERF3: &[(&str, &[(&str, f64)])] = &[
    (
        "tcp_t2.json",
        &[
            ("throughput_sent", 14919412094.571083),
            ("throughput_received", 14890092410.839817),
            ("retransmits", 137.0),
            ("streams", 1.0),
        ],
    ),
    (
        "tcp_bytes10M.json",
        &[
            ("throughput_sent", 12656318648.159323),
            ("throughput_received", 9725409780.7757168),
            ("retransmits", 0.0),
            ("streams", 1.0),
        ],
    ),
    (
        "tcp_omit1.json",
        &[
            ("throughput_sent", 15007670395.279167),
            ("throughput_received", 15004676332.545595),
            ("retransmits", 135.0),
            ("streams", 1.0),
        ],
    ),
    (
        "tcp_parallel2.json",
        &[
            ("throughput_sent", 17028460282.461355),
            ("throughput_received", 16963986653.787868),
            ("retransmits", 1084.0),
            ("streams", 2.0),
        ],
    ),
    (
        "tcp_reverse.json",
        &[
            ("throughput_sent", 13723044480.580162),
            ("throughput_received", 13714438358.849236),
            ("retransmits", 103.0),
            ("streams", 1.0),
        ],
    ),
    (
        "tcp_bidir.json",
        &[
            ("throughput_sent_forward", 8959765407.28845),
            ("throughput_received_forward", 8925649956.2563839),
            ("retransmits_forward", 788.0),
            ("streams_forward", 1.0),
            ("throughput_sent_reverse", 8009352305.78437),
            ("throughput_received_reverse", 7988917227.49824),
            ("retransmits_reverse", 257.0),
            ("streams_reverse", 1.0),
        ],
    ),
    (
        "udp_100m.json",
        &[
            ("throughput_sent", 99960829.292633355),
            ("throughput_received", 99955631.771299452),
            ("jitter", 0.000002693387047889816),
            ("packets", 17259.0),
            ("lost_packets", 0.0),
            ("lost_percent", 0.0),
            ("streams", 1.0),
        ],
    ),
    (
        "tcp_parallel2_omit1.txt",
        &[
            ("throughput_sent", 11.2e9),
            ("throughput_received", 11.2e9),
            ("streams", 2.0),
            ("retransmits", 806.0),
        ],
    ),
];

/// `samples/iperf3`: file, the stream it was (exit code 0 for JSON, as recorded) and the tool's words.
const IPERF3_ERRORS: &[(&str, &str)] = &[
    ("error_busy.json", "the server is busy running a test. try again later"),
    ("error_dns.json", "unable to connect to server: Resource temporarily unavailable"),
    ("error_refused.json", "unable to connect to server: Connection refused"),
    ("error_refused_text.stderr", "unable to connect to server: Connection refused"),
    ("error_server_died.json", "unable to write to stream socket: Broken pipe"),
    ("error_timeout.json", "unable to connect to server: Connection timed out"),
];

/// `samples/dd`: file, bytes and seconds.
const DD: &[(&str, f64, f64)] = &[
    ("progress_direct.C.txt", 209715200.0, 0.113117),
    ("read.C.txt", 67108864.0, 0.0267162),
    ("read.C.UTF-8.txt", 67108864.0, 0.0130134),
    ("read.de_DE.UTF-8.txt", 67108864.0, 0.0294761),
    ("read.ko_KR.UTF-8.txt", 67108864.0, 0.0298322),
    ("tiny.C.txt", 512.0, 3.7226e-05),
    ("write_fdatasync.C.txt", 67108864.0, 0.235507),
    ("write_fdatasync.C.UTF-8.txt", 67108864.0, 0.0570429),
    ("write_fdatasync.de_DE.UTF-8.txt", 67108864.0, 0.0564295),
    ("write_fdatasync.ko_KR.UTF-8.txt", 67108864.0, 0.0844651),
];

/// `samples/dd`: file and the words of dd, exit code 1.
const DD_ERRORS: &[(&str, &str)] = &[
    ("error.C.txt", "dd: failed to open '/nonexistent': No such file or directory"),
    ("error.C.UTF-8.txt", "dd: failed to open '/nonexistent': No such file or directory"),
    (
        "error.de_DE.UTF-8.txt",
        "dd: konnte '/nonexistent' nicht öffnen: Datei oder Verzeichnis nicht gefunden",
    ),
    ("error.ko_KR.UTF-8.txt", "dd: '/nonexistent' 열기 실패: 그런 파일이나 디렉터리가 없습니다"),
    ("error_enospc.C.txt", "dd: error writing '/dev/full': No space left on device"),
];

fn sample(tool: &str, file: &str, exit_code: i32) -> Recorded {
    let bytes = fs::read(fixtures("samples").join(tool).join(file)).unwrap();
    let on_stderr = tool == "dd" || file.ends_with(".stderr");
    let (stdout, stderr) = if on_stderr { (Vec::new(), bytes) } else { (bytes, Vec::new()) };
    let (name, tool) = (file.to_owned(), tool.to_owned());
    Recorded { name, tool, stdout, stderr, exit_code: Some(exit_code) }
}

fn values(recorded: &Recorded) -> Vec<(String, f64)> {
    match recorded.read() {
        Reading::Ok { measurements, .. } => measurements.into_iter().map(|m| (m.name, m.value)).collect(),
        Reading::Failed { reason } => panic!("{}: {reason}", recorded.name),
    }
}

#[test]
fn samples_give_the_figures_in_them() {
    for (file, expected) in IPERF3 {
        let found = values(&sample("iperf3", file, 0));
        let names = |values: Vec<&str>| values.join(" ");
        assert_eq!(
            names(found.iter().map(|(name, _)| name.as_str()).collect()),
            names(expected.iter().map(|(name, _)| *name).collect()),
            "{file}"
        );
        for ((name, found), (_, expected)) in found.iter().zip(*expected) {
            assert!((found - expected).abs() <= 1e-12 * expected.abs(), "{file}: {name}: {found}");
        }
    }
    for (file, bytes, seconds) in DD {
        let expected = [("throughput", bytes / seconds), ("bytes", *bytes), ("seconds", *seconds)];
        let expected = expected.map(|(name, value)| (name.to_owned(), value));
        assert_eq!(values(&sample("dd", file, 0)), expected, "{file}");
    }
}

#[test]
fn failed_samples_give_the_words_of_the_tool() {
    let iperf3 = IPERF3_ERRORS.iter().map(|(file, words)| (sample("iperf3", file, 0), words));
    let dd = DD_ERRORS.iter().map(|(file, words)| (sample("dd", file, 1), words));
    for (recorded, words) in iperf3.chain(dd) {
        let expected = Reading::Failed { reason: (*words).to_owned() };
        assert_eq!(recorded.read(), expected, "{}", recorded.name);
    }
}

#[test]
fn every_sample_is_in_a_table() {
    let iperf3 = IPERF3.iter().map(|(file, _)| *file).chain(IPERF3_ERRORS.iter().map(|(file, _)| *file));
    let dd = DD.iter().map(|(file, ..)| *file).chain(DD_ERRORS.iter().map(|(file, _)| *file));
    for (tool, mut tables) in [("iperf3", iperf3.collect::<Vec<_>>()), ("dd", dd.collect())] {
        let files = fs::read_dir(fixtures("samples").join(tool)).unwrap();
        let mut files: Vec<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        files.sort();
        tables.sort_unstable();
        assert_eq!(files, tables);
    }
}

/// Every recorded output, with an exit code of 0: the worst case, in which nothing else says that it failed.
fn all_as_succeeded() -> Vec<Recorded> {
    let files =
        |tool, files: Vec<&str>| files.into_iter().map(move |file| sample(tool, file, 0)).collect::<Vec<_>>();
    let mut all: Vec<_> = cases().into_iter().map(|(recorded, _)| recorded).collect();
    all.extend(files("iperf3", IPERF3.iter().map(|(file, _)| *file).collect()));
    all.extend(files("dd", DD.iter().map(|(file, ..)| *file).collect()));
    all.iter_mut().for_each(|recorded| recorded.exit_code = Some(0));
    all
}

/// Cuts every fixture at any byte (in the first part of long ones: at some): no value may come out that
/// the whole does not have.
#[test]
fn a_cut_output_gives_no_other_value() {
    for recorded in all_as_succeeded() {
        let whole = match recorded.read() {
            Reading::Ok { measurements, .. } => measurements,
            Reading::Failed { .. } => Vec::new(),
        };
        let length = recorded.stdout.len().max(recorded.stderr.len());
        let tail = length.saturating_sub(300);
        for cut in (0..tail).step_by(1 + tail / 200).chain(tail..length) {
            if let Reading::Ok { measurements, .. } = recorded.read_cut(cut) {
                assert!(!measurements.is_empty());
                for measurement in measurements {
                    assert!(whole.contains(&measurement), "{} cut at {cut}: {measurement:?}", recorded.name);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    /// Whatever the bytes are, reading ends without a panic and gives only finite values.
    #[test]
    fn any_bytes_are_survived(index in 0_usize..1000, damage in prop::collection::vec((any::<usize>(), any::<u8>()), 1..8)) {
        let mut all = all_as_succeeded();
        let chosen = index % all.len();
        let recorded = &mut all[chosen];
        for (position, byte) in damage {
            for bytes in [&mut recorded.stdout, &mut recorded.stderr] {
                if !bytes.is_empty() {
                    let position = position % bytes.len();
                    bytes[position] = byte;
                }
            }
        }
        if let Reading::Ok { measurements, .. } = recorded.read() {
            prop_assert!(measurements.iter().all(|m| m.value.is_finite()));
        }
    }
}
