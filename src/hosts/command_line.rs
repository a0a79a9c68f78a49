//! The command-line tools of this machine that bring hosts up, `vagrant` and `aws`: they bring their users'
//! profiles, plug-ins and proxies with them. Read [`Call`] first.

use std::fs::File;
use std::io::{Seek, Write};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

use crate::transports::TransportError;

/// How long a tool that was interrupted may take to end before it is killed.
const GRACE: Duration = Duration::from_secs(300);

/// Who hears the lines of a tool.
pub(super) type Hear = Arc<dyn Fn(&str) + Send + Sync>;

/// One call of a tool.
#[derive(Debug, Clone)]
pub(super) struct Call {
    /// The program, found by `PATH`.
    pub program: &'static str,
    /// How it is installed, for whoever lacks it.
    pub install: &'static str,
    /// What it is asked.
    pub arguments: Vec<String>,
    /// Where it runs; here, if nothing is said.
    pub directory: Option<PathBuf>,
    /// Variables on top of ours.
    pub env: Vec<(String, String)>,
    /// What it reads from standard input: other users of this machine see neither its arguments nor a file of it.
    pub input: Vec<u8>,
    /// The longest time that it may take.
    pub within: Duration,
}

/// What a tool has printed, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Printed {
    /// Its exit code; `None` where a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
}

/// The end of a process group, unless it has ended by itself: a tool starts others.
struct Group(Child);

