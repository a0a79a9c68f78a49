//! Where machines come from: an entry of `hosts:` becomes a connected [`Machine`].

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "this machine's surroundings")]

mod aws;
mod caches;
mod command_line;
pub mod cpu_time;
mod ec2;
mod ecs;
mod facts;
mod ledger;
mod load;
mod lock;
mod probe;
mod provide;
mod reach;
mod ssh;
mod vagrant;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use indexmap::IndexMap;
use tokio::sync::{Mutex, OnceCell};

use crate::diagnostic::Sources;
use crate::spec::host::{Host, Kind as HostKind, Sudo};
use crate::spec::{LOCALHOST, Spec};
use crate::transports::docker::Engine;
use crate::transports::local::Local;
use crate::transports::ssh::SshConnection;
use crate::transports::{Transport, TransportError, job};

pub use caches::{CacheFigures, drop_caches};
pub use ecs::{Cluster, TaskSettings, Tasks};
pub use facts::{facts, place_facts};
pub use ledger::{Entry, Kind, Ledger, Thing, variables_of};
pub use load::{Activity, activity};
use lock::Lock;
pub use lock::{Claim, lock_all};
pub use probe::{Sensors, degrees, find_probes, temperature};
use provide::Provided;
pub use provide::{Fate, Making, Said, Tell, foresee, is_kept, provide, release, things_tagged};
pub use reach::{Clock, Needs, Reached, Workdir, reach};
pub use ssh::local_path;

/// A machine that commands can be run on.
pub struct Machine {
    /// Its name in the experiment.
    pub name: String,
    /// The way to it.
    pub transport: Arc<dyn Transport>,
    /// How other hosts reach it.
    pub peer_address: String,
    /// Whether commands may become root.
    pub sudo: Sudo,
    /// Files whose first lines tell what disturbs a measurement; none until [`find_probes`].
    pub probes: Vec<String>,
    /// What is known of them.
    pub sensors: Sensors,
    /// Where it came from, by name: instance type, image, box, …; nothing for a machine that was there.
    pub provenance: IndexMap<String, String>,
    way: Way,
    engine: OnceCell<Engine>,
    lock: StdMutex<Option<Lock>>,
}

/// How it is reached.
enum Way {
    Local,
    Ssh(SshConnection),
    Ecs(Arc<Cluster>),
    Fake,
}

/// Connects to the host `name` of a checked experiment, which must be there already; see [`provide`] for one that
/// may have to be made.
///
/// # Errors
/// When it can't be reached or does not let us in.
pub async fn connect(name: &str, host: &Host, sources: &Sources) -> Result<Machine, TransportError> {
    let provided = match host.kind() {
        HostKind::Local => {
            let peer_address = peer_address(host, own_address());
            return Ok(Machine::new(name, Way::Local, Local::shared(), peer_address, sudo(host)));
        }
        HostKind::Ssh(fields) => Provided {
            target: ssh::target(name, fields, sources),
            peer_address: fields.address.value.clone(),
            provenance: IndexMap::new(),
        },
        HostKind::Vagrant(vagrant) => vagrant::find(name, vagrant, sources).await?,
        HostKind::Ec2(ec2) => ec2::find(name, ec2, sources).await?,
        HostKind::Ecs(ecs) => return ecs::connect(name, host, ecs, None).await,
    };
    machine(name, host, provided).await
}

/// The machine that runs `runner`, as `spec` names it, else as `localhost`.
pub fn this_machine(spec: &Spec) -> Machine {
    let declared = spec.hosts.iter().find(|(_, host)| matches!(host.kind(), HostKind::Local));
    let (name, sudo) =
        declared.map_or((LOCALHOST, Sudo::default()), |(name, host)| (name.as_str(), sudo(host)));
    Machine::new(name, Way::Local, Local::shared(), "127.0.0.1".into(), sudo)
}

/// Connects to a machine that is up.
async fn machine(name: &str, host: &Host, provided: Provided) -> Result<Machine, TransportError> {
    let Provided { target, peer_address: address, provenance } = provided;
    let connection = SshConnection::connect(&target).await?;
    let way = Way::Ssh(connection.clone());
    let machine = Machine::new(name, way, Arc::new(connection), peer_address(host, address), sudo(host));
    Ok(Machine { provenance, ..machine })
}

fn peer_address(host: &Host, address: String) -> String {
    host.peer_address.as_ref().map_or(address, |address| address.value.clone())
}

fn sudo(host: &Host) -> Sudo {
    host.sudo.unwrap_or_default()
}

impl Machine {
    fn new(name: &str, way: Way, transport: Arc<dyn Transport>, peer_address: String, sudo: Sudo) -> Self {
        let (name, engine, lock) = (name.to_owned(), OnceCell::new(), StdMutex::default());
        let (probes, sensors, provenance) = (Vec::new(), Sensors::default(), IndexMap::new());
        Machine { name, transport, peer_address, sudo, probes, sensors, provenance, way, engine, lock }
    }

