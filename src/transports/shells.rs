//! Shells that are kept: a script that goes to one costs a round trip and no new process of the way there.
//! Also who watches over the jobs of a place when the way to it is lost (the guard), and how the way is
//! found again. Read [`Shells`] and [`Kept`] first.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Mutex as AsyncMutex;
use tokio::time::Instant;

use super::job::texts;
use super::mark::UntilMark;
use super::{CAPTURE_LIMIT, Chunk, Exit, Pipe, Program, Transport, TransportError};

/// How long a lost way is looked for when nothing else is said.
pub const DEFAULT_RECONNECT: Duration = Duration::from_secs(600);
/// How long the guard of a place waits longer than we look.
const LEASE_MARGIN: Duration = Duration::from_secs(10);
/// The first pause between two looks; each is twice as long as the one before, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// The files of how many jobs are removed at once.
const MOST_OVER: usize = 32;
/// How long a guard may take to clean up.
const FAREWELL: Duration = Duration::from_secs(5);

/// Set once the program is asked to end: nobody waits for a lost machine any more.
static IN_A_HURRY: AtomicBool = AtomicBool::new(false);

/// From now on nobody waits for a machine whose connection is lost.
pub fn hurry() {
    IN_A_HURRY.store(true, Ordering::Relaxed);
}

fn is_in_a_hurry() -> bool {
    IN_A_HURRY.load(Ordering::Relaxed)
}

/// The shells of one place.
#[derive(Default)]
pub struct Shells {
    idle: Mutex<Vec<Kept>>,
    guard: AsyncMutex<Option<Guard>>,
    /// What the next guard is to be told: how to end the jobs that were given up while the way was lost.
    untold: Mutex<Vec<String>>,
    /// Since when the way has been lost.
    lost: Mutex<Option<Instant>>,
}

/// A shell that waits for scripts.
pub(super) struct Kept {
    pipe: Pipe,
    /// The jobs whose files are to be removed.
    over: Vec<String>,
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
        Ok(Kept { pipe, over: Vec::new() })
    }

    /// Runs `script` in the shell itself and returns what it printed. `script` must leave the shell's own
    /// input alone.
    pub(super) async fn ask(&mut self, script: &str) -> Result<Answer, TransportError> {
        let mark = nonce();
        self.pipe.input.send(&texts::marked(script, &mark));
        let (mut stdout, mut stderr) = (UntilMark::default(), UntilMark::default());
        loop {
            match self.pipe.next().await {
                Chunk::Stdout(bytes) => stdout.take(&bytes, &mark, CAPTURE_LIMIT),
                Chunk::Stderr(bytes) => stderr.take(&bytes, &mark, CAPTURE_LIMIT),
                // Docker puts into the output why it can't start a shell.
                Chunk::Ended(Ok(exit)) => return Err(ended(&[stdout.kept, stderr.kept].concat(), &exit)),
                Chunk::Ended(Err(error)) => return Err(error),
            }
            if let (Some(code), Some(_)) = (stdout.line(), stderr.line()) {
                let code = String::from_utf8_lossy(code).trim().parse().unwrap_or(-1);
                return Ok(Answer { stdout: stdout.kept, stderr: stderr.kept, code });
            }
        }
    }

    /// Gives back the memory of a job's outputs now, and removes its files some time: `rm` is a process, which
    /// would delay the next job.
    pub(super) fn forget(&mut self, files: String) {
        self.tell(&texts::empty(&files));
        self.over.push(files);
        if self.over.len() >= MOST_OVER {
            let over = std::mem::take(&mut self.over);
            self.tell(&texts::remove(&over));
        }
    }

    /// Sends a script whose output nobody wants.
    fn tell(&self, script: &str) {
        self.pipe.input.send(script);
    }
}

impl Guard {
    fn tell(&self, script: &str) {
        self.shell.tell(&format!("{script}{}", texts::OVER));
    }
}

