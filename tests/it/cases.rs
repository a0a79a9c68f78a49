//! The 39 cases of `fixtures/cases`: inputs that made programs of this kind give wrong results, each beside its
//! right one. This table goes over all of them; those of tools are read by their parsers, the others by the
//! module that they are about.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use bollard::models::ContainerState;
use runner::event::{Outcome, Stage, Status, Suspicion};
use runner::metrics::{Measurement, parser};
use runner::record::read_run;
use runner::report::view::{Column, Table};
use runner::transports::docker::End;
use runner::transports::fake::Reply;
use runner::transports::job::Probes;
use serde_json::Value;

use crate::metrics::{check_case, folders, json_of, texts};
use crate::report::{change_lines, samples};
use crate::world::{Happened, World, fails, ok};
use crate::{end_to_end, form};

/// Reads the input in a folder as `input` says, and compares it with `expect`.
type Check = fn(folder: &Path, case: &Value);

/// What is no tool's output, and its judge.
const OTHERS: [(&str, Check); 7] = [
    ("docker inspect", containers_that_ended),
    ("report renderer", difficult_cells),
    ("runner config", |folder, case| {
        form::scalars_keep_their_letters_and_a_doubled_key_is_refused(folder, &case["expect"]);
    }),
    ("runner steps", refused_drop),
    ("statistics", |folder, case| {
        paused(end_to_end::the_mean_of_rates_is_that_of_what_was_fixed(folder, &case["expect"]));
    }),
    ("vagrant", read_beside_the_code),
    ("vcgencmd get_throttled", throttled_bits),
];

pub fn is_of_another_module(tool: &str) -> bool {
    OTHERS.iter().any(|(other, _)| *other == tool)
}

#[test]
fn every_case_gives_what_is_right() {
    let folders = folders("cases");
    assert_eq!(folders.len(), 39);
    for folder in folders {
        let case = json_of(&folder.join("expected.json"));
        let tool = case["input"]["tool"].as_str().unwrap();
        assert_eq!(folder.file_name().unwrap().to_str(), case["case"].as_str());
        let other = OTHERS.iter().find(|(other, _)| *other == tool).map(|(_, check)| *check);
        let check = other.or(parser(tool).map(|_| check_case as Check));
        let check = check.unwrap_or_else(|| panic!("{folder:?}: nothing reads `{tool}`"));
        check(&folder, &case);
    }
}

#[test]
fn every_way_in_which_a_drop_was_refused_fails_the_trial() {
    let folder = PathBuf::from("tests/fixtures/samples/drop_caches");
    let expected = &json_of(&folder.join("expected.json"))[0]["expect"];
    let text = fs::read_to_string(folder.join("all-variants.txt")).unwrap();
    let mut tried = Vec::new();
    for variant in text.split("== ").filter(|variant| !variant.is_empty()) {
        let (heading, printed) = variant.split_once('\n').unwrap();
        let heading = heading.trim_end().trim_end_matches(':').trim_end();
        let (said, code) = printed.trim_end().rsplit_once("rc=").unwrap_or_else(|| panic!("{heading}"));
        tried.push(heading.to_owned());
        match expected["refused"][heading].as_str() {
            Some(words) => assert_refused(&cold(code.parse().unwrap(), said), &[words]),
            None => assert!(texts(expected, "done").any(|done| done == heading) && code == "0", "{heading}"),
        }
    }
    assert_eq!(tried.len(), expected["refused"].as_object().unwrap().len() + texts(expected, "done").count());
}

fn paused<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.unwrap().block_on(future)
}

/// Cases of what tests can't see from outside: a test beside the code names their folder.
fn read_beside_the_code(_: &Path, case: &Value) {
    let (case, file) = (case["case"].as_str().unwrap(), "src/transports/ssh/config.rs");
    assert!(fs::read_to_string(file).unwrap().contains(case), "{file} does not test {case}");
}

