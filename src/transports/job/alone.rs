//! A job in a container of its own to which nobody can talk, and of which nothing can be read but the lines that it
//! prints: a task of a cloud. It is told everything when it begins; when it is over it prints what became of it, in
//! lines of plain letters, so that no log changes a byte. Read [`script`], then [`read`].

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{Command, Ended, Job, Stop, Stopped, frame, quote, texts};
use crate::transports::TransportError;

/// How a job that serves others says that it is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sign {
    /// Something listens on this TCP port.
    Port(u16),
    /// This command ends with exit code 0.
    Command(Command),
}

/// What the lines of a job say so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Told {
    /// Whether its sign was seen.
    pub is_ready: bool,
    /// How it has ended, once all of its lines are there.
    pub ended: Option<Ended>,
    /// The last line that is none of ours: what a shell says that can't do its work.
    pub stray: Option<String>,
}

/// How long the letters of a line are: logs cut longer ones than 16 KiB. Divisible by 4.
const LINE: usize = 8000;
/// How often a job looks for its sign.
const BETWEEN_LOOKS: &str = "0.1";

/// The same for every job: what the first argument of the shell, a [`script`], needs. It takes TERM as the wish to
/// end, and no longer than `$lifetime` seconds. It does not use bash's job control, which a shell without a terminal
/// and with the id 1 may lack.
pub fn wrapper() -> String {
    let (prologue, files) = (texts::prologue(), texts::FILES);
    format!(
        r#"unset RUNNER_WRAPPER BASH_VERSION
{prologue}
base=
{files}; do mkdir -m 700 "$b/runner-task" && base=$b/runner-task && break; done 2>/dev/null
[ -n "$base" ] || {{ echo 'no directory for output can be made in /dev/shm, /tmp or /var/tmp'; exit 1; }}
lines() {{
if command -v base64 >/dev/null; then base64 | tr -d '\n' | fold -w {LINE}
else od -An -v -tx1 | tr -d ' \n' | fold -w {LINE}; fi
}}
kind=64; command -v base64 >/dev/null || kind=16
tell() {{
n=0
while IFS= read -r l || [ -n "$l" ]; do n=$((n + 1)); printf 'runner %s %s\n' "$n" "$l"; done
printf 'runner over %s %s\n' "$kind" "$n"
}}
eval "$1" || exit 1
begin >"$base/frame" 2>"$base/error" &
job=$!
trap halt TERM INT
( sleep "$lifetime"; halt ) >/dev/null 2>&1 &
if [ -n "$sign" ]; then
( until look; do kill -0 "$job" 2>/dev/null || exit 0; sleep {BETWEEN_LOOKS}; done; echo 'runner ready' ) &
fi
while kill -0 "$job" 2>/dev/null; do wait "$job"; done
[ -s "$base/frame" ] || {{ read -r l <"$base/error"; fail "${{l:-it did not begin}}" >"$base/frame"; }}
lines <"$base/frame" | tell
"#
    )
}

/// What [`wrapper`] is given to run `job`, whose directory is made first; it is stopped after `lifetime`.
pub fn script(job: &Job, lifetime: Duration, sign: Option<&Sign>) -> String {
    // What stops it has less time than who stops the task.
    let stop = Stop { grace: job.stop.grace.min(Duration::from_secs(3)), ..job.stop.clone() };
    let job = Job { stop, ..job.clone() };
    let (begin, halt) = (texts::job(&job, "\"$base\"", lifetime), texts::stop(&job, "\"$base\""));
    let look = match sign {
        Some(Sign::Port(port)) => {
            format!("grep -qsiE ':{port:04X} [0-9A-F]+:[0-9A-F]+ 0A ' /proc/net/tcp /proc/net/tcp6")
        }
        Some(Sign::Command(command)) => {
            let words: Vec<String> = command.arguments().into_iter().map(quote).collect();
            format!("( cd {}; {} ) >/dev/null 2>&1", quote(&job.directory), words.join(" "))
        }
        None => "false".to_owned(),
    };
    format!(
        "mkdir -p {}\nlifetime={}; sign={}\nbegin() {{\n{begin}\n}}\nhalt() {{\n{halt}}}\nlook() {{ {look}; }}\n",
        quote(&job.directory),
        lifetime.as_secs().max(1),
        sign.map_or("", |_| "1"),
    )
}

