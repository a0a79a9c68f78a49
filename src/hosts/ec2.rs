//! Instances of Amazon EC2: launched for a run and terminated at its end, or used as they are. A launch stands in
//! the ledger by its token before it is asked for, and by the id of its instance once that is known; both carry the
//! run's tags. Read [`provide`], then [`release`].

mod arrival;
mod instance;
mod launch;
mod user_data;

use std::time::Duration;

use self::arrival::Patience;
use self::instance::{Described, HOST_TAG, Instance, RUN_TAG, Terminated};
use super::aws::{Aws, AwsError};
use super::ledger::Kind;
use super::provide::{Fate, LOOKS, Making, Provided, Said, Tell};
use super::ssh::{known_hosts, local_path};
use super::{Machine, Thing};
use crate::diagnostic::Sources;
use crate::spec::Host;
use crate::spec::host::{AddressKind, Ec2};
use crate::transports::ssh::{KnownHosts, SshTarget};
use crate::transports::{DEFAULT_RECONNECT, TransportError};

/// Who logs in where nothing is said: the user of Amazon's own images.
const USER: &str = "ec2-user";
/// How many of them where nothing tells that anything was launched.
const LOOKS_FOR_NOTHING: usize = 3;

/// Launches the instance, or finds it by its id, and logs in.
///
/// # Errors
/// When it can't be launched, does not start, or does not let us in.
pub(super) async fn provide(
    name: &str,
    (host, ec2): (&Host, &Ec2),
    sources: &Sources,
    making: &Making,
) -> Result<Machine, TransportError> {
    if ec2.instance_id.is_some() {
        return super::machine(name, host, find(name, ec2, sources).await?).await;
    }
    let aws = aws(name, ec2);
    let patience = Patience::new(ec2);
    let say = |said: Said| (making.tell)(name, said);
    let known = tagged(&aws, &making.run, Some(name)).await?;
    let id = match known.iter().find(|instance| !instance.is_over()) {
        Some(instance) => {
            let place = aws.place().await?;
            making.ledger.made(thing(name, &making.run, &instance.id, Some(place)))?;
            instance.id.clone()
        }
        None => launch::launch(&aws, name, ec2, making, known.len()).await?.id,
    };
    say(Said::Doing(format!("waiting for the instance {id}")));
    let instance = arrival::running(name, &patience, || by_id(&aws, &id)).await?;
    let connect = || async {
        let mut provided = provided(name, ec2, sources, &instance)?;
        if ec2.known_hosts.is_none() {
            // It was made just now: nobody can know its key.
            provided.target.known_hosts = KnownHosts::First;
        }
        super::machine(name, host, provided).await
    };
    let machine = arrival::let_in(name, &patience, connect).await?;
    arrival::arm(&machine, launch::time_to_live(ec2, making.deadline), say).await;
    arrival::settled(&machine, ec2, &patience, say).await?;
    Ok(machine)
}

/// The instance that is there, which must be running.
///
/// # Errors
/// When it is not, or is one that is launched for a run.
pub(super) async fn find(name: &str, ec2: &Ec2, sources: &Sources) -> Result<Provided, TransportError> {
    let Some(id) = &ec2.instance_id else {
        return Err(TransportError::new(format!(
            "`{name}`: its instance is launched for a run, and is not there"
        )));
    };
    let instance = by_id(&aws(name, ec2), id).await?;
    let instance = instance.ok_or_else(|| TransportError {
        hint: Some("is `region` right?".to_owned()),
        ..TransportError::new(format!("`{name}`: there is no instance {}", id.value))
    })?;
    if !instance.is_running() {
        return Err(TransportError {
            hint: Some(format!("start it: `aws ec2 start-instances --instance-ids {}`", id.value)),
            ..TransportError::new(format!("`{name}`: the instance {} is {}", id.value, instance.state()))
        });
    }
    provided(name, ec2, sources, &instance)
}

/// Who would pay for a launch, and of which image it would be. It launches nothing, not even as a rehearsal: what
/// answers may be no AWS, and not know of those.
///
/// # Errors
/// When we are not let in, or the image can't be used.
pub(super) async fn foresee(name: &str, ec2: &Ec2) -> Result<String, TransportError> {
    launch::foresee(&aws(name, ec2), name, ec2).await
}

