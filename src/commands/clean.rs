//! `runner clean [RUN…]`: removes from the machines what runs that were killed, or that could not reach them,
//! have left. Everything it needs stands in the run's directory.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "the directories of runs")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use futures_util::future::join_all;

use super::experiment::{self, Hosts};
use super::{block_on, temporary};
use crate::cli::CleanArguments;
use crate::environments;
use crate::error::{EXIT_OK, EXIT_WORLD, Error};
use crate::hosts::{self, Claim, Fate, Kind, Ledger, Machine, Said, Tell, Thing, lock_all};
use crate::record::{self, RunDirectory};
use crate::ui;

pub(super) fn clean(arguments: &CleanArguments) -> Result<u8, Error> {
    if !arguments.tagged.is_empty() {
        return without_directory(arguments);
    }
    let runs = match arguments.runs.is_empty() {
        true => record::list_ledgers(&arguments.results)?,
        false => arguments.runs.iter().map(RunDirectory::new).collect(),
    };
    let mut code = EXIT_OK;
    for directory in &runs {
        let own = match one(arguments, directory) {
            Ok(true) => EXIT_OK,
            Ok(false) => EXIT_WORLD,
            // The other runs are cleaned all the same.
            Err(error) => {
                ui::show_error(&error);
                error.exit_code()
            }
        };
        // The first thing that is wrong is what is told.
        code = if code == EXIT_OK { own } else { code };
    }
    if runs.is_empty() {
        ui::clean::show_nothing(&arguments.results);
    }
    Ok(code)
}

/// Returns whether nothing of the run is left.
fn one(arguments: &CleanArguments, directory: &RunDirectory) -> Result<bool, Error> {
    if !directory.manifest().is_file() {
        let message = format!("`{}` is no run", directory.path().display());
        let help = "give the directory of one run, such as `results/NAME/START`, or none for all".into();
        return Err(Error::Usage { message, help });
    }
    if record::is_being_written(directory) {
        ui::clean::show_live(directory.path());
        return Ok(arguments.runs.is_empty());
    }
    let names = hosts::variables_of(&directory.ledger())?;
    let declared = experiment::read_hosts(&directory.experiment(), arguments.hosts.as_deref(), &names)?;
    if !directory.ledger().is_file() {
        let manifest = record::read_manifest(directory)?;
        let runs: Vec<String> = manifest.ids().into_iter().map(str::to_owned).collect();
        return by_tag(arguments, directory.path(), &declared, &runs);
    }
    if arguments.dry_run {
        let left = Ledger::read(&directory.ledger(), &declared.spec.variables)?;
        match left.is_empty() {
            true => ui::clean::show_nothing(directory.path()),
            false => ui::show_left(&left, directory.path()),
        }
        return Ok(left.is_empty());
    }
    // Nobody goes on with it meanwhile.
    let _held = record::hold(directory)?;
    let ledger = Ledger::open(&directory.ledger(), &declared.spec.variables)?;
    let is_clean = block_on(empty(arguments, directory.path(), &declared, &ledger))??;
    ledger.close()?;
    temporary::remove(record::read_manifest(directory)?.ids())?;
    Ok(is_clean)
}

/// Removes what carries the ids of runs whose directories are gone.
fn without_directory(arguments: &CleanArguments) -> Result<u8, Error> {
    let Some(file) = &arguments.hosts else { return Ok(EXIT_OK) };
    let declared = experiment::read_hosts(file, None, &BTreeSet::new())?;
    let is_clean = by_tag(arguments, file, &declared, &arguments.tagged)?;
    Ok(if is_clean { EXIT_OK } else { EXIT_WORLD })
}

/// Removes what carries the ids of `runs` where the hosts are. Returns whether nothing is left.
fn by_tag(
    arguments: &CleanArguments,
    shown: &Path,
    declared: &Hosts,
    runs: &[String],
) -> Result<bool, Error> {
    if let Some(run) = runs.iter().find(|run| !is_id(run)) {
        let message = format!("`{run}` is not the id of a run");
        let help =
            "it is that of the tag `runner:run`; `manifest.json` and the log of the run have it".into();
        return Err(Error::Usage { message, help });
    }
    if !arguments.dry_run {
        temporary::remove(runs.iter().map(String::as_str))?;
    }
    let ledger = Ledger::default();
    let tagged = join_all(
        declared
            .spec
            .hosts
            .iter()
            .flat_map(|(name, host)| runs.iter().map(|run| hosts::things_tagged(name, host, run))),
    );
    let (mut known, mut failed) = (BTreeSet::new(), None);
    for things in block_on(tagged)? {
        let things = match things {
            Ok(things) => things,
            // Those of other hosts are removed all the same.
            Err(error) => {
                failed = failed.or(Some(error));
                continue;
            }
        };
        for thing in things {
            // Hosts in one region see each other's instances; tasks are those of their cluster.
            if thing.kind != Kind::Instance || known.insert(thing.name.clone()) {
                ledger.made(thing)?;
            }
        }
    }
    if let (Some(error), true) = (&failed, ledger.left().is_empty()) {
        return Err(error.clone().into());
    }
    match ledger.left() {
        left if left.is_empty() => {
            ui::clean::show_nothing(shown);
            Ok(true)
        }
        left if arguments.dry_run => {
            ui::show_left(&left, shown);
            Ok(false)
        }
        _ => {
            let is_clean = block_on(empty(arguments, shown, declared, &ledger))??;
            failed.map_or(Ok(is_clean), |error| Err(error.into()))
        }
    }
}

