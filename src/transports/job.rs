//! A command under the wrapper: a small POSIX script that gives it a process group of its own, a C
//! locale, no input, and output files in memory, and that tells the exit code and both clocks once it has
//! ended. It is the same text over every transport. Read [`Job`] and [`run`] first.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{Exit, Output, Transport, TransportError};

/// The most bytes brought back of each output of a job.
pub const OUTPUT_LIMIT: usize = 16 << 20;
/// The longest command in bytes: Linux takes 128 KiB as one argument.
const COMMAND_LIMIT: usize = 120 << 10;
/// How long a job may go on after TERM, in tenths of a second, before KILL.
const GRACE_TENTHS: u32 = 50;
/// How far the wall clock may be from the monotonic one, in seconds, before it is not believed. The
/// kernel gives the monotonic one in steps of 10 ms.
const CLOCK_TOLERANCE_S: f64 = 0.03;

/// A command and how it is run.
#[derive(Debug, Clone)]
pub struct Job {
    /// A line for `sh`.
    pub command: String,
    /// Where it runs; must exist.
    pub directory: String,
    /// Whether it runs as root, through `sudo -n` where need be.
    pub sudo: bool,
    /// Whether also those of its processes end with it that went to another group. It always does when it
    /// is stopped.
    pub ends_daemons: bool,
    /// Unique in this run; names its files and marks its processes.
    pub id: String,
    /// Marks all processes of its place, to find those that left their group.
    pub place: String,
}

/// A job that has ended, whoever ended it.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// Its exit code as the shell tells it: 128 + n after signal n.
    pub exit_code: i32,
    /// Wall time on the machine in seconds, the start of one shell included.
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
/// by TERM, then KILL, when `timeout` is over or `stop` is cancelled.
///
/// # Errors
/// When the place can't be reached, or its shell can't do what the wrapper needs.
pub async fn run(
    transport: &dyn Transport,
    job: &Job,
    timeout: Option<Duration>,
    stop: &CancellationToken,
) -> Result<Ended, TransportError> {
    if job.command.len() > COMMAND_LIMIT {
        let message = format!("the command has {} bytes; {COMMAND_LIMIT} is the limit", job.command.len());
        return Err(TransportError { message, hint: Some("put it into a script on the machine".into()) });
    }
    let end = stop.child_token();
    let script = script(job);
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
    Ok(Ended { stopped, ..parse(&job.id, &output)? })
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
        _ => Err(TransportError { message: last_line(&output.stderr, &Exit::Code(code)), hint: None }),
    }
}

/// Text quoted for `sh`.
pub fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Where the files of job `id` may lie; the first that can be written is taken.
const FILES: &str = r#"for b in /dev/shm "${XDG_RUNTIME_DIR:-/dev/shm}" /tmp /var/tmp"#;

/// A script that prints what the running job `id` has printed so far, both streams.
pub fn printed_so_far(id: &str) -> String {
    format!("{FILES}; do cat \"$b/{id}/stdout\" \"$b/{id}/stderr\" 2>/dev/null && break; done; :")
}

/// A script that ends every process of `place` that is left, whatever group it went to; `as_root` also
/// those of root. The user's own come first: root in a container may not look into them.
pub fn sweep_place(place: &str, as_root: bool) -> String {
    let sweep = sweep("RUNNER_PLACE", place);
    let by_root = format!("[ \"$(id -u)\" = 0 ] || sudo -n sh -c {}; :", quote(&sweep));
    if as_root { format!("{sweep}\n{by_root}") } else { sweep }
}

