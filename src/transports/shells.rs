//! Shells that are kept: a script that goes to one costs a round trip and no new process of the way there.
//! Also who watches over the jobs of a place when the way to it is lost (the guard), and how the way is
//! found again. Read [`Shells`] and [`Kept`] first.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Mutex as AsyncMutex;
use tokio::time::Instant;

use super::job::texts;
use super::pipe::keep;
use super::{CAPTURE_LIMIT, Chunk, Exit, Pipe, Program, Transport, TransportError};

/// How long a lost way is looked for when nothing else is said.
pub const DEFAULT_RECONNECT: Duration = Duration::from_secs(600);
/// How long the guard of a place waits longer than we look.
const LEASE_MARGIN: Duration = Duration::from_secs(10);
/// The longest pause between two looks; the first is a tenth of a second.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// How long a guard may take to clean up.
const FAREWELL: Duration = Duration::from_secs(5);

/// Set once the program is asked to end: nobody waits for a lost machine any more.
static IN_A_HURRY: AtomicBool = AtomicBool::new(false);

/// From now on nobody waits for a machine whose connection is lost.
pub fn hurry() {
    IN_A_HURRY.store(true, Ordering::Relaxed);
}

/// The shells of one place.
#[derive(Default)]
pub struct Shells {
    idle: Mutex<Vec<Kept>>,
    guard: AsyncMutex<Option<Guard>>,
    /// Since when the way has been lost.
    lost: Mutex<Option<Instant>>,
}

/// A shell that waits for scripts.
pub(super) struct Kept {
    pipe: Pipe,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

/// The shell beside all jobs of a place. It stops them when it is told to; when its input ends unannounced,
/// it waits for somebody to come back, and ends them when nobody does.
struct Guard {
    shell: Kept,
    base: String,
}

/// What a script has printed, without the marks.
pub(super) struct Answer {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub code: i32,
}

impl Kept {
    async fn open(transport: &dyn Transport) -> Result<Kept, TransportError> {
        let pipe = transport.open(Program::Kept).await?;
        pipe.input.send(&texts::prologue());
        Ok(Kept { pipe, stdout: Vec::new(), stderr: Vec::new() })
    }

    /// Runs `script` in the shell itself and returns what it printed. `script` must leave the shell's own
    /// input alone.
    pub(super) async fn ask(&mut self, script: &str) -> Result<Answer, TransportError> {
        let mark = nonce();
        self.pipe.input.send(&texts::marked(script, &mark));
        (self.stdout, self.stderr) = (Vec::new(), Vec::new());
        loop {
            match self.pipe.next().await {
                Chunk::Stdout(bytes) => keep(&mut self.stdout, &bytes, CAPTURE_LIMIT),
                Chunk::Stderr(bytes) => keep(&mut self.stderr, &bytes, CAPTURE_LIMIT),
                Chunk::Ended(Ok(exit)) => return Err(ended(&self.stderr, &exit)),
                Chunk::Ended(Err(error)) => return Err(error),
            }
            let (Some(end), Some(error_end)) = (last_line(&self.stdout), last_line(&self.stderr)) else {
                continue;
            };
            let code = self.stdout[end..].strip_prefix(mark.as_bytes());
            let Some(code) = code.filter(|_| self.stderr[error_end..].starts_with(mark.as_bytes())) else {
                continue;
            };
            let code = String::from_utf8_lossy(code).trim().parse().unwrap_or(-1);
            // The mark stands in a line of its own, which an output without a last newline did not begin.
            self.stdout.truncate(end.saturating_sub(1));
            self.stderr.truncate(error_end.saturating_sub(1));
            let (stdout, stderr) = (std::mem::take(&mut self.stdout), std::mem::take(&mut self.stderr));
            return Ok(Answer { stdout, stderr, code });
        }
    }

    /// Sends a script whose output nobody wants.
    pub(super) fn tell(&self, script: &str) {
        self.pipe.input.send(script);
    }
}

/// Where the last line begins, if it is whole.
fn last_line(text: &[u8]) -> Option<usize> {
    let line = text.strip_suffix(b"\n")?;
    Some(line.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1))
}

