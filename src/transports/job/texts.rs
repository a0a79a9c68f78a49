//! The texts that kept shells are given: what they all know, a job, its guard, and the look after a job
//! whose connection was lost. POSIX shell throughout; bash, where it is there, saves two processes a job.

use std::fmt::Display;
use std::time::Duration;

use super::{Command, Job, OUTPUT_LIMIT, quote};

/// Where folders for outputs may be made; the first that can be written is taken.
pub const FILES: &str = r#"for b in /dev/shm "${XDG_RUNTIME_DIR:-/dev/shm}" /tmp /var/tmp"#;
/// What stands in the names of these folders between the first place and a random number.
pub const FOLDER: &str = "-jobs-";
/// The file in such a folder that is there while nobody but its guard is: its runner, or the way to it, is gone.
/// It says until when jobs may go on.
pub const ALONE: &str = "alone";
/// Ends every script that a guard is told.
pub const OVER: &str = ": over\n";
/// Lets a guard take scripts. In bash it prints a word once in a while, without a process: so its machine
/// notices that nobody is there any more also when the network swallows everything, which one that only waits
/// for input does not for hours.
pub const LISTEN: &str = "[ -z \"$bash\" ] || listen\n";
/// How often a guard prints.
const PULSE: Duration = Duration::from_secs(60);

