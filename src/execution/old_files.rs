//! Files that metrics are read from. One of an earlier trial is removed before the next: a tool that ends well
//! without writing anything must not give an old number a second time.

use super::Failure;
use super::step::Surroundings;
use crate::event::Stage;
use crate::spec::Workload;
use crate::spec::metric::Source;
use crate::transports::job::{self, quote};

/// Removes the files that the metrics of `workload` are read from.
///
/// # Errors
/// When one is there and stays.
pub(super) async fn remove(workload: &Workload, around: &Surroundings<'_>) -> Result<(), Failure> {
    let sources = workload.metrics.extract.values().map(|rule| rule.source());
    let quoted: String = sources
        .filter_map(|source| match source {
            Source::File(path) => Some(format!(" {}", quote(&format!("./{path}")))),
            Source::Own(_) | Source::Service { .. } => None,
        })
        .collect();
    if quoted.is_empty() {
        return Ok(());
    }
    let place = around.place;
    let script = format!("cd {} && rm -f --{quoted}", quote(&place.directory));
    let removed = job::query(&*place.transport, &script).await;
    let what = "can't remove the result of an earlier trial: ";
    removed.map(drop).map_err(|error| Failure::of(Stage::Prepare, what, &error))
}
