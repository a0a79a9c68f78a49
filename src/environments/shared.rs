//! Containers that live as long as the run: one for all places with the same settings on a machine. The
//! engine's clean-up at the end of the run removes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::{Settings, container};
use crate::hosts::Machine;
use crate::transports::TransportError;
use crate::transports::docker::Container;

/// The shared containers of a run, by machine and settings.
#[derive(Default)]
pub struct Shared(Mutex<BTreeMap<String, Container>>);

impl Shared {
    pub(super) async fn enter(
        &self,
        machine: &Arc<Machine>,
        settings: &Settings,
        run: &str,
        name: &str,
        stop: &CancellationToken,
    ) -> Result<Option<Container>, TransportError> {
        let key = format!("{} {settings:?}", machine.name);
        let mut containers = self.0.lock().await;
        if let Some(container) = containers.get(&key) {
            return Ok(Some(container.clone()));
        }
        let started = container::start(machine, settings, run, name, stop).await?;
        containers.extend(started.clone().map(|container| (key, container)));
        Ok(started)
    }

    pub(super) async fn forget(&self, gone: &Container) {
        self.0.lock().await.retain(|_, container| container.id != gone.id);
    }
}
