//! Hosts that are not there by themselves: what is made for a run, by whom, and how it is given back. Each kind
//! has a file of its own; here is what they have in common. Read [`Making`], then [`provide`].

use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;

use super::{Ledger, Machine, Thing, ec2, ecs, vagrant};
use crate::diagnostic::Sources;
use crate::spec::Host;
use crate::spec::host::Kind;
use crate::transports::TransportError;
use crate::transports::ssh::SshTarget;

/// What is said while a host is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// What is done now, as a person reads it: `bringing up Vagrant machine node1`.
    Doing(String),
    /// A line that a tool has printed.
    Line(String),
}

/// Who hears what is said, with the name of the host.
pub type Tell = Arc<dyn Fn(&str, Said) + Send + Sync>;

/// For whom hosts are made.
#[derive(Clone)]
pub struct Making {
    /// The id of the run, by which everything is found again.
    pub run: String,
    /// Where everything stands before it is made.
    pub ledger: Ledger,
    /// The longest time of the run, where it has one.
    pub deadline: Option<Duration>,
    /// Who hears of it.
    pub tell: Tell,
}

/// A machine that is up.
pub(super) struct Provided {
    /// How it is reached.
    pub target: SshTarget,
    /// How other hosts reach it.
    pub peer_address: String,
    /// Where it came from: instance type, image, zone, box, provider, ….
    pub provenance: IndexMap<String, String>,
}

/// Seconds between the looks for something that was asked for and whose id is not known: a cloud does not show it
/// at once.
pub(super) const LOOKS: [u64; 6] = [1, 2, 4, 8, 8, 8];

/// What became of something that was left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It is gone now.
    Removed,
    /// It was gone already.
    Gone,
    /// It could not be removed, and why.
    Left(String),
}

/// Connects to the host `name`, which is made, or brought up, first where it has to be. What is made stands in the
/// ledger of `making` before.
///
/// # Errors
/// When it can't be made or reached; what was made of it stands in the ledger then.
pub async fn provide(
    name: &str,
    host: &Host,
    sources: &Sources,
    making: &Making,
) -> Result<Machine, TransportError> {
    let provided = match host.kind() {
        Kind::Local | Kind::Ssh(_) => return super::connect(name, host, sources).await,
        Kind::Vagrant(vagrant) => vagrant::provide(name, vagrant, sources, making).await?,
        Kind::Ec2(ec2) => return ec2::provide(name, (host, ec2), sources, making).await,
        Kind::Ecs(ecs) => return ecs::connect(name, host, ecs, Some(making)).await,
    };
    super::machine(name, host, provided).await
}

/// Everything that was made for the run where the host `name` is and still is there, found by its tags: for a ledger
/// that is lost. Hosts that carry no tags tell nothing.
///
/// # Errors
/// When it can't be asked for.
pub async fn things_tagged(name: &str, host: &Host, run: &str) -> Result<Vec<Thing>, TransportError> {
    match host.kind() {
        Kind::Ec2(ec2) if ec2.instance_id.is_none() => ec2::things(name, ec2, run).await,
        Kind::Ecs(ecs) => ecs::things(name, ecs, run).await,
        _ => Ok(Vec::new()),
    }
}

/// What can be said of a host that is not there before a run makes it: who would pay for it, and what it would be
/// made of. `None` of one that can be looked at. Nothing is made.
///
/// # Errors
/// Why it could not be made.
pub async fn foresee(name: &str, host: &Host, sources: &Sources) -> Result<Option<String>, TransportError> {
    match host.kind() {
        Kind::Vagrant(vagrant) => {
            let down = vagrant::down(name, vagrant, sources).await?;
            Ok(down.map(|state| format!("{}, {state}: a run brings it up", host.way())))
        }
        Kind::Ec2(ec2) if ec2.instance_id.is_none() => ec2::foresee(name, ec2).await.map(Some),
        _ => Ok(None),
    }
}

/// Whether `thing` is a machine whose disk stays when it is given back, with what is on it.
pub fn is_kept(thing: &Thing) -> bool {
    thing.kind == super::Kind::Vagrant && vagrant::is_kept(thing)
}

/// Gives back what was made for the host `name`, as the ledger has it. It may be done again. Once the machine itself
/// is gone, what the ledger has of things on it is gone too.
pub async fn release(name: &str, host: &Host, ledger: &Ledger, tell: &Tell) -> Vec<(Thing, Fate)> {
    let left = ledger.left_on(name);
    let mut fates = Vec::new();
    let mut is_gone = false;
    for (entry, thing) in left.into_iter().filter(|(_, thing)| thing.kind.is_of_host()) {
        let released = match host.kind() {
            Kind::Vagrant(vagrant) => vagrant::release(name, vagrant, &thing, tell).await,
            Kind::Ec2(ec2) => ec2::release(name, ec2, &thing, tell).await,
            Kind::Ecs(ecs) => ecs::release(name, ecs, &thing).await,
            Kind::Local | Kind::Ssh(_) => Err(TransportError::new("the host has another kind by now")),
        };
        let fate = released.unwrap_or_else(|error| Fate::Left(error.with_hint()));
        if !matches!(fate, Fate::Left(_)) {
            ledger.released(entry);
            is_gone |= thing.kind.is_whole_machine() && !is_kept(&thing);
        }
        fates.push((thing, fate));
    }
    for (entry, thing) in ledger.left_on(name).into_iter().filter(|_| is_gone) {
        ledger.released(entry);
        fates.push((thing, Fate::Removed));
    }
    fates
}
