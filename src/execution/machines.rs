//! The machines of a run: connected, or why one is not. One that was not there at the start may come later.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::{Cause, Failure, Run};
use crate::diagnostic::Sources;
use crate::environments::{self, DEFAULT_WORKDIR};
use crate::event::{Event, Facts, Stage};
use crate::hosts::{self, Machine, Making};
use crate::metrics;
use crate::spec::Spec;
use crate::transports::{TransportError, job};

/// The longest time that a host may take to answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(30);

/// A connected machine by its name, or why it is not connected.
pub type Connected = BTreeMap<String, Result<Arc<Machine>, String>>;

/// Connects to a host by its name.
pub type Connector =
    Box<dyn Fn(String) -> BoxFuture<'static, Result<(Arc<Machine>, Facts), TransportError>> + Send + Sync>;

/// Every host of a plan.
pub(super) struct Machines(Mutex<Connected>);

impl Machines {
    pub(super) fn new(connected: Connected) -> Self {
        Machines(Mutex::new(connected))
    }

    fn get(&self, host: &str) -> Option<Result<Arc<Machine>, String>> {
        self.0.lock().ok()?.get(host).cloned()
    }

    /// Those that are connected.
    pub(super) fn connected(&self) -> Vec<Arc<Machine>> {
        self.0.lock().map(|machines| machines.values().flatten().cloned().collect()).unwrap_or_default()
    }

    /// Those that are not, and why.
    pub(super) fn missing(&self) -> Vec<(String, String)> {
        let missing = |(host, machine): (&String, &Result<_, String>)| {
            Some((host.clone(), machine.as_ref().err()?.clone()))
        };
        self.0.lock().map(|machines| machines.iter().filter_map(missing).collect()).unwrap_or_default()
    }

    pub(super) fn machine(&self, host: &str) -> Result<Arc<Machine>, Failure> {
        let missing = |reason: String| Failure::new(Stage::Host, reason).with(Cause::Connection);
        self.get(host).unwrap_or_else(|| Err(format!("host `{host}` is not connected"))).map_err(missing)
    }

    /// Whether a host answers; one that never was connected is connected first.
    ///
    /// # Errors
    /// Why it does not.
    pub(super) async fn answers(&self, run: &Run, host: &str) -> Result<(), String> {
        let answer = async {
            match self.get(host) {
                Some(Ok(machine)) => match machine.cluster() {
                    Some(cluster) => cluster.answers().await.map_err(|error| error.with_hint()),
                    None => job::query(&*machine.transport, ":")
                        .await
                        .map(drop)
                        .map_err(|error| error.with_hint()),
                },
                _ => self.connect(run, host).await,
            }
        };
        if self.get(host).is_none_or(|machine| machine.is_err()) && run.spec.hosts[host].is_provided() {
            // To make a host takes its own time.
            return answer.await;
        }
        let within = tokio::time::timeout(ANSWERS_WITHIN, answer).await;
        within.unwrap_or_else(|_| Err(format!("`{host}`: no answer within {} s", ANSWERS_WITHIN.as_secs())))
    }

    async fn connect(&self, run: &Run, host: &str) -> Result<(), String> {
        let Some(connector) = &run.connector else { return Err(format!("`{host}` is not connected")) };
        let connected = connector(host.to_owned()).await;
        let (machine, facts) = connected.map_err(|error| error.with_hint())?;
        // What an earlier sitting has left there ends before anything else is made there.
        environments::remove_left(&machine, run.shared.ledger()).await;
        environments::begin(&machine, &run.id, run.shared.ledger()).map_err(|error| error.with_hint())?;
        if let Ok(mut machines) = self.0.lock() {
            machines.insert(host.to_owned(), Ok(machine));
        }
        run.say(Event::HostReady { host: host.to_owned() });
        run.say(Event::FactsFound { host: host.to_owned(), facts });
        Ok(())
    }
}

/// Connects to the host `name` of a checked experiment, which is made first where it has to be, and finds what can
/// be read of it around a trial.
///
/// # Errors
/// When it can't be made or reached.
pub async fn connect(
    spec: &Spec,
    sources: &Sources,
    name: &str,
    making: &Making,
) -> Result<Machine, TransportError> {
    let mut machine = hosts::provide(name, &spec.hosts[name], sources, making).await?;
    if machine.cluster().is_none() {
        hosts::find_probes(&mut machine).await?;
    }
    Ok(machine)
}

/// The facts of a connected machine, and the versions of the tools that the experiment uses.
///
/// # Errors
/// When it does not tell them.
pub async fn facts(spec: &Spec, machine: &Machine) -> Result<Facts, TransportError> {
    if machine.cluster().is_some() {
        return Ok(machine.provenance.clone());
    }
    let tools: BTreeSet<&str> = spec
        .workloads
        .values()
        .filter_map(|workload| workload.metrics.tool.as_ref())
        .map(|tool| tool.as_str())
        .collect();
    let versions: Vec<_> =
        tools.into_iter().filter_map(|tool| Some((tool, metrics::version_command(tool)?))).collect();
    let found = hosts::facts(&*machine.transport, DEFAULT_WORKDIR, &versions).await?;
    Ok(machine.provenance.clone().into_iter().chain(found).collect())
}
