//! A machine of a test's own: a container of the lab's image that takes logins over SSH, and that is gone
//! when the test is. Read [`Host`] first.

use std::fs;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::lab::{self, Experiment, Run, docker, eventually};
use crate::ssh;

/// A run that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(280);
/// The server comes back by itself, whoever ends it.
const SERVER: &str = "while :; do /usr/sbin/sshd -D -e OPTIONS; sleep 0.5; done";

/// A machine that may be broken.
pub struct Host {
    pub name: String,
    pub port: u16,
    folder: TempDir,
}

impl Host {
    /// A machine as those of the lab.
    pub fn new() -> Self {
        Host::with(&[], "")
    }

    /// One whose container is made with `options`, and whose SSH server is started with `server`.
    pub fn with(options: &[&str], server: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(1);
        let lab = ssh::panda();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("runner-fault-{}-{number}", std::process::id());
        let port = free_port();
        let image = docker(&["inspect", "--format", "{{.Config.Image}}", &lab.name]);
        let publish = format!("127.0.0.1:{port}:22");
        let start = ["create", "--name", &name, "--hostname", &name, "--network", "runner-lab", "--label"];
        let command = SERVER.replace("OPTIONS", server);
        let rest = ["runner-lab=1", "--publish", &publish];
        docker(&[&start[..], &rest, options, &[&image, "sh", "-c", &command]].concat());
        let host = Host { name, port, folder: tempfile::tempdir().unwrap() };
        let keys = ssh::lab().join("hosts").join(&lab.name);
        docker(&["cp", keys.to_str().unwrap(), &format!("{}:/etc/ssh/lab", host.name)]);
        docker(&["start", &host.name]);
        host.trust(port);
        // The connection is given up after six seconds of silence instead of 95.
        let config = "ServerAliveInterval 2\nServerAliveCountMax 2\nConnectTimeout 3\n";
        fs::write(host.folder.path().join("config"), config).unwrap();
        eventually("the SSH server answers", || answers(port));
        host
    }

    /// Makes its key known also behind `port`.
    pub fn trust(&self, port: u16) {
        let known = self.folder.path().join("known_hosts");
        let old = fs::read_to_string(&known).unwrap_or_default();
        fs::write(known, format!("{old}[127.0.0.1]:{port} {}\n", ssh::host_key())).unwrap();
    }

    /// Its entry in `hosts:`, reached through `port`; `more` are further fields of `ssh:`.
    pub fn entry(&self, port: u16, more: &str) -> String {
        let (folder, identity) = (self.folder.path().display(), ssh::lab().join("id_ed25519"));
        format!(
            "{}: {{ ssh: {{ address: 127.0.0.1, port: {port}, user: bench, identity: {}, known_hosts: {folder}/known_hosts, \
             config: {folder}/config{more} }}, peer_address: {} }}",
            self.name,
            identity.display(),
            self.name
        )
    }

    /// An experiment with `workload` on it, natively.
    pub fn experiment(&self, workload: &str) -> Experiment {
        self.experiment_through(self.port, workload)
    }

    /// The same through another port.
    pub fn experiment_through(&self, port: u16, workload: &str) -> Experiment {
        Experiment::new(&format!(
            "hosts: {{ {} }}\nenvironments: {{ native: {{}} }}\nworkloads: {{ w: {workload} }}\n\
             matrix: [{{ host: {}, environment: native }}]\nrepetitions: 1\n",
            self.entry(port, ", reconnect: 30s"),
            self.name
        ))
    }

    /// What `sh` prints on it, as root.
    #[track_caller]
    pub fn sh(&self, script: &str) -> String {
        lab::on(&self.name, script)
    }

    /// How many lines `/var/tmp/NAME` has; a workload adds one each time it is executed.
    pub fn lines(&self, name: &str) -> usize {
        self.sh(&format!("cat /var/tmp/{name} 2>/dev/null; true")).lines().count()
    }

    /// Ends all sessions of its SSH server at once; the server goes on.
    pub fn kill_sessions(&self) {
        self.sh("pkill -KILL -f '^sshd: bench'; true");
    }

    /// No process of the user is left, and no file of the run.
    #[track_caller]
    pub fn assert_clean(&self) {
        eventually("all processes on it have ended", || self.sh("pgrep -u bench -a; true").is_empty());
        let files = self.sh("ls -d /var/tmp/runner-* /tmp/runner-* /dev/shm/runner-* 2>/dev/null; true");
        assert_eq!(files, "", "files left on {}", self.name);
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let removed = Command::new("docker").args(["rm", "-f", "-v", &self.name]).output();
        if !removed.is_ok_and(|output| output.status.success()) {
            println!("{} can't be removed: `lab/down` does", self.name);
        }
    }
}

/// A port of this machine that nobody listens on.
fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

fn answers(port: u16) -> bool {
    let mut banner = [0; 4];
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return false };
    stream.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    stream.read_exact(&mut banner).is_ok() && &banner == b"SSH-"
}

/// Waits for a started run; one that hangs is ended, and fails the test.
#[track_caller]
pub fn finish(experiment: &Experiment, child: Child) -> Run {
    let id = child.id().to_string();
    let start = Instant::now();
    let waiting = std::thread::spawn(move || child.wait_with_output().unwrap());
    while !waiting.is_finished() {
        if start.elapsed() > LONGEST {
            Command::new("kill").args(["-s", "KILL", &id]).status().unwrap();
            let run = experiment.finished(waiting.join().unwrap());
            panic!("the run hangs: {}\n{:?}", run.stderr, run.records);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    experiment.finished(waiting.join().unwrap())
}

/// The warnings of a record in one text.
pub fn warnings(record: &serde_json::Value) -> String {
    record["warnings"].to_string()
}

/// What the first trial printed.
pub fn stdout(run: &Run, host: &Host, environment: &str) -> String {
    let path = format!("output/w/{}/{environment}/1/stdout", host.name);
    fs::read_to_string(run.directory.as_ref().unwrap().join(path)).unwrap()
}

/// What a trial printed; what printed nothing has no file.
pub fn kept(run: &Run, record: &serde_json::Value, name: &str) -> Vec<u8> {
    let outputs = record["outputs"].as_array().unwrap();
    let mut paths = outputs.iter().map(|output| output["path"].as_str().unwrap());
    let path = paths.find(|path| path.ends_with(name));
    path.map(|path| fs::read(run.directory.as_ref().unwrap().join(path)).unwrap()).unwrap_or_default()
}

/// The measured time of a record in seconds.
pub fn elapsed(record: &serde_json::Value) -> f64 {
    let measurements = record["measurements"].as_array().unwrap();
    let elapsed = measurements.iter().find(|measurement| measurement["name"] == "elapsed").unwrap();
    elapsed["value"].as_f64().unwrap()
}

/// A command that sleeps and that no other test has, in this or another checkout: what is left of it is ours.
pub fn sleeper() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(7000);
    format!("sleep {}.{}", NUMBER.fetch_add(1, Ordering::Relaxed), std::process::id())
}

/// Runs cases at the same time, since they wait most of theirs, and tells which of them failed.
pub fn side_by_side(cases: &[(&'static str, fn())]) {
    let failed: Vec<&str> = std::thread::scope(|scope| {
        let start = |(name, case): &(&'static str, fn())| {
            let (name, case) = (*name, *case);
            (name, std::thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, case).unwrap())
        };
        let running: Vec<_> = cases.iter().map(start).collect();
        running.into_iter().filter_map(|(name, case)| case.join().err().map(|_| name)).collect()
    });
    assert!(failed.is_empty(), "failed: {}", failed.join(", "));
}
