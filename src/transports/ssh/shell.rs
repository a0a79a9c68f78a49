//! One shell on one channel: `/bin/sh` is asked for, its input goes there piece by piece, and what comes
//! back is passed on until it ends. Nothing here waits: [`Shell::step`] does what is possible now.

use std::io::{Read, Write};
use std::time::Instant;

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use super::config::Plan;
use super::owner::Progress;
use super::wire::{moved, ready};
use crate::transports::pipe::PATIENCE;
use crate::transports::{Chunk, Exit, Program, TransportError};

/// Printed first on both streams. What comes before is the login shell's start-up files.
const MARK: &[u8] = b"\x02runner\x03";
const PRINT_MARK: &str = "printf '\\002runner\\003'; printf '\\002runner\\003' >&2\n";
/// The most that is kept of what comes before the mark.
const NOISE_LIMIT: usize = 64 << 10;

/// Why a shell did not start.
pub(super) enum Failure {
    /// The machine opens no further channel on this connection.
    Refused,
    /// The connection was lost before anything was sent.
    NotStarted,
    /// Anything else.
    Broken(TransportError),
}

/// Tells whether a shell has started. Whoever waits hears of it in any case.
pub(super) struct Opening(Option<oneshot::Sender<Result<(), Failure>>>);

impl Opening {
    /// It, and where its outcome arrives.
    pub(super) fn new() -> (Opening, oneshot::Receiver<Result<(), Failure>>) {
        let (sender, receiver) = oneshot::channel();
        (Opening(Some(sender)), receiver)
    }

    pub(super) fn tell(&mut self, outcome: Result<(), Failure>) {
        if let Some(sender) = self.0.take() {
            // Nobody may wait any more: the future was dropped.
            let _ = sender.send(outcome);
        }
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        self.tell(Err(Failure::NotStarted));
    }
}

type ToChunk = fn(Vec<u8>) -> Chunk;

/// A shell that runs or is about to.
pub(super) struct Shell {
    /// To tell it from others when there is input for it.
    pub id: u64,
    pub opening: Opening,
    command: String,
    input: Vec<u8>,
    written: usize,
    requested: bool,
    is_ending: bool,
    input_ended: bool,
    deadline: Option<Instant>,
    stdout: Begin,
    stderr: Begin,
    output: UnboundedSender<Chunk>,
}

impl Shell {
    pub(super) fn new(id: u64, program: Program, opening: Opening, output: UnboundedSender<Chunk>) -> Shell {
        Shell {
            id,
            opening,
            // `exec`, so that no login shell stays in between; every login shell there is knows it.
            command: format!("exec {}", shell_words::join(program.words())),
            input: PRINT_MARK.into(),
            written: 0,
            requested: false,
            is_ending: false,
            input_ended: false,
            deadline: None,
            stdout: Begin::default(),
            stderr: Begin::default(),
            output,
        }
    }

    /// More input, or its end.
    pub(super) fn take_input(&mut self, bytes: Option<Vec<u8>>) {
        match bytes {
            Some(bytes) => {
                self.input.drain(..self.written);
                self.written = 0;
                self.input.extend_from_slice(&bytes);
            }
            None => self.is_ending = true,
        }
    }

    /// When [`Shell::step`] must be called even if nothing arrives.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Tells that the way to it is lost.
    pub(super) fn lose(&mut self, error: &TransportError) {
        let _ = self.output.send(Chunk::Ended(Err(error.clone())));
    }

