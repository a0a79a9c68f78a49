//! What limits a trial and a run, as the file says it or by default: how often a trial is tried again and
//! when, how long it may take, and what its failure means for the others.

use std::time::Duration;

use super::{Cause, Run, cell};
use crate::plan::Cell;
use crate::spec::{OnFailure, TimeSpan};

/// How often a trial is tried again when the file does not say.
pub const DEFAULT_RETRIES: u32 = 2;
/// The wait before the first retry; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The longest wait before a retry.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// How often a trial of `cell` may be tried again.
pub(super) fn retries(run: &Run, cell: &Cell) -> u32 {
    let own = cell::workload(run, cell).retries.as_ref().or(run.spec.retries.as_ref());
    own.map_or(DEFAULT_RETRIES, |count| count.value)
}

/// The wait before retry number `retry`, from 1.
pub(super) fn wait_before(retry: u32) -> Duration {
    FIRST_WAIT.saturating_mul(1 << retry.saturating_sub(1).min(16)).min(LONGEST_WAIT)
}

/// The longest time of a whole trial of `cell`, if it has one.
pub(super) fn trial_timeout(run: &Run, cell: &Cell) -> Option<TimeSpan> {
    let own = cell::workload(run, cell).trial_timeout.as_ref().or(run.spec.trial_timeout.as_ref());
    own.map(|time| time.value)
}

/// Whether the run stops when a trial of `cell` has failed for good.
pub(super) fn stops_on_failure(run: &Run, cell: &Cell) -> bool {
    let own = cell::workload(run, cell).on_failure.as_ref().or(run.spec.on_failure.as_ref());
    own.is_some_and(|word| word.value == OnFailure::Stop)
}

/// Returns when the time of the run is over, with the words for it; never when it has no limit.
pub(super) async fn over(deadline: Option<TimeSpan>) -> String {
    match deadline {
        Some(time) => tokio::time::sleep(time.0).await,
        None => std::future::pending().await,
    }
    format!("its deadline of {}", deadline.unwrap_or_default())
}

impl Cause {
    /// Whether it may have passed when the trial is tried again.
    pub(super) fn may_pass(self) -> bool {
        match self {
            Cause::Connection | Cause::NotReady | Cause::Busy => true,
            Cause::Other => false,
        }
    }

    /// The cause that the words of a program or of an engine tell: somebody else has what was wanted.
    pub(super) fn of_words(words: &str) -> Self {
        const BUSY: [&str; 6] = [
            "address already in use",
            "port is already allocated",
            "text file busy",
            "device or resource busy",
            "resource temporarily unavailable",
            "is already in use by container",
        ];
        let words = words.to_lowercase();
        if BUSY.iter().any(|busy| words.contains(busy)) { Cause::Busy } else { Cause::Other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_limit() {
        let waits: Vec<u64> = (1..=7).map(|retry| wait_before(retry).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30]);
        assert_eq!(wait_before(u32::MAX), LONGEST_WAIT);
    }

    #[test]
    fn words_tell_what_is_busy() {
        for (words, cause) in [
            ("bind: Address already in use", Cause::Busy),
            ("sh: 1: ./tool: Text file busy", Cause::Busy),
            ("Bind for 0.0.0.0:80 failed: port is already allocated", Cause::Busy),
            ("no such file or directory", Cause::Other),
            ("", Cause::Other),
        ] {
            assert_eq!(Cause::of_words(words), cause, "{words}");
        }
    }
}
