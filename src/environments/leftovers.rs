//! Removes what a ledger says is left on a machine: at the end of a run what could not be removed before, and
//! after a run that was killed everything. It may be done again, and touches only what carries the run's id.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::sync::Mutex;

use super::removal;
use crate::hosts::{Entry, Fate, Kind, Ledger, Machine, Thing};
use crate::transports::TransportError;
use crate::transports::docker::Engine;
use crate::transports::job::{self, quote};

/// How often an engine is asked to remove what it refuses to.
const REMOVALS: u32 = 6;
const BETWEEN_REMOVALS: Duration = Duration::from_millis(500);
/// Where the files of a job may lie.
const FILES: &str = r#"/dev/shm "${XDG_RUNTIME_DIR:-/dev/shm}" /tmp /var/tmp"#;

/// Removes everything that `ledger` has of `machine`, and releases what is gone.
pub async fn remove_left(machine: &Machine, ledger: &Ledger) -> Vec<(Thing, Fate)> {
    let mut left = ledger.left_on(&machine.name);
    left.retain(|(_, thing)| !thing.kind.is_of_host());
    let is_on_engine = |(_, thing): &&(Entry, Thing)| matches!(thing.kind, Kind::Container | Kind::Network);
    // Containers first: what runs in one would hold on to its directory.
    let mut fates = match left.iter().find(is_on_engine) {
        Some(_) => empty_engine(machine, left.iter().filter(is_on_engine)).await,
        None => BTreeMap::new(),
    };
    let rest: Vec<_> = left.iter().filter(|thing| !is_on_engine(thing)).collect();
    if !rest.is_empty() {
        fates.extend(sweep(machine, &rest).await);
    }
    let told = left.into_iter().filter_map(|(entry, thing)| {
        let fate = fates.remove(&entry)?;
        if !matches!(fate, Fate::Left(_)) {
            ledger.released(entry);
        }
        Some((thing, fate))
    });
    told.collect()
}

/// By label, so that also what was only half made goes, and nothing of anybody else.
async fn empty_engine<'a>(
    machine: &Machine,
    things: impl Iterator<Item = &'a (Entry, Thing)> + Clone,
) -> BTreeMap<Entry, Fate> {
    /// Hosts can share an engine: one at a time removes from it.
    static REMOVING: Mutex<()> = Mutex::const_new(());
    let runs: BTreeSet<&str> = things.clone().map(|(_, thing)| thing.run.as_str()).collect();
    let mut fates = BTreeMap::new();
    let _one_at_a_time = REMOVING.lock().await;
    for run in runs {
        let removed = match machine.engine().await {
            Ok(engine) => empty_patiently(engine, run).await,
            Err(error) => Err(error),
        };
        let fate = |thing: &Thing| match &removed {
            Err(error) => Fate::Left(error.with_hint()),
            Ok(names) if names.contains(&thing.name) => Fate::Removed,
            Ok(_) => Fate::Gone,
        };
        let of_run = things.clone().filter(|(_, thing)| thing.run == run);
        fates.extend(of_run.map(|(entry, thing)| (*entry, fate(thing))));
    }
    fates
}

/// An engine refuses what it is about to remove already, as a runner that was killed has asked it to. Returns
/// the names of what was there.
async fn empty_patiently(engine: &Engine, run: &str) -> Result<BTreeSet<String>, TransportError> {
    let mut found = BTreeSet::new();
    for _ in 1..REMOVALS {
        if engine.remove_all(run, &mut found).await.is_ok() {
            return Ok(found);
        }
        tokio::time::sleep(BETWEEN_REMOVALS).await;
    }
    engine.remove_all(run, &mut found).await.map(|()| found)
}

async fn sweep(machine: &Machine, things: &[&(Entry, Thing)]) -> BTreeMap<Entry, Fate> {
    let mut fates = BTreeMap::new();
    // Processes first, since they would go on writing; other files of the run last, since they lie where
    // directories may, and each directory is told of as such.
    let [mut ends, mut directories, mut files] = [const { String::new() }; 3];
    for (index, (entry, thing)) in things.iter().enumerate() {
        match lines(index, thing) {
            Ok((end, remove)) if thing.kind == Kind::Processes => {
                ends += &end;
                files += &remove;
            }
            Ok((_, remove)) => directories += &remove,
            Err(reason) => drop(fates.insert(*entry, Fate::Left(reason))),
        }
    }
    let script = format!("{}{SCRIPT}\n{ends}{directories}{files}:", removal::functions(machine.sudo));
    let printed = job::query(&*machine.transport, &script).await;
    for (index, (entry, _)) in things.iter().enumerate() {
        fates.entry(*entry).or_insert_with(|| match &printed {
            Ok(printed) => parse(index, &String::from_utf8_lossy(printed)),
            Err(error) => Fate::Left(error.with_hint()),
        });
    }
    fates
}