    /// Does what is possible now. `Err` means that the whole connection is broken.
    pub(super) fn step(
        &mut self,
        channel: &mut ssh2::Channel,
        congested: bool,
        buffer: &mut [u8],
        plan: &Plan,
    ) -> Result<Progress, String> {
        if !self.requested {
            match ready(channel.exec(&self.command)) {
                Ok(Some(())) => self.requested = true,
                Ok(None) => return Ok(Progress::Idle),
                Err(error) if error.code() == ssh2::ErrorCode::Session(-22) => {
                    let message = "the machine does not run commands for this login";
                    self.opening.tell(Err(Failure::Broken(plan.fail(message, None))));
                    return Ok(Progress::Done);
                }
                Err(error) => return Err(error.message().to_owned()),
            }
            self.opening.tell(Ok(()));
        }
        let mut progress = self.write(channel, congested)?;
        let mut stderr = channel.stderr();
        let streams: [(&mut dyn Read, &mut Begin, ToChunk); 2] = [
            (channel as &mut dyn Read, &mut self.stdout, Chunk::Stdout),
            (&mut stderr, &mut self.stderr, Chunk::Stderr),
        ];
        for (stream, begin, chunk) in streams {
            if let Some(count) =
                moved(stream.read(buffer)).map_err(|error| error.to_string())?.filter(|count| *count > 0)
            {
                if let Some(bytes) = begin.pass(&buffer[..count]) {
                    let _ = self.output.send(chunk(bytes));
                }
                self.deadline = self.deadline.map(|_| Instant::now() + PATIENCE);
                progress = Progress::Moved;
            }
        }
        if channel.eof() && ready(channel.wait_close()).map_err(|error| error.message().to_owned())?.is_some()
        {
            let ended = self.exit(channel, plan);
            let _ = self.output.send(Chunk::Ended(ended));
            return Ok(Progress::Done);
        }
        let is_late = self.deadline.is_some_and(|deadline| deadline <= Instant::now());
        // Whoever still listens is told by its own patience.
        Ok(if is_late && self.output.is_closed() { Progress::Done } else { progress })
    }

    fn write(&mut self, channel: &mut ssh2::Channel, congested: bool) -> Result<Progress, String> {
        if self.written < self.input.len() {
            if congested {
                return Ok(Progress::Idle);
            }
            let written =
                moved(channel.write(&self.input[self.written..])).map_err(|error| error.to_string())?;
            self.written += written.unwrap_or(0);
            return Ok(if written.is_some() { Progress::Moved } else { Progress::Idle });
        }
        if self.is_ending && !self.input_ended {
            self.input_ended =
                ready(channel.send_eof()).map_err(|error| error.message().to_owned())?.is_some();
            self.deadline.get_or_insert_with(|| Instant::now() + PATIENCE);
            return Ok(Progress::Moved);
        }
        Ok(Progress::Idle)
    }

    fn exit(&mut self, channel: &mut ssh2::Channel, plan: &Plan) -> Result<Exit, TransportError> {
        let broken = |error: ssh2::Error| plan.lost(error.message(), None);
        // After a signal the status is 0, so the signal has to be asked for first.
        let exit = match channel.exit_signal().map_err(broken)?.exit_signal {
            Some(signal) => Exit::Signal(signal),
            None => Exit::Code(channel.exit_status().map_err(broken)?),
        };
        if self.stdout.is_over {
            return Ok(exit);
        }
        let said = [&self.stdout.noise, &self.stderr.noise]
            .map(|bytes| String::from_utf8_lossy(bytes).trim().to_owned());
        let said = said.iter().filter(|text| !text.is_empty()).cloned().collect::<Vec<_>>().join("; ");
        let said = if said.is_empty() { "and said nothing".to_owned() } else { format!("and said: {said}") };
        let hint = format!("`{}` must be allowed to run `/bin/sh` over SSH", plan.user);
        let message = format!("the login shell of `{}` did not start `/bin/sh` {said}", plan.user);
        Err(plan.fail(message, Some(hint)))
    }
}

/// The beginning of one stream, up to the mark.
#[derive(Default)]
struct Begin {
    noise: Vec<u8>,
    is_over: bool,
}

impl Begin {
    /// What of `data` comes after the mark.
    fn pass(&mut self, data: &[u8]) -> Option<Vec<u8>> {
        if self.is_over {
            return Some(data.to_vec());
        }
        self.noise.extend_from_slice(data);
        if let Some(start) = self.noise.windows(MARK.len()).position(|window| window == MARK) {
            self.is_over = true;
            let rest = self.noise.split_off(start + MARK.len());
            return (!rest.is_empty()).then_some(rest);
        }
        if self.noise.len() > 2 * NOISE_LIMIT {
            self.noise.drain(..self.noise.len() - NOISE_LIMIT);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_before_the_mark_is_left_out() {
        let mut begin = Begin::default();
        let passed: Vec<_> =
            ["noise\x02run", "ner\x03out", "put"].map(|piece| begin.pass(piece.as_bytes())).into();
        assert_eq!(passed, [None, Some(b"out".to_vec()), Some(b"put".to_vec())]);

        let mut begin = Begin::default();
        assert_eq!(begin.pass(&[b'x'; 3 * NOISE_LIMIT]), None);
        assert!(begin.noise.len() <= 2 * NOISE_LIMIT && !begin.is_over);
    }
}
