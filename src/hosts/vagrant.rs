//! PLACEHOLDER

use super::Thing;
use super::provide::{Fate, Making, Provided, Tell};
use crate::diagnostic::Sources;
use crate::spec::host::Vagrant;
use crate::transports::TransportError;

/// Brings the machine up, if it is not running.
pub(super) async fn provide(
    name: &str,
    vagrant: &Vagrant,
    sources: &Sources,
    making: &Making,
) -> Result<Provided, TransportError> {
    let _ = (name, vagrant, sources, making);
    Err(TransportError::new("not there yet"))
}

/// The machine, which must be running.
pub(super) async fn find(
    name: &str,
    vagrant: &Vagrant,
    sources: &Sources,
) -> Result<Provided, TransportError> {
    let _ = (name, vagrant, sources);
    Err(TransportError::new("not there yet"))
}

/// Does with the machine what the ledger says of it.
pub(super) async fn release(
    name: &str,
    vagrant: &Vagrant,
    sources: &Sources,
    thing: &Thing,
    tell: &Tell,
) -> Result<Fate, TransportError> {
    let _ = (name, vagrant, sources, thing, tell);
    Err(TransportError::new("not there yet"))
}