fn containers_that_ended(folder: &Path, case: &Value) {
    let inspected = json_of(&folder.join(case["input"]["stdout"].as_str().unwrap()));
    let of_class: BTreeMap<_, _> = [
        ("out of memory", End::OutOfMemory),
        ("killed (SIGKILL)", End::Killed),
        ("out of memory in a child", End::ProcessOutOfMemory),
    ]
    .into();
    let containers = case["expect"]["containers"].as_array().unwrap();
    assert_eq!(inspected.as_array().unwrap().len(), containers.len());
    for (inspected, expected) in inspected.as_array().unwrap().iter().zip(containers) {
        let name = expected["name"].as_str().unwrap();
        assert_eq!(inspected["Name"].as_str().unwrap().trim_start_matches('/'), name);
        let mut state: ContainerState = serde_json::from_value(inspected["State"].clone()).unwrap();
        let end = End::of(&state);
        // Whatever the end of a container is, it is a failure.
        assert_eq!(expected["status"], "failed");
        assert_eq!(end, Some(of_class[expected["error_class"].as_str().unwrap()]), "{name}");
        let words = end.unwrap().to_string();
        let claims = words.contains("memory");
        assert_eq!(words.contains("(SIGKILL)"), !claims, "{words}");
        assert_eq!(claims, expected.get("must_not_claim").is_none(), "{name}");
        state.running = Some(true);
        assert_eq!(End::of(&state), None, "{name}");
    }
    let ended = ContainerState { running: Some(false), exit_code: Some(3), ..ContainerState::default() };
    assert_eq!(End::of(&ended), Some(End::Code(3)));
}

/// One trial whose `prepare` drops caches and whose command reads a file; the drop ends so.
fn cold(exit_code: i32, stderr: &str) -> Happened {
    let (refused, read) = (fails(exit_code, stderr), "1073741824 bytes copied, 0.167772 s, 6.4 GB/s\n");
    let world = World::new(move |_, _| Reply { stderr: read.to_owned(), ..ok() })
        .looks(move |_, script| script.contains("drop_caches").then(|| refused.clone()));
    paused(world.run(
        "workloads: { cold: { prepare: drop_caches, run: dd if=x of=/dev/null, metrics: { tool: dd } } }
repetitions: 1",
    ))
}

fn assert_refused(happened: &Happened, words: &[&str]) {
    let Outcome { status, stage, reason, measurements, .. } = happened.outcome();
    assert_eq!((*status, *stage), (Status::Failed, Some(Stage::Prepare)));
    assert_eq!(*measurements, []);
    assert!(happened.commands().is_empty(), "it is not measured warm");
    let reason = reason.as_deref().unwrap();
    assert!(words.iter().all(|words| reason.contains(words)), "{words:?} are not in: {reason}");
}

fn refused_drop(folder: &Path, case: &Value) {
    let steps = json_of(&folder.join("input.steps.json"));
    let drop = &steps[0];
    let happened = cold(drop["exit_code"].as_i64().unwrap() as i32, drop["stderr"].as_str().unwrap());
    let expected = &case["expect"];
    assert_eq!((&expected["status"], &expected["metrics"]), (&"failed".into(), &Value::Array(Vec::new())));
    assert_refused(&happened, &texts(expected, "error_contains").collect::<Vec<_>>());
}

/// The kernel's file says in hexadecimal what `vcgencmd` says behind `throttled=0x`; elsewhere there is none.
fn throttled_bits(folder: &Path, case: &Value) {
    const FILE: &str = "/sys/devices/platform/soc/soc:firmware/get_throttled";
    let runs = json_of(&folder.join("input.json"));
    let expected = case["expect"]["runs"].as_array().unwrap();
    assert_eq!(runs.as_array().unwrap().len(), expected.len());
    for (run, expected) in runs.as_array().unwrap().iter().zip(expected) {
        assert_eq!(run["id"], expected["id"]);
        let lines = |when: &str| {
            let bits = run[when].as_str().unwrap().trim_end().strip_prefix("throttled=0x");
            bits.map(|bits| (FILE.to_owned(), bits.to_owned())).into_iter().collect()
        };
        let probes = Probes { before: lines("before"), after: lines("after") };
        let world = World::new(move |_, _| Reply { probes: probes.clone(), ..ok() });
        let happened = paused(world.run("workloads: { w: { run: measure } }\nrepetitions: 1"));
        let noise = happened.outcome().noise.clone().unwrap_or_default();
        let is_valid = !noise.suspicious.contains(&Suspicion::Throttled);
        assert_eq!(is_valid, expected["valid"].as_bool().unwrap(), "{run}");
        let words = |of: &[runner::event::Throttling]| {
            let words = of
                .iter()
                .map(|one| runner::record::word(one).replace("soft-temperature", "soft temperature"));
            words.map(|word| word.replace("temperature-limit", "temperature limit")).collect::<Vec<_>>()
        };
        assert_eq!(words(&noise.throttled_by), texts(expected, "reasons").collect::<Vec<_>>(), "{run}");
        assert_eq!(noise.throttled_earlier.is_empty(), expected.get("note").is_none(), "{run}");
        let is_unknown = expected["state"] == "unknown";
        assert_eq!(noise.throttled, (!is_unknown).then_some(!is_valid), "{run}");
    }
}

