//! Jobs of this machine as children of ours: nothing but the command is started, so that its time is its
//! own. A shell beside them, asleep while all is well, ends what is left when we are killed.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use rustix::process::{Pid, Signal};
use tempfile::TempDir;
use tokio::process::Child;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::Local;
use crate::transports::job::{
    Ended, Job, OUTPUT_LIMIT, Probes, Stop, Stopped, Stream, quote, sweep_place, texts,
};
use crate::transports::{Direct, Pipe, Program, Transport, TransportError};

/// How often is looked whether a stopped group has ended.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// The jobs of this machine.
#[derive(Default)]
pub(super) struct Children(Mutex<Option<Watched>>);

/// The folder of their outputs, and who watches over them.
struct Watched {
    folder: TempDir,
    guard: Pipe,
    places: BTreeSet<String>,
}

impl Watched {
    async fn begin(place: &str) -> Result<Self, TransportError> {
        let failed = |error: std::io::Error| TransportError::new(format!("no folder for outputs: {error}"));
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let folder = tempfile::Builder::new()
            .prefix(&format!("{place}{}", texts::FOLDER))
            .tempdir_in(parent)
            .map_err(failed)?;
        let guard = Local::default().open(Program::Sh).await?;
        let (sweep, path) = (sweep_place("$p", false), quote(&folder.path().to_string_lossy()));
        guard.input.send(&format!(
            "{{ trap : PIPE; while read -r p; do all=\"$all $p\"; done; for p in $all; do {sweep}; done; rm -rf {path}; exit; }}\n"
        ));
        Ok(Watched { folder, guard, places: BTreeSet::new() })
    }

    /// Where the outputs of `job` go, which is watched over from now on.
    fn enter(&mut self, job: &Job) -> PathBuf {
        if !self.places.contains(&job.place) {
            self.guard.input.send(&format!("{}\n", job.place));
            self.places.insert(job.place.clone());
        }
        self.folder.path().join(&job.id)
    }
}

#[async_trait]
impl Direct for Children {
    fn can(&self, job: &Job) -> bool {
        !job.sudo || rustix::process::geteuid().is_root()
    }

    async fn run(
        &self,
        job: &Job,
        timeout: Option<Duration>,
        stop: &CancellationToken,
    ) -> Result<Ended, TransportError> {
        let path = {
            let mut watched = self.0.lock().await;
            match watched.as_mut() {
                Some(watched) => watched.enter(job),
                None => watched.insert(Watched::begin(&job.place).await?).enter(job),
            }
        };
        let outputs = Outputs::create(&path)?;
        if job.warms_up {
            warm_up(job).await;
        }
        let before = read_all(&job.probes);
        let start = Instant::now();
        let mut child = match outputs.spawn(job) {
            Ok(child) => child,
            Err(error) => return not_started(job, &error),
        };
        let mut group = Group { id: child.id(), job, is_over: false };
        let (code, stopped) = wait(&mut child, &mut group, timeout, stop).await?;
        let elapsed_s = start.elapsed().as_secs_f64();
        let newest = newest_process();
        let after = read_all(&job.probes);
        group.signal(Signal::KILL);
        if stopped.is_some() || (job.ends_daemons && newest != group.id) {
            sweep(&job.id);
        }
        group.is_over = true;
        let (stdout, stderr) = outputs.read()?;
        let probes = Probes { before, after };
        Ok(Ended {
            exit_code: code,
            elapsed_s,
            is_coarse: false,
            stdout,
            stderr,
            stopped,
            probes,
            was_lost: false,
        })
    }
}

/// Waits for the child, or ends it.
async fn wait(
    child: &mut Child,
    group: &mut Group<'_>,
    timeout: Option<Duration>,
    stop: &CancellationToken,
) -> Result<(i32, Option<Stopped>), TransportError> {
    let failed = |error: std::io::Error| TransportError::new(format!("can't wait for the command: {error}"));
    let late = async {
        match timeout {
            Some(time) => tokio::time::sleep(time).await,
            None => std::future::pending().await,
        }
    };
    let why = tokio::select! {
        biased;
        status = child.wait() => return Ok((code(status.map_err(failed)?), None)),
        () = stop.cancelled() => Stopped::Cancelled,
        () = late => Stopped::TimedOut,
    };
    group.end(&group.job.stop, child).await;
    let status = child.wait().await.map_err(failed)?;
    Ok((code(status), Some(why)))
}

/// As a shell tells it.
fn code(status: std::process::ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}

/// Brings the job's shell into memory.
async fn warm_up(job: &Job) {
    let command = job.command.warm_up();
    if let Some((program, arguments)) = command.arguments().split_first() {
        // What is wrong with it, the job itself will tell.
        let _ = tokio::process::Command::new(program).args(arguments).stdin(Stdio::null()).output().await;
    }
}

