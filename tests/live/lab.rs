//! What every live test needs: the lab, the program, a fresh folder, and a look at what is left behind.

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// The checkout.
pub const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// An experiment in a folder of its own, on the hosts of the lab.
pub struct Experiment {
    folder: Rc<TempDir>,
    /// On top of our own variables.
    variables: Vec<(String, String)>,
}

impl Experiment {
    /// An experiment with `yaml` behind the lab's hosts and environments.
    pub fn new(yaml: &str) -> Self {
        let lab = std::net::TcpStream::connect(("127.0.0.1", 2201));
        assert!(lab.is_ok(), "the lab is not up: run `make lab`");
        let folder = Rc::new(TempDir::new().unwrap());
        let text = format!("include: [{ROOT}/lab/hosts.yaml]\n{yaml}");
        fs::write(folder.path().join("x.yaml"), text).unwrap();
        Experiment { folder, variables: Vec::new() }
    }

    /// The same in the lab's cloud, `ministack` or `moto`.
    pub fn in_cloud(yaml: &str, emulator: &str) -> Self {
        Experiment { variables: cloud(emulator), ..Experiment::new(yaml) }
    }

    /// The same with another value of a variable.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The tests share the machines and run side by side, so they lock none; those of locks say `--lock`,
    /// which `runner` does by itself.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_runner"));
        command.current_dir(self.path()).args(["run", "x.yaml"]).envs(self.variables.iter().cloned());
        command.args(arguments.iter().filter(|argument| **argument != "--lock"));
        if !arguments.iter().any(|argument| ["--lock", "--no-wait"].contains(argument)) {
            command.arg("--no-lock");
        }
        command
    }

    /// Runs it to its end.
    pub fn run(&self, arguments: &[&str]) -> Run {
        self.finished(self.command(arguments).output().unwrap())
    }

    /// Any other verb of the program.
    pub fn runner(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_runner"));
        command
            .current_dir(self.path())
            .args(arguments)
            .envs(self.variables.iter().cloned())
            .output()
            .unwrap()
    }

    /// Starts it.
    pub fn start(&self) -> Child {
        self.start_with(&[])
    }

    /// Starts it with options.
    pub fn start_with(&self, arguments: &[&str]) -> Child {
        self.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// What a finished program left.
    pub fn finished(&self, output: Output) -> Run {
        let directory = fs::read_dir(self.path().join("results/x")).ok().and_then(|entries| {
            entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).max()
        });
        let records = directory.as_ref().map(|directory| {
            let text = fs::read_to_string(directory.join("records.jsonl")).unwrap();
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
        });
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let records = records.unwrap_or_default();
        Run { code: output.status.code(), stderr, directory, records, _folder: self.folder.clone() }
    }
}

/// A finished run.
pub struct Run {
    pub code: Option<i32>,
    pub stderr: String,
    pub directory: Option<PathBuf>,
    pub records: Vec<Value>,
    _folder: Rc<TempDir>,
}

impl Run {
    /// All trials are ok.
    #[track_caller]
    pub fn assert_ok(&self) {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        assert!(!self.records.is_empty());
    }

    /// The one trial failed at `stage`, for a reason that holds each of `words`.
    #[track_caller]
    pub fn assert_failed(&self, stage: &str, words: &[&str]) {
        assert_eq!(self.code, Some(1), "{}", self.stderr);
        let record = &self.records[0];
        assert_eq!(
            (record["status"].as_str(), record["stage"].as_str()),
            (Some("failed"), Some(stage)),
            "{record}"
        );
        let reason = record["reason"].as_str().unwrap();
        for word in words {
            assert!(reason.contains(word), "`{word}` is not in: {reason}");
        }
        assert_eq!(
            record["measurements"].as_array().map(Vec::len),
            Some(0),
            "a failed trial has no measurement"
        );
    }

    /// What the names of all that it made hold.
    pub fn id(&self) -> String {
        let manifest = fs::read_to_string(self.directory.as_ref().unwrap().join("manifest.json")).unwrap();
        let manifest: Value = serde_json::from_str(&manifest).unwrap();
        manifest["id"].as_str().unwrap().to_owned()
    }

    pub fn report(&self) -> String {
        fs::read_to_string(self.directory.as_ref().unwrap().join("report.md")).unwrap()
    }
}

/// What `sh` on the lab machine `host` prints, as root.
#[track_caller]
pub fn on(host: &str, script: &str) -> String {
    docker(&["exec", host, "sh", "-c", script])
}

/// The variables by which `aws` reaches an emulator of the lab's cloud.
pub fn cloud(emulator: &str) -> Vec<(String, String)> {
    let output = Command::new(format!("{ROOT}/lab/cloud")).args(["env", emulator]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .map(|line| line.split_once('=').map(|(name, value)| (name.into(), value.into())).unwrap())
        .collect()
}

/// What `aws` answers there.
#[track_caller]
pub fn aws(emulator: &str, words: &[&str]) -> Value {
    let variables = cloud(emulator);
    let endpoint = &variables.iter().find(|(name, _)| name == "AWS_ENDPOINT_URL").unwrap().1;
    let options = ["--output", "json", "--endpoint-url", endpoint];
    let words = words.iter().chain(&options).copied();
    let output = Command::new("aws")
        .args(words)
        .envs(variables.iter().cloned())
        .env_remove("AWS_PROFILE")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap_or_default()
}

/// The image of the lab's machines.
pub fn host_image() -> String {
    docker(&["inspect", "--format", "{{.Config.Image}}", "lattepanda-a"])
}

/// The declarations of the lab, for a file in another folder.
pub fn hosts() -> String {
    let text = fs::read_to_string(format!("{ROOT}/lab/hosts.yaml")).unwrap();
    text.replace("../experiments", &format!("{ROOT}/experiments"))
}

/// What the engine's own program prints.
#[track_caller]
pub fn docker(arguments: &[&str]) -> String {
    let output = Command::new("docker").args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// The processes on `host` whose command line holds `marker`.
#[track_caller]
pub fn processes(host: &str, marker: &str) -> String {
    let script = "for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline 2>/dev/null; echo; done; true";
    let found = on(host, script);
    found.lines().filter(|line| line.contains(marker)).collect::<Vec<_>>().join("\n")
}

/// Waits until `condition` holds.
#[track_caller]
pub fn eventually(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(60), "never: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A number below `limit`, another one each time.
pub fn random(limit: u64) -> u64 {
    RandomState::new().hash_one("") % limit
}

/// Ends a program as Ctrl-C does.
pub fn interrupt(child: &Child) {
    signal(child, "INT");
}

/// Sends a signal to a program.
pub fn signal(child: &Child, name: &str) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
}

/// Nothing of `run` is left on `host`: no process with `marker` in its command line, no directory, no file
/// in memory, and no container on the engine that all hosts share.
#[track_caller]
pub fn assert_clean(run: &Run, host: &str, marker: &str) {
    let id = run.id();
    assert_eq!(processes(host, marker), "", "processes left on {host}");
    let files = on(host, &format!("ls -d /var/tmp/runner-{id}-* /dev/shm/runner-{id}-* 2>/dev/null; true"));
    assert_eq!(files, "", "files left on {host}");
    assert!(!std::env::temp_dir().join(format!("runner-{id}")).exists(), "files left on this machine");
    let names = docker(&["ps", "-a", "--format", "{{.Names}}"]);
    assert!(!names.contains(&id), "containers left: {names}");
}