fn sweep(variable: &str, marker: &str) -> String {
    format!(
        r#"for f in $(grep -lsF '{variable}=:{marker}:' /proc/[0-9]*/environ); do
  p=${{f#/proc/}}; kill -s KILL "${{p%/environ}}" 2>/dev/null
done; :"#
    )
}

/// The wrapper. The two forms of `kill` are for shells that want `--` before a group and shells that know
/// no `--`. Its input is held open as long as the job is wanted; see [`Transport::run`].
fn script(job: &Job) -> String {
    let Job { command, directory, sudo, ends_daemons, id, place } = job;
    let variables = format!("LC_ALL=C RUNNER_JOB=:{id}: RUNNER_PLACE=:{place}:");
    // Root needs no sudo, and a container may have none. The shell's own `kill` does it: that of procps
    // takes `-1234` for `-1`, every process of the machine.
    let (start, kill, root) = match sudo {
        true => (format!("setsid $s env {variables}"), r#"$s sh -c "kill \$*" sh"#, "$s"),
        false => (format!("{variables} setsid"), "kill", ""),
    };
    let (directory, command, sweep) = (quote(directory), quote(command), quote(&sweep("RUNNER_JOB", id)));
    format!(
        r#"{{
exec 3<&0 </dev/null
PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
s=; [ "$(id -u)" = 0 ] || s='sudo -n'
group() {{ {kill} -s "$1" -- "-$j" 2>/dev/null || {kill} -s "$1" "-$j" 2>/dev/null; }}
fail() {{ [ -n "$d" ] && rm -rf "$d"; printf '%s failed %s\n' {id} "$1"; exit 0; }}
d=
{FILES}; do mkdir -m 700 "$b/{id}" 2>/dev/null && d="$b/{id}" && break; done
[ -n "$d" ] || fail 'no directory for output can be made in /dev/shm, /tmp or /var/tmp'
command -v setsid >/dev/null || fail 'setsid is missing: install util-linux'
cd {directory} || fail 'the working directory is gone'
: >"$d/stdout"; : >"$d/stderr"
u1=; u2=
date +%s.%N >/dev/null; setsid sh -c :
t1=$(date +%s.%N)
read -r u1 _ </proc/uptime
{start} sh -c {command} >"$d/stdout" 2>"$d/stderr" 3<&- &
j=$!
trap '' PIPE
{{
  while read -r _ <&3; do :; done
  : >"$d/stopped"
  group TERM || {kill} -s TERM "$j"
  i=0
  while grep -qsE "\) [^ZX] [0-9]+ $j " /proc/[0-9]*/stat && [ $i -lt {GRACE_TENTHS} ]; do sleep 0.1; i=$((i+1)); done
  group KILL
}} >/dev/null 2>&1 &
w=$!
exec 3<&-
wait "$j"; rc=$?
read -r u2 _ </proc/uptime
t2=$(date +%s.%N)
if [ -e "$d/stopped" ]; then wait "$w"; else kill "$w" 2>/dev/null; fi
group KILL
if {ends_daemons} || [ -e "$d/stopped" ]; then {root} sh -c {sweep}; fi
echo room 2>/dev/null >"$d/room" || fail 'the file system of the output is full: what was printed is not whole'
o=$(wc -c <"$d/stdout"); e=$(wc -c <"$d/stderr")
printf '%s ended %s %s %s %s %s %s %s\n' {id} "$rc" "$t1" "$t2" "${{u1:--}}" "${{u2:--}}" $o $e
head -c "$((o < {OUTPUT_LIMIT} ? o : {OUTPUT_LIMIT}))" "$d/stdout"
head -c "$((e < {OUTPUT_LIMIT} ? e : {OUTPUT_LIMIT}))" "$d/stderr"
rm -rf "$d"
exit 0
}}
"#
    )
}

fn parse(id: &str, output: &Output) -> Result<Ended, TransportError> {
    let from = find(&output.stdout, format!("{id} ").as_bytes()).ok_or_else(|| no_frame(output))?;
    let frame = &output.stdout[from..];
    let end = find(frame, b"\n").ok_or_else(|| no_frame(output))?;
    let line = String::from_utf8_lossy(&frame[..end]);
    let rest = &frame[end + 1..];
    let mut words = line.split(' ').skip(1);
    if words.next() != Some("ended") {
        let reason = line.split_once(" failed ").map_or(line.as_ref(), |(_, reason)| reason);
        return Err(TransportError { message: reason.to_owned(), hint: None });
    }
    let mut word = || words.next().unwrap_or_default();
    let number = |word: &str| word.parse::<f64>().ok();
    let code = number(word());
    let (t1, t2, u1, u2) = (fine_clock(word()), fine_clock(word()), number(word()), number(word()));
    let (Some(code), Some(out), Some(err)) = (code, number(word()), number(word())) else {
        return Err(no_frame(output));
    };
    let (elapsed_s, is_coarse) = elapsed(t1.zip(t2), u1.zip(u2)).ok_or_else(|| TransportError {
        message: "the machine has no clock that can be read: neither `date +%s.%N` nor /proc/uptime".into(),
        hint: None,
    })?;
    let kept = (out as usize).min(OUTPUT_LIMIT).min(rest.len());
    let (stdout, stderr) = rest.split_at(kept);
    if stdout.len() + stderr.len() != (out as usize).min(OUTPUT_LIMIT) + (err as usize).min(OUTPUT_LIMIT) {
        return Err(TransportError {
            message: "the command's output did not arrive whole".into(),
            hint: None,
        });
    }
    Ok(Ended {
        exit_code: code as i32,
        elapsed_s,
        is_coarse,
        stdout: Stream { bytes: stdout.to_vec(), size: out as u64 },
        stderr: Stream { bytes: stderr.to_vec(), size: err as u64 },
        stopped: None,
    })
}

/// A reading of `date +%s.%N`, if it tells a fraction.
fn fine_clock(word: &str) -> Option<f64> {
    word.split_once('.').filter(|(_, fraction)| fraction.len() >= 3).and_then(|_| word.parse().ok())
}

/// Seconds between two readings of the wall clock, unless the monotonic clock says that it was set.
fn elapsed(wall: Option<(f64, f64)>, monotonic: Option<(f64, f64)>) -> Option<(f64, bool)> {
    let between = |(start, end): (f64, f64)| end - start;
    match (wall.map(between), monotonic.map(between)) {
        (Some(wall), Some(steady)) if (wall - steady).abs() > CLOCK_TOLERANCE_S + steady * 1e-3 => {
            Some((steady, true))
        }
        (Some(wall), _) if wall >= 0.0 => Some((wall, false)),
        (_, steady) => steady.map(|steady| (steady, true)),
    }
}

fn no_frame(output: &Output) -> TransportError {
    TransportError {
        message: format!("`/bin/sh` did not do its work: {}", last_line(&output.stderr, &output.exit)),
        hint: Some("see what `/bin/sh -c true` prints there".into()),
    }
}

fn last_line(stderr: &[u8], exit: &Exit) -> String {
    let text = String::from_utf8_lossy(stderr);
    match (text.lines().map(str::trim).rfind(|line| !line.is_empty()), exit) {
        (Some(line), _) => line.to_owned(),
        (None, Exit::Code(code)) => format!("it ended with exit code {code}"),
        (None, Exit::Signal(name)) => format!("it was ended by signal {name}"),
    }
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}

/// What stands between a line `mark` and a last line `mark CODE`, and that code.
fn between_marks<'a>(text: &'a [u8], mark: &[u8]) -> Option<(&'a [u8], i32)> {
    let start = find(text, &[mark, b"\n"].concat())? + mark.len() + 1;
    let rest = &text[start..];
    let end = rest.windows(mark.len() + 1).rposition(|window| window == [mark, b" "].concat())?;
    let code = std::str::from_utf8(&rest[end + mark.len()..]).ok()?.trim().parse().ok()?;
    Some((&rest[..end], code))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(stdout: &[u8]) -> Output {
        Output { stdout: stdout.to_vec(), stderr: Vec::new(), exit: Exit::Code(0) }
    }

    #[test]
    fn frame_among_noise() {
        let ended =
            parse("runner-1", &output(b"Welcome!\nrunner-1 ended 7 10.500 12.000 100.00 101.50 3 2\nabcde"))
                .unwrap();
        assert_eq!((ended.exit_code, ended.elapsed_s, ended.is_coarse), (7, 1.5, false));
        assert_eq!((ended.stdout.bytes.as_slice(), ended.stderr.bytes.as_slice()), (&b"abc"[..], &b"de"[..]));
    }

    #[test]
    fn output_that_is_cut_is_an_error() {
        assert!(parse("runner-1", &output(b"runner-1 ended 0 1.000 2.000 1.00 2.00 9 0\nabc")).is_err());
        assert!(parse("runner-1", &output(b"runner-1 ended 0 1.0")).is_err());
        assert!(parse("runner-1", &output(b"")).is_err());
    }

    #[test]
    fn a_query_without_its_end_is_not_taken_for_whole() {
        assert_eq!(between_marks(b"hello\nm-1\na\nb\nm-1 0\n", b"m-1"), Some((&b"a\nb\n"[..], 0)));
        assert_eq!(between_marks(b"m-1\nno line endm-1 7\n", b"m-1"), Some((&b"no line end"[..], 7)));
        assert_eq!(between_marks(b"m-1\na\nb\n", b"m-1"), None);
        assert_eq!(between_marks(b"a\n", b"m-1"), None);
    }

    #[test]
    fn clock() {
        for (wall, steady, expected) in [
            (Some((10.0, 11.5)), Some((1.00, 2.50)), Some((1.5, false))),
            (Some((10.0, 11.509)), Some((1.00, 2.50)), Some((1.509, false))),
            (Some((10.0, 3610.0)), Some((1.0, 2.0)), Some((1.0, true))),
            (Some((10.0, 5.0)), None, None),
            (None, Some((1.0, 2.0)), Some((1.0, true))),
            (None, None, None),
        ] {
            let got = elapsed(wall, steady).map(|(seconds, set)| ((seconds * 1e6).round() / 1e6, set));
            assert_eq!(got, expected, "{wall:?} {steady:?}");
        }
    }

    #[test]
    fn as_root_the_shells_own_kill_is_used() {
        let mut job = Job {
            command: "true".into(),
            directory: "/".into(),
            sudo: true,
            ends_daemons: false,
            id: "runner-1-2".into(),
            place: "runner-1".into(),
        };
        // procps takes `kill -s KILL -1234` for every process of the machine.
        assert!(!script(&job).contains("sudo -n kill") && !script(&job).contains("$s kill"));
        job.sudo = false;
        assert!(!script(&job).contains("$s setsid") && !script(&job).contains("setsid $s"));
    }

    #[test]
    fn quoting() {
        assert_eq!(quote("it's"), r"'it'\''s'");
    }
}