fn ended(stderr: &[u8], exit: &Exit) -> TransportError {
    let words = super::job::last_words(stderr, exit);
    TransportError {
        hint: Some("see what `/bin/sh -c true` prints there".into()),
        ..TransportError::new(format!("`/bin/sh` did not do its work: {words}"))
    }
}

/// A word that nobody else prints.
fn nonce() -> String {
    use std::hash::{BuildHasher, Hasher};
    let number = || std::hash::RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", number(), number())
}

/// A shell of the place: one that is idle, or a new one. A way that is lost is looked for.
pub(super) async fn take(transport: &dyn Transport) -> Result<Kept, TransportError> {
    let shells = transport.shells();
    let idle = || shells.idle.lock().ok()?.pop();
    while let Some(kept) = idle() {
        if !kept.pipe.is_over() {
            return Ok(kept);
        }
    }
    let mut pause = Duration::from_millis(100);
    loop {
        match Kept::open(transport).await {
            Ok(kept) => {
                shells.set_lost(false);
                return Ok(kept);
            }
            Err(error) if error.is_lost && shells.may_wait(transport) => {}
            Err(error) => return Err(error),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// The folder for the files of the jobs of `transport`, watched over by a guard. It is called after `place`,
/// the first that needs it.
pub(super) async fn base(transport: &dyn Transport, place: &str) -> Result<String, TransportError> {
    let mut guard = transport.shells().guard.lock().await;
    if let Some(guard) = guard.as_mut().filter(|guard| !guard.shell.pipe.is_over()) {
        return Ok(guard.base.clone());
    }
    let mut shell = take(transport).await?;
    let lease = transport.reconnect() + LEASE_MARGIN;
    let old = guard.as_ref().map(|guard| guard.base.as_str());
    let answer =
        shell.ask(&texts::guard(old, &format!("{place}{}{}", texts::FOLDER, &nonce()[..12]), lease)).await?;
    let base = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
    if answer.code != 0 || base.is_empty() {
        return Err(TransportError::new(super::job::last_words(&answer.stderr, &Exit::Code(answer.code))));
    }
    *guard = Some(Guard { shell, base: base.clone() });
    Ok(base)
}

impl Shells {
    /// Keeps a shell for the next script.
    pub(super) fn give_back(&self, kept: Kept) {
        if let Ok(mut idle) = self.idle.lock() {
            idle.push(kept);
        }
    }

    /// Has the guard run a script, if there is one; it never waits.
    pub(super) fn tell_guard(&self, script: &str) {
        if let Ok(guard) = self.guard.try_lock()
            && let Some(guard) = guard.as_ref()
        {
            guard.shell.tell(script);
        }
    }

    /// Ends all shells in order; what the guard has kept goes too.
    pub async fn close(&self) {
        if let Ok(mut idle) = self.idle.lock() {
            idle.clear();
        }
        let Some(mut guard) = self.guard.lock().await.take() else { return };
        guard.shell.tell(&texts::farewell(&guard.base));
        let end = async { while !matches!(guard.shell.pipe.next().await, Chunk::Ended(_)) {} };
        // One that does not end is cut off with the connection, and cleans up by itself.
        let _ = tokio::time::timeout(FAREWELL, end).await;
    }

    fn set_lost(&self, is_lost: bool) -> Option<Instant> {
        let mut lost = self.lost.lock().ok()?;
        *lost = if is_lost { lost.or_else(|| Some(Instant::now())) } else { None };
        *lost
    }

    /// Whether a lost way is still to be looked for. All who look count from the same moment.
    fn may_wait(&self, transport: &dyn Transport) -> bool {
        let since = self.set_lost(true);
        !IN_A_HURRY.load(Ordering::Relaxed)
            && since.is_some_and(|since| since.elapsed() < transport.reconnect())
    }
}
