//! What a kept shell tells when a job has ended, read back: exit code, time, probes, both outputs. What did
//! not arrive whole is an error.

use super::{Ended, OUTPUT_LIMIT, Probes, Stopped, Stream};
use crate::transports::{Exit, TransportError};

/// How far the wall clock may be from the monotonic one, in seconds, before it is not believed. The
/// kernel gives the monotonic one in steps of 10 ms.
const CLOCK_TOLERANCE_S: f64 = 0.03;

/// Reads what `emit` of the prologue printed.
pub(super) fn parse(printed: &[u8]) -> Result<Ended, TransportError> {
    let not_whole = || TransportError::new("the command's output did not arrive whole");
    let mut rest = printed;
    let head = line(&mut rest).ok_or_else(not_whole)?;
    if let Some(reason) = head.strip_prefix("failed ") {
        return Err(TransportError::new(reason));
    }
    let mut words = head.split(' ');
    let mut word = || words.next().unwrap_or_default();
    let number = |word: &str| word.parse::<f64>().ok();
    let code = number(word()).ok_or_else(not_whole)?;
    let (t1, t2, u1, u2) = (fine_clock(word()), fine_clock(word()), number(word()), number(word()));
    let (elapsed_s, is_coarse) = elapsed(t1.zip(t2), u1.zip(u2)).ok_or_else(|| {
        TransportError::new(
            "the machine has no clock that can be read: neither `date +%s.%N` nor /proc/uptime",
        )
    })?;
    let was_stopped = word() == "1";
    let mut probes = Probes::default();
    let sizes = loop {
        let line = line(&mut rest).ok_or_else(not_whole)?;
        if let Some(sizes) = line.strip_prefix("sizes ") {
            break sizes.split(' ').filter_map(|size| size.parse().ok()).collect::<Vec<u64>>();
        }
        let mut parts = line.splitn(3, ' ');
        let (when, path, value) = (parts.next(), parts.next(), parts.next().unwrap_or_default());
        let list = if when == Some("b") { &mut probes.before } else { &mut probes.after };
        list.extend(path.map(|path| (path.to_owned(), value.to_owned())));
    };
    let &[out, err] = sizes.as_slice() else { return Err(not_whole()) };
    let kept = |size: u64| (size as usize).min(OUTPUT_LIMIT);
    if rest.len() != kept(out) + kept(err) {
        return Err(not_whole());
    }
    let (stdout, stderr) = rest.split_at(kept(out));
    Ok(Ended {
        exit_code: code as i32,
        elapsed_s,
        is_coarse,
        stdout: Stream { bytes: stdout.to_vec(), size: out },
        stderr: Stream { bytes: stderr.to_vec(), size: err },
        // Why, whoever has stopped it knows.
        stopped: was_stopped.then_some(Stopped::TimedOut),
        probes,
        was_lost: false,
    })
}

/// Takes a line that is whole.
fn line(rest: &mut &[u8]) -> Option<String> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let line = String::from_utf8_lossy(&rest[..end]).into_owned();
    *rest = &rest[end + 1..];
    Some(line)
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

/// The last words of a shell, or else how it ended.
pub(in crate::transports) fn last_words(stderr: &[u8], exit: &Exit) -> String {
    let text = String::from_utf8_lossy(stderr);
    match (text.lines().map(str::trim).rfind(|line| !line.is_empty()), exit) {
        (Some(line), _) => line.to_owned(),
        (None, Exit::Code(code)) => format!("it ended with exit code {code}"),
        (None, Exit::Signal(name)) => format!("it was ended by signal {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &[u8] =
        b"7 10.500 12.000 100.00 101.50 0\nb /proc/loadavg 0.1 0.2\na /proc/loadavg 0.3 0.4\nsizes 3 2\nabcde";

    #[test]
    fn everything_of_a_frame() {
        let ended = parse(WHOLE).unwrap();
        assert_eq!((ended.exit_code, ended.elapsed_s, ended.is_coarse), (7, 1.5, false));
        assert_eq!((ended.stdout.bytes.as_slice(), ended.stderr.bytes.as_slice()), (&b"abc"[..], &b"de"[..]));
        let probe = |value: &str| vec![("/proc/loadavg".to_owned(), value.to_owned())];
        assert_eq!(ended.probes, Probes { before: probe("0.1 0.2"), after: probe("0.3 0.4") });
    }

    #[test]
    fn one_that_is_cut_anywhere_is_an_error() {
        for end in 0..WHOLE.len() {
            assert!(parse(&WHOLE[..end]).is_err(), "{end}");
        }
        assert_eq!(
            parse(b"failed the working directory is gone\n").unwrap_err().message,
            "the working directory is gone"
        );
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
