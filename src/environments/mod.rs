//! What is put round a workload on its machine: nothing, or a container. An environment becomes a
//! [`Place`]: a transport and a fresh directory.

mod container;
mod leftovers;
mod removal;
mod shared;
mod task;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::hosts::{Entry, Kind, Ledger, Machine, Tasks};
use crate::spec::environment::{Environment, Fresh};
use crate::transports::docker::Container;
use crate::transports::{Transport, TransportError, job};

pub use container::Settings;
pub use leftovers::remove_left;
pub use shared::Shared;

/// Where the directories of cells are made when the file does not say.
pub const DEFAULT_WORKDIR: &str = "/var/tmp";

/// Where the commands of one cell, or of one of its services, run.
pub struct Place {
    /// Unique in the run; marks its processes.
    pub id: String,
    /// The machine below it.
    pub machine: Arc<Machine>,
    /// The way to it.
    pub transport: Arc<dyn Transport>,
    /// Its own fresh directory.
    pub directory: String,
    /// Variables for everything that runs in it.
    pub env: Vec<(String, String)>,
    /// The shell for command lines, with its options.
    pub shell: Vec<String>,
    /// The container round it.
    pub container: Option<Container>,
    /// The tasks that its commands are, on a cluster.
    pub task: Option<Arc<Tasks>>,
    /// Whether the container is for other places too, and outlives this one.
    is_shared: bool,
    made: Made,
}

/// What of a place stands in the ledger.
struct Made {
    ledger: Ledger,
    container: Option<Entry>,
    directory: Option<Entry>,
    /// Its directory as the machine sees it, where it does not go with the container.
    path: Option<String>,
    /// Whether the directory is or may be there, and ours.
    is_there: bool,
}

/// Says in `ledger` that everything with the mark of `run` on `machine` is the run's.
///
/// # Errors
/// When that can't be written; nothing may be started there then.
pub fn begin(machine: &Machine, run: &str, ledger: &Ledger) -> Result<(), TransportError> {
    if machine.cluster().is_some() {
        // What is made there says so itself.
        return Ok(());
    }
    let mark = format!("runner-{run}-");
    ledger.made(container::thing(machine, Kind::Processes, &mark, run)).map(drop)
}

/// Whether trials of a cell in this environment each get a place of their own.
pub fn is_fresh_for_each_trial(environment: &Environment) -> bool {
    environment.container.as_ref().is_some_and(|container| container.fresh == Fresh::Trial)
}

impl Place {
    /// Makes a place on `machine`, with a fresh directory in it.
    ///
    /// # Errors
    /// When the image, the container or the directory can't be made, or `stop` came before the container
    /// was made; nothing is left then.
    pub async fn enter(
        machine: &Arc<Machine>,
        settings: &Settings,
        run: &str,
        shared: &Shared,
        stop: &CancellationToken,
    ) -> Result<Place, TransportError> {
        let id = format!("runner-{run}-{}", job::next_number());
        let ledger = shared.ledger();
        if let Some(cluster) = machine.cluster() {
            return task::enter(machine, cluster, settings, id, ledger);
        }
        let is_shared = settings.container.as_ref().is_some_and(|container| container.is_shared);
        let started = match is_shared {
            true => shared.enter(machine, settings, run, &id, stop).await?,
            false => container::start(machine, settings, run, &id, ledger, stop).await?,
        };
        let (container, entry) = started.unzip();
        let transport: Arc<dyn Transport> = match &container {
            Some(container) => Arc::new(container.exec()),
            None => machine.transport.clone(),
        };
        let directory = format!("{}/{id}", settings.workdir.trim_end_matches('/'));
        let Settings { env, shell, .. } = settings.clone();
        let path = match &container {
            Some(_) => settings.on_machine(&directory),
            None => Some(directory.clone()),
        };
        let made = Made { ledger: ledger.clone(), container: entry, directory: None, path, is_there: false };
        let machine = machine.clone();
        let task = None;
        let mut place =
            Place { id, machine, transport, directory, env, shell, container, task, is_shared, made };
        match place.make_directory(settings, run).await {
            Ok(()) => Ok(place),
            Err(error) => {
                let message = format!(
                    "`{}`: can't make the directory {}: {}",
                    place.machine.name, place.directory, error.message
                );
                // The first failure is the one to tell.
                let _ = place.leave().await;
                Err(TransportError { message, ..error })
            }
        }
    }

    /// One that is there already is somebody else's, and is left alone.
    async fn make_directory(&mut self, settings: &Settings, run: &str) -> Result<(), TransportError> {
        if let Some(path) = &self.made.path {
            let thing = container::thing(&self.machine, Kind::Directory, path, run);
            self.made.directory = Some(self.made.ledger.made(thing)?);
        }
        // Without an answer it may be there.
        self.made.is_there = true;
        let (workdir, own) = (job::quote(&settings.workdir), job::quote(&self.directory));
        let script = format!(
            "why=$({{ mkdir -p {workdir} && mkdir {own}; }} 2>&1) || {{ echo \"$why\"; exit 0; }}\ncd {own}"
        );
        let refused = job::query_once(&*self.transport, &script).await?;
        match String::from_utf8_lossy(&refused).lines().next() {
            None => Ok(()),
            Some(why) => {
                self.made.is_there = false;
                Err(TransportError { message: why.to_owned(), hint: None, is_lost: false })
            }
        }
    }

    /// Ends every process of this place that is left and removes its directory and container.
    ///
    /// # Errors
    /// When the machine can't be reached or refuses.
    pub async fn leave(self) -> Result<(), TransportError> {
        if self.task.is_some() {
            return Ok(());
        }
        let Made { ledger, container: entry, directory, path, is_there } = &self.made;
        match self.container.as_ref().filter(|_| !self.is_shared) {
            None => self.sweep(&*self.transport, &self.directory).await?,
            Some(container) => {
                if path.is_some() && *is_there {
                    // What root in the container has made, others can't remove from outside; what is left is
                    // told below.
                    let _ = self.sweep(&*self.transport, &self.directory).await;
                }
                container.engine().remove_container(&container.id).await?;
                entry.inspect(|entry| ledger.released(*entry));
            }
        }
        if let (Some(path), Some(_)) = (path, &self.container) {
            self.sweep(&*self.machine.transport, path).await?;
        }
        directory.inspect(|entry| ledger.released(*entry));
        Ok(())
    }

    /// Ends the processes of this place, and removes its directory, seen as `directory` over `transport`.
    async fn sweep(&self, transport: &dyn Transport, directory: &str) -> Result<(), TransportError> {
        // A step with `sudo` may have left what only root can remove.
        let remove = match self.made.is_there {
            true => format!(
                "{}remove {} || {{ echo \"$why\" >&2; exit 1; }}",
                removal::functions(self.machine.sudo),
                job::quote(directory)
            ),
            false => String::new(),
        };
        let script = format!("{}\n{remove}", job::sweep_place(&self.id, false));
        job::query(transport, &script).await.map(drop)
    }

    /// The same for a place whose container has died: no other place gets it any more.
    ///
    /// # Errors
    /// When the engine refuses.
    pub async fn discard(mut self, shared: &Shared) -> Result<(), TransportError> {
        if let Some(container) = self.container.as_ref().filter(|_| self.is_shared) {
            shared.forget(container).await;
            self.is_shared = false;
        }
        self.leave().await
    }

    /// Whether its network is that of its machine.
    pub fn is_on_host_network(&self) -> bool {
        self.task.is_none() && self.container.as_ref().is_none_or(|container| container.network == "host")
    }
}
