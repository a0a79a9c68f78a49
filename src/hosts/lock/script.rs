//! The scripts by which a machine is locked. The lock is `flock` on a folder that everybody may open, held by
//! a shell that sleeps until its input ends: the kernel frees it when that shell is gone, however it went.
//! In the folder, the file `who` says who that is: the shell with its start, the run and the host; the text for
//! people; the runner's own process.

use super::Claim;
use crate::transports::job::{orphans, quote};

/// Finds the folder `$l`. One that every user agrees on: sticky, and for all to write. It is made for all,
/// without the sticky bit, since who holds the lock replaces what another user left in it; `set -C` never
/// writes through a link. It is locked itself, so what clears old files out of /tmp leaves it alone.
const FOLDER: &str = r#"PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
umask 022
l=
for b in /run/lock /tmp /var/tmp /dev/shm; do [ -k "$b" ] && [ -w "$b" ] && l="$b/runner-lock" && break; done
[ -n "$l" ] || { echo 'failed no sticky folder for all among /run/lock, /tmp, /var/tmp and /dev/shm can be written'; exit 0; }
made() { [ -d "$l" ] || (umask 0; mkdir "$l") 2>/dev/null; [ -r "$l" ] && [ -w "$l" ]; }
alive() { [ -n "$1" ] && [ "$(cut -d ' ' -f 22 "/proc/$1/stat" 2>/dev/null)" = "$2" ]; }
who() { p= s= r= h= t= c=; [ -f "$l/who" ] && [ ! -L "$l/who" ] && { read -r p s r h; read -r t; read -r c; } <"$l/who" 2>/dev/null; }
"#;

/// What stands for `flock` where there is none: a link whose text is the process that holds the lock and
/// when it started. One of a process that is gone is moved aside, and put back if it was another meanwhile.
const TAKE: &str = r#"command -v flock >/dev/null && has_flock=1 || has_flock=
take() {
  if [ -n "$has_flock" ]; then flock -n 9; return; fi
  ln -s "$me" "$l/held" 2>/dev/null && return
  k=$(readlink "$l/held") && ! alive "${k%:*}" "${k#*:}" && mv "$l/held" "$l/stale.$$" 2>/dev/null || return
  [ "$(readlink "$l/stale.$$")" = "$k" ] || { mv -n "$l/stale.$$" "$l/held"; return 1; }
  rm -f "$l/stale.$$"; ln -s "$me" "$l/held" 2>/dev/null
}
is_same() { [ "$l" -ef /proc/self/fd/9 ]; }
me="$$:$(cut -d ' ' -f 22 /proc/$$/stat)"
"#;

/// Takes the lock or says `busy`, and holds it until the input ends. What another shell of this claim holds
/// is what is left of a connection that was lost: that shell is ended. So is the one that `gone` says, the run
/// and the mark of a holder whose runner is known to be gone. A job that goes on without its runner keeps the
/// machine busy too, where the claim is to measure.
pub(super) fn hold(claim: &Claim, host: &str, token: &str, gone: Option<&str>) -> String {
    let old: Vec<String> = claim.predecessors.iter().map(|run| quote(run)).collect();
    let (run, host, text) = (quote(&claim.run), quote(host), quote(&claim.text));
    let (runner, gone) = (quote(&claim.runner.to_string()), quote(gone.unwrap_or_default()));
    let look = match claim.measures {
        true => format!("{}\norphan", orphans()),
        false => ":".to_owned(),
    };
    format!(
        r#"{{
exec 3<&0 </dev/null
{FOLDER}{TAKE}
run={run} host={host} text={text}
is_ours() {{ [ "$r" = "$run" ] && [ "${{h%:*}}" = "$host" ] || [ "$r $h" = {gone} ]; }}
got=; i=0
while [ $i -lt 30 ]; do
  i=$((i+1))
  made || {{ echo "failed $l can't be used"; exit 0; }}
  exec 9<"$l"
  if take; then is_same && got=1 && break; continue; fi
  who
  if alive "$p" "$s"; then
    is_ours || break
    kill "$p" 2>/dev/null || break
  fi
  sleep 0.1
done
[ -n "$got" ] || {{ alive "$p" "$s" || t= r= h= c=; echo "busy $r $h"; echo "$t"; echo "$c"; exit 0; }}
release() {{ rm -f "$l/who" "$l/held"; rmdir "$l" 2>/dev/null; exit 0; }}
trap release HUP INT TERM
orphan() {{
  orphans 9<&- | while read -r r u; do
    for o in "$run" {old}; do [ "$r" = "$o" ] && continue 2; done
    echo "busy $r"
    echo "a job of run $r, whose runner is gone: it may go on until ${{u:-its time is over}}, and \`runner clean\` ends it"
    break
  done | grep . && release
}}
{look}
rm -f "$l/who.$$"
(set -C; printf '%s\n%s\n%s\n' "$$ ${{me#*:}} $run $host:{token}" "$text" {runner} >"$l/who.$$") && mv -f "$l/who.$$" "$l/who" ||
  {{ rm -f "$l/who.$$"; echo "failed nothing can be written in $l"; release; }}
while read -r _ <&3; do :; done
release
}}
"#,
        old = old.join(" "),
    )
}

/// Prints `held` once the lock is held by the shell of `run` with this token. It gives up soon, since nothing
/// tells it that the shell has ended: it may not go on looking at a machine that somebody else has.
pub(super) fn is_held(run: &str, host: &str, token: &str) -> String {
    let (run, mark) = (quote(run), quote(&format!("{host}:{token}")));
    format!(
        r#"{FOLDER}
i=0
while [ $i -lt 50 ]; do
  who
  [ "$r" = {run} ] && [ "$h" = {mark} ] && echo held && exit
  alive "$p" "$s" && [ "$r" != {run} ] && exit
  sleep 0.02; i=$((i+1))
done"#
    )
}

/// Ends when the lock is free, or the input has ended. It sleeps till then.
pub(super) fn wait() -> String {
    format!(
        r#"{{
exec 3<&0 </dev/null
{FOLDER}{TAKE}
made || exit 0
exec 9<"$l"
if [ -n "$has_flock" ]; then flock 9 >/dev/null 2>&1 3<&- &
else (while k=$(readlink "$l/held") && alive "${{k%:*}}" "${{k#*:}}"; do sleep 5; done) >/dev/null 2>&1 3<&- & fi
f=$!
(read -r _ <&3; kill "$f") >/dev/null 2>&1 9<&- &
w=$!
exec 3<&-
wait "$f"
kill "$w" 2>/dev/null
exit 0
}}
"#
    )
}

/// Prints who holds the lock, or that somebody does; nothing where nobody does.
pub(in crate::hosts) fn look() -> String {
    format!(
        r#"({FOLDER}{TAKE}
[ -d "$l" ] && [ -r "$l" ] || exit 0
exec 9<"$l"
if [ -n "$has_flock" ]; then flock -n 9 && exit 0
else k=$(readlink "$l/held") && alive "${{k%:*}}" "${{k#*:}}" || exit 0; fi
who
alive "$p" "$s" || t=
echo "locked ${{t:-somebody who does not tell}}")"#
    )
}
