//! PLACEHOLDER

use super::Thing;
use super::provide::{Fate, Making, Provided, Tell};
use crate::diagnostic::Sources;
use crate::spec::host::Ec2;
use crate::transports::TransportError;

/// Launches the instance, or finds it by its id, and waits until it runs.
pub(super) async fn provide(
    name: &str,
    ec2: &Ec2,
    sources: &Sources,
    making: &Making,
) -> Result<Provided, TransportError> {
    let _ = (name, ec2, sources, making);
    Err(TransportError::new("not there yet"))
}

/// The instance, which must be running.
pub(super) async fn find(name: &str, ec2: &Ec2, sources: &Sources) -> Result<Provided, TransportError> {
    let _ = (name, ec2, sources);
    Err(TransportError::new("not there yet"))
}

/// Terminates what carries the tags of `thing`.
pub(super) async fn release(
    name: &str,
    ec2: &Ec2,
    thing: &Thing,
    tell: &Tell,
) -> Result<Fate, TransportError> {
    let _ = (name, ec2, thing, tell);
    Err(TransportError::new("not there yet"))
}