/// Terminates the instance of `thing`, by its id or by the run's tags.
///
/// # Errors
/// When EC2 can't be asked, or refuses.
pub(super) async fn release(
    name: &str,
    ec2: &Ec2,
    thing: &Thing,
    tell: &Tell,
) -> Result<Fate, TransportError> {
    let aws = aws(name, ec2);
    if let Some(left) = aws.elsewhere(thing).await? {
        return Ok(left);
    }
    let mut found = look(&aws, name, thing).await?;
    for seconds in LOOKS {
        // One that has ended may hide another whose launch was asked for later.
        let is_known = !found.is_empty() && thing.name.starts_with("i-");
        if is_known || found.iter().any(|instance| !instance.is_over()) {
            break;
        }
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        found = look(&aws, name, thing).await?;
    }
    if let Some(other) = found.iter().find(|instance| instance.tag(RUN_TAG) != Some(&thing.run)) {
        return Ok(Fate::Left(format!("the instance {} does not carry the run's tag", other.id)));
    }
    let living: Vec<&str> =
        found.iter().filter(|instance| !instance.is_over()).map(|instance| instance.id.as_str()).collect();
    if living.is_empty() {
        return Ok(Fate::Gone);
    }
    tell(name, Said::Doing(format!("terminating {}", living.join(", "))));
    let words: Vec<&str> =
        ["ec2", "terminate-instances", "--instance-ids"].into_iter().chain(living).collect();
    match aws.ask::<Terminated>(&words).await {
        Ok(answer) if answer.is_certain() => Ok(Fate::Removed),
        Ok(_) => Ok(Fate::Left("EC2 does not say that it ends".to_owned())),
        Err(failed) if failed.code == "OperationNotPermitted" => Err(TransportError {
            hint: Some("switch its termination protection off".to_owned()),
            ..failed.error
        }),
        Err(failed) => Err(failed.into()),
    }
}

/// Everything that carries the tag of the run where the host is, for a ledger that is lost.
///
/// # Errors
/// When EC2 can't be asked.
pub(super) async fn things(name: &str, ec2: &Ec2, run: &str) -> Result<Vec<Thing>, TransportError> {
    let aws = aws(name, ec2);
    let mut found = tagged(&aws, run, None).await?;
    for seconds in LOOKS.into_iter().take(LOOKS_FOR_NOTHING) {
        if !found.is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        found = tagged(&aws, run, None).await?;
    }
    let living = found.iter().filter(|instance| !instance.is_over());
    Ok(living.map(|instance| thing(name, run, &instance.id, None)).collect())
}

fn aws(name: &str, ec2: &Ec2) -> Aws {
    Aws::new(name, ec2.region.as_ref(), ec2.profile.as_ref())
}

/// A launch by its token, or an instance by its id, as the ledger has it.
fn thing(name: &str, run: &str, id: &str, place: Option<&str>) -> Thing {
    let (host, place) = (name.to_owned(), place.map(str::to_owned));
    Thing { host, kind: Kind::Instance, name: id.to_owned(), run: run.to_owned(), place }
}

/// What there is of a thing, whatever its state.
async fn look(aws: &Aws, name: &str, thing: &Thing) -> Result<Vec<Instance>, TransportError> {
    match thing.name.starts_with("i-") {
        true => Ok(by_id(aws, &thing.name).await?.into_iter().collect()),
        false => Ok(tagged(aws, &thing.run, Some(name)).await?),
    }
}

async fn by_id(aws: &Aws, id: &str) -> Result<Option<Instance>, TransportError> {
    match aws.ask::<Described>(&["ec2", "describe-instances", "--instance-ids", id]).await {
        Ok(described) => Ok(described.into_instances().into_iter().next()),
        Err(failed) if failed.code == "InvalidInstanceID.NotFound" => Ok(None),
        Err(failed) => Err(failed.into()),
    }
}

async fn tagged(aws: &Aws, run: &str, host: Option<&str>) -> Result<Vec<Instance>, AwsError> {
    let filter = |(key, value): (&str, &str)| format!(r#"{{"Name":"tag:{key}","Values":["{value}"]}}"#);
    let filters = [(RUN_TAG, run)].into_iter().chain(host.map(|host| (HOST_TAG, host))).map(filter);
    let filters = format!("[{}]", filters.collect::<Vec<_>>().join(","));
    let described = aws.ask::<Described>(&["ec2", "describe-instances", "--filters", &filters]).await?;
    Ok(described.into_instances())
}

/// How a running instance is reached.
fn provided(
    name: &str,
    ec2: &Ec2,
    sources: &Sources,
    instance: &Instance,
) -> Result<Provided, TransportError> {
    let Some(address) = instance.address(ec2.address) else {
        let kind = if ec2.address == Some(AddressKind::Public) { "public" } else { "private" };
        return Err(TransportError {
            hint: Some("give it one in its subnet, or set `address:`".to_owned()),
            ..TransportError::new(format!("`{name}`: the instance {} has no {kind} address", instance.id))
        });
    };
    let target = SshTarget {
        name: name.to_owned(),
        address: address.to_owned(),
        port: ec2.port.as_ref().map(|port| port.value),
        user: Some(ec2.user.as_ref().map_or(USER, |user| user.as_str()).to_owned()),
        identity: ec2.identity.as_ref().map(|path| local_path(path, sources)),
        jump: ec2.jump.as_ref().map(|jump| jump.value.clone()),
        known_hosts: known_hosts(ec2.known_hosts.as_ref(), sources),
        config: None,
        reconnect: ec2.reconnect.map_or(DEFAULT_RECONNECT, |time| time.0),
    };
    let peer_address = instance.private_address().unwrap_or(address).to_owned();
    Ok(Provided { target, peer_address, provenance: instance.provenance() })
}
