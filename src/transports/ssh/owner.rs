//! The thread that owns one SSH connection. libssh2 must not be used by two threads and its blocking
//! calls wait for remote processes, so everything here is non-blocking: commands come in by a queue,
//! every channel takes a [`Progress`] step in turn, and when none can, the thread sleeps in `poll`.

use std::collections::VecDeque;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use tokio::sync::oneshot;

use super::config::Plan;
use super::login::LoggedIn;
use super::pool::{Over, Slot};
use super::shell::{Failure, Shell};
use super::tunnel::Tunnel;
use super::wire::{self, ready};
use crate::transports::TransportError;

/// What the rest of the program can ask of a connection.
pub(super) enum Command {
    /// Start a shell.
    Run(Box<Shell>, Slot),
    /// Input for the shell with this id, or its end.
    Input(u64, Option<Vec<u8>>),
    /// Connect a local socket to the remote one of this path.
    Forward(Forward, Slot),
}

/// A tunnel to be made.
pub(super) struct Forward {
    pub remote_socket: String,
    pub local: UnixStream,
    pub opened: oneshot::Sender<Result<(), TransportError>>,
}

/// What came of one step of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// Nothing to do until something arrives.
    Idle,
    /// Something was done; there may be more.
    Moved,
    /// The channel is no longer needed.
    Done,
}

/// A channel and what it is for.
struct Task {
    channel: ssh2::Channel,
    role: Role,
    /// Held until the machine, too, regards the channel as closed, because until then it counts there.
    _slot: Slot,
}

enum Role {
    Shell(Box<Shell>),
    Tunnel(Tunnel),
    Closing,
    Closed,
}

/// The state of the thread.
pub(super) struct Owner {
    plan: Arc<Plan>,
    link: LoggedIn,
    commands: Receiver<Command>,
    /// Has a byte when there are commands, and ends with the last sender.
    wake: UnixStream,
    /// Nobody can send commands any more.
    abandoned: bool,
    /// Channels to be opened: libssh2 can open only one at a time.
    opening: VecDeque<Command>,
    tasks: Vec<Task>,
    buffer: Vec<u8>,
}

impl Owner {
    pub(super) fn new(
        plan: Arc<Plan>,
        link: LoggedIn,
        commands: Receiver<Command>,
        wake: UnixStream,
    ) -> Owner {
        let (opening, tasks) = (VecDeque::new(), Vec::new());
        Owner { plan, link, commands, wake, abandoned: false, opening, tasks, buffer: vec![0; 32 << 10] }
    }

    /// Serves until nobody needs the connection any more, or it is lost.
    pub(super) fn serve(mut self, over: Over) {
        let lost = self.turn_until_done().err();
        // Before anybody hears of it, so that nobody comes back to this connection.
        drop(over);
        if let Some(reason) = lost {
            let complaints =
                self.link.carrier.as_ref().map(|carrier| carrier.complaints()).unwrap_or_default();
            let reason = if complaints.is_empty() { reason } else { format!("{reason} ({complaints})") };
            let hint = "is the machine still on and in reach? what ran there may still run".to_owned();
            let error = self.plan.lost(format!("the SSH connection was lost: {reason}"), Some(hint));
            for task in &mut self.tasks {
                if let Role::Shell(shell) = &mut task.role {
                    shell.lose(&error);
                }
            }
        }
        let LoggedIn { session, mut wire, carrier } = self.link;
        let _ = session.disconnect(None, "done", None);
        wire.transmit();
        // In this order: without its socket, libssh2 frees channels and session without waiting.
        drop((wire, carrier));
        drop(self.tasks);
        drop(session);
    }

    fn turn_until_done(&mut self) -> Result<(), String> {
        loop {
            self.take_commands();
            self.link.wire.receive();
            self.settle()?;
            if let Some(reason) = self.link.wire.ended() {
                return Err(reason.to_owned());
            }
            if self.link.wire.silence() > self.plan.silence {
                return Err(format!("no answer for {} s", self.plan.silence.as_secs()));
            }
            let needed = self.tasks.iter().any(|task| !matches!(task.role, Role::Closing));
            if self.abandoned && self.opening.is_empty() && !needed {
                return Ok(());
            }
            let next = self.link.session.keepalive_send().map_err(|error| error.message().to_owned())?;
            self.link.wire.transmit();
            self.sleep(Duration::from_secs(u64::from(next.max(1))));
        }
    }

