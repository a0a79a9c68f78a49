//! The connections to one machine. An SSH server allows only so many channels on one, so a shell or a
//! stream takes a [`Slot`] on a connection that has room, and another connection is made when none has.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use tokio::sync::{Mutex, Notify, oneshot};

use super::config::Plan;
use super::login;
use super::owner::{Command, Forward, Owner};
use super::shell::{Failure, Opening, Shell};
use crate::transports::{Input, Pipe, Program, TransportError};

/// The most channels on one connection: sshd's own limit is 10, and one that is being closed counts.
const CHANNELS: usize = 8;
/// How long to wait for room before trying once more to make another connection, and how often.
const RETRY: (Duration, u32) = (Duration::from_secs(5), 12);
/// How often a shell that never started is asked for again.
const RESTARTS: u32 = 3;

/// All connections to a machine.
pub(super) struct Pool {
    plan: Arc<Plan>,
    lanes: Mutex<Vec<Arc<Lane>>>,
    released: Arc<Notify>,
}

/// One connection, seen from outside its thread.
struct Lane {
    // Before `wake`: when its end wakes the thread, the queue must be closed already.
    commands: mpsc::Sender<Command>,
    wake: UnixStream,
    load: Arc<Load>,
}

/// How much of a connection is in use.
pub(super) struct Load {
    /// Channels in use.
    pub used: AtomicUsize,
    /// The most there may be.
    pub capacity: AtomicUsize,
    over: AtomicBool,
    released: Arc<Notify>,
}

/// The right to one channel of a connection.
pub(super) struct Slot {
    pub load: Arc<Load>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.load.used.fetch_sub(1, Ordering::SeqCst);
        self.load.released.notify_waiters();
    }
}

impl Pool {
    /// Makes the first connection.
    pub(super) async fn connect(plan: Plan) -> Result<Pool, TransportError> {
        let (plan, released) = (Arc::new(plan), Arc::new(Notify::new()));
        let lane = Lane::open(&plan, &released).await?;
        Ok(Pool { plan, lanes: Mutex::new(vec![lane]), released })
    }

    /// Starts a shell; see [`Transport::open`](crate::transports::Transport::open).
    pub(super) async fn open(&self, program: Program) -> Result<Pipe, TransportError> {
        let mut restarts = 0;
        loop {
            let (lane, slot) = self.slot().await?;
            let (opening, outcome) = Opening::new();
            let id = next_id();
            let (pipe, output) = Pipe::new(lane.input(id));
            lane.send(Command::Run(Box::new(Shell::new(id, program, opening, output)), slot));
            match outcome.await {
                Ok(Ok(())) => return Ok(pipe),
                Ok(Err(Failure::Broken(error))) => return Err(error),
                Ok(Err(Failure::Refused)) => {}
                Ok(Err(Failure::NotStarted)) if restarts < RESTARTS => restarts += 1,
                Ok(Err(Failure::NotStarted)) | Err(_) => {
                    return Err(self.plan.lost("the SSH connection was lost before a shell started", None));
                }
            }
        }
    }

    /// Connects a local socket to `remote_socket`; returns once the machine has opened it.
    pub(super) async fn forward(&self, remote_socket: &str, local: UnixStream) -> Result<(), TransportError> {
        let (lane, slot) = self.slot().await?;
        let (opened, outcome) = oneshot::channel();
        lane.send(Command::Forward(Forward { remote_socket: remote_socket.to_owned(), local, opened }, slot));
        outcome.await.unwrap_or_else(|_| Err(self.plan.lost("the SSH connection was lost", None)))
    }

    /// An error that names the machine.
    pub(super) fn fail(&self, message: impl std::fmt::Display) -> TransportError {
        self.plan.fail(message, None)
    }

    /// Room for one channel, on a new connection if need be. Waits when no new one can be made.
    async fn slot(&self) -> Result<(Arc<Lane>, Slot), TransportError> {
        let mut tries = 0;
        loop {
            let released = self.released.notified();
            let mut lanes = self.lanes.lock().await;
            lanes.retain(|lane| !lane.load.over.load(Ordering::SeqCst));
            if let Some(found) = lanes.iter().find_map(|lane| Some((Arc::clone(lane), lane.slot()?))) {
                return Ok(found);
            }
            tries += 1;
            match Lane::open(&self.plan, &self.released).await {
                Ok(lane) => lanes.push(lane),
                Err(error) if lanes.is_empty() || tries > RETRY.1 => return Err(error),
                Err(_) => {
                    drop(lanes);
                    let _ = tokio::time::timeout(RETRY.0, released).await;
                }
            }
        }
    }
}

impl Lane {
    /// Starts a thread that logs in and then serves the connection.
    async fn open(plan: &Arc<Plan>, released: &Arc<Notify>) -> Result<Arc<Lane>, TransportError> {
        let load = Arc::new(Load {
            used: AtomicUsize::new(0),
            capacity: AtomicUsize::new(CHANNELS),
            over: AtomicBool::new(false),
            released: Arc::clone(released),
        });
        let (commands, queue) = mpsc::channel();
        let (ready, logged_in) = oneshot::channel();
        let local =
            |error: std::io::Error| plan.fail(format!("no connection can be prepared: {error}"), None);
        let (wake, woken) = UnixStream::pair().map_err(local)?;
        wake.set_nonblocking(true).map_err(local)?;
        woken.set_nonblocking(true).map_err(local)?;

        let (over, plan_of_thread) = (Over(Arc::clone(&load)), Arc::clone(plan));
        let work = move || match login::log_in(&plan_of_thread) {
            Ok(link) => {
                if ready.send(Ok(())).is_ok() {
                    Owner::new(plan_of_thread, link, queue, woken).serve(over);
                }
            }
            Err(error) => drop(ready.send(Err(error))),
        };
        std::thread::Builder::new().name(format!("ssh {}", plan.target.name)).spawn(work).map_err(local)?;
        logged_in.await.unwrap_or_else(|_| Err(plan.fail("the SSH connection was given up", None)))?;
        Ok(Arc::new(Lane { commands, wake, load }))
    }

    fn slot(&self) -> Option<Slot> {
        let capacity = self.load.capacity.load(Ordering::SeqCst);
        let more = |used: usize| (used < capacity).then_some(used + 1);
        let taken = self.load.used.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more);
        taken.ok().map(|_| Slot { load: Arc::clone(&self.load) })
    }

    /// Where the input of the shell with this id goes.
    fn input(self: &Arc<Self>, id: u64) -> Input {
        let lane = Arc::clone(self);
        Input::new(move |bytes| lane.send(Command::Input(id, bytes)))
    }

    /// Queues a command. When the thread is gone, the command is dropped, and whoever waits is told.
    fn send(&self, command: Command) {
        let _ = self.commands.send(command);
        // When the pipe is full, the thread is awake anyway.
        let _ = (&self.wake).write(&[1]);
    }
}

/// Marks a connection as over when dropped, at the latest when its thread ends, however it does.
pub(super) struct Over(Arc<Load>);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::SeqCst);
        self.0.released.notify_waiters();
    }
}

fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
