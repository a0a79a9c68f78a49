//! What the benchmarks share: a child's time and memory, order statistics, and a wire with delay.

#![allow(dead_code, reason = "each benchmark uses a part")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it measures")]

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Milliseconds and MiB of a program.
pub fn median(times: usize, program: &Path, arguments: &[String]) -> (f64, f64) {
    let mut found: Vec<(f64, f64)> = (0..times).map(|_| child(program, arguments)).collect();
    found.sort_by(|one, other| one.0.total_cmp(&other.0));
    (found[times / 2].0, found.iter().map(|(_, memory)| *memory).fold(0.0, f64::max))
}

pub fn child(program: &Path, arguments: &[String]) -> (f64, f64) {
    let start = Instant::now();
    let mut child = Command::new(program).args(arguments).stdout(Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let watch = std::thread::spawn(move || {
        let mut most = 0.0;
        while let Some(kilobytes) = largest_resident(&status) {
            most = f64::max(most, kilobytes / 1024.0);
            std::thread::sleep(Duration::from_micros(500));
        }
        most
    });
    assert!(child.wait().unwrap().success());
    let elapsed = start.elapsed().as_secs_f64() * 1e3;
    (elapsed, watch.join().unwrap())
}

/// `None` when the process is gone.
fn largest_resident(status: &str) -> Option<f64> {
    let text = fs::read_to_string(status).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

pub fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// Of sorted values.
pub fn quantile(values: &[f64], q: f64) -> f64 {
    values[((values.len() - 1) as f64 * q) as usize]
}

/// A port of this machine whose connections arrive at `target`, each byte `one_way` later. It serves until
/// the program ends.
pub fn delayed(target: u16, one_way: Duration) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let far = TcpStream::connect(("127.0.0.1", target)).unwrap();
            for (from, to) in
                [(near.try_clone().unwrap(), far.try_clone().unwrap()), (far.try_clone().unwrap(), near)]
            {
                to.set_nodelay(true).unwrap();
                carry(from, to, one_way);
            }
        }
    });
    port
}

fn carry(mut from: TcpStream, mut to: TcpStream, one_way: Duration) {
    let (sender, receiver) = mpsc::channel::<(Instant, Vec<u8>)>();
    std::thread::spawn(move || {
        let mut buffer = [0; 64 << 10];
        while let Ok(count) = from.read(&mut buffer)
            && count > 0
            && sender.send((Instant::now() + one_way, buffer[..count].to_vec())).is_ok()
        {}
    });
    std::thread::spawn(move || {
        while let Ok((due, bytes)) = receiver.recv() {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&bytes).is_err() {
                return;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    });
}
