//! A command under the wrapper: a small POSIX script that gives it a process group of its own, a C
//! locale, no input, and output files in memory, and that tells the exit code and both clocks once it has
//! ended. It is the same text over every transport. Read [`Job`] and [`run`] first.

mod command;
mod frame;
mod wrapper;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use self::frame::{between_marks, last_line, no_frame};
use super::{Exit, Transport, TransportError};

pub use self::command::Command;
pub use self::wrapper::{printed_so_far, sweep_place};

/// The most bytes brought back of each output of a job.
pub const OUTPUT_LIMIT: usize = 16 << 20;

/// A command and how it is run.
#[derive(Debug, Clone)]
pub struct Job {
    /// What is executed.
    pub command: Command,
    /// Variables for it. Names are `[A-Za-z_][A-Za-z0-9_]*`; values are any text. A later one wins.
    pub env: Vec<(String, String)>,
    /// Where it runs; must exist.
    pub directory: String,
    /// Whether it runs as root, through `sudo -n` where need be.
    pub sudo: bool,
    /// Whether also those of its processes end with it that went to another group. It always does when it
    /// is stopped.
    pub ends_daemons: bool,
    /// How it is stopped before its time.
    pub stop: Stop,
    /// Unique in this run; names its files and marks its processes.
    pub id: String,
    /// Marks all processes of its place, to find those that left their group.
    pub place: String,
    /// Files of the machine whose first line is read right before and right after the command.
    pub probes: Vec<String>,
}

/// How a job is told to end, and how long it may take to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// The signal for its process group, without `SIG`: `TERM`, `INT`, `HUP`, `QUIT`, `USR1`, `USR2`, `KILL`.
    pub signal: String,
    /// How long it may go on after that before KILL, in steps of 0.1 s.
    pub grace: Duration,
}

impl Default for Stop {
    fn default() -> Self {
        Stop { signal: "TERM".into(), grace: Duration::from_secs(5) }
    }
}

/// A job that has ended, whoever ended it.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// Its exit code as the shell tells it: 128 + n after signal n.
    pub exit_code: i32,
    /// Wall time on the machine in seconds, the start of its program or shell included.
    pub elapsed_s: f64,
    /// Whether `elapsed_s` has a resolution of 10 ms only: the machine's clock was set meanwhile, or its
    /// `date` tells no fractions of a second.
    pub is_coarse: bool,
    /// Standard output.
    pub stdout: Stream,
    /// Standard error.
    pub stderr: Stream,
    /// Why it was stopped, if it was.
    pub stopped: Option<Stopped>,
    /// What `Job::probes` held around it.
    pub probes: Probes,
}

/// The first lines of probed files around a job, each as path and line; one that can't be read is left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Probes {
    /// Right before the command.
    pub before: Vec<(String, String)>,
    /// Right after it.
    pub after: Vec<(String, String)>,
}

/// Why a job was ended before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// It took longer than it may.
    TimedOut,
    /// It was no longer wanted.
    Cancelled,
}

/// What a job printed on one stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stream {
    /// At most [`OUTPUT_LIMIT`] bytes from its beginning.
    pub bytes: Vec<u8>,
    /// All that it printed, in bytes.
    pub size: u64,
}

/// A number that no other call gives, for ids.
pub fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Runs `job` and returns when nothing of it is left: its whole process group ends with it. It is stopped
/// as it says, then by KILL, when `timeout` is over or `stop` is cancelled.
///
/// # Errors
/// When the command is longer than Linux takes, the place can't be reached, or its shell can't do what the wrapper needs.
pub async fn run(
    transport: &dyn Transport,
    job: &Job,
    timeout: Option<Duration>,
    stop: &CancellationToken,
) -> Result<Ended, TransportError> {
    command::check(job)?;
    let end = stop.child_token();
    let script = wrapper::script(job);
    let running = transport.run(&script, &end);
    tokio::pin!(running);
    let sleep = async {
        match timeout {
            Some(time) => tokio::time::sleep(time).await,
            None => std::future::pending().await,
        }
    };
    let (output, stopped) = tokio::select! {
        output = &mut running => (output?, None),
        () = sleep => {
            end.cancel();
            (running.await?, Some(Stopped::TimedOut))
        }
    };
    let stopped = stopped.or(stop.is_cancelled().then_some(Stopped::Cancelled));
    Ok(Ended { stopped, ..frame::parse(&job.id, &output)? })
}

/// Runs `script`, a few lines of our own, and returns what it printed.
///
/// # Errors
/// When the place can't be reached, or the script ends with another code than 0.
pub async fn query(transport: &dyn Transport, script: &str) -> Result<Vec<u8>, TransportError> {
    let marker = format!("runner-query-{}", next_number());
    // The exit code is framed too: a connection can end a shell without telling how it ended.
    let framed = format!(
        "{{ exec </dev/null; PATH=\"$PATH:/usr/local/sbin:/usr/sbin:/sbin\"; echo {marker}; \
         (\n{script}\n); echo {marker} $?; exit 0; }}\n"
    );
    let output = transport.run(&framed, &CancellationToken::new()).await?;
    let (text, code) = between_marks(&output.stdout, marker.as_bytes()).ok_or_else(|| no_frame(&output))?;
    match code {
        0 => Ok(text.to_vec()),
        _ => Err(TransportError {
            message: last_line(&output.stderr, &Exit::Code(code)),
            hint: None,
            is_lost: false,
        }),
    }
}

/// Text quoted for `sh`.
pub fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
