//! A container on a cluster of ECS: each command in it is a task, so there is nothing to make before and nothing to
//! remove after.

use std::sync::Arc;

use super::{Made, Place, Settings};
use crate::hosts::{Cluster, Ledger, Machine, TaskSettings};
use crate::spec::TaskSize;
use crate::transports::TransportError;

/// The place of tasks with these settings on `machine`, which is the cluster.
///
/// # Errors
/// When there can be no such task.
pub(super) fn enter(
    machine: &Arc<Machine>,
    cluster: &Arc<Cluster>,
    settings: &Settings,
    id: String,
    ledger: &Ledger,
) -> Result<Place, TransportError> {
    let refused = |reason: String| TransportError::new(format!("`{}`: {reason}", machine.name));
    let Some(container) = &settings.container else {
        return Err(refused("nothing is native on a cluster of ECS".into()));
    };
    let (Some(cpus), Some(memory)) = (container.options.cpus, container.options.memory) else {
        return Err(refused("a task needs `cpus` and `memory`".into()));
    };
    let size = match cluster.is_fargate() {
        true => TaskSize::fargate(cpus, memory),
        false => Ok(TaskSize::any(cpus, memory)),
    };
    let (image, user) = (container.options.image.clone(), container.options.user.clone());
    let tasks = cluster.tasks(TaskSettings { image, user, size: size.map_err(refused)? });
    let directory = format!("{}/{id}", settings.workdir.trim_end_matches('/'));
    let Settings { env, shell, .. } = settings.clone();
    let made = Made { ledger: ledger.clone(), container: None, directory: None, path: None, is_there: false };
    let machine = Arc::clone(machine);
    let (transport, task) = (tasks.clone(), Some(tasks));
    Ok(Place { id, machine, transport, directory, env, shell, container: None, task, is_shared: false, made })
}
