//! A Docker Engine, on this machine or behind an SSH host's forwarded socket: images, networks,
//! containers, and commands in them. All of bollard stays in this folder. Read [`Engine`] first.

mod container;
mod end;
mod exec;
mod image;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use bollard::Docker;
use bollard::errors::Error;
use tokio::sync::Mutex;

use super::TransportError;
use super::ssh::ForwardedSocket;

pub use container::{Container, ContainerOptions};
pub use end::End;
pub use exec::DockerExec;
pub use image::Pull;

/// The label that every container and network of ours carries; its value is the run.
pub const RUN_LABEL: &str = "org.runner.run";
/// The longest wait for the engine's answer to one request, in seconds.
const REQUEST_TIMEOUT_S: u64 = 120;

/// A connection to a Docker Engine; cheap to clone.
#[derive(Clone)]
pub struct Engine {
    docker: Docker,
    /// Identifies the engine: two hosts may share one.
    pub id: String,
    /// Its version, e.g. `20.10.24`.
    pub version: String,
    machine: String,
    /// How long a lost way to it is looked for.
    reconnect: Duration,
    /// What was pulled here, as it is described in messages.
    pulled: Arc<Mutex<BTreeSet<String>>>,
    _socket: Option<Arc<ForwardedSocket>>,
}

impl Engine {
    /// Connects to the engine behind `socket`; `forwarded` keeps the way to it open, and `reconnect` says how
    /// long that is looked for when it is lost.
    ///
    /// # Errors
    /// When nothing answers there.
    pub async fn connect(
        machine: &str,
        socket: &str,
        forwarded: Option<ForwardedSocket>,
        reconnect: Duration,
    ) -> Result<Self, TransportError> {
        let unreachable = |error: Error| TransportError {
            message: format!("`{machine}`: no Docker Engine answers: {}", told(&error)),
            hint: Some("install and start Docker there, and put the user into the group `docker`".into()),
            is_lost: false,
        };
        let docker = Docker::connect_with_unix(socket, REQUEST_TIMEOUT_S, bollard::API_DEFAULT_VERSION)
            .map_err(unreachable)?;
        let docker = docker.negotiate_version().await.map_err(unreachable)?;
        let info = docker.info().await.map_err(unreachable)?;
        Ok(Engine {
            docker,
            id: info.id.unwrap_or_default(),
            version: info.server_version.unwrap_or_default(),
            machine: machine.to_owned(),
            reconnect,
            pulled: Arc::default(),
            _socket: forwarded.map(Arc::new),
        })
    }

    /// Makes sure that `network` exists; one that does not is made for run `run`. Returns whether it is the
    /// run's: one that was there is not, unless the run has made it before.
    ///
    /// # Errors
    /// When the engine refuses.
    pub async fn ensure_network(&self, network: &str, run: &str) -> Result<bool, TransportError> {
        if ["host", "none", "bridge", "default"].contains(&network) || network.starts_with("container:") {
            return Ok(false);
        }
        match self.docker.inspect_network(network, None).await {
            Ok(found) => {
                let label = found.labels.and_then(|mut labels| labels.remove(RUN_LABEL));
                Ok(label.is_some_and(|label| label == run))
            }
            Err(error) if is_missing(&error) => {
                let request = bollard::models::NetworkCreateRequest {
                    name: network.to_owned(),
                    labels: Some(labels(run)),
                    ..Default::default()
                };
                self.docker
                    .create_network(request)
                    .await
                    .map(|_| true)
                    .map_err(|error| self.failed("make network", network, &error))
            }
            Err(error) => Err(self.failed("look up network", network, &error)),
        }
    }

    /// Removes every container and network that run `run` made on this engine and that is still there, and
    /// adds the names of those to `found`.
    ///
    /// # Errors
    /// The first refusal; the rest is removed all the same.
    pub async fn remove_all(&self, run: &str, found: &mut BTreeSet<String>) -> Result<(), TransportError> {
        let filters = HashMap::from([("label".to_owned(), vec![format!("{RUN_LABEL}={run}")])]);
        let options = bollard::query_parameters::ListContainersOptionsBuilder::new()
            .all(true)
            .filters(&filters)
            .build();
        let containers = self.docker.list_containers(Some(options)).await;
        let mut result =
            containers.as_ref().map(drop).map_err(|error| self.failed("list", "containers", error));
        for container in containers.unwrap_or_default() {
            let Some(id) = container.id else { continue };
            let called = container.names.unwrap_or_default();
            found.extend(called.iter().map(|name| name.trim_start_matches('/').to_owned()));
            result = result.and(self.remove_container(&id).await);
        }
        let options = bollard::query_parameters::ListNetworksOptionsBuilder::new().filters(&filters).build();
        for name in self
            .docker
            .list_networks(Some(options))
            .await
            .unwrap_or_default()
            .into_iter()
            .filter_map(|network| network.name)
        {
            let removed = self.docker.remove_network(&name).await;
            result = result.and(removed.map_err(|error| self.failed("remove network", &name, &error)));
            found.insert(name);
        }
        result
    }

    fn failed(&self, action: &str, what: &str, error: &Error) -> TransportError {
        TransportError {
            message: format!("`{}`: can't {action} `{what}`: {}", self.machine, told(error)),
            hint: None,
            is_lost: is_lost(error),
        }
    }
}

fn labels(run: &str) -> HashMap<String, String> {
    HashMap::from([(RUN_LABEL.to_owned(), run.to_owned())])
}

fn is_missing(error: &Error) -> bool {
    matches!(error, Error::DockerResponseServerError { status_code: 404, .. })
}

/// Whether it is a matter of the way to the engine: nothing that the engine itself has said.
fn is_lost(error: &Error) -> bool {
    !matches!(error, Error::DockerResponseServerError { .. })
}

/// The engine's own words.
fn told(error: &Error) -> String {
    match error {
        Error::DockerResponseServerError { message, .. } => message.clone(),
        Error::SocketNotFoundError(path) => format!("{path} is not there"),
        other => {
            let mut text = other.to_string();
            let mut cause = std::error::Error::source(other);
            while let Some(next) = cause {
                text = format!("{text}: {next}");
                cause = next.source();
            }
            text
        }
    }
}
