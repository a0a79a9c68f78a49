//! Connects to every host of a plan at once, locks them, and reads their facts.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::join_all;
use tokio::sync::mpsc::UnboundedSender;

use super::Machines;
use super::experiment::Experiment;
use crate::cli::Locking;
use crate::environments::{DEFAULT_WORKDIR, remove_left};
use crate::error::Error;
use crate::event::{Event, Facts};
use crate::hosts::{self, Claim, Ledger, Machine, lock_all};
use crate::transports::TransportError;
use crate::ui::progress::Progress;

/// Connects to every host of the plan at once, locks them all, and only then looks at them: until then they
/// may be somebody else's, who measures there.
pub(super) async fn connect(
    experiment: &Experiment,
    locking: Locking,
    claim: &Claim,
    events: &UnboundedSender<Event>,
    progress: &mut Progress,
) -> Result<Machines, Error> {
    let names = experiment.plan.hosts();
    let one = async |name: &String| {
        let host = &experiment.spec.hosts[name.as_str()];
        hosts::connect(name, host, &experiment.sources).await.map(Arc::new)
    };
    let mut connected = join_all(names.iter().map(one)).await;
    if !locking.no_lock {
        let tell = |host: &str, holder: &str| {
            progress.show(&Event::HostLocked { host: host.to_owned(), holder: holder.to_owned() });
        };
        lock(&mut connected, claim, !locking.no_wait, tell).await?;
    }
    let looked = names.iter().zip(connected).map(|(name, machine)| look(experiment, name, machine, events));
    let looked = join_all(looked).await;
    let machines: Machines = names.iter().cloned().zip(looked).collect();
    match machines.values().any(Result::is_ok) {
        true => Ok(machines),
        false => Err(Error::Hosts(machines.into_values().filter_map(Result::err).collect())),
    }
}

type Connected = Result<Arc<Machine>, TransportError>;

/// Locks those that are connected; one that can't be locked can't be used.
async fn lock(
    connected: &mut [Connected],
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

/// Removes what earlier sittings of the run, which were killed, have left on its machines. What can't be
/// removed stays in the ledger, and is told at the end.
pub(super) async fn end_earlier(machines: &Machines, ledger: &Ledger) {
    join_all(machines.values().flatten().map(|machine| remove_left(machine, ledger))).await;
}

async fn look(
    experiment: &Experiment,
    name: &str,
    machine: Connected,
    events: &UnboundedSender<Event>,
) -> Result<Arc<Machine>, String> {
    let looked = async {
        let machine = machine?;
        facts(experiment, &machine).await.map(|facts| (machine, facts))
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

async fn facts(experiment: &Experiment, machine: &Machine) -> Result<Facts, TransportError> {
    let workloads = experiment.spec.workloads.values();
    let tools = workloads.filter_map(|workload| workload.metrics.tool.as_ref());
    let tools: BTreeSet<&str> = tools.map(|tool| tool.as_str()).collect();
    let tools: Vec<&str> = tools.into_iter().collect();
    hosts::facts(&*machine.transport, DEFAULT_WORKDIR, &tools).await
}
