//! One script on one channel: `/bin/sh` is asked for, the script goes to its input, the input stays
//! open, and what comes back is kept until the shell ends. Nothing here waits: [`Shell::step`] does what
//! is possible now.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::config::Plan;
use super::owner::Progress;
use super::wire::{moved, ready};
use crate::transports::{CAPTURE_LIMIT, Exit, Output, TransportError};

/// How long a shell may be silent after its input was closed, and not end.
const PATIENCE: Duration = Duration::from_secs(15);
/// `exec`, so that no login shell stays in between; every login shell there is knows it.
const COMMAND: &str = "exec /bin/sh";
/// Printed first on both streams. What comes before is the login shell's start-up files.
const MARK: &[u8] = b"\x02runner\x03";
const PRINT_MARK: &str = "printf '\\002runner\\003'; printf '\\002runner\\003' >&2\n";
/// The most that is kept of what comes before the mark.
const NOISE_LIMIT: usize = 64 << 10;

/// Why a script did not run to its end.
pub(super) enum Failure {
    /// The machine opens no further channel on this connection.
    Refused,
    /// The connection was lost before the script was sent.
    NotStarted,
    /// Anything else.
    Broken(TransportError),
}

/// Where the outcome goes. Whoever waits gets one in any case.
pub(super) struct Reply {
    sender: Option<oneshot::Sender<Result<Output, Failure>>>,
    lost: TransportError,
    started: bool,
}

impl Reply {
    /// A reply and where it arrives.
    pub(super) fn new(plan: &Plan) -> (Reply, oneshot::Receiver<Result<Output, Failure>>) {
        let (sender, receiver) = oneshot::channel();
        let lost = plan.lost("the connection was given up", None);
        (Reply { sender: Some(sender), lost, started: false }, receiver)
    }

    pub(super) fn send(&mut self, outcome: Result<Output, Failure>) {
        if let Some(sender) = self.sender.take() {
            // Nobody may wait any more: the future was dropped.
            let _ = sender.send(outcome);
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        let failure = if self.started { Failure::Broken(self.lost.clone()) } else { Failure::NotStarted };
        self.send(Err(failure));
    }
}

/// A script that runs or is about to.
pub(super) struct Shell {
    /// To tell it from others when its input is to be closed.
    pub id: u64,
    input: Vec<u8>,
    written: usize,
    requested: bool,
    input_ended: bool,
    deadline: Option<Instant>,
    stdout: Capture,
    stderr: Capture,
    pub reply: Reply,
}

impl Shell {
    pub(super) fn new(id: u64, script: &str, reply: Reply) -> Shell {
        Shell {
            id,
            // The shell would read on after the script: `exit` ends it, with the script's own status.
            input: format!("{PRINT_MARK}{script}\nexit\n").into_bytes(),
            written: 0,
            requested: false,
            input_ended: false,
            deadline: None,
            stdout: Capture::default(),
            stderr: Capture::default(),
            reply,
        }
    }

    /// From now on the input is closed as soon as the script is sent, and patience is limited.
    pub(super) fn end_input(&mut self) {
        self.deadline.get_or_insert_with(|| Instant::now() + PATIENCE);
    }

