//! Keeps a lock that was taken: when the shell that holds it is gone, since the connection was, it is taken
//! again, and until then whoever wants to use the machine waits.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{Claim, Hold, Machine, Taken, take, until_free};
use crate::transports::Transport;

/// Pauses between tries to reach a machine that is gone: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// How it stands with a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    /// The machine is ours.
    Ours,
    /// The lock was lost, and is being taken again.
    Retaking,
    /// It was lost, and somebody else has it now.
    Busy(String),
    /// The machine can't be asked; whoever uses it will hear why.
    Unreachable,
}

/// The lock of one machine. It is freed when this is dropped; [`Lock::release`] waits for that.
pub(in crate::hosts) struct Lock {
    state: watch::Receiver<State>,
    keeping: JoinHandle<()>,
    stop: DropGuard,
}

impl Lock {
    /// Keeps what was taken, until this is dropped.
    pub(super) fn keep(machine: &Machine, claim: Claim, hold: Hold) -> Lock {
        let stop = CancellationToken::new();
        let (sender, state) = watch::channel(State::Ours);
        let keeper = Keeper {
            transport: machine.transport.clone(),
            host: machine.name.clone(),
            claim,
            state: sender,
            stop: stop.clone(),
        };
        Lock { state, keeping: tokio::spawn(keeper.keep(hold)), stop: stop.drop_guard() }
    }

    /// Frees the machine.
    pub(in crate::hosts) async fn release(self) {
        drop(self.stop);
        // It only waits for the shell to end.
        let _ = self.keeping.await;
    }

    /// What to wait with before the machine is used; `tell` hears who has it meanwhile.
    pub(in crate::hosts) fn watch(&self) -> Watch {
        Watch(self.state.clone())
    }
}

/// Sees whether a machine is still ours.
pub(in crate::hosts) struct Watch(watch::Receiver<State>);

impl Watch {
    /// Returns when the machine is ours, or can't be reached; `tell` hears who has it meanwhile.
    pub(in crate::hosts) async fn until_ours(mut self, mut tell: impl FnMut(&str)) {
        loop {
            let state = self.0.borrow_and_update().clone();
            match state {
                State::Ours | State::Unreachable => return,
                State::Busy(holder) => tell(&holder),
                State::Retaking => {}
            }
            // Without its keeper the lock is given up.
            if self.0.changed().await.is_err() {
                return;
            }
        }
    }
}

struct Keeper {
    transport: Arc<dyn Transport>,
    host: String,
    claim: Claim,
    state: watch::Sender<State>,
    stop: CancellationToken,
}

impl Keeper {
    async fn keep(self, mut hold: Hold) {
        loop {
            tokio::select! {
                () = self.stop.cancelled() => return hold.release().await,
                _ = &mut hold.ended => {}
            }
            self.set(State::Retaking);
            hold = tokio::select! {
                () = self.stop.cancelled() => return,
                taken = self.retake() => taken,
            };
            self.set(State::Ours);
        }
    }

    async fn retake(&self) -> Hold {
        let mut pause = PAUSES.0;
        loop {
            match take(&self.transport, &self.claim, &self.host).await {
                Ok(Taken::Yes(hold)) => return hold,
                Ok(Taken::Busy(holder)) => {
                    self.set(State::Busy(holder.text));
                    // Where that can't be waited for, or a job is what keeps the machine, the next try tells more.
                    let _ = until_free(&self.transport).await;
                    tokio::time::sleep(PAUSES.0).await;
                    pause = PAUSES.0;
                }
                Err(_) => {
                    self.set(State::Unreachable);
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(PAUSES.1);
                }
            }
        }
    }

    fn set(&self, state: State) {
        // Nobody may look at it.
        self.state.send_replace(state);
    }
}
