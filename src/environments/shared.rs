//! Containers that live as long as the run: one for all places with the same settings on a machine. They stay
//! in the ledger until its end, when what is left is removed.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::{Settings, container};
use crate::hosts::{Entry, Ledger, Machine};
use crate::transports::TransportError;
use crate::transports::docker::Container;

/// What all places of a run have in common: its ledger, and the shared containers by machine and settings.
#[derive(Default)]
pub struct Shared {
    ledger: Ledger,
    containers: Mutex<BTreeMap<String, (Container, Entry)>>,
}

impl Shared {
    /// Of a run that keeps `ledger`.
    pub fn new(ledger: Ledger) -> Self {
        Shared { ledger, containers: Mutex::default() }
    }

    /// What the run has made and not removed.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub(super) async fn enter(
        &self,
        machine: &Arc<Machine>,
        settings: &Settings,
        run: &str,
        name: &str,
        stop: &CancellationToken,
    ) -> Result<Option<(Container, Entry)>, TransportError> {
        let key = format!("{} {settings:?}", machine.name);
        let mut containers = self.containers.lock().await;
        if let Some(container) = containers.get(&key) {
            return Ok(Some(container.clone()));
        }
        let started = container::start(machine, settings, run, name, &self.ledger, stop).await?;
        containers.extend(started.clone().map(|container| (key, container)));
        Ok(started)
    }

    pub(super) async fn forget(&self, gone: &Container) {
        self.containers.lock().await.retain(|_, (container, _)| container.id != gone.id);
    }
}
