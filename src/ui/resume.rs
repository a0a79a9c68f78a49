//! What a person reads of a run that is gone on with, and how to go on with one.

use std::path::Path;

use super::{BOLD, PLAIN, YELLOW, inform, tell};

/// How much of a run earlier sittings have done, warm-up included.
pub struct Done<'a> {
    /// Where it lies.
    pub directory: &'a Path,
    /// How many trials there are.
    pub trials: usize,
    /// How many of them are over.
    pub done: usize,
    /// How many of those failed.
    pub failed: usize,
    /// Whether failed trials are run again.
    pub again: bool,
}

/// Says from where a run goes on.
pub fn show_done(done: &Done<'_>) {
    let Done { directory, trials, done, failed, again } = done;
    let directory = directory.display();
    let failed_too = match failed {
        0 => String::new(),
        failed => format!(", {failed} of them failed"),
    };
    match trials - done {
        0 => inform(&format!(
            "nothing is missing of {directory}: {done} of {trials} trials are done{failed_too}"
        )),
        due => inform(&format!(
            "going on with {directory}: {done} of {trials} trials are done{failed_too}, {due} are due"
        )),
    }
    if *failed > 0 && !again {
        inform(&format!("{BOLD}help{PLAIN}: `--failed` runs failed trials again"));
    }
}

/// Says that a record was not whole.
pub fn show_torn(records: &Path) {
    tell(&format!(
        "{YELLOW}warning{PLAIN}: the last line of `{}` was half-written and is cut off; its trial is run again",
        records.display()
    ));
}

/// Says which changes of the experiment were accepted.
pub fn show_accepted(changes: &[String]) {
    inform(&format!("{YELLOW}accepted{PLAIN}: the experiment has changed\n  {}", changes.join("\n  ")));
}

/// Says how to go on with an interrupted run.
pub fn show_how_to_go_on(command: &str) {
    tell(&format!("{BOLD}help{PLAIN}: go on with `{command}`"));
}