    /// A machine that only answers as `fake` was told, whatever way there is to it.
    pub fn fake(name: &str, fake: impl Transport + 'static) -> Self {
        Machine::new(name, Way::Fake, Arc::new(fake), name.to_owned(), Sudo::Passwordless)
    }

    /// The cluster that it is, where tasks are all that it runs: it has no shell then, no processes of its own and no
    /// files.
    pub fn cluster(&self) -> Option<&Arc<Cluster>> {
        match &self.way {
            Way::Ecs(cluster) => Some(cluster),
            Way::Local | Way::Ssh(_) | Way::Fake => None,
        }
    }

    /// Its Docker Engine, connected when first asked for.
    ///
    /// # Errors
    /// When it has none that answers.
    pub async fn engine(&self) -> Result<&Engine, TransportError> {
        const SOCKET: &str = "/var/run/docker.sock";
        let reconnect = self.transport.reconnect();
        self.engine
            .get_or_try_init(|| async {
                match &self.way {
                    Way::Local => Engine::connect(&self.name, SOCKET, None, reconnect).await,
                    Way::Ssh(connection) => {
                        let forwarded = connection.forward_unix(SOCKET).await?;
                        let path = forwarded.path().to_string_lossy().into_owned();
                        Engine::connect(&self.name, &path, Some(forwarded), reconnect).await
                    }
                    Way::Ecs(_) => Err(TransportError::new("a cluster of ECS has no engine")),
                    Way::Fake => Err(TransportError::new("a fake machine has no engine")),
                }
            })
            .await
    }

    /// Its engine, if something has asked for it before.
    pub fn engine_in_use(&self) -> Option<&Engine> {
        self.engine.get()
    }

    /// Keeps its lock from now on.
    fn hold(&self, lock: Lock) {
        *self.lock.lock().unwrap_or_else(PoisonError::into_inner) = Some(lock);
    }

    /// Returns when its lock is ours, at once where it is not locked by us at all; a connection that was lost
    /// may have given it to somebody else, whom `tell` then hears of.
    pub async fn until_ours(&self, tell: impl FnMut(&str)) {
        let watch = self.lock.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(Lock::watch);
        if let Some(watch) = watch {
            watch.until_ours(tell).await;
        }
    }

    /// Lets others use it.
    pub async fn unlock(&self) {
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(lock) = lock {
            lock.release().await;
        }
    }

    /// A TCP port that nothing listens on and that was not given away before.
    ///
    /// # Errors
    /// When the machine can't be asked.
    pub async fn free_port(&self) -> Result<u16, TransportError> {
        /// Of all machines: two of them can be one, or share an engine.
        static GIVEN: Mutex<BTreeSet<u16>> = Mutex::const_new(BTreeSet::new());
        // Below the range from which the kernel takes ports for outgoing connections.
        const RANGE: std::ops::Range<u16> = 20_000..32_000;
        if self.cluster().is_some() {
            // Each task has a network of its own.
            return Ok(RANGE.start);
        }
        let printed = job::query(&*self.transport, "cat /proc/net/tcp /proc/net/tcp6 2>/dev/null; :").await?;
        let listening = listening_ports(&String::from_utf8_lossy(&printed));
        let mut given = GIVEN.lock().await;
        let start = RANGE.start + (std::process::id() as u16 % 1000) * 11;
        let port = (start..RANGE.end)
            .chain(RANGE.start..start)
            .find(|port| !listening.contains(port) && !given.contains(port));
        let port = port.ok_or_else(|| TransportError {
            message: format!("`{}`: no port is free", self.name),
            hint: None,
            is_lost: false,
        })?;
        given.insert(port);
        Ok(port)
    }
}

/// The ports in state LISTEN of a /proc/net/tcp table.
fn listening_ports(table: &str) -> BTreeSet<u16> {
    let port = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        let local = words.next()?;
        let state = words.nth(1)?;
        (state == "0A").then_some(())?;
        u16::from_str_radix(local.rsplit_once(':')?.1, 16).ok()
    };
    table.lines().filter_map(port).collect()
}

/// The address that packets to other machines leave from; no packet is sent to find it.
fn own_address() -> String {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
        socket.connect("192.0.2.1:9")?;
        socket.local_addr()
    });
    socket.map_or_else(|_| "127.0.0.1".into(), |address| address.ip().to_string())
}

#[cfg(test)]
mod tests {
    use super::listening_ports;

    #[test]
    fn listening_ports_of_proc_net_tcp() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid
   0: 00000000:1451 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000
   1: 0100007F:0016 0100007F:D431 01 00000000:00000000 00:00000000 00000000     0
   2: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A 00000000:00000000";
        assert_eq!(listening_ports(table).into_iter().collect::<Vec<_>>(), [80, 5201]);
    }
}
