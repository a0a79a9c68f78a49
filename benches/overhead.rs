//! What a trial of `true` costs from one to the next, its record on disk, against a floor measured in the
//! same run: the bare way to the same place. Needs the lab (`make lab`) for all but the first rows. Ratios
//! are what counts; absolute times belong to one machine.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it measures")]

mod support;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use support::{delayed, quantile, sorted};

const TRIALS: usize = 200;
const LAB_PORTS: [u16; 3] = [2201, 2202, 2203];
/// Half of a round trip of 20 ms.
const ONE_WAY: Duration = Duration::from_millis(10);
const NATIVE: &str = "{}";

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let bench = |run: &str, host: &str, environment: &str| {
        trials(folder.path(), &format!("run: {run}"), &[host], environment)
    };
    let lab = std::net::TcpStream::connect(("127.0.0.1", LAB_PORTS[0])).is_ok();
    println!(
        "a trial of `true`, {TRIALS} each, in ms: from one to the next (mean), the trial alone (p50, p95)"
    );
    println!(
        "{:<34} {:>7} {:>7} {:>7}   {:<32} {:>7} {:>6}",
        "trial", "mean", "p50", "p95", "floor", "p50", "ratio"
    );
    let spawn = floor(&["true"]);
    let true_alone = bench("['true']", "here", NATIVE);
    row("local, no shell", &true_alone, "spawn and wait", &spawn);
    row(
        "local, sh",
        &bench("'true'", "here", NATIVE),
        "spawn and wait of sh -c",
        &floor(&["sh", "-c", "true"]),
    );
    if !lab {
        println!("the lab is not up: no row for SSH and Docker; run `make lab`");
        return;
    }
    let direct = bench("['true']", "a", NATIVE);
    row("SSH", &direct, "a channel of libssh2", &channel(LAB_PORTS[0]));
    let far = bench("['true']", "a-far", NATIVE);
    row("SSH, round trip 20 ms", &far, "a round trip", &[2.0 * ONE_WAY.as_secs_f64() * 1e3]);
    let three = trials(folder.path(), "run: ['true']", &["a-far", "b-far", "c-far"], NATIVE);
    row("three such hosts at once", &three, "one such host", &[far.mean]);
    let root = env!("CARGO_MANIFEST_DIR");
    let container = format!("{{ container: {{ build: {root}/experiments/images/bench, network: none }} }}");
    // An image that is built, for the rows below.
    bench("['true']", "here", &container);
    let exec = floor(&["docker", "exec", "lattepanda-a", "true"]);
    row("container kept", &bench("['true']", "here", &container), "docker exec", &exec);
    row("container kept, over SSH", &bench("['true']", "a", &container), "docker exec, local", &exec);
    let images = Command::new("docker").args(["images", "-q", "runner-lab-host"]).output().unwrap();
    let id = String::from_utf8_lossy(&images.stdout).lines().next().unwrap_or_default().to_owned();
    let run = floor(&["docker", "run", "--rm", "--network", "none", "--entrypoint", "true", &id]);
    let fresh = container.replace("network: none", "network: none, fresh: trial");
    row("container fresh", &bench("['true']", "here", &fresh), "docker run --rm", &run);
}

/// Milliseconds of trials.
struct Times {
    /// From one to the next.
    mean: f64,
    /// Each alone, sorted.
    alone: Vec<f64>,
}

fn row(name: &str, trials: &Times, floor_name: &str, floor: &[f64]) {
    let (p50, p95) = (quantile(&trials.alone, 0.5), quantile(&trials.alone, 0.95));
    let least = quantile(floor, 0.5);
    println!(
        "{name:<34} {:>7.2} {p50:>7.2} {p95:>7.2}   {floor_name:<32} {least:>7.2} {:>6.2}",
        trials.mean,
        trials.mean / least
    );
}

