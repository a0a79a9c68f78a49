//! One connection to a forwarded socket: bytes between a local socket and a channel, and the end of
//! each direction on its own. Docker's attached streams need that: closing the input of a process must
//! not close its output.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use rustix::event::PollFlags;

use super::owner::Progress;
use super::wire::{moved, ready};

/// A local connection and its channel's two directions.
pub(super) struct Tunnel {
    local: UnixStream,
    to_remote: Vec<u8>,
    to_local: Vec<u8>,
    /// Nothing more comes from the local side.
    local_ended: bool,
    /// And the other side was told so.
    remote_told: bool,
    /// Nothing more comes from the other side, and the local one was told so.
    local_told: bool,
    /// The local side is gone altogether.
    pub hung_up: bool,
}

impl Tunnel {
    /// `local` must not block.
    pub(super) fn new(local: UnixStream) -> Tunnel {
        Tunnel {
            local,
            to_remote: Vec::new(),
            to_local: Vec::new(),
            local_ended: false,
            remote_told: false,
            local_told: false,
            hung_up: false,
        }
    }

    /// The local socket and what to wait for on it; `None` when it is gone.
    pub(super) fn interest(&self, congested: bool) -> Option<(BorrowedFd<'_>, PollFlags)> {
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::IN, self.to_remote.is_empty() && !self.local_ended && !congested);
        flags.set(PollFlags::OUT, !self.to_local.is_empty());
        (!self.hung_up).then(|| (self.local.as_fd(), flags))
    }

    /// Does what is possible now. `Err` means that the whole connection is broken.
    pub(super) fn step(
        &mut self,
        channel: &mut ssh2::Channel,
        congested: bool,
        buffer: &mut [u8],
    ) -> Result<Progress, String> {
        let sent = self.send(channel, congested, buffer)?;
        let Some(received) = self.receive(channel, buffer)? else { return Ok(Progress::Done) };
        let local_gone = self.hung_up && self.local_ended && self.to_remote.is_empty();
        let closed = self.local_told
            && ready(channel.wait_close()).map_err(|error| error.message().to_owned())?.is_some();
        if local_gone || closed || (self.local_told && self.remote_told) {
            return Ok(Progress::Done);
        }
        Ok(if sent || received { Progress::Moved } else { Progress::Idle })
    }

    /// Local to remote; true when something moved.
    fn send(
        &mut self,
        channel: &mut ssh2::Channel,
        congested: bool,
        buffer: &mut [u8],
    ) -> Result<bool, String> {
        let mut progress = false;
        if self.to_remote.is_empty() && !self.local_ended && !congested {
            match moved(self.local.read(buffer)) {
                Ok(Some(0)) => self.local_ended = true,
                Ok(Some(count)) => self.to_remote.extend_from_slice(&buffer[..count]),
                Ok(None) => {}
                Err(_) => {
                    self.local_ended = true;
                    self.hung_up = true;
                }
            }
        }
        if !self.to_remote.is_empty() && !congested {
            let written = moved(channel.write(&self.to_remote)).map_err(|error| error.to_string())?;
            progress = written.is_some();
            self.to_remote.drain(..written.unwrap_or(0));
        }
        if self.local_ended && self.to_remote.is_empty() && !self.remote_told {
            self.remote_told =
                ready(channel.send_eof()).map_err(|error| error.message().to_owned())?.is_some();
            progress |= self.remote_told;
        }
        Ok(progress)
    }

    /// Remote to local; true when something moved, `None` when the local side takes no more.
    fn receive(&mut self, channel: &mut ssh2::Channel, buffer: &mut [u8]) -> Result<Option<bool>, String> {
        let mut progress = false;
        if self.to_local.is_empty() {
            let count = moved(channel.read(buffer)).map_err(|error| error.to_string())?.unwrap_or(0);
            self.to_local.extend_from_slice(&buffer[..count]);
            progress = count > 0;
        }
        if !self.to_local.is_empty() {
            match moved(self.local.write(&self.to_local)) {
                Ok(Some(count)) => {
                    self.to_local.drain(..count);
                    progress = true;
                }
                Ok(None) => {}
                Err(_) => return Ok(None),
            }
        }
        if channel.eof() && self.to_local.is_empty() && !self.local_told {
            // An error means that the local side is gone, which shows by itself.
            let _ = self.local.shutdown(Shutdown::Write);
            self.local_told = true;
            progress = true;
        }
        Ok(Some(progress))
    }
}
