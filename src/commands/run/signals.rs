//! Ctrl-C, SIGTERM and a closed terminal: once ends the run in order, twice at once.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::error::EXIT_INTERRUPTED;
use crate::hosts::Ledger;
use crate::record::RunDirectory;
use crate::transports::hurry;
use crate::ui;

/// `timeout`, a closing terminal and its shell send a signal twice at once; a person takes longer.
const AT_ONCE: Duration = Duration::from_millis(200);

/// What the run may leave behind, once it has a directory.
pub(super) type Left = Arc<OnceLock<(RunDirectory, Ledger)>>;

/// Cancels `stop` at the first signal, and `told`, which nothing else cancels; a second ends the program and says what it leaves behind.
pub(super) fn cancel_on_interrupt(stop: CancellationToken, told: CancellationToken, left: Left) {
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
            // Not `stop`: a deadline cancels it too, and to hasten that is no wish to leave.
            if asked.replace(Instant::now()).is_some() {
                if let Some((directory, ledger)) = left.get() {
                    ui::show_left(&ledger.left(), directory.path());
                }
                std::process::exit(EXIT_INTERRUPTED.into());
            }
            told.cancel();
            stop.cancel();
            hurry();
        }
    });
}
