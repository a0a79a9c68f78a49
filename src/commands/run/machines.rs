//! Connects to every host that is needed at once, locks them, and reads their facts.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::join_all;
use tokio::sync::mpsc::UnboundedSender;

use super::experiment::Experiment;
use crate::cli::Locking;
use crate::environments::remove_left;
use crate::error::Error;
use crate::event::Event;
use crate::execution::{self, Connected, Connector};
use crate::hosts::{self, Claim, Fate, Ledger, Machine, Making, Said, lock_all};
use crate::spec::Spec;
use crate::transports::TransportError;

/// Connects to the hosts `names` and locks those that can be reached. While one is locked by somebody else, it
/// waits, unless it may not.
///
/// # Errors
/// When none can be used, or somebody else has one and that is not to be waited for.
pub(super) async fn connect(
    experiment: &Experiment,
    names: BTreeSet<String>,
    (locking, claim): (Locking, &Claim),
    making: &Making,
    events: &UnboundedSender<Event>,
) -> Result<Connected, Error> {
    let one = async |name: &String| {
        execution::connect(&experiment.spec, &experiment.sources, name, making).await.map(Arc::new)
    };
    let mut connected = join_all(names.iter().map(one)).await;
    if !locking.no_lock {
        let tell = |host: &str, holder: &str| {
            // The receiver lives as long as the run.
            let _ = events.send(Event::HostLocked { host: host.to_owned(), holder: holder.to_owned() });
        };
        lock(&mut connected, claim, !locking.no_wait, tell).await?;
    }
    let looked = names.iter().zip(connected).map(|(name, machine)| look(experiment, name, machine, events));
    let machines: Connected = names.iter().cloned().zip(join_all(looked).await).collect();
    match machines.is_empty() || machines.values().any(Result::is_ok) {
        true => Ok(machines),
        false => Err(Error::Hosts(machines.into_values().filter_map(Result::err).collect())),
    }
}

/// The way to a host that was not there at the start; it is locked too, and waited for where that may be.
pub(super) fn connector(
    experiment: &Experiment,
    (locking, claim): (Locking, &Claim),
    making: &Making,
    events: &UnboundedSender<Event>,
) -> Connector {
    // The run keeps this, and its end is that of the last sender.
    let events = events.downgrade();
    let (spec, sources) = (experiment.spec.clone(), experiment.sources.clone());
    let all = Arc::new((spec, sources, claim.clone(), making.clone(), events));
    Box::new(move |name| {
        let all = Arc::clone(&all);
        Box::pin(async move {
            let (spec, sources, claim, making, events) = &*all;
            let machine = Arc::new(execution::connect(spec, sources, &name, making).await?);
            if !locking.no_lock {
                let tell = |host: &str, holder: &str| {
                    let (host, holder) = (host.to_owned(), holder.to_owned());
                    // Nobody listens any more when the run is over.
                    let _ = events.upgrade().map(|events| events.send(Event::HostLocked { host, holder }));
                };
                let failed = lock_all(&[Arc::clone(&machine)], claim, !locking.no_wait, tell).await?;
                failed.into_iter().flatten().next().map_or(Ok(()), Err)?;
            }
            let facts = execution::facts(spec, &machine).await?;
            Ok((machine, facts))
        })
    })
}

/// For whom hosts are made in this sitting, which `events` hear of.
pub(super) fn making(
    experiment: &Experiment,
    run: &str,
    ledger: &Ledger,
    events: &UnboundedSender<Event>,
) -> Making {
    let events = events.downgrade();
    let tell = move |host: &str, said: Said| {
        let host = host.to_owned();
        let event = match said {
            Said::Doing(what) => Event::Preparing { host, what },
            Said::Line(line) => Event::HostSaid { host, line },
        };
        // Nobody listens any more when the run is over.
        let _ = events.upgrade().map(|events| events.send(event));
    };
    let deadline = experiment.spec.deadline.as_ref().map(|time| time.value.0);
    Making { run: run.to_owned(), ledger: ledger.clone(), deadline, tell: Arc::new(tell) }
}

/// The hosts of a run, as far as it takes to give them back.
pub(super) struct Hosted {
    spec: Spec,
    making: Making,
}

impl Hosted {
    pub(super) fn new(experiment: &Experiment, making: &Making) -> Self {
        Hosted { spec: experiment.spec.clone(), making: making.clone() }
    }

    /// Gives back every host that was made for the run, as its ledger tells it. What can't be given back is told,
    /// and stays in the ledger.
    pub(super) async fn release(&self, events: &UnboundedSender<Event>) {
        let Making { ledger, tell, .. } = &self.making;
        let hosts: BTreeSet<String> = ledger.left().into_iter().map(|thing| thing.host).collect();
        let declared = hosts.iter().filter_map(|name| self.spec.hosts.get_key_value(name.as_str()));
        let released = declared.map(|(name, host)| hosts::release(name, host, ledger, tell));
        for (thing, fate) in join_all(released).await.into_iter().flatten() {
            if let Fate::Left(reason) = fate {
                let (host, what) = (thing.host.clone(), thing.to_string());
                // The receiver lives as long as the run.
                let _ = events.send(Event::CleanUpFailed { host, what, reason });
            }
        }
    }
}

/// Locks the machines that were reached. One whose lock can't be looked at is as good as not reached.
async fn lock(
    connected: &mut [Result<Arc<Machine>, TransportError>],
    claim: &Claim,
    may_wait: bool,
    tell: impl FnMut(&str, &str),
) -> Result<(), Error> {
    let machines: Vec<Arc<Machine>> = connected.iter().flatten().cloned().collect();
    let failed = lock_all(&machines, claim, may_wait, tell).await?;
    for (machine, failed) in connected.iter_mut().filter(|machine| machine.is_ok()).zip(failed) {
        if let Some(error) = failed {
            *machine = Err(error);
        }
    }
    Ok(())
}

/// Ends what earlier sittings of the run have left on `machines`, as the ledger tells it. What can't be removed
/// is told, and stays in the ledger.
pub(super) async fn end_earlier(machines: &Connected, ledger: &Ledger, events: &UnboundedSender<Event>) {
    let fates = join_all(machines.values().flatten().map(|machine| remove_left(machine, ledger))).await;
    for (thing, fate) in fates.into_iter().flatten() {
        if let Fate::Left(reason) = fate {
            let (host, what) = (thing.host.clone(), thing.to_string());
            // The receiver lives as long as the run.
            let _ = events.send(Event::CleanUpFailed { host, what, reason });
        }
    }
}

/// Reads the facts of a machine that was reached, and tells what is known of it.
async fn look(
    experiment: &Experiment,
    name: &str,
    machine: Result<Arc<Machine>, TransportError>,
    events: &UnboundedSender<Event>,
) -> Result<Arc<Machine>, String> {
    let looked = async {
        let machine = machine?;
        execution::facts(&experiment.spec, &machine).await.map(|facts| (machine, facts))
    };
    let say = |event| {
        // The receiver lives as long as the run.
        let _ = events.send(event);
    };
    let host = name.to_owned();
    match looked.await {
        Ok((machine, facts)) => {
            say(Event::HostReady { host: host.clone() });
            say(Event::FactsFound { host, facts });
            Ok(machine)
        }
        Err(error) => {
            let reason = error.with_hint();
            say(Event::HostFailed { host, reason: reason.clone() });
            Err(reason)
        }
    }
}