/// What every kept shell knows. In bash, `set -m` gives each command a group of its own, and `wait` returns also when
/// one is stopped; then it is still there. `wait -f` would wait on, but bash 5.2 was seen to print `wait_for: No record
/// of process` for ever in it, once in some hundred short commands or more; it only tells that this is bash 5. Where `EPOCHREALTIME` is, it is a clock that needs no
/// process; busybox has it too. PIPE is caught, not ignored, since jobs
/// would inherit that. In the foreground bash would end with a job that INT has ended; in the background the
/// others would have it ignore INT.
///
/// `claim` decides who may begin a job: whoever makes its file, which needs no room, and only once. The file
/// stays when nothing was begun, since a shell that was lost may still come to its script.
///
/// `run` executes its arguments as job `$f`: nothing but the command is started between the clocks. When no
/// process was made after it, no daemon can have been left. `emit` prints what has become of it.
pub fn prologue() -> String {
    let sweep = sweep("RUNNER_JOB", "\"$id\"");
    format!(
        r#"LC_ALL=C
PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
trap : PIPE
s=; [ "$(id -u)" = 0 ] || s='sudo -n'
now() {{ now=$(date +%s.%N); }}
[ -z "$EPOCHREALTIME" ] || now() {{ now=$EPOCHREALTIME; }}
bash=
if [ -n "$BASH_VERSION" ] && wait -f 2>/dev/null; then
bash=1; set -m; launch=
go() {{
child "$@" </dev/null >"$f.out" 2>"$f.err" &
wait "$!"; c=$?
while [ $c -gt 128 ] && [ -d "/proc/$!" ]; do sleep 0.05; wait "$!"; c=$?; done
return $c
}}
else
launch=$(command -v setsid)
go() {{ ( child "$@" ) </dev/null >"$f.out" 2>"$f.err"; }}
fi
fail() {{ printf 'failed %s\n' "$1"; }}
group() {{ kill -s "$1" -- "-$j" 2>/dev/null || kill -s "$1" "-$j" 2>/dev/null; }}
root_group() {{ $s sh -c 'kill -s "$1" -- "-$2" 2>/dev/null || kill -s "$1" "-$2" 2>/dev/null' sh "$1" "$j"; }}
sweep() {{ {sweep}; }}
probe() {{ for x in $probes; do read -r l <"$x" && p="$p$1 $x $l
"; done 2>/dev/null; }}
claim() {{ set -C; true >"$f.claim"; c=$?; set +C; return $c; }}
child() {{ read -r j _ </proc/self/stat; echo "$j" >"$f.pid" || exit 1; cd "$dir" || exit 1; start "$@"; }}
run() {{
claim 2>/dev/null || {{ [ -e "$f.claim" ] && fail 'it was stopped before it began' || fail 'no file for its output can be made'; return; }}
[ -n "$launch$bash" ] || {{ fail 'setsid is missing: install util-linux'; return; }}
[ -d "$dir" ] && [ -x "$dir" ] || {{ fail 'the working directory is gone'; return; }}
p=; u1=; u2=; n=
probe b
read -r u1 _ </proc/uptime
u=${{u1%.*}}
echo "$((u + limit))" >"$f.limit"
now; t1=$now
go "$@"
rc=$?
now; t2=$now
st=0; [ -e "$f.stopped" ] && st=1
echo >"$f.ending"
read -r _ _ _ _ n </proc/loadavg
read -r u2 _ </proc/uptime
probe a
[ -s "$f.pid" ] && read -r j <"$f.pid" || {{ read -r l <"$f.err"; fail "${{l:-its output can not be written}}"; return; }}
if [ -e "$f.stopped" ]; then until [ -e "$f.killed" ] || [ ! -d "${{f%/*}}" ]; do read -r k <"$f.stopped"; [ -d "/proc/$k" ] || break; sleep 0.05; done; fi
$kill KILL
if $daemons && [ "$n" != "$j" ]; then sweep; fi
printf '%s\n%s' "$rc $t1 $t2 ${{u1:--}} ${{u2:--}} $st" "$p" 2>/dev/null >"$f.end"
echo room 2>/dev/null >"$f.room"
emit
}}
emit() {{
[ -s "$f.room" ] || {{ fail 'the file system of the output is full: what was printed is not whole'; return; }}
while IFS= read -r l; do printf '%s\n' "$l"; done <"$f.end"
o=0; e=0
if [ -s "$f.out" ] || [ -s "$f.err" ]; then set -- $(wc -c "$f.out" "$f.err"); o=$1; e=$3; fi
printf 'sizes %s %s\n' "$o" "$e"
[ "$o" = 0 ] || head -c "$((o < {OUTPUT_LIMIT} ? o : {OUTPUT_LIMIT}))" "$f.out"
[ "$e" = 0 ] || head -c "$((e < {OUTPUT_LIMIT} ? e : {OUTPUT_LIMIT}))" "$f.err"
}}
"#
    )
}

/// `script` with its end marked on both streams, so that the exit code comes with it.
pub fn marked(script: &str, mark: &str) -> String {
    format!("{{\n{script}\n}} </dev/null; printf '\\n{mark} %s\\n' \"$?\"; printf '\\n{mark}\\n' >&2\n")
}

/// Runs `job`; `limit` is the longest time it may take when nobody watches over it.
pub fn job(job: &Job, base: &str, limit: Duration) -> String {
    let Job { command, directory, sudo, ends_daemons, id, warms_up, probes, .. } = job;
    let variables = variables(job);
    // Set aside before the variables: one of them may be called `launch`.
    let start = match sudo {
        true => format!("set -- $launch $s env {variables} \"$@\"; exec \"$@\""),
        false if job.env.iter().any(|(name, _)| is_own_of_bash(name)) => {
            format!("set -- $launch env {variables} \"$@\"; exec \"$@\"")
        }
        false => format!("set -- $launch \"$@\"; export {variables}; exec \"$@\""),
    };
    let kill = if *sudo { "root_group" } else { "group" };
    let warm_up = match warms_up {
        true => format!("{} >/dev/null 2>&1\n", quote_all(&command.warm_up())),
        false => String::new(),
    };
    format!(
        "{warm_up}id={id}; f={base}/{id}; dir={}; limit={}; daemons={ends_daemons}; kill={kill}; probes={}\n\
         start() {{ {start}; }}\nrun {}",
        quote(directory),
        limit.as_secs().max(1),
        quote(&probes.join(" ")),
        quote_all(command),
    )
}

/// Whether bash has a meaning of its own for a variable, so that it can't be given a value there.
fn is_own_of_bash(name: &str) -> bool {
    const OWN: [&str; 17] = [
        "DIRSTACK",
        "EPOCHREALTIME",
        "EPOCHSECONDS",
        "EUID",
        "FUNCNAME",
        "GROUPS",
        "HISTCMD",
        "LINENO",
        "OPTARG",
        "OPTIND",
        "PIPESTATUS",
        "PPID",
        "RANDOM",
        "SECONDS",
        "SHELLOPTS",
        "SRANDOM",
        "UID",
    ];
    OWN.contains(&name) || name.starts_with("BASH") || name.starts_with("COMP_")
}

/// Where the files of job `id` are, without their endings.
pub fn files(id: &str, base: &str) -> String {
    format!("{base}/{id}")
}

/// Empties the outputs of a job once they are known here.
pub fn empty(files: &str) -> String {
    format!("for x in {files}.out {files}.err; do [ ! -s $x ] || : >$x; done\n")
}

/// Removes everything that jobs have left.
pub fn remove(jobs: &[String]) -> String {
    let all: Vec<_> = jobs.iter().map(|files| format!("{files}.*")).collect();
    format!("rm -f {}\n", all.join(" "))
}

/// What [`look`] prints of a job that never began, and now never will under this name.
pub const UNCLAIMED: &[u8] = b"unclaimed\n";
/// What [`look`] prints of a job of which nothing is left.
pub const GONE: &[u8] = b"gone\n";

/// Waits for job `id`, whose connection was lost, and prints what `run` would have printed, or one of the two
/// words above.
pub fn look(id: &str, base: &str) -> String {
    format!(
        r#"f={base}/{id}
if [ ! -d {base} ]; then echo gone
elif claim 2>/dev/null; then echo unclaimed
else
i=0; e=0
until [ -e "$f.room" ] || [ $i -ge 3 ]; do
j=; [ -s "$f.pid" ] && read -r j <"$f.pid"
if [ -n "$j" ] && [ -d "/proc/$j" ]; then i=0
elif [ -e "$f.stopped" ] && [ ! -e "$f.killed" ]; then i=0
elif [ -e "$f.ending" ] && [ $e -lt 60 ]; then e=$((e + 1)); i=0
else i=$((i + 1)); fi
sleep 1
done
if [ -e "$f.room" ]; then emit; else echo gone; fi
fi"#
    )
}

/// Ends `job` as it says, in the background. One that has not begun never will.
pub fn stop(job: &Job, base: &str) -> String {
    let Job { id, stop, sudo, .. } = job;
    let (signal, tenths) = (quote(&stop.signal), stop.grace.as_millis().div_ceil(100));
    let (kill, single, root) = match sudo {
        true => ("root_group", "$s kill", "$s"),
        false => ("group", "kill", ""),
    };
    let sweep = quote(&sweep("RUNNER_JOB", id));
    format!(
        r#"( f={base}/{id}
[ -d {base} ] && [ ! -e "$f.end" ] || exit 0
claim 2>/dev/null && exit 0
read -r k _ </proc/self/stat; echo "$k" >"$f.stopped"
i=0
until [ -s "$f.pid" ]; do [ -e "$f.claim" ] && [ $i -lt 100 ] || exit 0; sleep 0.1; i=$((i+1)); done
read -r j <"$f.pid"
{kill} {signal} || {single} -s {signal} "$j"
i=0
while grep -qsE "\) [^ZX] [0-9]+ $j " /proc/[0-9]*/stat && [ $i -lt {tenths} ]; do sleep 0.1; i=$((i+1)); done
{kill} KILL
{root} sh -c {sweep}
true >"$f.killed" ) </dev/null >/dev/null 2>&1 &
"#
    )
}

/// Makes this shell the guard of `old`, or of a new folder when there is none or it went with its machine,
/// and prints the folder. When its input ends unannounced, somebody else may become the guard; if nobody has
/// within `lease`, or a job has had its time, its jobs are ended, and the folder goes.
///
/// [`LISTEN`] then lets it take scripts.
pub fn guard(old: Option<&str>, name: &str, lease: Duration) -> String {
    let old = old.unwrap_or_default();
    let (lease, pulse) = (lease.as_secs(), PULSE.as_secs());
    let over = OVER.trim_end();
    format!(
        r#"base={old}
mine() {{ echo "$$" >"$1/guard" && rm -f "$1/{ALONE}"; }}
[ -n "$base" ] && [ -d "$base" ] && mine "$base" || base=
[ -n "$base" ] || {FILES}; do
b=$b/{name}
mkdir -m 700 "$b" || continue
mine "$b" && base=$b && break
rm -rf "$b"
done 2>/dev/null
listen() {{
script=
while :; do
if IFS= read -r -t {pulse} line; then
case $line in '{over}') eval "$script"; script= ;; *) script="$script$line
" ;; esac
elif [ $? -gt 128 ]; then script="$script$line"; printf .
else return; fi
done
}}
watch() {{
read -r up _ </proc/uptime; over=$((${{up%.*}} + {lease}))
until=$(date -u -d "@$(($(date +%s) + {lease}))" '+%H:%M:%S UTC' 2>/dev/null)
read -r g 2>/dev/null <"$base/guard" && [ "$g" = "$$" ] && echo "$until" >"$base/{ALONE}"
while sleep 1; do
read -r g 2>/dev/null <"$base/guard" && [ "$g" = "$$" ] || exit 0
read -r up _ </proc/uptime; up=${{up%.*}}
left=
for f in "$base"/*.pid; do
[ -s "$f" ] || continue
f=${{f%.pid}}; id=${{f##*/}}; read -r j <"$f.pid"
[ ! -e "$f.end" ] && [ -d "/proc/$j" ] || continue
read -r limit <"$f.limit"
if [ "$up" -lt "$over" ] && [ "$up" -lt "$limit" ]; then left=1; continue; fi
echo "$$" >"$f.stopped"; group TERM; sleep 1; group KILL; root_group KILL; sweep; true >"$f.killed"
done
[ -z "$left" ] && [ "$up" -ge "$over" ] && break
done
rm -rf "$base"
}}
if [ -n "$base" ]; then
trap watch EXIT
echo "$base"
else
echo 'no directory for output can be made in /dev/shm, /tmp or /var/tmp' >&2; false
fi"#
    )
}

