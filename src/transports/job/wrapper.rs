//! The text of the wrapper, and of the scripts that look for what a job has printed or left. One POSIX
//! script for every machine: dash, bash and busybox all run it. Read [`script`] first.

use super::{Command, Job, OUTPUT_LIMIT, quote};

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

/// The wrapper. Its input is held open as long as the job is wanted; the part in braces waits for its end
/// and prints while it waits for the job, so that nobody loses patience. The job is not in the background:
/// there it would ignore INT and QUIT, and so would all that it starts. The two forms of `kill` are for
/// shells that want `--` before a group and shells that know no `--`. PIPE is caught, not ignored, since
/// the job would inherit that: a shell whose reader is gone may not die of telling that its job was killed.
pub(super) fn script(job: &Job) -> String {
    let Job { command, directory, sudo, ends_daemons, stop, id, .. } = job;
    let variables = variables(job);
    // Root needs no sudo, and a container may have none. The shell's own `kill` does it: that of procps
    // takes `-1234` for `-1`, every process of the machine.
    let (start, kill, root) = match sudo {
        true => (format!("exec \"$setsid\" $s env {variables}"), r#"$s sh -c "kill \$*" sh"#, "$s"),
        // Set aside before the variables: one of them may be called `setsid`.
        false => (format!("set -- \"$setsid\" \"$@\"\nexport {variables}\nexec"), "kill", ""),
    };
    let (arguments, warm_up) = (quote_all(command), quote_all(&command.warm_up()));
    let (directory, sweep) = (quote(directory), quote(&sweep("RUNNER_JOB", id)));
    let frame = frame(id);
    let (signal, tenths) = (quote(&stop.signal), stop.grace.as_millis().div_ceil(100));
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
setsid=$(command -v setsid) || fail 'setsid is missing: install util-linux'
cd {directory} || fail 'the working directory is gone'
: >"$d/stdout"; : >"$d/stderr"
{{
  trap '' PIPE
  while read -r _ <&3; do :; done
  : >"$d/stopped"
  until [ -s "$d/group" ]; do [ -d "$d" ] || exit 0; sleep 0.1; done
  read -r j <"$d/group"
  group {signal} || {kill} -s {signal} "$j"
  i=0
  while grep -qsE "\) [^ZX] [0-9]+ $j " /proc/[0-9]*/stat && [ $i -lt {tenths} ]; do echo >&4; sleep 0.1; i=$((i+1)); done
  group KILL
}} 4>&1 >/dev/null 2>&1 &
w=$!
exec 3<&-
u1=; u2=
date +%s.%N >/dev/null; setsid {warm_up} >/dev/null 2>&1
trap : PIPE
set -- {arguments}
t1=$(date +%s.%N)
read -r u1 _ </proc/uptime
(
read -r j _ </proc/self/stat
echo "$j" >"$d/group" || exit 1
{start} "$@"
) >"$d/stdout" 2>"$d/stderr"
rc=$?
read -r u2 _ </proc/uptime
t2=$(date +%s.%N)
read -r j <"$d/group" || fail "$(cat "$d/stderr")"
if [ -e "$d/stopped" ]; then wait "$w"; else kill "$w" 2>/dev/null; fi
group KILL
if {ends_daemons} || [ -e "$d/stopped" ]; then {root} sh -c {sweep}; fi
{frame}
rm -rf "$d"
exit 0
}}
"#
    )
}

/// Prints what [`super::frame`] reads.
fn frame(id: &str) -> String {
    format!(
        r#"echo room 2>/dev/null >"$d/room" || fail 'the file system of the output is full: what was printed is not whole'
o=$(wc -c <"$d/stdout"); e=$(wc -c <"$d/stderr")
printf '%s ended %s %s %s %s %s %s %s\n' {id} "$rc" "$t1" "$t2" "${{u1:--}}" "${{u2:--}}" $o $e
head -c "$((o < {OUTPUT_LIMIT} ? o : {OUTPUT_LIMIT}))" "$d/stdout"
head -c "$((e < {OUTPUT_LIMIT} ? e : {OUTPUT_LIMIT}))" "$d/stderr""#
    )
}

/// Ours after those of the job: the marks are not the job's to change.
fn variables(job: &Job) -> String {
    let Job { env, id, place, .. } = job;
    let env: String = env.iter().map(|(name, value)| format!("{name}={} ", quote(value))).collect();
    format!("LC_ALL=C {env}RUNNER_JOB=:{id}: RUNNER_PLACE=:{place}:")
}

fn quote_all(command: &Command) -> String {
    command.arguments().into_iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::super::Stop;
    use super::*;

    #[test]
    fn as_root_the_shells_own_kill_is_used() {
        let mut job = Job {
            command: Command::line("true"),
            env: vec![("A".into(), "it's\n$B".into())],
            directory: "/".into(),
            sudo: true,
            ends_daemons: false,
            stop: Stop::default(),
            id: "runner-1-2".into(),
            place: "runner-1".into(),
            probes: Vec::new(),
        };
        // procps takes `kill -s KILL -1234` for every process of the machine.
        assert!(!script(&job).contains("sudo -n kill") && !script(&job).contains("$s kill"));
        job.sudo = false;
        assert!(!script(&job).contains("$s env"));
        assert_eq!(
            variables(&job),
            "LC_ALL=C A='it'\\''s\n$B' RUNNER_JOB=:runner-1-2: RUNNER_PLACE=:runner-1:"
        );
    }

    #[test]
    fn quoting() {
        assert_eq!(quote("it's"), r"'it'\''s'");
    }
}
