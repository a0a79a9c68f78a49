//! When an attempt began, in twelve bytes. Read [`Started`].

use std::fmt;

use jiff::Timestamp;

/// A time of the clock from 1970 to 2106, with as many decimals of a second as its text has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Started {
    seconds: u32,
    nanoseconds: u32,
    decimals: u8,
}

impl Started {
    /// The time that `text` (RFC 3339) tells. None where it tells none, or one too early or too late.
    pub(super) fn read(text: &str) -> Option<Self> {
        let time: Timestamp = text.parse().ok()?;
        let decimals = text.len().saturating_sub("2026-11-30T11:45:12.Z".len()).min(9);
        Some(Started {
            seconds: u32::try_from(time.as_second()).ok()?,
            nanoseconds: u32::try_from(time.subsec_nanosecond()).ok()?,
            decimals: u8::try_from(decimals).ok()?,
        })
    }

    /// Whether `text`, out of which a time was read, is written as this type writes it.
    pub(super) fn is_as_written(text: &str) -> bool {
        let bytes = text.as_bytes();
        let has = |place: usize, byte: u8| bytes.get(place) == Some(&byte);
        let is_minute = !text.get(17..).is_some_and(|seconds| seconds.starts_with("60"));
        let fraction = match bytes.len() {
            20 => true,
            22..=30 => has(19, b'.'),
            _ => false,
        };
        fraction
            && is_minute
            && has(4, b'-')
            && has(10, b'T')
            && has(13, b':')
            && has(16, b':')
            && bytes.ends_with(b"Z")
    }

    /// As a time to compute with.
    pub fn time(self) -> Option<Timestamp> {
        Timestamp::new(i64::from(self.seconds), i32::try_from(self.nanoseconds).ok()?).ok()
    }
}

impl fmt::Display for Started {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.time() {
            Some(time) => write!(out, "{time:.*}", usize::from(self.decimals)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_as_written_is_written_so_again() {
        for text in [
            "2026-11-30T11:45:12Z",
            "2026-11-30T11:45:12.0Z",
            "2026-11-30T11:45:12.120Z",
            "1970-01-01T00:00:00.123456789Z",
            "2106-02-07T06:28:15.999Z",
        ] {
            assert!(Started::is_as_written(text), "{text}");
            assert_eq!(Started::read(text).unwrap().to_string(), text);
        }
        for text in [
            "2026-11-30t11:45:12z",
            "2026-11-30 11:45:12Z",
            "2026-11-30T11:45:12+00:00",
            "2026-11-30T11:45:60Z",
            "2026-11-30T11:45:12,5Z",
            "2026-11-30T11:45Z",
        ] {
            assert!(!Started::is_as_written(text), "{text}");
        }
        for text in ["", "soon", "1969-12-31T23:59:59Z", "2106-02-07T06:28:16Z", "2026-02-30T11:45:12Z"] {
            assert_eq!(Started::read(text), None, "{text}");
        }
        assert!(Started::read("2026-11-30T11:45:12Z") < Started::read("2026-11-30T11:45:12.5Z"));
    }
}
