//! What the wrapper tells when a job has ended, read back: exit code, time, both outputs. Whatever a login
//! shell printed around it is skipped, and what did not arrive whole is an error.

use super::{Ended, OUTPUT_LIMIT, Probes, Stream};
use crate::transports::{Exit, Output, TransportError};

/// How far the wall clock may be from the monotonic one, in seconds, before it is not believed. The
/// kernel gives the monotonic one in steps of 10 ms.
const CLOCK_TOLERANCE_S: f64 = 0.03;

/// Reads the frame of job `id`.
pub(super) fn parse(id: &str, output: &Output) -> Result<Ended, TransportError> {
    let from = find(&output.stdout, format!("{id} ").as_bytes()).ok_or_else(|| no_frame(output))?;
    let frame = &output.stdout[from..];
    let end = find(frame, b"\n").ok_or_else(|| no_frame(output))?;
    let line = String::from_utf8_lossy(&frame[..end]);
    let rest = &frame[end + 1..];
    let mut words = line.split(' ').skip(1);
    if words.next() != Some("ended") {
        let reason = line.split_once(" failed ").map_or(line.as_ref(), |(_, reason)| reason);
        return Err(TransportError { message: reason.to_owned(), hint: None, is_lost: false });
    }
    let mut word = || words.next().unwrap_or_default();
    let number = |word: &str| word.parse::<f64>().ok();
    let code = number(word());
    let (t1, t2, u1, u2) = (fine_clock(word()), fine_clock(word()), number(word()), number(word()));
    let (Some(code), Some(out), Some(err)) = (code, number(word()), number(word())) else {
        return Err(no_frame(output));
    };
    let (elapsed_s, is_coarse) = elapsed(t1.zip(t2), u1.zip(u2)).ok_or_else(|| TransportError {
        message: "the machine has no clock that can be read: neither `date +%s.%N` nor /proc/uptime".into(),
        hint: None,
        is_lost: false,
    })?;
    let kept = (out as usize).min(OUTPUT_LIMIT).min(rest.len());
    let (stdout, stderr) = rest.split_at(kept);
    if stdout.len() + stderr.len() != (out as usize).min(OUTPUT_LIMIT) + (err as usize).min(OUTPUT_LIMIT) {
        return Err(TransportError {
            message: "the command's output did not arrive whole".into(),
            hint: None,
            is_lost: false,
        });
    }
    Ok(Ended {
        exit_code: code as i32,
        elapsed_s,
        is_coarse,
        stdout: Stream { bytes: stdout.to_vec(), size: out as u64 },
        stderr: Stream { bytes: stderr.to_vec(), size: err as u64 },
        stopped: None,
        probes: Probes::default(),
    })
}

/// A reading of `date +%s.%N`, if it tells a fraction.
fn fine_clock(word: &str) -> Option<f64> {
    word.split_once('.').filter(|(_, fraction)| fraction.len() >= 3).and_then(|_| word.parse().ok())
}

/// Seconds between two readings of the wall clock, unless the monotonic clock says that it was set.
fn elapsed(wall: Option<(f64, f64)>, monotonic: Option<(f64, f64)>) -> Option<(f64, bool)> {
    let between = |(start, end): (f64, f64)| end - start;
    match (wall.map(between), monotonic.map(between)) {
        (Some(wall), Some(steady)) if (wall - steady).abs() > CLOCK_TOLERANCE_S + steady * 1e-3 => {
            Some((steady, true))
        }
        (Some(wall), _) if wall >= 0.0 => Some((wall, false)),
        (_, steady) => steady.map(|steady| (steady, true)),
    }
}

/// The error of a shell that printed no frame.
pub(super) fn no_frame(output: &Output) -> TransportError {
    TransportError {
        message: format!("`/bin/sh` did not do its work: {}", last_line(&output.stderr, &output.exit)),
        hint: Some("see what `/bin/sh -c true` prints there".into()),
        is_lost: false,
    }
}

/// The last words of a shell, or else how it ended.
pub(super) fn last_line(stderr: &[u8], exit: &Exit) -> String {
    let text = String::from_utf8_lossy(stderr);
    match (text.lines().map(str::trim).rfind(|line| !line.is_empty()), exit) {
        (Some(line), _) => line.to_owned(),
        (None, Exit::Code(code)) => format!("it ended with exit code {code}"),
        (None, Exit::Signal(name)) => format!("it was ended by signal {name}"),
    }
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}

/// What stands between a line `mark` and a last line `mark CODE`, and that code.
pub(super) fn between_marks<'a>(text: &'a [u8], mark: &[u8]) -> Option<(&'a [u8], i32)> {
    let start = find(text, &[mark, b"\n"].concat())? + mark.len() + 1;
    let rest = &text[start..];
    let end = rest.windows(mark.len() + 1).rposition(|window| window == [mark, b" "].concat())?;
    let code = std::str::from_utf8(&rest[end + mark.len()..]).ok()?.trim().parse().ok()?;
    Some((&rest[..end], code))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(stdout: &[u8]) -> Output {
        Output { stdout: stdout.to_vec(), stderr: Vec::new(), exit: Exit::Code(0) }
    }

    #[test]
    fn frame_among_noise() {
        let ended =
            parse("runner-1", &output(b"Welcome!\nrunner-1 ended 7 10.500 12.000 100.00 101.50 3 2\nabcde"))
                .unwrap();
        assert_eq!((ended.exit_code, ended.elapsed_s, ended.is_coarse), (7, 1.5, false));
        assert_eq!((ended.stdout.bytes.as_slice(), ended.stderr.bytes.as_slice()), (&b"abc"[..], &b"de"[..]));
    }

    #[test]
    fn output_that_is_cut_is_an_error() {
        assert!(parse("runner-1", &output(b"runner-1 ended 0 1.000 2.000 1.00 2.00 9 0\nabc")).is_err());
        assert!(parse("runner-1", &output(b"runner-1 ended 0 1.0")).is_err());
        assert!(parse("runner-1", &output(b"")).is_err());
    }

    #[test]
    fn a_query_without_its_end_is_not_taken_for_whole() {
        assert_eq!(between_marks(b"hello\nm-1\na\nb\nm-1 0\n", b"m-1"), Some((&b"a\nb\n"[..], 0)));
        assert_eq!(between_marks(b"m-1\nno line endm-1 7\n", b"m-1"), Some((&b"no line end"[..], 7)));
        assert_eq!(between_marks(b"m-1\na\nb\n", b"m-1"), None);
        assert_eq!(between_marks(b"a\n", b"m-1"), None);
    }

    #[test]
    fn clock() {
        for (wall, steady, expected) in [
            (Some((10.0, 11.5)), Some((1.00, 2.50)), Some((1.5, false))),
            (Some((10.0, 11.509)), Some((1.00, 2.50)), Some((1.509, false))),
            (Some((10.0, 3610.0)), Some((1.0, 2.0)), Some((1.0, true))),
            (Some((10.0, 5.0)), None, None),
            (None, Some((1.0, 2.0)), Some((1.0, true))),
            (None, None, None),
        ] {
            let got = elapsed(wall, steady).map(|(seconds, set)| ((seconds * 1e6).round() / 1e6, set));
            assert_eq!(got, expected, "{wall:?} {steady:?}");
        }
    }
}
