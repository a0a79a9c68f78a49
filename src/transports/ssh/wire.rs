//! The bytes between libssh2 and the network. libssh2 talks to one end of a socket pair; [`Wire`] moves
//! what it says to the network and back.
//!
//! Why not give libssh2 the network socket? It has two traps for a program with several channels.
//! Half a packet that the socket did not take can only be finished by the very same call, all others
//! wait for that; with a pair that is emptied after every call, no packet is ever halved. And a call
//! on one channel may take in what another channel waits for, after that one was asked; with a pair,
//! nothing new can arrive while the channels are asked in turn, so "nobody moved" is certain.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};

/// How much may wait in one direction before its source is left alone.
const ENOUGH: usize = 256 << 10;
/// Room in the pair for everything one call into libssh2 can write.
const PAIR_BUFFER: usize = 512 << 10;

/// The connection below a libssh2 session.
pub(super) struct Wire {
    network: File,
    pair: UnixStream,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
    heard: Instant,
    ended: Option<String>,
}

/// Why [`Wire::complete`] gave up.
pub(super) enum Trouble {
    /// libssh2 says no.
    Ssh(ssh2::Error),
    /// The network connection ended.
    Ended(String),
    /// The deadline passed.
    TimedOut,
}

impl Wire {
    /// Wraps a connected socket; the second value is the end for libssh2.
    pub(super) fn new(network: OwnedFd) -> io::Result<(Wire, UnixStream)> {
        let (pair, inner) = UnixStream::pair()?;
        for end in [&pair, &inner] {
            end.set_nonblocking(true)?;
            rustix::net::sockopt::set_socket_send_buffer_size(end, PAIR_BUFFER)?;
        }
        rustix::io::ioctl_fionbio(&network, true)?;
        let wire = Wire {
            network: File::from(network),
            pair,
            incoming: Vec::new(),
            outgoing: Vec::new(),
            heard: Instant::now(),
            ended: None,
        };
        Ok((wire, inner))
    }

    /// Takes in what the network has and hands it to libssh2.
    pub(super) fn receive(&mut self) {
        while self.ended.is_none() && self.incoming.len() < ENOUGH {
            let before = self.incoming.len();
            let ended = match take(&mut self.network, &mut self.incoming) {
                Ok(true) => Some("the other side closed the connection".to_owned()),
                Ok(false) => None,
                Err(error) => Some(error.to_string()),
            };
            self.ended = ended;
            if self.incoming.len() == before {
                break;
            }
            self.heard = Instant::now();
        }
        self.hand_over();
    }

    /// Hands to libssh2 what the pair has room for; false when there was nothing to do.
    pub(super) fn hand_over(&mut self) -> bool {
        matches!(give(&mut self.pair, &mut self.incoming), Ok(count) if count > 0)
    }

    /// Sends what libssh2 wrote, as far as the network takes it. To be called after every call into
    /// libssh2 that may write.
    pub(super) fn transmit(&mut self) {
        // An error of the pair cannot happen while the session lives.
        let _ = take(&mut self.pair, &mut self.outgoing);
        if let Err(error) = give(&mut self.network, &mut self.outgoing) {
            self.ended.get_or_insert_with(|| error.to_string());
        }
    }

    /// True when the network is behind: channels then send no more data.
    pub(super) fn congested(&self) -> bool {
        self.outgoing.len() >= ENOUGH
    }

    /// Why the network connection is over. What came before the end may still wait to be taken.
    pub(super) fn ended(&self) -> Option<&str> {
        self.ended.as_deref()
    }

    /// How long the other side has said nothing.
    pub(super) fn silence(&self) -> Duration {
        self.heard.elapsed()
    }

    /// The network socket, and what to wait for on it.
    pub(super) fn interest(&self) -> (BorrowedFd<'_>, PollFlags) {
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::IN, self.incoming.len() < ENOUGH);
        flags.set(PollFlags::OUT, !self.outgoing.is_empty());
        (self.network.as_fd(), flags)
    }

    /// Repeats a call until libssh2 needs nothing more from the network for it.
    pub(super) fn complete<T>(
        &mut self,
        deadline: Instant,
        mut call: impl FnMut() -> Result<T, ssh2::Error>,
    ) -> Result<T, Trouble> {
        loop {
            let result = call();
            self.transmit();
            match ready(result) {
                Ok(Some(value)) => return Ok(value),
                Ok(None) => {}
                Err(error) => return Err(Trouble::Ssh(error)),
            }
            if let Some(reason) = self.ended() {
                return Err(Trouble::Ended(reason.to_owned()));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Trouble::TimedOut);
            }
            let (network, flags) = self.interest();
            wait(&mut [PollFd::from_borrowed_fd(network, flags)], left);
            self.receive();
        }
    }
}

/// `None` when libssh2 needs more from the network first.
pub(super) fn ready<T>(result: Result<T, ssh2::Error>) -> Result<Option<T>, ssh2::Error> {
    const AGAIN: ssh2::ErrorCode = ssh2::ErrorCode::Session(-37);
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.code() == AGAIN => Ok(None),
        Err(error) => Err(error),
    }
}

/// The same for reads and writes: `None` when it would block.
pub(super) fn moved(result: io::Result<usize>) -> io::Result<Option<usize>> {
    match result {
        Ok(count) => Ok(Some(count)),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Waits for an event on one of `fds`, at most `timeout`.
pub(super) fn wait(fds: &mut [PollFd<'_>], timeout: Duration) {
    let timeout =
        Timespec { tv_sec: timeout.as_secs().min(3600) as i64, tv_nsec: timeout.subsec_nanos().into() };
    // What fails is only a signal in between; the caller looks again in any case.
    let _ = rustix::event::poll(fds, Some(&timeout));
}

/// Reads what is there, at most about [`ENOUGH`]; true at the end of the stream.
fn take(source: &mut impl Read, into: &mut Vec<u8>) -> io::Result<bool> {
    let mut buffer = [0; 32 << 10];
    let start = into.len();
    while into.len() - start < ENOUGH {
        match moved(source.read(&mut buffer))? {
            Some(0) => return Ok(true),
            Some(count) => into.extend_from_slice(&buffer[..count]),
            None => break,
        }
    }
    Ok(false)
}

/// Writes as much of `from` as fits and removes it; how much that was.
fn give(target: &mut impl Write, from: &mut Vec<u8>) -> io::Result<usize> {
    let mut given = 0;
    while given < from.len() {
        match moved(target.write(&from[given..])) {
            Ok(Some(count)) => given += count,
            Ok(None) => break,
            Err(error) => {
                from.clear();
                return Err(error);
            }
        }
    }
    from.drain(..given);
    Ok(given)
}
