//! Ctrl-C, SIGTERM and a closed terminal: once ends the run in order, twice at once.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::error::EXIT_INTERRUPTED;
use crate::transports::docker::RUN_LABEL;
use crate::ui;

/// Cancels `stop` at the first signal; a second ends the program and says what run `run` may leave.
pub(super) fn cancel_on_interrupt(stop: CancellationToken, run: String) {
    tokio::spawn(async move {
        let signals = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
        let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = signals else { return };
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
            if stop.is_cancelled() {
                ui::show_left_behind(RUN_LABEL, &run);
                std::process::exit(EXIT_INTERRUPTED.into());
            }
            stop.cancel();
        }
    });
}
