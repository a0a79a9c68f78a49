//! Jobs of this machine as children of ours: nothing but the command is started, so that its time is its
//! own. A shell beside them, asleep while all is well, ends what is left when we are killed.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use rustix::process::{Pid, Signal};
use tempfile::TempDir;
use tokio::sync::{Mutex, oneshot};
use tokio::task::{JoinError, JoinHandle};
use tokio_util::sync::CancellationToken;

use super::Local;
use crate::transports::job::{Ended, Job, OUTPUT_LIMIT, Probes, Stop, Stopped, Stream, quote, texts};
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
        let parents = ["/dev/shm".into(), std::env::temp_dir(), PathBuf::from("/var/tmp")];
        let made = parents.iter().map(|parent| {
            tempfile::Builder::new().prefix(&format!("{place}{}", texts::FOLDER)).tempdir_in(parent)
        });
        // The error of the last, if none can be written.
        let folder = made.reduce(|one, other| one.or(other)).unwrap_or(Err(ErrorKind::NotFound.into()));
        let folder = folder.map_err(failed)?;
        let guard = Local::default().open(Program::Sh).await?;
        let path = quote(&folder.path().to_string_lossy());
        guard.input.send(&format!(
            "{{ trap : PIPE; set --; while read -r p; do set -- \"$@\" -e \"RUNNER_PLACE=:$p:\"; done; \
             [ $# = 0 ] || for m in $(grep -lsF \"$@\" /proc/[0-9]*/environ); do m=${{m#/proc/}}; \
             kill -s KILL \"${{m%/environ}}\" 2>/dev/null; done; rm -rf {path}; exit; }}\n"
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
        let mut group = Group { id: None, job, is_over: false };
        let running = outputs.start(job, &mut group).await?;
        let (measured, stopped) = wait(running, &group, timeout, stop).await?;
        group.signal(Signal::KILL);
        if stopped.is_some() || (job.ends_daemons && measured.newest != group.id) {
            sweep(&job.id, group.id);
        }
        group.is_over = true;
        let (stdout, mut stderr) = outputs.read()?;
        stderr.size += measured.complaint.len() as u64;
        stderr.bytes.extend(measured.complaint.into_bytes());
        Ok(Ended {
            exit_code: measured.exit_code,
            elapsed_s: measured.elapsed_s,
            is_coarse: false,
            stdout,
            stderr,
            stopped,
            probes: measured.probes,
            was_lost: false,
        })
    }
}

/// What the thread that waits for a job knows when it has ended.
struct Measured {
    exit_code: i32,
    elapsed_s: f64,
    probes: Probes,
    newest: Option<u32>,
    /// Said of a command that could not be started, as a shell would.
    complaint: String,
}

type Running = JoinHandle<Result<Measured, TransportError>>;

/// Starts the command, tells the number of its process, and waits for it. On a thread of its own: whatever
/// else this program does meanwhile, the clock is read when the command ends.
fn measure(
    mut command: Command,
    job: &Job,
    started: oneshot::Sender<u32>,
) -> Result<Measured, TransportError> {
    let before = read_all(&job.probes);
    let start = Instant::now();
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return not_started(job, &error),
    };
    // Nobody may wait any more.
    let _ = started.send(child.id());
    let status = child.wait();
    let elapsed_s = start.elapsed().as_secs_f64();
    let (newest, after) = (newest_process(), read_all(&job.probes));
    let status =
        status.map_err(|error| TransportError::new(format!("can't wait for the command: {error}")))?;
    let probes = Probes { before, after };
    Ok(Measured { exit_code: code(status), elapsed_s, probes, newest, complaint: String::new() })
}

/// Waits for the job, or ends it.
async fn wait(
    mut running: Running,
    group: &Group<'_>,
    timeout: Option<Duration>,
    stop: &CancellationToken,
) -> Result<(Measured, Option<Stopped>), TransportError> {
    let late = async {
        match timeout {
            Some(time) => tokio::time::sleep(time).await,
            None => std::future::pending().await,
        }
    };
    let why = tokio::select! {
        biased;
        measured = &mut running => return Ok((joined(measured)?, None)),
        () = stop.cancelled() => Stopped::Cancelled,
        () = late => Stopped::TimedOut,
    };
    group.end(&group.job.stop).await;
    Ok((joined(running.await)?, Some(why)))
}

fn joined(measured: Result<Result<Measured, TransportError>, JoinError>) -> Result<Measured, TransportError> {
    measured.map_err(|error| TransportError::new(format!("can't wait for the command: {error}")))?
}

