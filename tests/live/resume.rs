//! Runs that are ended by force and gone on with: kill -9 at random moments, and a disk that gets full. What
//! is measured in the end is what an unbroken run measures, every trial once.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::lab;

/// `x.yaml` in a folder of its own.
struct Experiment(TempDir);

impl Experiment {
    fn new(yaml: &str) -> Self {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("x.yaml"), yaml).unwrap();
        Experiment(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn runner(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_runner"));
        command.current_dir(self.path()).args(["run", "x.yaml"]).args(arguments);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    /// The run; none before it has a manifest.
    fn directory(&self, results: &str) -> Option<PathBuf> {
        let entries = fs::read_dir(self.path().join(results).join("x")).ok()?;
        let paths = entries.map(|entry| entry.unwrap().path());
        let runs: Vec<_> = paths.filter(|path| path.join("manifest.json").is_file()).collect();
        assert!(runs.len() < 2, "a run that is gone on with stays one: {runs:?}");
        runs.into_iter().next()
    }
}

/// The records as they lie there; a line that is no record fails the test.
fn records(directory: &Path) -> Vec<Value> {
    let text = fs::read_to_string(directory.join("records.jsonl")).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'), "torn: {:?}", text.lines().last());
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn trials(records: &[Value]) -> Vec<&str> {
    records.iter().map(|record| record["trial"].as_str().unwrap()).collect()
}

fn manifest(directory: &Path) -> Value {
    serde_json::from_slice(&fs::read(directory.join("manifest.json")).unwrap()).unwrap()
}

/// What killed runners have left on this machine.
fn remove_leftovers(directory: &Path) {
    for sitting in manifest(directory)["sittings"].as_array().unwrap() {
        let prefix = format!("runner-{}-", sitting["id"].as_str().unwrap());
        for folder in ["/var/tmp", "/dev/shm"] {
            let entries = fs::read_dir(folder).unwrap().flatten();
            for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix)) {
                let _ = fs::remove_dir_all(entry.path()).or_else(|_| fs::remove_file(entry.path()));
            }
        }
    }
}

/// A number below `limit` that is another each time.
/// Kills a run `kills` times at random moments and goes on with it, so that about half of it is done then. One
/// that has all its trials before is looked at, and another is begun.
fn kill_and_go_on(trials_of_a_cell: u32, mut kills: u32) {
    let experiment = Experiment::new(
        "workloads:\n  w:\n    parameters: { n: 1 }\n    run: 'echo begin {{ n }}; echo {{ trial.repetition }} >kept; echo end'\n    \
         fetch: [kept]\n    metrics: { extract: { n: { regex: 'begin (\\d+)' } } }\n\
         matrix: [{ n: [1, 2, 3, 4] }]\nseed: 11\n",
    );
    let repetitions = trials_of_a_cell.to_string();
    let begin = ["--repetitions", repetitions.as_str()];
    let run = |arguments: &[&str], results: &str| {
        let clock = Instant::now();
        let output = experiment.runner(&[arguments, &["--results", results]].concat()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        (clock.elapsed(), said)
    };
    let (whole, _) = run(&begin, "unbroken");
    // What a sitting takes before its first trials.
    let (start, _) = run(&["--repetitions", "1"], "shortest");
    let unbroken = records(&experiment.directory("unbroken").unwrap());
    let longest = start + whole / kills;
    let mut round = 0;
    while kills > 0 {
        round += 1;
        let results = format!("broken-{round}");
        let mut moments = Vec::new();
        while kills > 0 {
            let arguments = if experiment.directory(&results).is_some() { &["--resume"][..] } else { &begin };
            let command = &mut experiment.runner(&[arguments, &["--results", &results]].concat());
            let mut child = command.stderr(Stdio::null()).spawn().unwrap();
            moments.push(Duration::from_micros(lab::random(longest.as_micros() as u64)));
            std::thread::sleep(moments[moments.len() - 1]);
            if child.try_wait().unwrap().is_some_and(|status| status.success()) {
                break;
            }
            child.kill().unwrap();
            child.wait().unwrap();
            kills -= 1;
        }
        let arguments = if experiment.directory(&results).is_some() { &["--resume"][..] } else { &begin };
        let (_, said) = run(arguments, &results);
        let left = said.lines().find(|line| line.contains("are done")).unwrap_or_default();
        println!("after {} kills: {left}", moments.len());
        let directory = experiment.directory(&results).unwrap();
        remove_leftovers(&directory);
        assert_is_like(&unbroken, &directory, &format!("{moments:?}"));
    }
}

/// The run in `directory` has the trials and values of the unbroken one, whole and once.
fn assert_is_like(unbroken: &[Value], directory: &Path, moments: &str) {
    let resumed = records(directory);
    assert_eq!(trials(&resumed), trials(unbroken), "{moments}");
    for record in &resumed {
        assert_eq!(
            (record["status"].as_str(), record["attempt"].as_u64()),
            (Some("ok"), Some(1)),
            "{record}"
        );
        for output in record["outputs"].as_array().unwrap() {
            let size = fs::metadata(directory.join(output["path"].as_str().unwrap())).unwrap().len();
            assert_eq!(Some(size), output["size"].as_u64(), "{output}");
        }
    }
    let values = |records: &[Value]| -> BTreeMap<String, Value> {
        let value = |record: &Value| (record["trial"].to_string(), record["measurements"][0].clone());
        records.iter().map(value).collect()
    };
    assert_eq!(values(&resumed), values(unbroken));
    let find = Command::new("find").arg(directory).args(["-name", ".*"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&find.stdout), "", "half-written files are left");
    let report = fs::read_to_string(directory.join("report.md")).unwrap();
    let planned = unbroken.iter().filter(|record| record["phase"] == "measure").count();
    assert!(report.contains(&format!("{planned} of {planned} trials ok")), "{report}");
}

#[test]
fn a_run_killed_at_20_random_moments_is_the_unbroken_one_in_the_end() {
    kill_and_go_on(16, 20);
}

#[test]
#[ignore = "takes minutes, to find a moment that 20 kills do not: `make soak`"]
fn a_run_killed_at_400_random_moments_is_the_unbroken_one_in_the_end() {
    kill_and_go_on(200, 400);
}

/// Runs `script` in a folder whose `results` is a file system of `size`; `$RUN` runs the experiment.
fn on_a_small_disk(experiment: &Experiment, size: &str, script: &str) -> Output {
    let script = format!(
        "set -u\nmkdir results\nmount -t tmpfs -o size={size} tmpfs results\nRUN='{} run x.yaml'\n{script}",
        env!("CARGO_BIN_EXE_runner")
    );
    // The mount is seen by this script alone, and goes with it. Who is not root becomes it for the mount.
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    let mut command = Command::new("unshare");
    command.arg("--mount").args((!is_root).then_some("--map-root-user"));
    command.args(["sh", "-c", &script]).current_dir(experiment.path()).output().unwrap()
}

#[test]
fn a_full_disk_ends_the_run_in_order_and_more_room_lets_it_go_on() {
    lab::eventually("the lab is up", || std::net::TcpStream::connect(("127.0.0.1", 2201)).is_ok());
    // Where a trial prints nothing, it is the line of its record for which there is no room; else either.
    for (run, refused) in [("head -c 6000 /dev/zero", " `results/x/"), ("true", "records.jsonl`")] {
        let experiment = Experiment::new(&format!(
            "include: [{}/lab/hosts.yaml]\nenvironments: {{ native: {{}} }}\nworkloads: {{ w: {{ run: {run} }} }}\n\
             matrix: [{{ host: lattepanda-a, environment: native }}]\nrepetitions: 120\n",
            lab::ROOT
        ));
        let output = on_a_small_disk(
            &experiment,
            "64k",
            "$RUN 2>full; echo $? >code\ncp -r results/x before\n\
             mount -o remount,size=16m results\n$RUN --resume 2>again; echo $? >>code\ncp -r results/x after",
        );
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let read = |name: &str| fs::read_to_string(experiment.path().join(name)).unwrap();
        let (full, again) = (read("full"), read("again"));
        assert_eq!(read("code"), "4\n0\n", "{full}{again}");
        for words in [refused, "No space left on device", "make room", "runner run x.yaml --resume"] {
            assert!(full.contains(words), "{words}: {full}");
        }
        let copy = |name: &str| {
            let runs = fs::read_dir(experiment.path().join(name)).unwrap().map(|entry| entry.unwrap().path());
            runs.filter(|path| path.is_dir()).max().unwrap()
        };
        let before = records(&copy("before"));
        assert!(!before.is_empty() && before.len() < 120, "{} records", before.len());
        let after = copy("after");
        let all = records(&after);
        assert_eq!(all[..before.len()], before, "what was measured before stays");
        let mut names = trials(&all);
        names.sort_unstable();
        names.dedup();
        assert_eq!((all.len(), names.len()), (120, 120), "every trial once");
        assert!(fs::read_to_string(after.join("report.md")).unwrap().contains("120 of 120 trials ok"));
        for sitting in manifest(&after)["sittings"].as_array().unwrap() {
            let left = format!(
                "ls -d /var/tmp/runner-{0}-* /dev/shm/runner-{0}-* 2>&1; true",
                sitting["id"].as_str().unwrap()
            );
            assert!(
                !lab::on("lattepanda-a", &left).lines().any(|line| line.starts_with('/')),
                "left on the machine"
            );
        }
    }
}
