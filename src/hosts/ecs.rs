//! PLACEHOLDER

use super::{Fate, Machine, Thing};
use crate::spec::Host;
use crate::spec::host::Ecs;
use crate::transports::TransportError;

/// Looks whether the cluster is there.
pub(super) async fn connect(name: &str, host: &Host, ecs: &Ecs) -> Result<Machine, TransportError> {
    let _ = (name, host, ecs);
    Err(TransportError::new("not there yet"))
}

/// Stops what is left.
pub(super) async fn release(name: &str, ecs: &Ecs, thing: &Thing) -> Result<Fate, TransportError> {
    let _ = (name, ecs, thing);
    Err(TransportError::new("not there yet"))
}