fn difficult_cells(folder: &Path, case: &Value) {
    let rows: Vec<BTreeMap<String, Value>> =
        serde_json::from_value(json_of(&folder.join("input.json"))).unwrap();
    let mut right = csv::Reader::from_path(folder.join("expected.csv")).unwrap();
    let header: Vec<String> = right.headers().unwrap().iter().map(str::to_owned).collect();
    let right: Vec<Vec<String>> = right.deserialize().map(|row| row.unwrap()).collect();
    assert_eq!(csv_of(&rows), right);

    let cell = |value: &Value| match value {
        Value::Null => String::new(),
        Value::Number(number) => number.as_f64().unwrap().to_string(),
        value => value.as_str().unwrap().to_owned(),
    };
    let of_row = |row: &BTreeMap<String, Value>| header.iter().map(|name| cell(&row[name])).collect();
    let columns = header.iter().map(Column::text).collect();
    let table = Table::new(columns, rows.iter().map(of_row).collect()).to_markdown();
    let right = fs::read_to_string(folder.join("expected.md")).unwrap();
    let (table, right) = (markdown_cells(&table), markdown_cells(&right));
    let count = case["expect"]["cells_per_row"].as_u64().unwrap() as usize;
    assert!(table.iter().all(|row| row.len() == count), "{table:#?}");
    assert_eq!(table, right);
}

/// The rows of `samples.csv` of a run with such trials.
fn csv_of(rows: &[BTreeMap<String, Value>]) -> Vec<Vec<String>> {
    let mut run = read_run(Path::new("tests/fixtures/run-docker-vs-native")).unwrap();
    run.records.truncate(rows.len());
    change_lines(&mut run, |lines| {
        for (line, row) in lines.iter_mut().zip(rows) {
            let text = |name: &str| row[name].as_str().unwrap().to_owned();
            (line.host, line.environment, line.workload) =
                (text("host"), text("environment"), text("workload"));
            line.parameters = [("note".to_owned(), text("note"))].into();
            line.status = if row["status"] == "ok" { Status::Ok } else { Status::Failed };
            let measured = |value| Measurement {
                name: "throughput".to_owned(),
                labels: BTreeMap::new(),
                value,
                unit: "byte/s".to_owned().into(),
                better: None,
                fixed: None,
            };
            line.measurements = row["value_byte_per_s"].as_f64().map(measured).into_iter().collect();
        }
    });
    let samples = samples(&run);
    let columns = ["host", "environment", "workload", "param.note", "value", "status"];
    let rows = csv::Reader::from_reader(samples.as_bytes()).into_deserialize();
    let rows: Vec<BTreeMap<String, String>> = rows.map(|row| row.unwrap()).collect();
    rows.iter().map(|row| columns.map(|column| row[column].clone()).to_vec()).collect()
}

/// The cells of a table, but for the rule; a `>` may stand for itself.
fn markdown_cells(table: &str) -> Vec<Vec<String>> {
    let cells = |line: &str| {
        let line = line.replace("\\|", "\u{0}").replace("&gt;", ">");
        let inner = line.trim().trim_start_matches('|').trim_end_matches('|').to_owned();
        inner.split('|').map(|cell| cell.trim().replace('\u{0}', "\\|")).collect::<Vec<_>>()
    };
    let rows = table.lines().map(cells);
    rows.filter(|row| {
        !row.iter().all(|cell| cell.chars().all(|c| matches!(c, '-' | ':')) && !cell.is_empty())
    })
    .collect()
}