/// `gone` removes a path, and prints whether there was one. `end` kills all processes with a mark, until none
/// is found: they may start others meanwhile. Those of root are seen by root alone; the user's own come first,
/// since root in a container may not look into them.
const SCRIPT: &str = r#"marked() { grep -lsF "RUNNER_PLACE=:$1" /proc/[0-9]*/environ; root sh -c 'grep -lsF "RUNNER_PLACE=:$0" /proc/[0-9]*/environ' "$1"; }
end() {
  n=0; i=0
  while f=$(marked "$2"); [ -n "$f" ] && [ $i -lt 50 ]; do
    for p in $f; do
      p=${p#/proc/}; p=${p%/environ}
      kill -s KILL "$p" 2>/dev/null || root sh -c 'kill -s KILL "$0"' "$p"
    done
    [ $i -eq 0 ] && echo "$1 removed"
    i=$((i+1)); sleep 0.1
  done
  [ -z "$f" ] || echo "$1 left they do not end"
}
gone() {
  [ -e "$2" ] || [ -L "$2" ] || return
  remove "$2" && echo "$1 removed" || echo "$1 left $why"
}"#;

/// The parts of the script that end processes of `thing` and that remove its files; each prints `INDEX removed`,
/// `INDEX left WHY`, or nothing.
fn lines(index: usize, thing: &Thing) -> Result<(String, String), String> {
    let mark = format!("runner-{}-", thing.run);
    let is_id = !thing.run.is_empty() && thing.run.chars().all(|letter| letter.is_ascii_alphanumeric());
    let is_own = match thing.kind {
        Kind::Processes => thing.name == mark,
        _ => thing.name.rsplit_once('/').is_some_and(|(_, last)| last.starts_with(&mark)),
    };
    if !is_id || !is_own {
        return Err("its name does not tell that it is the run's".into());
    }
    Ok(match thing.kind {
        Kind::Processes => (
            format!("end {index} {}\n", quote(&mark)),
            format!("for b in {FILES}; do for f in \"$b/{mark}\"*; do gone {index} \"$f\"; done; done\n"),
        ),
        _ => (String::new(), format!("gone {index} {}\n", quote(&thing.name))),
    })
}

fn parse(index: usize, printed: &str) -> Fate {
    let own = printed.lines().filter_map(|line| line.strip_prefix(&format!("{index} ")));
    let mut fate = Fate::Gone;
    for said in own {
        match said.strip_prefix("left ") {
            Some(why) => return Fate::Left(why.to_owned()),
            None => fate = Fate::Removed,
        }
    }
    fate
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thing(kind: Kind, name: &str) -> Thing {
        Thing { host: "a".into(), kind, name: name.into(), run: "0badcafe".into(), place: None }
    }

    #[test]
    fn only_what_carries_the_runs_id_is_removed() {
        for (kind, name, is_removed) in [
            (Kind::Directory, "/var/tmp/runner-0badcafe-1", true),
            (Kind::Directory, "/it's/runner-0badcafe-12", true),
            (Kind::Directory, "/var/tmp/runner-0badcaf-1", false),
            (Kind::Directory, "/var/tmp/runner-0badcafe-1/..", false),
            (Kind::Directory, "/", false),
            (Kind::Processes, "runner-0badcafe-", true),
            (Kind::Processes, "", false),
        ] {
            assert_eq!(lines(0, &thing(kind, name)).is_ok(), is_removed, "{name}");
        }
        let run = "*".to_owned();
        let any = Thing { run, ..thing(Kind::Processes, "runner-*-") };
        assert!(lines(0, &any).is_err());
    }

    #[test]
    fn what_is_left_is_told_before_what_was_removed() {
        let printed = "0 removed\n1 removed\n1 left rm: busy\n10 left x\n";
        let fates = [0, 1, 2].map(|index| parse(index, printed));
        assert_eq!(fates, [Fate::Removed, Fate::Left("rm: busy".into()), Fate::Gone]);
    }
}