    /// When [`Shell::step`] must be called even if nothing arrives.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.deadline
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
            self.reply.started = true;
            match ready(channel.exec(COMMAND)) {
                Ok(Some(())) => self.requested = true,
                Ok(None) => return Ok(self.overdue(plan).unwrap_or(Progress::Idle)),
                Err(error) if error.code() == ssh2::ErrorCode::Session(-22) => {
                    let message = "the machine does not run commands for this login";
                    self.reply.send(Err(Failure::Broken(plan.fail(message, None))));
                    return Ok(Progress::Done);
                }
                Err(error) => return Err(error.message().to_owned()),
            }
        }
        let mut progress = self.write(channel, congested)?;
        let mut stderr = channel.stderr();
        for (stream, capture) in
            [(channel as &mut dyn Read, &mut self.stdout), (&mut stderr, &mut self.stderr)]
        {
            if let Some(count) =
                moved(stream.read(buffer)).map_err(|error| error.to_string())?.filter(|count| *count > 0)
            {
                capture.push(&buffer[..count]);
                self.deadline = self.deadline.map(|_| Instant::now() + PATIENCE);
                progress = Progress::Moved;
            }
        }
        if channel.eof() && ready(channel.wait_close()).map_err(|error| error.message().to_owned())?.is_some()
        {
            let outcome = self.outcome(channel, plan);
            self.reply.send(outcome);
            return Ok(Progress::Done);
        }
        Ok(self.overdue(plan).unwrap_or(progress))
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
        if self.deadline.is_some() && !self.input_ended {
            self.input_ended =
                ready(channel.send_eof()).map_err(|error| error.message().to_owned())?.is_some();
            return Ok(Progress::Moved);
        }
        Ok(Progress::Idle)
    }

    /// Gives up when the shell did not end in time.
    fn overdue(&mut self, plan: &Plan) -> Option<Progress> {
        let late = self.deadline.is_some_and(|deadline| deadline <= Instant::now());
        late.then(|| {
            let message = format!(
                "the script was stopped and did not end, silent for {} s; its processes may still run",
                PATIENCE.as_secs()
            );
            let hint = "log in and look with `ps`".to_owned();
            self.reply.send(Err(Failure::Broken(plan.fail(message, Some(hint)))));
            Progress::Done
        })
    }

    fn outcome(&mut self, channel: &ssh2::Channel, plan: &Plan) -> Result<Output, Failure> {
        let broken = |error: ssh2::Error| Failure::Broken(plan.fail(error.message(), None));
        // After a signal the status is 0, so the signal has to be asked for first.
        let exit = match channel.exit_signal().map_err(broken)?.exit_signal {
            Some(signal) => Exit::Signal(signal),
            None => Exit::Code(channel.exit_status().map_err(broken)?),
        };
        if !self.stdout.begun {
            let said = [&self.stdout.bytes, &self.stderr.bytes]
                .map(|bytes| String::from_utf8_lossy(bytes).trim().to_owned());
            let said = said.iter().filter(|text| !text.is_empty()).cloned().collect::<Vec<_>>().join("; ");
            let said =
                if said.is_empty() { "and said nothing".to_owned() } else { format!("and said: {said}") };
            let hint = format!("`{}` must be allowed to run `/bin/sh` over SSH", plan.user);
            let message = format!("the login shell of `{}` did not start `/bin/sh` {said}", plan.user);
            return Err(Failure::Broken(plan.fail(message, Some(hint))));
        }
        Ok(Output { stdout: self.stdout.take(), stderr: self.stderr.take(), exit })
    }
}

/// What is kept of one stream.
#[derive(Default)]
struct Capture {
    bytes: Vec<u8>,
    /// True once the mark was seen; before that, `bytes` is noise.
    begun: bool,
}

impl Capture {
    fn push(&mut self, data: &[u8]) {
        if self.begun {
            let room = CAPTURE_LIMIT.saturating_sub(self.bytes.len());
            self.bytes.extend_from_slice(&data[..data.len().min(room)]);
            return;
        }
        self.bytes.extend_from_slice(data);
        if let Some(start) = self.bytes.windows(MARK.len()).position(|window| window == MARK) {
            self.bytes.drain(..start + MARK.len());
            self.begun = true;
        } else if self.bytes.len() > 2 * NOISE_LIMIT {
            self.bytes.drain(..self.bytes.len() - NOISE_LIMIT);
        }
    }

    fn take(&mut self) -> Vec<u8> {
        if self.begun { std::mem::take(&mut self.bytes) } else { Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_before_the_mark_is_left_out() {
        let mut capture = Capture::default();
        for piece in ["noise\x02run", "ner\x03out", "put"] {
            capture.push(piece.as_bytes());
        }
        assert_eq!(capture.take(), b"output");

        let mut capture = Capture::default();
        capture.push(&[b'x'; 3 * NOISE_LIMIT]);
        assert!(capture.bytes.len() <= 2 * NOISE_LIMIT && !capture.begun);
        assert_eq!(capture.take(), b"");
    }

    #[test]
    fn keeps_no_more_than_the_limit() {
        let mut capture = Capture { bytes: vec![0; CAPTURE_LIMIT - 2], begun: true };
        capture.push(b"abcdef");
        capture.push(b"ghi");
        assert_eq!(capture.bytes.len(), CAPTURE_LIMIT);
        assert!(capture.bytes.ends_with(b"ab"));
    }
}