fn ended(printed: &[u8], exit: &Exit) -> TransportError {
    let words = super::job::last_words(printed, exit);
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
    let mut pause = FIRST_PAUSE;
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
    if let Some(guard) = guard.as_mut()
        && !guard.shell.pipe.has_ended()
    {
        return Ok(guard.base.clone());
    }
    let name = format!("{place}{}{}", texts::FOLDER, &nonce()[..12]);
    let old = guard.as_ref().map(|guard| guard.base.as_str());
    let script = texts::guard(old, &name, transport.reconnect() + LEASE_MARGIN);
    let start = Instant::now();
    let (shell, base) = loop {
        // The job needs a shell too: both are opened at once.
        let (made, next) = tokio::join!(make_guard(transport, &script), open_unless_idle(transport));
        if let Some(Ok(next)) = next {
            transport.shells().give_back(next);
        }
        match made {
            // A way that is lost again and again is still one that comes back.
            Err(error) if error.is_lost && !is_in_a_hurry() && start.elapsed() < transport.reconnect() => {
                tokio::time::sleep(FIRST_PAUSE).await;
            }
            made => break made?,
        }
    };
    shell.tell(texts::LISTEN);
    let watching = Guard { shell, base: base.clone() };
    for script in
        transport.shells().untold.lock().map(|mut untold| std::mem::take(&mut *untold)).unwrap_or_default()
    {
        watching.tell(&script);
    }
    *guard = Some(watching);
    Ok(base)
}

/// A new shell, where nobody has left one. What is wrong with it, the next who needs one is told.
async fn open_unless_idle(transport: &dyn Transport) -> Option<Result<Kept, TransportError>> {
    let is_idle = transport.shells().idle.lock().is_ok_and(|idle| !idle.is_empty());
    if is_idle { None } else { Some(Kept::open(transport).await) }
}

/// Lets a shell become a guard, and returns it with its folder.
async fn make_guard(transport: &dyn Transport, script: &str) -> Result<(Kept, String), TransportError> {
    let mut shell = take(transport).await?;
    let answer = shell.ask(script).await?;
    let base = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
    if answer.code != 0 || base.is_empty() {
        return Err(TransportError::new(super::job::last_words(&answer.stderr, &Exit::Code(answer.code))));
    }
    Ok((shell, base))
}

impl Shells {
    /// Keeps a shell for the next script.
    pub(super) fn give_back(&self, kept: Kept) {
        if let Ok(mut idle) = self.idle.lock() {
            idle.push(kept);
        }
    }

    /// Has the guard run a script, or the next one when the way to it is lost; it never waits.
    pub(super) fn tell_guard(&self, script: &str) {
        if let Ok(mut guard) = self.guard.try_lock()
            && let Some(guard) = guard.as_mut()
            && !guard.shell.pipe.has_ended()
        {
            guard.tell(script);
        } else if let Ok(mut untold) = self.untold.lock() {
            untold.push(script.to_owned());
        }
    }

    /// Ends all shells in order; what the guard has kept goes too.
    pub async fn close(&self) {
        if let Ok(mut idle) = self.idle.lock() {
            idle.clear();
        }
        let Some(mut guard) = self.guard.lock().await.take() else { return };
        guard.tell(&texts::farewell(&guard.base));
        let end = async { while !matches!(guard.shell.pipe.next().await, Chunk::Ended(_)) {} };
        // One that does not end is cut off with the connection, and cleans up by itself.
        let _ = tokio::time::timeout(FAREWELL, end).await;
    }

    pub(super) fn set_lost(&self, is_lost: bool) -> Option<Instant> {
        let mut lost = self.lost.lock().ok()?;
        *lost = if is_lost { lost.or_else(|| Some(Instant::now())) } else { None };
        *lost
    }

    /// Whether a lost way is still to be looked for. All who look count from the same moment.
    pub(super) fn may_wait(&self, transport: &dyn Transport) -> bool {
        let since = self.set_lost(true);
        !is_in_a_hurry() && since.is_some_and(|since| since.elapsed() < transport.reconnect())
    }
}
