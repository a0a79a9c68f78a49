//! Connects to every host that is needed at once and reads its facts.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::join_all;
use tokio::sync::mpsc::UnboundedSender;

use super::experiment::Experiment;
use crate::error::Error;
use crate::event::Event;
use crate::execution::{self, Connected};
use crate::hosts::Machine;

/// Connects to the hosts `names`. A run that was begun before may need less than all of its plan.
pub(super) async fn connect(
    experiment: &Experiment,
    names: BTreeSet<String>,
    events: &UnboundedSender<Event>,
) -> Result<Connected, Error> {
    let connected = join_all(names.iter().map(|name| one(experiment, name, events))).await;
    let machines: Connected = names.into_iter().zip(connected).collect();
    match machines.is_empty() || machines.values().any(Result::is_ok) {
        true => Ok(machines),
        false => Err(Error::Hosts(machines.into_values().filter_map(Result::err).collect())),
    }
}

async fn one(
    experiment: &Experiment,
    name: &str,
    events: &UnboundedSender<Event>,
) -> Result<Arc<Machine>, String> {
    let result = execution::connect(&experiment.spec, &experiment.sources, name).await;
    let say = |event| {
        // The receiver lives as long as the run.
        let _ = events.send(event);
    };
    let host = name.to_owned();
    match result {
        Ok((machine, facts)) => {
            say(Event::HostReady { host: host.clone() });
            say(Event::FactsFound { host, facts });
            Ok(Arc::new(machine))
        }
        Err(error) => {
            let reason = error.with_hint();
            say(Event::HostFailed { host, reason: reason.clone() });
            Err(reason)
        }
    }
}
