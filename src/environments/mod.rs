//! What is put round a workload on its machine: nothing, or a container. An environment becomes a
//! [`Place`]: a transport and a fresh directory.

mod container;
mod shared;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::hosts::Machine;
use crate::spec::environment::{Environment, Fresh};
use crate::spec::host::Sudo;
use crate::transports::docker::Container;
use crate::transports::{Transport, TransportError, job};

pub use container::Settings;
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
    /// Whether the container is for other places too, and outlives this one.
    is_shared: bool,
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
        let is_shared = settings.container.as_ref().is_some_and(|container| container.is_shared);
        let container = match is_shared {
            true => shared.enter(machine, settings, run, &id, stop).await?,
            false => container::start(machine, settings, run, &id, stop).await?,
        };
        let transport: Arc<dyn Transport> = match &container {
            Some(container) => Arc::new(container.exec()),
            None => machine.transport.clone(),
        };
        let directory = format!("{}/{id}", settings.workdir.trim_end_matches('/'));
        let Settings { env, shell, .. } = settings.clone();
        let place =
            Place { id, machine: machine.clone(), transport, directory, env, shell, container, is_shared };
        let quoted = job::quote(&place.directory);
        match job::query(&*place.transport, &format!("mkdir -p {quoted} && cd {quoted}")).await {
            Ok(_) => Ok(place),
            Err(error) => {
                let message = format!(
                    "`{}`: can't make the directory {}: {}",
                    machine.name, place.directory, error.message
                );
                // The first failure is the one to tell.
                let _ = place.leave().await;
                Err(TransportError { message, ..error })
            }
        }
    }

    /// Ends every process of this place that is left and removes its directory and container.
    ///
    /// # Errors
    /// When the machine can't be reached or refuses.
    pub async fn leave(self) -> Result<(), TransportError> {
        match &self.container {
            Some(container) if !self.is_shared => container.engine().remove_container(&container.id).await,
            _ => {
                let directory = job::quote(&self.directory);
                // A step with `sudo` may have left what only root can remove.
                let by_root = match self.machine.sudo {
                    Sudo::Passwordless => format!("sudo -n rm -rf {directory} 2>/dev/null || "),
                    Sudo::None => String::new(),
                };
                let remove = format!("rm -rf {directory} 2>/dev/null || {by_root}rm -rf {directory}");
                let script = format!("{}\n{remove}", job::sweep_place(&self.id, false));
                job::query(&*self.transport, &script).await.map(drop)
            }
        }
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
        self.container.as_ref().is_none_or(|container| container.network == "host")
    }
}