/// What a shell says of a command that can't be executed.
fn not_started(job: &Job, error: &std::io::Error) -> Result<Ended, TransportError> {
    if !Path::new(&job.directory).is_dir() {
        return Err(TransportError::new("the working directory is gone"));
    }
    let exit_code = match error.kind() {
        ErrorKind::NotFound => 127,
        ErrorKind::PermissionDenied => 126,
        _ => return Err(TransportError::new(format!("can't start the command: {error}"))),
    };
    let words = job.command.arguments();
    let bytes = format!("{}: {error}\n", words.first().unwrap_or(&"")).into_bytes();
    let stderr = Stream { size: bytes.len() as u64, bytes };
    let stdout = Stream::default();
    let probes = Probes::default();
    Ok(Ended {
        exit_code,
        elapsed_s: 0.0,
        is_coarse: false,
        stdout,
        stderr,
        stopped: None,
        probes,
        was_lost: false,
    })
}

/// The process group of a job; it ends with this value.
struct Group<'a> {
    id: Option<u32>,
    job: &'a Job,
    is_over: bool,
}

impl Group<'_> {
    fn signal(&self, signal: Signal) {
        if let Some(id) = self.id.and_then(|id| Pid::from_raw(id as i32)) {
            // A group that is gone is what is wanted.
            let _ = rustix::process::kill_process_group(id, signal);
        }
    }

    /// Ends it as `stop` says. The child is waited for meanwhile: as a zombie it would seem to be there.
    async fn end(&mut self, stop: &Stop, child: &mut Child) {
        self.signal(named(&stop.signal));
        let until = tokio::time::Instant::now() + stop.grace;
        while tokio::time::Instant::now() < until {
            let has_ended = matches!(child.try_wait(), Ok(Some(_)) | Err(_));
            let id = self.id.and_then(|id| Pid::from_raw(id as i32));
            if has_ended && id.is_none_or(|id| rustix::process::test_kill_process_group(id).is_err()) {
                break;
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        self.signal(Signal::KILL);
    }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.signal(Signal::KILL);
            sweep(&self.job.id);
        }
    }
}

fn named(signal: &str) -> Signal {
    match signal {
        "INT" => Signal::INT,
        "HUP" => Signal::HUP,
        "QUIT" => Signal::QUIT,
        "USR1" => Signal::USR1,
        "USR2" => Signal::USR2,
        "KILL" => Signal::KILL,
        _ => Signal::TERM,
    }
}

/// Ends every process with the mark of job `id`, whatever group it went to.
fn sweep(id: &str) {
    let mark = format!("RUNNER_JOB=:{id}:");
    let Ok(processes) = fs::read_dir("/proc") else { return };
    for entry in processes.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        if environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
            && let Some(pid) = Pid::from_raw(pid)
        {
            // One that is gone is what is wanted.
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
    }
}

/// The number of the process that was made last: if it is the job's own, the job has made none.
fn newest_process() -> Option<u32> {
    first_line(Path::new("/proc/loadavg"))?.rsplit(' ').next()?.parse().ok()
}

fn first_line(path: &Path) -> Option<String> {
    let mut buffer = [0; 4096];
    let count = File::open(path).and_then(|mut file| file.read(&mut buffer)).ok()?;
    let text = String::from_utf8_lossy(&buffer[..count]);
    Some(text.lines().next().unwrap_or_default().to_owned())
}

fn read_all(probes: &[String]) -> Vec<(String, String)> {
    probes.iter().filter_map(|path| Some((path.clone(), first_line(Path::new(path))?))).collect()
}

/// The files of a job's output; they go with this value.
struct Outputs {
    paths: [PathBuf; 2],
    files: [File; 2],
}

impl Outputs {
    fn create(path: &Path) -> Result<Self, TransportError> {
        let failed = |error: std::io::Error| TransportError::new(format!("no file for an output: {error}"));
        let paths = ["out", "err"].map(|name| path.with_extension(name));
        let create = |path: &PathBuf| {
            File::options().read(true).append(true).create_new(true).open(path).map_err(failed)
        };
        Ok(Outputs { files: [create(&paths[0])?, create(&paths[1])?], paths })
    }

    fn spawn(&self, job: &Job) -> std::io::Result<Child> {
        let words = job.command.arguments();
        let (program, arguments) = words.split_first().ok_or(ErrorKind::InvalidInput)?;
        let path = std::env::var("PATH").unwrap_or_default();
        tokio::process::Command::new(program)
            .args(arguments)
            .env("PATH", format!("{path}:/usr/local/sbin:/usr/sbin:/sbin"))
            .envs(texts::environment(job))
            .current_dir(&job.directory)
            .stdin(Stdio::null())
            .stdout(self.files[0].try_clone()?)
            .stderr(self.files[1].try_clone()?)
            .process_group(0)
            .spawn()
    }

    fn read(&self) -> Result<(Stream, Stream), TransportError> {
        Ok((stream(&self.paths[0])?, stream(&self.paths[1])?))
    }
}

impl Drop for Outputs {
    fn drop(&mut self) {
        for path in &self.paths {
            // The whole folder goes at the end.
            let _ = fs::remove_file(path);
        }
    }
}

fn stream(path: &Path) -> Result<Stream, TransportError> {
    let read = || {
        let file = File::open(path)?;
        let size = file.metadata()?.len();
        let mut bytes = Vec::new();
        file.take(OUTPUT_LIMIT as u64).read_to_end(&mut bytes)?;
        Ok(Stream { bytes, size })
    };
    read().map_err(|error: std::io::Error| TransportError::new(format!("an output can't be read: {error}")))
}