/// Reads what was printed so far, in whatever order and however often its lines come.
///
/// # Errors
/// When all lines are there and make no sense, or tell that it could not begin.
pub fn read<'a>(lines: impl IntoIterator<Item = &'a str>) -> Result<Told, TransportError> {
    let (mut told, mut parts, mut over) = (Told::default(), BTreeMap::new(), None);
    for line in lines {
        let line = line.trim_end();
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["runner", "ready"] => told.is_ready = true,
            ["runner", "over", kind, count] => over = count.parse::<usize>().ok().map(|count| (*kind, count)),
            ["runner", number, letters] if number.parse::<usize>().is_ok() => {
                parts.insert(number.parse::<usize>().unwrap_or_default(), *letters);
            }
            _ if line.is_empty() => {}
            _ => told.stray = Some(line.to_owned()),
        }
    }
    let Some((kind, count)) = over.filter(|(_, count)| parts.len() >= *count) else { return Ok(told) };
    let letters: String = (1..=count).filter_map(|number| parts.get(&number).copied()).collect();
    let bytes = match kind {
        "64" => STANDARD.decode(&letters).ok(),
        _ => hexadecimal(&letters),
    };
    let bytes = bytes.ok_or_else(|| TransportError::new("the task's output did not arrive whole"))?;
    told.ended = Some(frame::parse(&bytes)?);
    Ok(told)
}

fn hexadecimal(letters: &str) -> Option<Vec<u8>> {
    let pairs = letters.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

/// The same outcome, of a job that was stopped by who waits for it.
pub fn stopped_by(ended: Ended, why: Option<Stopped>) -> Ended {
    let stopped = ended.stopped.map(|by_itself| why.unwrap_or(by_itself));
    Ended { stopped, ..ended }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a shell runs the script")]
mod tests {
    use std::process::{Command as Process, Stdio};

    use super::super::Stop;
    use super::*;

    fn job(text: &str) -> Job {
        let id = format!("runner-alone-{}-{}", std::process::id(), super::super::next_number());
        Job {
            command: Command::line(text),
            env: vec![("WORD".into(), "it's".into())],
            directory: format!("/tmp/{id}"),
            sudo: false,
            ends_daemons: true,
            stop: Stop::default(),
            place: id.clone(),
            id,
            warms_up: false,
            probes: vec!["/proc/loadavg".into()],
        }
    }

    /// In a folder of its own instead of a container of its own.
    fn printed(shell: &str, job: &Job, lifetime: u64, sign: Option<&Sign>) -> String {
        let wrapper = wrapper().replace("/runner-task", &job.directory.replace("/tmp", ""));
        let script = script(job, Duration::from_secs(lifetime), sign);
        let output = Process::new(shell)
            .args(["-c", "eval \"$RUNNER_WRAPPER\"", "runner", &script])
            .env("RUNNER_WRAPPER", wrapper)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        for parent in ["/dev/shm", "/tmp", "/var/tmp"] {
            let _ = std::fs::remove_dir_all(job.directory.replace("/tmp", parent));
        }
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn every_byte_comes_back_whatever_the_log_does_to_lines() {
        let text =
            r"printf 'a\n\n\377\000 runner over 64 1\n\r'; echo $WORD >&2; head -c 20000 /dev/zero; exit 7";
        for shell in ["dash", "bash"] {
            let printed = printed(shell, &job(text), 20, None);
            // A log may tell a line twice, and in another order.
            let mut lines: Vec<&str> = printed.lines().chain(printed.lines().take(2)).collect();
            lines.reverse();
            let ended = read(lines.iter().copied()).unwrap().ended.unwrap();
            assert_eq!(ended.exit_code, 7, "{shell}");
            assert_eq!(ended.stderr.bytes, b"it's\n", "{shell}");
            let mut expected = b"a\n\n\xff\0 runner over 64 1\n\r".to_vec();
            expected.extend([0; 20_000]);
            assert_eq!(ended.stdout.bytes, expected, "{shell}");
            assert_eq!(ended.probes.after.len(), 1, "{shell}");
            assert_eq!(ended.stopped, None);
            assert!(lines.iter().all(|line| line.len() < 16 << 10));
            for missing in 0..printed.lines().count() {
                let lines = printed.lines().enumerate().filter(|(number, _)| *number != missing);
                let told = read(lines.map(|(_, line)| line)).unwrap();
                assert_eq!(told.ended, None, "without line {missing}");
            }
        }
    }

    #[test]
    fn a_sign_is_told_and_a_job_that_lives_too_long_is_stopped() {
        let sign = Sign::Command(Command::line("[ -e ready ]"));
        let printed = printed("dash", &job("touch ready; exec sleep 60"), 1, Some(&sign));
        let told = read(printed.lines()).unwrap();
        assert!(told.is_ready, "{printed}");
        let ended = told.ended.unwrap();
        assert_eq!((ended.exit_code, ended.stopped), (143, Some(Stopped::TimedOut)));
        assert_eq!(stopped_by(ended, Some(Stopped::Cancelled)).stopped, Some(Stopped::Cancelled));
    }

    #[test]
    fn what_can_not_begin_says_why() {
        let job = Job { command: Command::Words(vec!["runner-no-such-program".into()]), ..job("") };
        let ended = read(printed("dash", &job, 20, None).lines()).unwrap().ended.unwrap();
        assert_eq!(ended.exit_code, 127);
        let told = read(["exec /bin/sh: not found"]).unwrap();
        assert_eq!((told.stray.as_deref(), told.ended), (Some("exec /bin/sh: not found"), None));
        assert!(read(["runner over 64 1", "runner 1 !"]).is_err());
    }
}