/// The end of a guard that is no longer needed.
pub fn farewell(base: &str) -> String {
    format!("trap - EXIT; rm -rf {base}; exit\n")
}

/// The name of job `id` when it is sent once more.
pub fn again(id: &str, count: impl Display) -> String {
    format!("{id}-again-{count}")
}

/// A script that prints what the running job `id` has printed so far, both streams.
pub fn printed_so_far(id: &str) -> String {
    let files: Vec<String> = ["out", "err"]
        .iter()
        .flat_map(|end| [format!("{id}.{end}"), format!("{}.{end}", again(id, "*"))])
        .map(|name| format!("\"$b\"/*{FOLDER}*/{name}"))
        .collect();
    let files = files.join(" ");
    format!(
        "{FILES}; do found=; for f in {files}; do [ -e \"$f\" ] && found=1 && cat \"$f\"; done; \
         [ -z \"$found\" ] || break; done; :"
    )
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
        r#"for m in $(grep -lsF '{variable}=:'{marker}: /proc/[0-9]*/environ); do
m=${{m#/proc/}}; kill -s KILL "${{m%/environ}}" 2>/dev/null
done; :"#
    )
}

/// Ours after those of the job: the marks are not the job's to change.
pub fn variables(job: &Job) -> String {
    let environment = environment(job);
    environment.iter().map(|(name, value)| format!("{name}={}", quote(value))).collect::<Vec<_>>().join(" ")
}

/// The variables of a job; a later one wins.
pub fn environment(job: &Job) -> Vec<(&str, String)> {
    let Job { env, id, place, .. } = job;
    let own = env.iter().map(|(name, value)| (name.as_str(), value.clone()));
    let marks = [("RUNNER_JOB", format!(":{id}:")), ("RUNNER_PLACE", format!(":{place}:"))];
    std::iter::once(("LC_ALL", "C".to_owned())).chain(own).chain(marks).collect()
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
            warms_up: false,
            probes: Vec::new(),
        };
        // procps takes `kill -s KILL -1234` for every process of the machine: never a group by `sudo kill`.
        let text = super::job(&job, "/dev/shm/x", Duration::from_secs(1)) + &stop(&job, "/dev/shm/x");
        assert!(!text.contains("sudo -n kill") && text.contains("kill=root_group"), "{text}");
        assert!(prologue().contains("$s sh -c 'kill -s \"$1\" -- \"-$2\""));
        job.sudo = false;
        assert!(!super::job(&job, "/dev/shm/x", Duration::from_secs(1)).contains("$s env"));
        assert_eq!(
            variables(&job),
            "LC_ALL='C' A='it'\\''s\n$B' RUNNER_JOB=':runner-1-2:' RUNNER_PLACE=':runner-1:'"
        );
    }

    #[test]
    fn quoting() {
        assert_eq!(quote("it's"), r"'it'\''s'");
    }
}
