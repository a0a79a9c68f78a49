//! What is put round a workload on its machine: nothing, or a container. An environment becomes a
//! [`Place`]: a transport and a fresh directory.

mod container;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::hosts::Machine;
use crate::spec::environment::{Environment, Fresh};
use crate::transports::docker::Container;
use crate::transports::{Transport, TransportError, job};

pub use container::Settings;

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
    /// The container round it.
    pub container: Option<Container>,
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
        stop: &CancellationToken,
    ) -> Result<Place, TransportError> {
        let id = format!("runner-{run}-{}", job::next_number());
        let container = container::start(machine, settings, run, &id, stop).await?;
        let transport: Arc<dyn Transport> = match &container {
            Some(container) => Arc::new(container.exec()),
            None => machine.transport.clone(),
        };
        let directory = format!("{}/{id}", settings.workdir.trim_end_matches('/'));
        let place = Place { id, machine: machine.clone(), transport, directory, container };
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
            Some(container) => container.engine().remove_container(&container.id).await,
            None => {
                let script =
                    format!("{}\nrm -rf {}", job::sweep_place(&self.id, false), job::quote(&self.directory));
                job::query(&*self.transport, &script).await.map(drop)
            }
        }
    }

    /// Whether its network is that of its machine.
    pub fn is_on_host_network(&self) -> bool {
        self.container.as_ref().is_none_or(|container| container.network == "host")
    }
}