    fn take_commands(&mut self) {
        loop {
            match self.commands.try_recv() {
                Ok(Command::Input(id, bytes)) => self.take_input(id, bytes),
                Ok(command) => self.opening.push_back(command),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    self.abandoned = true;
                    break;
                }
            }
        }
    }

    fn take_input(&mut self, id: u64, bytes: Option<Vec<u8>>) {
        let running = self.tasks.iter_mut().filter_map(|task| match &mut task.role {
            Role::Shell(shell) => Some(shell),
            _ => None,
        });
        let waiting = self.opening.iter_mut().filter_map(|command| match command {
            Command::Run(shell, _) => Some(shell),
            _ => None,
        });
        if let Some(shell) = running.chain(waiting).find(|shell| shell.id == id) {
            shell.take_input(bytes);
        }
    }

    /// Lets everybody take steps until nobody can. Nothing arrives from the network in here, so after
    /// two rounds without progress, everything that was there has been seen by everybody.
    fn settle(&mut self) -> Result<(), String> {
        let mut idle_rounds = 0;
        while idle_rounds < 2 {
            let mut moved = self.link.wire.hand_over();
            moved |= self.open_next()?;
            self.link.wire.transmit();
            for task in &mut self.tasks {
                let congested = self.link.wire.congested();
                moved |= task.step(congested, &mut self.buffer, &self.plan)?;
                self.link.wire.transmit();
            }
            self.tasks.retain(|task| !matches!(task.role, Role::Closed));
            idle_rounds = if moved { 0 } else { idle_rounds + 1 };
        }
        Ok(())
    }

    /// Goes on with the first channel to be opened; true when it is open or refused.
    fn open_next(&mut self) -> Result<bool, String> {
        const REFUSED: ssh2::ErrorCode = ssh2::ErrorCode::Session(-21);
        let session = &self.link.session;
        let opened = match self.opening.front() {
            None => return Ok(false),
            Some(Command::Forward(forward, _)) => {
                session.channel_direct_streamlocal(&forward.remote_socket, None)
            }
            Some(_) => session.channel_session(),
        };
        let opened = match ready(opened) {
            Ok(None) => return Ok(false),
            Ok(Some(channel)) => Ok(channel),
            Err(error) if error.code() == REFUSED => Err(error),
            Err(error) => return Err(error.message().to_owned()),
        };
        match (self.opening.pop_front(), opened) {
            (Some(Command::Run(shell, slot)), Ok(channel)) => {
                self.tasks.push(Task { channel, role: Role::Shell(shell), _slot: slot });
            }
            (Some(Command::Run(mut shell, slot)), Err(error)) => {
                shell.opening.tell(Err(session_refused(&self.plan, &slot, &error)));
            }
            (Some(Command::Forward(forward, slot)), Ok(channel)) => {
                let _ = forward.opened.send(Ok(()));
                self.tasks.push(Task {
                    channel,
                    role: Role::Tunnel(Tunnel::new(forward.local)),
                    _slot: slot,
                });
            }
            (Some(Command::Forward(forward, _)), Err(error)) => {
                let _ = forward.opened.send(Err(forward_refused(&self.plan, &forward.remote_socket, &error)));
            }
            (Some(Command::Input(..)) | None, _) => {}
        }
        Ok(true)
    }

    /// Sleeps until something happens or the next deadline.
    fn sleep(&mut self, longest: Duration) {
        let deadlines = self.tasks.iter().filter_map(|task| match &task.role {
            Role::Shell(shell) => shell.deadline(),
            _ => None,
        });
        let timeout = deadlines
            .map(|deadline| deadline.saturating_duration_since(Instant::now()))
            .fold(longest, Duration::min);

        let congested = self.link.wire.congested();
        let (mut tunnels, mut fds) = (Vec::new(), Vec::new());
        for (index, task) in self.tasks.iter().enumerate() {
            if let Role::Tunnel(tunnel) = &task.role
                && let Some((local, flags)) = tunnel.interest(congested)
            {
                tunnels.push(index);
                fds.push(PollFd::from_borrowed_fd(local, flags));
            }
        }
        let (network, flags) = self.link.wire.interest();
        fds.push(PollFd::from_borrowed_fd(network, flags));
        if !self.abandoned {
            fds.push(PollFd::new(&self.wake, PollFlags::IN));
        }
        wire::wait(&mut fds, timeout);
        let gone = |fd: &PollFd<'_>| fd.revents().intersects(PollFlags::HUP | PollFlags::ERR);
        let hung_up: Vec<usize> =
            tunnels.into_iter().zip(&fds).filter(|(_, fd)| gone(fd)).map(|(index, _)| index).collect();
        drop(fds);
        for index in hung_up {
            if let Role::Tunnel(tunnel) = &mut self.tasks[index].role {
                tunnel.hung_up = true;
            }
        }
        // Empties it; at its end the queue tells that nobody is left.
        let _ = self.wake.read(&mut self.buffer);
    }
}

impl Task {
    /// One step; true when something moved.
    fn step(&mut self, congested: bool, buffer: &mut [u8], plan: &Plan) -> Result<bool, String> {
        let progress = match &mut self.role {
            Role::Shell(shell) => shell.step(&mut self.channel, congested, buffer, plan)?,
            Role::Tunnel(tunnel) => tunnel.step(&mut self.channel, congested, buffer)?,
            // Dropping a channel that the machine has not closed leaks it; `close` is done once it has.
            Role::Closing => match ready(self.channel.close()) {
                Ok(None) => Progress::Idle,
                Ok(Some(())) | Err(_) => {
                    self.role = Role::Closed;
                    Progress::Moved
                }
            },
            Role::Closed => Progress::Idle,
        };
        if progress == Progress::Done {
            self.role = Role::Closing;
        }
        Ok(progress != Progress::Idle)
    }
}

/// The machine opens no further session on this connection: with others open, another connection will
/// do.
fn session_refused(plan: &Plan, slot: &Slot, error: &ssh2::Error) -> Failure {
    let others = slot.load.used.load(Ordering::SeqCst).saturating_sub(1);
    if others > 0 {
        slot.load.capacity.fetch_min(others, Ordering::SeqCst);
        return Failure::Refused;
    }
    let hint = "does its SSH server allow sessions (`MaxSessions`)?".to_owned();
    Failure::Broken(plan.fail(format!("the machine opens no session: {}", error.message()), Some(hint)))
}

fn forward_refused(plan: &Plan, remote_socket: &str, error: &ssh2::Error) -> TransportError {
    let hint = if error.message().contains("prohibited") {
        "its SSH server must have `AllowStreamLocalForwarding yes`".to_owned()
    } else {
        format!(
            "is it there, and may `{}` use it? for Docker, put the user into the group `docker`",
            plan.user
        )
    };
    plan.fail(format!("the socket `{remote_socket}` can't be opened there: {}", error.message()), Some(hint))
}