fn trials(folder: &Path, workload: &str, hosts: &[&str], environment: &str) -> Times {
    std::fs::write(folder.join("x.yaml"), yaml(folder, workload, hosts, environment)).unwrap();
    let results = tempfile::tempdir_in(folder).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_runner"))
        .current_dir(folder)
        .args(["run", "x.yaml", "--results"])
        .arg(results.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report = String::from_utf8(output.stdout).unwrap();
    let records = Path::new(report.trim()).with_file_name("records.jsonl");
    let text = std::fs::read_to_string(folder.join(records)).unwrap();
    // The first trials also set their cells up.
    let records = text.lines().skip(hosts.len()).map(|line| serde_json::from_str(line).unwrap());
    let records: Vec<Value> = records.collect();
    let started = |record: &Value| record["started"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let (first, last) = (started(&records[0]), started(&records[records.len() - 1]));
    let alone = records.iter().map(|record| record["elapsed_s"].as_f64().unwrap() * 1e3).collect();
    let intervals = (records.len() - 1) / hosts.len();
    Times { mean: last.duration_since(first).as_secs_f64() * 1e3 / intervals as f64, alone: sorted(alone) }
}

fn yaml(folder: &Path, workload: &str, hosts: &[&str], environment: &str) -> String {
    let lab = std::env::home_dir().unwrap().join(".local/share/runner-lab").display().to_string();
    let host = |name: &str, port: u16| {
        format!(
            "  {name}: {{ ssh: {{ address: 127.0.0.1, port: {port}, user: bench, identity: {lab}/id_ed25519, \
             known_hosts: known_hosts }} }}\n"
        )
    };
    let keys = std::fs::read_to_string(format!("{lab}/known_hosts")).unwrap_or_default();
    let mut known = String::new();
    let mut declared = String::from("  here: { local: {} }\n");
    for name in hosts.iter().filter(|name| **name != "here") {
        let port = LAB_PORTS[usize::from(name.as_bytes()[0] - b'a')];
        let here = if name.ends_with("-far") { delayed(port, ONE_WAY) } else { port };
        let own = |line: &&str| line.starts_with(&format!("[127.0.0.1]:{port} "));
        known.extend(
            keys.lines()
                .filter(own)
                .map(|line| line.replace(&format!(":{port} "), &format!(":{here} ")) + "\n"),
        );
        declared += &host(name, here);
    }
    std::fs::write(folder.join("known_hosts"), known).unwrap();
    format!(
        "hosts:\n{declared}environments: {{ e: {environment} }}\nworkloads: {{ w: {{ {workload} }} }}\n\
         matrix: [{{ host: [{}], environment: e }}]\nrepetitions: {}\n",
        hosts.join(", "),
        TRIALS + 1
    )
}

fn floor(command: &[&str]) -> Vec<f64> {
    let one = || {
        let start = Instant::now();
        let status = Command::new(command[0]).args(&command[1..]).stdout(Stdio::null()).status().unwrap();
        assert!(status.success());
        start.elapsed().as_secs_f64() * 1e3
    };
    sorted((0..TRIALS).map(|_| one()).collect())
}

/// Milliseconds of one libssh2 channel with `true` in it, on a connection that stays.
fn channel(port: u16) -> Vec<f64> {
    let key = std::env::home_dir().unwrap().join(".local/share/runner-lab/id_ed25519");
    let stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_nodelay(true).unwrap();
    let mut session = ssh2::Session::new().unwrap();
    session.set_tcp_stream(stream);
    session.handshake().unwrap();
    session.userauth_pubkey_file("bench", None, &key, None).unwrap();
    let one = || {
        let start = Instant::now();
        let mut channel = session.channel_session().unwrap();
        channel.exec("true").unwrap();
        std::io::copy(&mut channel, &mut std::io::sink()).unwrap();
        channel.wait_close().unwrap();
        start.elapsed().as_secs_f64() * 1e3
    };
    sorted((0..TRIALS).map(|_| one()).collect())
}