/// As a shell tells it.
fn code(status: ExitStatus) -> i32 {
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
fn not_started(job: &Job, error: &std::io::Error) -> Result<Measured, TransportError> {
    if !Path::new(&job.directory).is_dir() {
        return Err(TransportError::new("the working directory is gone"));
    }
    let exit_code = match error.kind() {
        ErrorKind::NotFound => 127,
        ErrorKind::PermissionDenied => 126,
        _ => return Err(TransportError::new(format!("can't start the command: {error}"))),
    };
    let words = job.command.arguments();
    let complaint = format!("{}: {error}\n", words.first().unwrap_or(&""));
    Ok(Measured { exit_code, elapsed_s: 0.0, probes: Probes::default(), newest: None, complaint })
}

/// The file that a shell would execute, or why there is none.
fn executable(program: &str, path: &str) -> Result<PathBuf, ErrorKind> {
    if program.contains('/') {
        return Ok(program.into());
    }
    let candidates = path.split(':').map(|folder| Path::new(folder).join(program));
    let is_executable = |file: &PathBuf| rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok();
    let files: Vec<PathBuf> = candidates.filter(|file| file.is_absolute() && file.is_file()).collect();
    let is_there = !files.is_empty();
    let found = files.into_iter().find(is_executable);
    found.ok_or(if is_there { ErrorKind::PermissionDenied } else { ErrorKind::NotFound })
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

    /// Ends it as `stop` says.
    async fn end(&self, stop: &Stop) {
        self.signal(named(&stop.signal));
        let until = tokio::time::Instant::now() + stop.grace;
        let is_there = || {
            let id = self.id.and_then(|id| Pid::from_raw(id as i32));
            id.is_some_and(|id| rustix::process::test_kill_process_group(id).is_ok())
        };
        while tokio::time::Instant::now() < until && is_there() {
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        self.signal(Signal::KILL);
    }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.signal(Signal::KILL);
            sweep(&self.job.id, self.id);
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

/// Ends every process with the mark of job `id`, whatever group it went to: among those that were made after
/// it, as long as numbers have not begun anew.
fn sweep(id: &str, first: Option<u32>) {
    let mark = format!("RUNNER_JOB=:{id}:");
    let Ok(processes) = fs::read_dir("/proc") else { return };
    let is_in_order = first <= newest_process();
    for entry in processes.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        if is_in_order && first.is_some_and(|first| (pid as u32) < first) {
            continue;
        }
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

    /// Starts `job`; when this returns, `group` is its.
    async fn start(&self, job: &Job, group: &mut Group<'_>) -> Result<Running, TransportError> {
        let failed = |error: std::io::Error| TransportError::new(format!("can't start the command: {error}"));
        let (started, number) = oneshot::channel();
        let job = job.clone();
        let files = [self.files[0].try_clone().map_err(failed)?, self.files[1].try_clone().map_err(failed)?];
        let running = tokio::task::spawn_blocking(move || match command(&job, files) {
            Ok(command) => measure(command, &job, started),
            Err(error) => not_started(&job, &error.into()),
        });
        // None where nothing was started; the thread says why.
        group.id = number.await.ok();
        Ok(running)
    }

    /// What was printed, behind a look whether there was room for it.
    fn read(&self) -> Result<(Stream, Stream), TransportError> {
        let room = self.paths[0].with_extension("room");
        let has_room = fs::write(&room, b"room");
        let _ = fs::remove_file(&room);
        has_room.map_err(|error| {
            let why = "the file system of the output is full: what was printed is not whole";
            TransportError::new(if error.kind() == ErrorKind::StorageFull {
                why.to_owned()
            } else {
                error.to_string()
            })
        })?;
        Ok((stream(&self.paths[0])?, stream(&self.paths[1])?))
    }
}

/// The command of `job` with these files for its outputs.
fn command(job: &Job, [stdout, stderr]: [File; 2]) -> Result<Command, ErrorKind> {
    let words = job.command.arguments();
    let (program, arguments) = words.split_first().ok_or(ErrorKind::InvalidInput)?;
    let variables = texts::environment(job);
    let path = match variables.iter().rev().find(|(name, _)| *name == "PATH") {
        Some((_, path)) => path.clone(),
        None => format!("{}:/usr/local/sbin:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default()),
    };
    // With the whole path the child needs no copy of this process first, which takes longer than many jobs.
    let mut command = Command::new(executable(program, &path)?);
    command.arg0(program).args(arguments).envs(variables).env("PATH", path).current_dir(&job.directory);
    command.stdin(Stdio::null()).stdout(stdout).stderr(stderr).process_group(0);
    Ok(command)
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
