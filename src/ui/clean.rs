//! What `clean` does: what was removed, and what could not be.

use std::path::Path;

use super::{PLAIN, RED, YELLOW, tell};
use crate::hosts::{Fate, Thing};

/// What became of everything that a run has left.
pub fn show_fates(directory: &Path, fates: &[(Thing, Fate)]) {
    if fates.is_empty() {
        return show_nothing(directory);
    }
    tell(&format!("{}:", directory.display()));
    let width = fates.iter().map(|(thing, _)| thing.host.len() + 1).max().unwrap_or_default();
    for (thing, fate) in fates {
        let host = format!("{:width$}", format!("{}:", thing.host));
        tell(&match fate {
            Fate::Removed => format!("  removed      {host} {thing}"),
            Fate::Gone => format!("  gone before  {host} {thing}"),
            Fate::Left(reason) => format!("  {RED}still there{PLAIN}  {host} {thing}: {reason}"),
        });
    }
}

/// That nothing is left, of one run or of all in a folder.
pub fn show_nothing(folder: &Path) {
    tell(&format!("{}: nothing is left", folder.display()));
}

/// A run that goes on.
pub fn show_live(directory: &Path) {
    let directory = directory.display();
    tell(&format!("{YELLOW}left alone{PLAIN} {directory}: a runner is at work on it"));
}

/// A host that somebody else has.
pub fn show_waiting(host: &str, holder: &str) {
    tell(&format!("{YELLOW}waiting{PLAIN} for {host}, which is locked by {holder}"));
}

/// What is done for a host, where it takes its time.
pub fn show_doing(host: &str, what: &str) {
    tell(&format!("{host}: {what}"));
}
