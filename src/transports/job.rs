//! A command and everything around it: a process group of its own, a C locale, no input, output files in
//! memory, a clock on its machine, an end in time. On this machine it is a child of ours; elsewhere a kept
//! shell runs it by a few functions of POSIX shell, the same over every transport. Read [`Job`] and
//! [`run`] first.

pub mod alone;
mod command;
mod frame;
mod remote;
pub(super) mod texts;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::shells::{self, Answer};
use super::{Exit, Transport, TransportError};

pub use self::command::Command;
pub(super) use self::frame::last_words;
pub use self::texts::{printed_so_far, sweep_place};

/// The most bytes brought back of each output of a job.
pub const OUTPUT_LIMIT: usize = 16 << 20;

/// How often a script that does no harm is begun when the way is lost meanwhile.
const QUERIES: u32 = 5;

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
    /// Whether its shell is executed once before the clock starts: after a cache drop it would be read
    /// from disk.
    pub warms_up: bool,
    /// Files whose first line is read right before and right after it. No blanks in them.
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
    /// What was read of [`Job::probes`].
    pub probes: Probes,
    /// Whether the way to it was lost meanwhile: whoever looked for it again was on its machine.
    pub was_lost: bool,
}

/// First lines of files around a job, with their paths; a file that could not be read is left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Probes {
    /// Right before it began.
    pub before: Vec<(String, String)>,
    /// Right after it ended.
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
/// as it says, then by KILL, when `timeout` is over, `stop` is cancelled, or the future is dropped. It goes
/// on when the way to it is lost; then it is found again and its outcome collected. It is never started a
/// second time unless it is certain that it has not begun.
///
/// # Errors
/// When the command is longer than Linux takes, the place can't be reached (again), its process is gone
/// with the machine, or its shell can't do what is needed.
pub async fn run(
    transport: &dyn Transport,
    job: &Job,
    timeout: Option<Duration>,
    stop: &CancellationToken,
) -> Result<Ended, TransportError> {
    command::check(job)?;
    match transport.direct().filter(|direct| direct.can(job)) {
        Some(direct) => direct.run(job, timeout, stop).await,
        None => remote::run(transport, job, timeout, stop).await,
    }
}

/// Runs `script`, a few lines of our own, and returns what it printed. When the way is lost meanwhile, it
/// is run once more: it must do no harm then.
///
/// # Errors
/// When the place can't be reached, or the script ends with another code than 0.
pub async fn query(transport: &dyn Transport, script: &str) -> Result<Vec<u8>, TransportError> {
    let mut answer = query_once(transport, script).await;
    for _ in 1..QUERIES {
        if answer.as_ref().is_err_and(|error| error.is_lost) {
            answer = query_once(transport, script).await;
        }
    }
    answer
}

/// The same for a script that may not be run again.
///
/// # Errors
/// As [`query`], and when the way is lost meanwhile.
pub async fn query_once(transport: &dyn Transport, script: &str) -> Result<Vec<u8>, TransportError> {
    let Answer { stdout, stderr, code } = ask(transport, &format!("(\n{script}\n)")).await?;
    match code {
        0 => Ok(stdout),
        _ => Err(TransportError::new(last_words(&stderr, &Exit::Code(code)))),
    }
}

async fn ask(transport: &dyn Transport, script: &str) -> Result<Answer, TransportError> {
    let mut shell = shells::take(transport).await?;
    let answer = shell.ask(script).await?;
    transport.shells().set_lost(false);
    transport.shells().give_back(shell);
    Ok(answer)
}

/// Defines the function `orphans` for `sh`: for each run that has a job here while its runner, or the way to it,
/// is gone, it prints a line: the run's id, and until when the job may go on (nothing where that is not known).
/// Seen are jobs of this user, on the machine itself.
pub fn orphans() -> String {
    let (files, folder, alone) = (texts::FILES, texts::FOLDER, texts::ALONE);
    format!(
        r#"orphans() {{
{files}; do
for f in "$b"/runner-*{folder}*/{alone}; do
[ -f "$f" ] || continue
f=${{f%/*}}
for k in "$f"/*.pid; do
[ -s "$k" ] && [ ! -e "${{k%.pid}}.end" ] && read -r j <"$k" && [ -d "/proc/$j" ] || continue
read -r u <"$f/{alone}"
r=${{f##*/runner-}}
echo "${{r%%-*}} $u"
break
done
done
done 2>/dev/null
}}"#
    )
}

/// Text quoted for `sh`.
pub fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
