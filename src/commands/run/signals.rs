//! Ctrl-C, SIGTERM and a closed terminal: once ends the run in order, twice at once.

use std::time::{Duration, Instant};

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::error::EXIT_INTERRUPTED;
use crate::transports::docker::RUN_LABEL;
use crate::ui;

/// `timeout`, a closing terminal and its shell send a signal twice at once; a person takes longer.
const AT_ONCE: Duration = Duration::from_secs(1);

/// Cancels `stop` at the first signal; a second ends the program and says what run `run` may leave.
pub(super) fn cancel_on_interrupt(stop: CancellationToken, run: String) {
    tokio::spawn(async move {
        let signals = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
        let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = signals else { return };
        let mut asked: Option<Instant> = None;
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
            if asked.is_some_and(|asked| asked.elapsed() < AT_ONCE) {
                continue;
            }
            asked = Some(Instant::now());
            if stop.is_cancelled() {
                ui::show_left_behind(RUN_LABEL, &run);
                std::process::exit(EXIT_INTERRUPTED.into());
            }
            stop.cancel();
        }
    });
}
