//! What a trial of `true` costs beside the command itself, against a floor measured in the same run: the
//! bare way to the same place. Needs the lab (`make lab`) for all but the first row. Ratios are what
//! counts; absolute times belong to one machine.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it measures")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::Value;

const TRIALS: usize = 100;
const LAB_PORT: u16 = 2201;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let root = env!("CARGO_MANIFEST_DIR");
    let lab = std::net::TcpStream::connect(("127.0.0.1", LAB_PORT)).is_ok();
    println!("a trial of `true`, {TRIALS} each, times in ms");
    println!("{:<28} {:>9} {:>9}   {:<34} {:>9} {:>7}", "trial", "p50", "p95", "floor", "p50", "ratio");
    row(
        "local, native",
        &trials(folder.path(), "here", "{}", ""),
        "fork and exec of true",
        &floor(&["true"]),
    );
    if !lab {
        println!("the lab is not up: no row for SSH and Docker; run `make lab`");
        return;
    }
    let include = format!("include: [{root}/lab/hosts.yaml]\n");
    let bench = format!("{{ container: {{ build: {root}/experiments/images/bench, network: none }} }}");
    row(
        "SSH, native",
        &trials(folder.path(), "lattepanda-a", "{}", &include),
        "a channel of libssh2",
        &channel(),
    );
    // An image that is built and a container to go into, for the rows below.
    trials(folder.path(), "here", &bench, &include);
    let exec = ["docker", "exec", "lattepanda-a", "true"];
    let docker = floor(&exec);
    row("local, container kept", &trials(folder.path(), "here", &bench, &include), "docker exec", &docker);
    row(
        "SSH, container kept",
        &trials(folder.path(), "lattepanda-a", &bench, &include),
        "docker exec, local",
        &docker,
    );
    let fresh = bench.replace("network: none", "network: none, fresh: trial");
    let image = "runner-lab-host";
    let images = Command::new("docker").args(["images", "-q", image]).output().unwrap();
    let id = String::from_utf8_lossy(&images.stdout).lines().next().unwrap_or_default().to_owned();
    let run = floor(&["docker", "run", "--rm", "--network", "none", "--entrypoint", "true", &id]);
    row("local, container fresh", &trials(folder.path(), "here", &fresh, &include), "docker run --rm", &run);
}

fn row(name: &str, trials: &[f64], floor_name: &str, floor: &[f64]) {
    let quantile = |values: &[f64], q: f64| values[((values.len() - 1) as f64 * q) as usize];
    let (p50, p95, least) = (quantile(trials, 0.5), quantile(trials, 0.95), quantile(floor, 0.5));
    println!("{name:<28} {p50:>9.2} {p95:>9.2}   {floor_name:<34} {least:>9.2} {:>7.2}", p50 / least);
}

/// Milliseconds of whole trials, sorted: from the start of one to its record.
fn trials(folder: &Path, host: &str, environment: &str, include: &str) -> Vec<f64> {
    let yaml = format!(
        "{include}hosts: {{ here: {{ local: {{}} }} }}\nenvironments: {{ e: {environment} }}\nworkloads: {{ w: {{ run: 'true' }} }}\n\
         matrix: [{{ host: {host}, environment: e }}]\nrepetitions: {}\n",
        TRIALS + 1
    );
    std::fs::write(folder.join("x.yaml"), yaml).unwrap();
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
    // The first trial also sets its cell up.
    let elapsed = text.lines().skip(1).map(|line| {
        let record: Value = serde_json::from_str(line).unwrap();
        record["elapsed_s"].as_f64().unwrap() * 1e3
    });
    sorted(elapsed.collect())
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
fn channel() -> Vec<f64> {
    let key = std::env::home_dir().unwrap().join(".local/share/runner-lab/id_ed25519");
    let stream = std::net::TcpStream::connect(("127.0.0.1", LAB_PORT)).unwrap();
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

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}