impl Group {
    fn leader(&self) -> Option<Pid> {
        self.0.id().and_then(|id| Pid::from_raw(id.cast_signed()))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.leader() {
            // It may have ended just now.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

impl Call {
    /// Runs it and returns what it printed, whatever its exit code; `hear` is told each line of both outputs as
    /// it comes. When nobody waits for it any more it is ended, and what it has started with it.
    ///
    /// # Errors
    /// When the program is missing, can't be started, or takes too long.
    pub(super) async fn run(&self, hear: &(dyn Fn(&str) + Send + Sync)) -> Result<Printed, TransportError> {
        let group = self.start(self.input()?)?;
        let ended = tokio::time::timeout(self.within, self.to_the_end(group, hear)).await;
        ended.unwrap_or_else(|_| Err(self.too_slow()))
    }

    /// Like [`Call::run`], for a tool that would lose track of what it makes if it were killed: when nobody waits
    /// for it any more, or it takes too long, it is interrupted as by Ctrl-C, and ends in its own time. Its input
    /// is `input`, which ends with it, as long as that may take.
    ///
    /// # Errors
    /// As [`Call::run`].
    pub(super) async fn run_gently(self, input: File, hear: Hear) -> Result<Printed, TransportError> {
        let stop = CancellationToken::new();
        let _stops_when_dropped = stop.clone().drop_guard();
        let group = self.start(input.into())?;
        let running = tokio::spawn(async move {
            let leader = group.leader();
            let ending = self.to_the_end(group, &*hear);
            tokio::pin!(ending);
            tokio::select! {
                ended = &mut ending => return ended,
                () = stop.cancelled() => {}
                () = tokio::time::sleep(self.within) => {}
            }
            // It may have ended just now.
            let _ = leader.map(|leader| kill_process(leader, Signal::INT));
            let _ = tokio::time::timeout(GRACE, ending).await;
            Err(self.too_slow())
        });
        running.await.unwrap_or_else(|error| Err(TransportError::new(error.to_string())))
    }

    /// The input as a file without a name.
    fn input(&self) -> Result<Stdio, TransportError> {
        let file = || {
            let mut file = tempfile::tempfile()?;
            file.write_all(&self.input)?;
            file.rewind()?;
            Ok(Stdio::from(file))
        };
        match self.input.is_empty() {
            true => Ok(Stdio::null()),
            false => file().map_err(|error: std::io::Error| {
                TransportError::new(format!("the input of `{}` can't be written: {error}", self.shown()))
            }),
        }
    }

    fn start(&self, input: Stdio) -> Result<Group, TransportError> {
        let mut command = Command::new(self.program);
        command.args(&self.arguments).envs(self.env.iter().cloned());
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own: Ctrl-C is ours to pass on.
        command.process_group(0).kill_on_drop(true);
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        Ok(Group(command.spawn().map_err(|error| self.not_started(&error))?))
    }

    async fn to_the_end(
        &self,
        mut group: Group,
        hear: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<Printed, TransportError> {
        let (stdout, stderr) = (group.0.stdout.take(), group.0.stderr.take());
        let (stdout, stderr) = tokio::join!(lines(stdout, hear), lines(stderr, hear));
        let status = group.0.wait().await.map_err(|error| self.not_started(&error))?;
        Ok(Printed { code: status.code(), stdout, stderr })
    }

    fn too_slow(&self) -> TransportError {
        let within = crate::spec::TimeSpan(self.within);
        TransportError::new(format!("`{}` did not end within {within}", self.shown()))
    }

    /// The call as a person would type it, without what may hold a secret: only its first words.
    pub(super) fn shown(&self) -> String {
        let words = self.arguments.iter().take_while(|word| !word.starts_with('-')).map(String::as_str);
        std::iter::once(self.program).chain(words).collect::<Vec<_>>().join(" ")
    }

    fn not_started(&self, error: &std::io::Error) -> TransportError {
        let directory = self.directory.as_ref().filter(|directory| !directory.is_dir());
        match (error.kind(), directory) {
            (_, Some(directory)) => {
                TransportError::new(format!("there is no folder `{}`", directory.display()))
            }
            (std::io::ErrorKind::NotFound, None) => TransportError {
                hint: Some(self.install.to_owned()),
                ..TransportError::new(format!("`{}` is not installed on this machine", self.program))
            },
            _ => TransportError::new(format!("can't run `{}`: {error}", self.shown())),
        }
    }
}

impl Printed {
    /// What it says went wrong: the last lines of its standard error, else of its output.
    pub(super) fn last_words(&self) -> String {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        let said = match text(&self.stderr) {
            said if said.is_empty() => text(&self.stdout),
            said => said,
        };
        let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        match (lines.is_empty(), self.code) {
            (false, _) => lines[lines.len().saturating_sub(6)..].join("; "),
            (true, Some(code)) => format!("it ended with exit code {code}"),
            (true, None) => "it was killed".to_owned(),
        }
    }
}

/// Everything that comes, and each of its lines told as it comes.
async fn lines(pipe: Option<impl AsyncRead + Unpin>, hear: &(dyn Fn(&str) + Send + Sync)) -> Vec<u8> {
    let Some(pipe) = pipe else { return Vec::new() };
    let (mut reader, mut all) = (BufReader::new(pipe), Vec::new());
    loop {
        let start = all.len();
        match reader.read_until(b'\n', &mut all).await {
            Ok(0) => return all,
            Ok(_) => hear(String::from_utf8_lossy(&all[start..]).trim_end()),
            // What else comes is no text, and still its output.
            Err(_) => {
                let _ = reader.read_to_end(&mut all).await;
                return all;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn call(script: &str) -> Call {
        Call {
            program: "sh",
            install: "install a shell",
            arguments: vec!["-c".into(), script.into()],
            directory: None,
            env: vec![("WORD".into(), "two".into())],
            input: Vec::new(),
            within: Duration::from_secs(20),
        }
    }

    #[tokio::test]
    async fn what_it_prints_is_told_and_returned() {
        let heard = Mutex::new(Vec::new());
        let hear = |line: &str| heard.lock().unwrap().push(line.to_owned());
        let printed = call("echo one; echo $WORD >&2; exit 3").run(&hear).await.unwrap();
        let expected = Printed { code: Some(3), stdout: b"one\n".to_vec(), stderr: b"two\n".to_vec() };
        assert_eq!(printed, expected);
        let mut heard = heard.into_inner().unwrap();
        heard.sort();
        assert_eq!(heard, ["one", "two"]);
        assert_eq!(printed.last_words(), "two");
        assert_eq!(Printed { code: Some(3), ..Printed::default() }.last_words(), "it ended with exit code 3");
    }

    #[tokio::test]
    async fn its_input_comes_by_the_name_that_words_give_it() {
        let input = vec![b'x'; 100_000];
        let call = Call { input: input.clone(), ..call("cat /dev/stdin; wc -c </dev/null") };
        let printed = call.run(&|_| {}).await.unwrap();
        assert!(printed.stdout.starts_with(&input));
        assert_eq!(printed.stdout[input.len()..].trim_ascii(), b"0");
    }

    #[tokio::test]
    async fn a_gentle_tool_is_interrupted_and_ends_in_its_own_time() {
        let folder = tempfile::tempdir().unwrap();
        let (said, lock) = (folder.path().join("said"), folder.path().join("lock"));
        let script = format!(
            "trap 'sleep 0.3; echo cleaned up >>{0}; exit 7' INT; echo ready >>{0}; while :; do sleep 0.05; done",
            said.display()
        );
        let open = || File::options().create(true).append(true).open(&lock).unwrap();
        let held = open();
        held.lock().unwrap();
        let running = tokio::spawn(call(&script).run_gently(held, Arc::new(|_| {})));
        while !said.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        running.abort();
        let _ = running.await;
        assert!(open().try_lock().is_err(), "the tool still has its input");
        while open().try_lock().is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(std::fs::read_to_string(&said).unwrap(), "ready\ncleaned up\n");
        let slow = Call { within: Duration::from_millis(100), ..call(&script) };
        let error = slow.run_gently(open(), Arc::new(|_| {})).await.unwrap_err();
        assert!(error.message.starts_with("`sh` did not end within 100ms"), "{error}");
        let printed = call("echo $WORD; exit 3").run_gently(open(), Arc::new(|_| {})).await.unwrap();
        assert_eq!((printed.code, printed.stdout), (Some(3), b"two\n".to_vec()));
    }

    #[tokio::test]
    async fn a_tool_that_is_missing_or_hangs_is_told() {
        let missing = Call { program: "runner-no-such-tool", ..call("") }.run(&|_| {}).await.unwrap_err();
        assert_eq!(missing.message, "`runner-no-such-tool` is not installed on this machine");
        assert_eq!(missing.hint.as_deref(), Some("install a shell"));
        let slow = Call { within: Duration::from_millis(50), ..call("sleep 30 & sleep 30") };
        let error = slow.run(&|_| {}).await.unwrap_err();
        assert!(error.message.starts_with("`sh` did not end within 50ms"), "{error}");
        let nowhere = Call { directory: Some("/no/such/folder".into()), ..call("") };
        assert_eq!(nowhere.run(&|_| {}).await.unwrap_err().message, "there is no folder `/no/such/folder`");
    }
}