/// Only such an id is asked for: it becomes part of a question.
fn is_id(run: &str) -> bool {
    !run.is_empty() && run.chars().all(|letter| letter.is_ascii_alphanumeric())
}

/// Connects to every host on which something is left, and removes it.
async fn empty(
    arguments: &CleanArguments,
    directory: &Path,
    declared: &Hosts,
    ledger: &Ledger,
) -> Result<bool, Error> {
    // What is on a disk that stays is removed while the machine still runs.
    let stay: BTreeSet<String> =
        ledger.left().into_iter().filter(hosts::is_kept).map(|thing| thing.host).collect();
    let mut fates = release(declared, ledger, |host| !stay.contains(host)).await;
    let left = ledger.left();
    let on_hosts = left.iter().filter(|thing| !thing.kind.is_of_host());
    let names: BTreeSet<&str> = on_hosts.map(|thing| thing.host.as_str()).collect();
    let connected = join_all(names.iter().map(|name| connect(declared, name))).await;
    let connected: BTreeMap<&str, _> = names.into_iter().zip(connected).collect();
    let machines: Vec<Arc<Machine>> = connected.values().flatten().cloned().collect();
    if !arguments.locking.no_lock {
        let runs: BTreeSet<String> = left.iter().map(|thing| thing.run.clone()).collect();
        let run = format!("clean-{:08x}", experiment::random() as u32);
        let claim = Claim::new(&run, &format!("runner clean {}", directory.display()));
        let claim = Claim { predecessors: runs.into_iter().collect(), measures: false, ..claim };
        let tell = |host: &str, holder: &str| ui::clean::show_waiting(host, holder);
        lock_all(&machines, &claim, !arguments.locking.no_wait, tell).await?;
    }
    let removed = join_all(machines.iter().map(|machine| environments::remove_left(machine, ledger))).await;
    join_all(machines.iter().map(|machine| machine.unlock())).await;
    fates.extend(removed.into_iter().flatten());
    for thing in left.iter().filter(|thing| !thing.kind.is_of_host()) {
        if let Some(Err(reason)) = connected.get(thing.host.as_str()) {
            fates.push((thing.clone(), Fate::Left(reason.clone())));
        }
    }
    fates.extend(release(declared, ledger, |host| stay.contains(host)).await);
    ui::clean::show_fates(directory, &fates);
    Ok(!fates.iter().any(|(_, fate)| matches!(fate, Fate::Left(_))))
}

/// Gives back those hosts that were made for the run; what was on them is gone with them, unless their disk stays.
async fn release(declared: &Hosts, ledger: &Ledger, which: impl Fn(&str) -> bool) -> Vec<(Thing, Fate)> {
    let tell: Tell = Arc::new(|host: &str, said: Said| {
        if let Said::Doing(what) = said {
            ui::clean::show_doing(host, &what);
        }
    });
    let hosts: BTreeSet<String> = ledger.left().into_iter().map(|thing| thing.host).collect();
    let hosts: Vec<String> = hosts.into_iter().filter(|host| which(host)).collect();
    let declared_hosts = hosts.iter().filter_map(|name| declared.spec.hosts.get_key_value(name.as_str()));
    let released = declared_hosts.map(|(name, host)| hosts::release(name, host, ledger, &tell));
    join_all(released).await.into_iter().flatten().collect()
}

async fn connect(declared: &Hosts, name: &str) -> Result<Arc<Machine>, String> {
    let Some(host) = declared.spec.hosts.get(name) else {
        return Err(format!("no host `{name}` is declared; help: give a file that does with `--hosts`"));
    };
    let connected = hosts::connect(name, host, &declared.sources).await;
    connected.map(Arc::new).map_err(|error| error.with_hint())
}
